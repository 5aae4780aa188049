#!/usr/bin/env python3
"""Half a second of what test_long_run_slow.py does, with a spill file that is full at once."""
import long_run

long_run.run(0.4, spill=8)
