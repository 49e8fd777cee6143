"""What tools/kernel_drift is made of."""
