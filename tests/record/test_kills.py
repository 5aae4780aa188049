#!/usr/bin/env python3
"""SIGKILL of the program, of the recorder, or of both, at 30 random moments (ten thousand in
test_kills_slow.py): `recover` and `verify` succeed, each thread's events are the beginning of what
it did, and nothing committed is missing (W8).

  test_kills.py [COUNT [SEED [FIRST]]]"""
import sys

import kills

numbers = [int(word) for word in sys.argv[1:]]
kills.run(numbers[0] if numbers else 30, numbers[1] if numbers[1:] else 7,
          numbers[2] if numbers[2:] else 0)
