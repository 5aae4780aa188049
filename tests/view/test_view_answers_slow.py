#!/usr/bin/env python3
"""Numbers of the view are those of report, tree and slow: of all recordings of the corpus."""
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from view_client import COMMAND, skip
from view_model import SOURCE, compare_all

CORPUS = Path(os.environ.get("TTAPE_CORPUS", Path(SOURCE, "..", "shared", "corpus")))


def main():
    archives = sorted(CORPUS.glob("*.tar.xz"))
    if not archives:
        skip(f"no recordings in '{CORPUS}'")
    with tempfile.TemporaryDirectory() as folder:
        traces = []
        for archive in archives:
            place, trace = Path(folder, archive.name), Path(folder, f"{archive.name}.ttape")
            with tarfile.open(archive) as packed:
                packed.extractall(place)
            recording = next(place.rglob("info")).parent
            subprocess.run([COMMAND, "convert", recording, "-o", trace], capture_output=True)
            traces.append(trace)
        return compare_all(traces)


sys.exit(main())
