#!/usr/bin/env python3
"""Numbers of the view are those of report, tree, slow, lines and dump, of twenty recordings that
are made now."""
import sys
import tempfile

from view_client import problems
from view_model import compare_all
from view_recordings import RECORDINGS, record

with tempfile.TemporaryDirectory() as folder:
    status = compare_all(record(folder, RECORDINGS))
print("\n".join(problems))
sys.exit(1 if problems else status)
