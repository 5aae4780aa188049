#!/usr/bin/env python3
"""Numbers of the view are those of report, tree, slow, lines and dump, of some recordings that are
made now: threads with arguments, signals, system calls with their data."""
import sys
import tempfile

from view_client import problems
from view_model import compare_all
from view_recordings import CORE, record

with tempfile.TemporaryDirectory() as folder:
    status = compare_all(record(folder, CORE))
print("\n".join(problems))
sys.exit(1 if problems else status)
