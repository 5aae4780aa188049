#!/usr/bin/env python3
"""Functions that a generator makes, with all ways into code and ways to look at it, are recorded as
they run by themselves: one in twenty of the programs of test_patch_generator_slow.py."""
import sys

import generated

numbers = [int(word) for word in sys.argv[1:]]
first = numbers[0] if numbers else 0
generated.run(range(first, first + (numbers[1] if numbers[1:] else 16)), more_ways=1)
