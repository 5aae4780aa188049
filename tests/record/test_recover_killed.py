#!/usr/bin/env python3
"""R16: `recover` is killed at the first and the last of its own writing calls of each kind, as
recover_kills.py has it; at each of them: test_recover_killed_slow.py."""
import recover_kills

recover_kills.main(most=2)
