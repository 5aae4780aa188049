#!/usr/bin/env python3
"""As test_kills.py, ten thousand times (W8)."""
import sys
import time

import kills

numbers = [int(word) for word in sys.argv[1:]]
kills.run(numbers[0] if numbers else 10000, numbers[1] if numbers[1:] else int(time.time()),
          at_once=8)
