#!/usr/bin/env python3
"""The reader in a page answers what the server does, byte for byte: of all vectors, of values of
all kinds, and of all recordings of the corpus where there are any."""
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from html_answers import COMMAND, SOURCE, compare, make_words, tell

CORPUS = Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))


def main():
    traces = sorted((SOURCE / "spec" / "vectors").glob("*.ttape"))
    with tempfile.TemporaryDirectory() as folder:
        traces.append(make_words(folder))
        for archive in sorted(CORPUS.glob("*.tar.xz")):
            place, trace = Path(folder, archive.name), Path(folder, f"{archive.name}.ttape")
            with tarfile.open(archive) as packed:
                packed.extractall(place)
            recording = next(place.rglob("info")).parent
            subprocess.run([COMMAND, "convert", recording, "-o", trace], capture_output=True)
            traces.append(trace)
        return tell("html answers", *compare(traces))


sys.exit(main())
