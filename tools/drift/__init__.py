"""The parts of tools/kernel_drift."""
