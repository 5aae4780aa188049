#!/usr/bin/env python3
"""The long form of test_strace_words.py: all families."""
import os
import sys

os.environ["TTAPE_THOROUGH"] = "1"

import test_strace_words  # behind what it reads

sys.exit(test_strace_words.main())
