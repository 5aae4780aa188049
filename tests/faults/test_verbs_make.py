#!/usr/bin/env python3
"""R17, for verbs that make files: the n-th allocation, read, write, sync, rename, open, mapping or
thread goes wrong; of each kind the first ones, the last ones, some between."""
import sys

import sweep
import verb_cases

run = sweep.Sweep(most=sweep.FEW)
verb_cases.prepare(run)
run.all(verb_cases.files(run), sys.argv[1:])
