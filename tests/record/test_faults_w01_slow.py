#!/usr/bin/env python3
"""As test_faults_w01.py, for every k, as far as the time goes (W1)."""
import failing

failing.without_memory(most=None, seconds=failing.SLOW_SECONDS)
