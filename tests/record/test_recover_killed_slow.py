#!/usr/bin/env python3
"""As test_recover_killed.py, at each of the calls (R16)."""
import recover_kills

recover_kills.main()
