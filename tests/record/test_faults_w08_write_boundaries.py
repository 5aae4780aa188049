#!/usr/bin/env python3
"""W8: SIGKILL of the recorder at its writes, up to 16 of each call, as boundaries.py has it; each
of them: test_faults_w08_write_boundaries_slow.py."""
import boundaries

boundaries.main(most=16)
