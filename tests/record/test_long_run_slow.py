#!/usr/bin/env python3
"""Ten minutes of a program that makes tens of millions of events a second: nothing is lost.

  test_long_run_slow.py [SECONDS]"""
import sys

import long_run

long_run.run(float(sys.argv[1]) if sys.argv[1:] else 600)
