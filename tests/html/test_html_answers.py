#!/usr/bin/env python3
"""The reader in a page answers what the server does, byte for byte: of some vectors, of a trace
with ten thousand calls, and of values of all kinds. test_html_answers_slow.py asks about all
vectors and the corpus."""
import sys
import tempfile

from html_answers import SOURCE, compare, make_words, need, tell

need()
from view_page import make_trace  # noqa: E402


def main():
    vectors = sorted((SOURCE / "spec" / "vectors").glob("*.ttape"))[::48]
    with tempfile.TemporaryDirectory() as folder:
        return tell("html answers", *compare([*vectors, make_trace(folder), make_words(folder)]))


sys.exit(main())
