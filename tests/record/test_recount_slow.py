#!/usr/bin/env python3
"""An own recount from `dump --format csv` (recount.py) equals `report`, on all recordings that
tests make and on the corpus. Tests of record/ run with a command that keeps what they read;
whether they hold is not judged here. Files that are damaged, which `verify` says, that are very
large, or have depths of their own (text that a test wrote by hand) are left out and counted.
Words: only these tests."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import recount
import setting

CORPUS = Path(os.environ.get("TTAPE_CORPUS") or setting.SOURCE / ".." / "shared" / "corpus")
LARGEST = 24_000_000  # bytes of a file: a few million events, which Python takes minutes for
FEWEST = 200  # recordings without which this says nothing
KEEPER = """#!/bin/bash
# Keeps what is read, and is the command then.
if [[ $1 != record && $1 != convert && $1 != recover ]]; then
    for word; do
        if [[ $word == *.ttape && -s $word ]]; then
            ln -- "$word" "{kept}/$(stat -c %i -- "$word").ttape" 2>/dev/null
        fi
    done
fi
exec -a tracetape {command} "$@"
"""


def run_tests(names, work):
    kept, keeper = work / "kept", work / "tracetape"
    kept.mkdir()
    keeper.write_text(KEEPER.format(kept=kept, command=setting.COMMAND), "utf-8")
    keeper.chmod(0o755)
    env = {**os.environ, "TTAPE_BIN": str(keeper), "TTAPE_BUILD": str(setting.BUILD),
           "TTAPE_SRC": str(setting.SOURCE), "TMPDIR": str(work)}
    env.pop("TTAPE_THOROUGH", None)

    def one(script):
        subprocess.run([sys.executable, script], env=env, check=False, timeout=900,
                       stdin=subprocess.DEVNULL, capture_output=True)
    scripts = [path for path in sorted(setting.HERE.glob("test_*.py"))
               if (path.stem in names if names else not path.stem.endswith("_slow"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, scripts))
    return sorted(kept.iterdir())


def check_one(trace):
    """(problems, whether it was compared)."""
    if trace.stat().st_size > LARGEST or setting.tracetape("verify", trace).status != 0:
        return [], False
    try:
        streams = recount.read(trace, False)
        if not recount.is_told(streams):
            return [], False
        return recount.compare(trace, streams, each=3), True
    except (RuntimeError, ValueError, KeyError) as error:
        return [f"{type(error).__name__}: {error}"], True


def check_kept(checks, names, work):
    kept = run_tests(names, work)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = list(pool.map(check_one, kept))
    for trace, (problems, _) in zip(kept, results):
        checks.extend(problems, trace.name)
        if problems and os.environ.get("TTAPE_KEEP"):
            shutil.copy(trace, os.environ["TTAPE_KEEP"])
    compared = sum(was for _, was in results)
    print(f"{compared} recordings of tests were compared, {len(kept) - compared} left out")
    checks.that(names or compared >= FEWEST, f"only {compared} recordings were compared")


def check_corpus(checks, work):
    archives = sorted(CORPUS.glob("*.uftrace.tar.xz"))
    if not archives:
        print(f"SKIPPED, the corpus: it is not at '{CORPUS}'")
    for archive in archives:
        with tarfile.open(archive) as file:
            file.extractall(work)
        folder = work / archive.name.split(".")[0]
        trace = work / f"{folder.name}.ttape"
        done = setting.tracetape("convert", "-f", "-o", trace, folder, timeout=600)
        if checks.that(done.status in (0, 3), f"{folder.name}: {done.err}"):
            checks.extend(recount.compare(trace, each=0), folder.name)
        shutil.rmtree(folder)
        trace.unlink(missing_ok=True)


def main():
    setting.need_verb("record", "report", "dump", "verify")
    checks = setting.Checks("recount")
    with setting.work_dir() as folder:
        check_kept(checks, sys.argv[1:], Path(folder))
        if not sys.argv[1:]:
            check_corpus(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    main()
