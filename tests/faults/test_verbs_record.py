#!/usr/bin/env python3
"""R17, for verbs that record and that read recordings: the n-th allocation, read, write, sync,
rename, open, mapping or thread goes wrong; of each kind the first ones, the last ones, some
between."""
import shutil
import sys

import sweep
import verb_cases

run = sweep.Sweep(most=sweep.FEW)
verb_cases.prepare(run)
cases = verb_cases.recordings(run)
if not cases:
    shutil.rmtree(run.work)
    print("SKIPPED: nothing is recorded with sanitizers")
    sys.exit(77)
run.all(cases, sys.argv[1:])
