#!/usr/bin/env python3
"""As test_faults_w08_write_boundaries.py, at each write of a recording in many partitions, as
far as the time goes (W8)."""
import boundaries
import failing

boundaries.main(seconds=failing.SLOW_SECONDS, milliseconds=300, options=failing.SMALL)
