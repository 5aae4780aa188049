#!/usr/bin/env python3
"""Fixed subsets of the test suites of lua, perl, python3 and sqlite3 (suites.py), recorded: the
same tests fail as untraced. For scripts/programs. Each script is run untraced twice first; what
differs then is left out, which is said."""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import setting
import suites

TIMEOUT_S = 600
# No leader of its session either way: untraced somebody starts it, as the recorder does.
PLAIN = ("sh", "-c", '"$@"; exit $?', "sh")
WAYS = {"default": [], "syscalls": ["--syscalls"]}
REASONS = (3, 4)  # for 0, with a printed reason


@dataclass
class Ended:
    status: int
    tests: list
    said: list
    seconds: float
    tail: str

    def fits(self, plain):
        return self.tests == plain.tests and \
            (self.status == plain.status or
             (plain.status == 0 and self.status in REASONS and bool(self.said)))


class Runner:
    """Runs scripts, each in a copy of the suite of its own."""

    def __init__(self, work, place, name):
        self.work, self.place, self.suite, self.name = work, place, suites.SUITES[name], name

    def lay(self, target, name):
        """A folder to run in, with the suite around it; of large ones by links."""
        source = self.place / self.name
        if not self.suite.linked:
            shutil.copytree(source, target, symlinks=True)
            return target
        folder = target / name
        folder.mkdir(parents=True)
        for path in (*source.iterdir(), *(source / name).glob("*")):
            if path != source / name:
                (target / path.relative_to(source)).symlink_to(path)
        return folder

    def run(self, script, prefix=PLAIN):
        place = Path(tempfile.mkdtemp(dir=self.work))
        folder = self.lay(place / "suite", script.folder)
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(place), "TERM": "dumb",
                       "TMPDIR": str(place), "XDG_CACHE_HOME": str(self.work / "cache"),
                       **dict(self.suite.environment)}
        before = time.monotonic()
        with open(place / "out", "wb") as out:
            words = [str(word) for word in [*prefix, *script.words]]
            process = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=out,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                status = process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                status = "none in time"
                setting.kill_group(process)
                process.wait()
        text = (place / "out").read_text(encoding="utf-8", errors="replace")
        said = re.findall("^tracetape: .*$", text, re.M)
        text = re.sub("^tracetape: .*\n", "", text, flags=re.M)
        tests = self.suite.tests(folder, text.replace(str(place), ""))
        shutil.rmtree(place, ignore_errors=True)
        status = setting.DIED - status if isinstance(status, int) and status < 0 else status
        return Ended(status, tests, said, time.monotonic() - before, text[-1500:])

    def compare(self, script):
        """Untraced, and what differs in each way; None where it differs from itself."""
        plain, again = self.run(script), self.run(script)
        if not again.fits(plain) or again.status != plain.status:
            return plain, None
        found = {}
        for way, options in WAYS.items():
            trace = self.work / f"{self.name}-{script.name.replace('/', '-')}.ttape"
            recorded = self.run(script, [setting.COMMAND, "record", "-f", "-o", trace, *options,
                                         "--"])
            trace.unlink(missing_ok=True)
            if not recorded.fits(plain) and self.run(script).fits(plain):
                found[way] = (f"status {recorded.status} for {plain.status}",
                              f"more:  {sorted(set(recorded.tests) - set(plain.tests))[:5]}",
                              f"fewer: {sorted(set(plain.tests) - set(recorded.tests))[:5]}",
                              *recorded.said, recorded.tail)
        return plain, found


def run_suite(checks, work, place, name, pattern):
    runner = Runner(work, place, name)
    scripts = [one for one in suites.SUITES[name].scripts(place) if re.search(pattern, one.name)]
    tests = seconds = failing = 0
    left_out = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for script, (plain, found) in zip(scripts, pool.map(runner.compare, scripts)):
            seconds += plain.seconds
            tests += len(plain.tests)
            failing += plain.status != 0
            if found is None:
                left_out.append(script.name)
                continue
            for way in WAYS:
                checks.that(way not in found, f"{name}, {way}: {script.name}", *found.get(way, ()))
    print(f"{name}: {len(scripts)} scripts, {tests} tests, {seconds:.0f} s untraced; {failing} "
          f"scripts fail untraced", flush=True)
    for script in left_out:
        print(f"LEFT OUT, it differs from itself: {name}, {script}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("--suite", default="", help="a regular expression of its name")
    parser.add_argument("--script", default="", help="a regular expression of its name")
    asked = parser.parse_args()
    setting.need_verb("record")
    checks = setting.Checks("suites")
    print(f"user {os.geteuid()}", flush=True)
    with setting.work_dir() as work:
        Path(work, "cache").mkdir(mode=0o700)
        for name in suites.SUITES:
            if re.search(asked.suite, name):
                run_suite(checks, Path(work), asked.place.resolve(), name, asked.script)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
