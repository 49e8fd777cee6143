# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/run.py: processes, attached tools, timing, limits and the report."""
