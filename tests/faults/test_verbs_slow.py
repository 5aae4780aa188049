#!/usr/bin/env python3
"""R17: every allocation, read, write, sync, rename, open, mapping and thread of every verb goes
wrong, once and from then on."""
import sys

import sweep
import verb_cases

run = sweep.Sweep(most=None)
verb_cases.prepare(run)
run.all(verb_cases.events() + verb_cases.answers() + verb_cases.files(run) +
        verb_cases.recordings(run) + verb_cases.more_recordings(run), sys.argv[1:])
