#!/usr/bin/env python3
"""Functions that a generator makes, with all ways into code and ways to look at it, are recorded as
they run by themselves: one in twenty of the programs of test_patch_generator_slow.py."""
import sys

import generated

# PROGRAM COUNT [first]: from that one on so many, until the first difference
words = sys.argv[1:]
first, count = map(int, words[:2] or (0, 16))
generated.run(range(first, first + count), more_ways=1, until_first="first" in words)
