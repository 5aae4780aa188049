#!/usr/bin/env python3
"""What a person comes with, played as a person does: at most three commands, and the answer stands
on the first screen of 80 x 40. A crash, a hang, slow once in a thousand, slower than the last
version, what a button does, who calls malloc, which files from which code, where threads wait,
which lines ran, a line of a log, long runs on bounded disk, to a colleague."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import screen
import setting

TRIES = 5  # of what a busy machine may disturb
DEFAULT = ("-O1",)  # as it was built, without hooks


class Story:
    """One program, its commands counted."""

    def __init__(self, checks, folder, flags=DEFAULT, **how):
        self.checks, self.folder = checks, Path(folder)
        how = {"hooks": False, **how}
        self.program = setting.build("p_stories.c", flags=flags, log=False, **how)
        self.trace = self.folder / "run.ttape"
        self.name, self.commands = "", 0

    def record(self, word, *options, trace=None, wanted=0):
        self.commands += 1
        done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace or self.trace,
                            *options, "--", self.program, word], cwd=self.folder)
        self.checks.equal(done.status, wanted, f"{self.name}: status")
        return done

    def look(self, *words, wanted=0):
        self.commands += 1
        return screen.look(*words, wanted=wanted)

    def sees(self, lines, *patterns):
        for pattern in patterns:
            self.checks.that(screen.has(lines, pattern), f"{self.name}: on the first screen",
                             pattern, "\n".join(lines))
        self.checks.that(self.commands <= 3, f"{self.name}: three commands", self.commands)


def a_crash(story):
    story.record("crash", wanted=128 + signal.SIGSEGV)
    story.sees(story.look("last", story.trace), r"was killed by SIGSEGV", r"store_result",
               r"handle_request", r"p_stories\.c:\d+")
    words = ["record", "-q", "-f", "--patch", ".", "-o", story.trace, "--", "sh", "-c",
             "sh -c 'kill -KILL $$'; exit 0"]  # a script comes to its end all the same
    lines = []
    for _ in range(50):  # how it ended is known where it is looked at before its parent does
        story.checks.equal(setting.tracetape(*words, cwd=story.folder).status, 0, "a script")
        lines = screen.look("last", story.trace)
        if screen.has(lines, "was killed by SIGKILL"):
            break
    story.checks.that("was killed by SIGKILL" in "".join(lines[:2]), "who was killed comes first",
                      lines)


def a_hang(story):
    done = subprocess.Popen([story.program, "hang"])
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = subprocess.run([setting.COMMAND, "last", "--pid", str(done.pid)], check=False,
                                   capture_output=True, text=True, timeout=60)
            if "deadlock" in found.stdout or found.returncode:
                break
        if found.returncode:
            return story.checks.that(found.returncode == 4 and
                                     "may not be looked at" in found.stderr,
                                     "why it may not look", found.stderr)
        story.sees(story.look("last", "--pid", done.pid), r"deadlock: .*money|deadlock: .*stock",
                   r"buys", r"sells")
    finally:
        done.kill()
        done.wait()


def far_longer(lines):
    """The rows below that title: an empty one where there are none."""
    title = screen.has(lines, r"Far longer than USUAL")
    return (lines[lines.index(title) + 2:] if title else []) or [""]


def once_in_a_thousand(story):
    """Where nobody tells when threads run, another call may be the longest on a busy machine."""
    patterns = (r" serve\(key=777", r" look_up\(key=777", r"ms .* spin\(rounds=3000000")
    for _ in range(TRIES):
        story.commands = 0
        story.record("slow", "--args")
        lines = story.look("slow", story.trace)
        found = re.search(r" (s0e\d+) +(spin|look_up|serve)\(", far_longer(lines)[0])
        shown = story.look("tree", story.trace, "--open", found[1]) if found else []
        if all(screen.has(shown, pattern) for pattern in patterns):
            break
    story.sees(lines, r"Far longer than USUAL")
    story.checks.that(found, "the first of those that are unusual", lines)
    story.sees(shown, *patterns)


def once_in_a_server(story):
    """It waits for long, now and then; that hides no answer that took far longer than others."""
    for _ in range(TRIES):
        story.record("server")
        lines = story.look("slow", story.trace)
        if not screen.has(lines, "OFF CPU"):
            return print("left out: a server's slow answer (switches are not known here)")
        polls = sum(" poll " in row for row in far_longer(lines))
        is_first = re.search(r" (spin|look_up|serve)  ", far_longer(lines)[0])
        if is_first and polls <= 3:
            break
    story.checks.that(is_first, "the slow answer", lines)
    story.checks.that(polls <= 3, "few of those that wait", lines)


def slower_than_before(story):
    other = story.folder / "new.ttape"
    patterns = (r"\+.* (spin|parse)$", r"spin < parse < \w+")
    for _ in range(TRIES):
        story.commands = 0
        story.record("old")
        story.record("new", trace=other)
        lines = story.look("diff", story.trace, other)
        if all(screen.has(lines, pattern) for pattern in patterns):
            break
    story.sees(lines, *patterns)


def a_button(story):
    story.record("button")
    story.sees(story.look("tree", story.trace, "--find", "on_click", "--min-time", "0"),
               r"on_click", r"load_picture", r"render")


def who_calls_malloc(story):
    story.record("memory")
    story.sees(story.look("report", story.trace, "--callers", "malloc"),
               r" 30 .*make_node +malloc", r" 10 .*make_name +malloc")


def files_from_code(story):
    Path(story.folder, "settings.conf").write_text("a = b\n")
    story.record("files", "--syscalls", "--args")
    story.sees(story.look("syscalls", story.trace, "--by", "file"),
               r" 5  5 ENOENT +\w+ +/nowhere/plugin +.*find_plugins",
               r" 2 +read +settings\.conf +.*read_sett",
               r" 1  1 ENOENT +openat +missing\.conf +.*read_sett")


def where_threads_wait(story):
    story.record("waits")
    story.sees(story.look("report", story.trace, "--sort", "idle", "--function",
                          "lock|sleep|worker"),
               r"worker", r"pthread_mutex_lock", r"usleep", r"IDLE|OFF CPU")


def which_lines_ran(story):
    story.record("lines")
    lines = story.look("lines", story.trace, "--function", "classify")
    story.sees(lines, r"\b1\b.*kind = 7; /\* rare \*/", r"\b999\b.*kind = number % 3;")


def a_line_of_a_log(story):
    log = story.folder / "app.log"
    log.write_bytes(story.record("log", "--log-fd", "1").out)
    lines = story.look("context", "--recording", story.trace, "--annotate", log)
    text = "".join(lines)
    story.sees(lines, r"^row is bad \{")
    story.checks.that("export_row > check_row > say" in text and
                      "import_row > check_row > say" in text, "who wrote a line", text)


def bounded_disk(story):
    """Also of what lies in memory when the program ends, as there is more than may be spilled."""
    story.record("long", "--keep-last", "64K", "--spill", "64K")
    story.checks.that(story.trace.stat().st_size <= 64 << 10, "it is no larger",
                      story.trace.stat().st_size)
    story.sees(story.look("report", story.trace, "--limit", "5"), r"parse", r"spin")


def to_a_colleague(story):
    """The trace alone is enough: neither the program nor its sources are there."""
    story.record("slow")
    away = story.folder / "away.ttape"
    shutil.move(story.trace, away)
    story.sees(story.look("slow", away, "look_up", "--limit", "3"), r"look_up .*serve < main")


PLAIN = [a_crash, a_hang, once_in_a_thousand, once_in_a_server, slower_than_before, a_button,
         who_calls_malloc, files_from_code, where_threads_wait, a_line_of_a_log, bounded_disk,
         to_a_colleague]


def main():
    setting.need_verb("record", "report", "lines")
    setting.need_syscalls()
    checks = setting.Checks("stories")
    with setting.work_dir() as folder:
        for tell in PLAIN:
            story = Story(checks, folder)
            story.name = tell.__name__
            tell(story)
        blocks = next(iter(setting.BUILD.glob("**/libtracetape-blocks.a")), None)
        if blocks is not None:
            story = Story(checks, folder, hooks=True, libraries=(blocks,),
                          flags=("-O0", "-fsanitize-coverage=trace-pc"))
            story.name = "which_lines_ran"
            which_lines_ran(story)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
