# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/run.py: starting things, attaching tools, timing, judging, reporting."""
