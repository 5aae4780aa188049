#!/usr/bin/env python3
"""W25: ten million functions, by the verbs that keep no table of their own."""
import subprocess
import sys
from pathlib import Path

sys.exit(subprocess.call([sys.executable, Path(__file__).with_name("test_many_functions.py"),
                          "10000000"]))
