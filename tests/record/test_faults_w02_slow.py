#!/usr/bin/env python3
"""As test_faults_w02.py, for every k, as far as the time goes (W2)."""
import failing

failing.with_errors(most=None, seconds=failing.SLOW_SECONDS)
