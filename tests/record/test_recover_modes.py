#!/usr/bin/env python3
"""The recorder is killed in every mode of recording; `recover` gives back what was recorded.

The program makes the same calls in each run and says in a file how many events it has made before
it waits; then the recorder dies. With the files that were finished before, what is recovered is the
beginning of an uninterrupted recording (with --keep-last: a piece that goes up to the end), and all
that was committed is in it."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import setting
import traces

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
static volatile unsigned sink;
static unsigned events;
void leaf(unsigned n) { sink += n; }
void other(unsigned n) { leaf(n); if (n % 3) leaf(n + 1); }
void branch(unsigned n) { if (n % 2) other(n); else leaf(n); }
static QUIET unsigned cost(unsigned n) { return n % 2 ? (n % 3 ? 8u : 6u) : 4u; }
static QUIET void say(const char *path)
{
    char line[32], part[512];
    int size = snprintf(line, sizeof line, "%u %d\n", events, (int)getpid());
    (void)snprintf(part, sizeof part, "%s.part", path);
    FILE *out = fopen(part, "w");
    (void)fwrite(line, 1, (size_t)size, out);
    (void)fclose(out);
    (void)rename(part, path);
}
int main(int argc, char **argv)
{
    unsigned rounds = (unsigned)atoi(argv[1]);
    events = 1;
    for (unsigned i = 0; i < rounds; i++) {
        branch(i);
        events += cost(i);
    }
    say(argv[2]);
    if (argc > 3)
        sleep(300);
    return 0;
}
"""
ROUNDS = 60000
FIRST_CHUNKS = 380  # of a file: its head, and a table that is cut
MODES = {"plain": [], "rotate": ["--rotate", "8K"], "keep-last": ["--keep-last", "16K"],
         "live": ["--live"], "live-rotate": ["--live", "--rotate", "8K"], "files": ["--files"]}
COMMON = ["--clock", "none", "--block", "-p", "1000"]


def build(work):
    source, program = work / "calls.c", work / "calls"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["gcc", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-rdynamic",
                    "-finstrument-functions", source, "-o", program], check=True)
    return program


def events_of(path):
    """[(kind, symbol)] of the calls of a trace with one thread."""
    done = setting.tracetape("dump", "--format", "csv", path)
    if done.status:
        raise traces.TraceError(f"dump: {done.err.decode(errors='replace')}")
    found = []
    for line in done.out.decode().splitlines()[1:]:
        fields = line.split(",")
        if fields[3] in ("enter", "exit"):
            found.append((fields[3], fields[6]))
    return found


def wait_for(path, process):
    until = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > until or process.poll() is not None:
            return None
        time.sleep(0.002)
    return [int(word) for word in path.read_text(encoding="utf-8").split()]


def finished_files(folder, name):
    """Files of the recording that have their final names and are complete, in their order."""
    return sorted(p for p in folder.iterdir()
                  if p.is_file() and p.name.startswith(name) and not p.name.endswith(".said")
                  and traces.verify(p) is None)


def kill_recorder(work, program, mode, ends, checks):
    """Returns (committed, finished files, the directory that is left)."""
    folder = work / f"{mode}-{'ended' if ends else 'waits'}"
    folder.mkdir()
    output, said = folder / "run.ttape", folder / "x.said"
    words = setting.record_words(output, [program, ROUNDS, said, *([] if ends else ["wait"])],
                                 *COMMON, *MODES[mode])
    recorder = setting.start(words, cwd=folder)
    told = wait_for(said, recorder)
    if told is not None and ends:
        recorder.send_signal(signal.SIGSTOP)  # so that it cannot finish
    elif told is not None:
        time.sleep(0.05)
    recorder.kill()
    recorder.wait(timeout=120)
    if told is not None:
        try:
            os.kill(told[1], signal.SIGKILL)
        except ProcessLookupError:
            pass
    recorder.communicate(timeout=120)
    remains = folder / "run.ttape.recording"
    checks.that(told is not None, f"{folder.name}: the program ran")
    return (told[0] if told else 0), folder, remains, recorder.pid


def between_files(remains, checks):
    """The last file was finished, and the next has not a byte yet."""
    copy = remains.with_name("between.recording")
    shutil.copytree(remains, copy)
    if not any(copy.glob("trace.*")):  # that is where it was killed
        return
    last = max(copy.glob("trace.*"), key=lambda p: int(p.suffix[1:]))
    begun = last.read_bytes()
    last.unlink()
    following = last.with_suffix(f".{int(last.suffix[1:]) + 1}")
    target = remains.with_name("between")
    for size in (0, FIRST_CHUNKS):  # of a chunk of which nobody needs a word, too
        following.write_bytes(begun[:size])
        done = setting.tracetape("recover", "-f", copy, "-o", target)
        said = done.err.decode(errors="replace")
        checks.that(done.status in (0, 3), f"between two files: recover ended with {done.status}: "
                    f"{said}")
        checks.that("not needed" not in said, f"between two files, {size} bytes: {said}")
        problem = traces.verify(target) if target.is_file() else "no file"
        checks.that(problem is None, f"between two files: {problem}")


def check(work, program, mode, ends, whole, checks):
    label = f"{mode}, the program {'ended' if ends else 'waits'}"
    committed, folder, remains, pid = kill_recorder(work, program, mode, ends, checks)
    if not remains.is_dir():  # it was faster than the kill
        checks.that(ends, f"{label}: a recording is left")
        return
    target = folder / "recovered"
    done = setting.tracetape("recover", remains, "-o", target)
    checks.that(done.status == 0, f"{label}: recover ended with {done.status}: "
                f"{done.err.decode(errors='replace')}")
    checks.that(b"events recovered" in done.err and (b"chunk" not in done.err or
                                                     b"gap events" in done.err),
                f"{label}: what was recovered, and no word of the file's inside", done.err)
    if target.is_file():
        problem = traces.verify(target)
        checks.that(problem is None, f"{label}: {problem}")
        pieces = finished_files(folder, "run.") if "rotate" in mode else []
        events = [e for p in [*pieces, target] for e in events_of(p)]
        if mode == "keep-last":
            at = committed - len(events)
            inside = any(whole[at + d:at + d + len(events)] == events for d in (0, 1))
            checks.that(len(events) > 0 and inside, f"{label}: {len(events)} events are a piece "
                        f"of the {committed} committed ones, up to the last")
        else:
            checks.that(whole[:len(events)] == events,
                        f"{label}: {len(events)} events are the beginning of what was done")
            checks.that(committed <= len(events),
                        f"{label}: {len(events)} events, {committed} were committed")
    if mode == "rotate" and not ends:
        between_files(remains, checks)
    again = setting.tracetape("recover", remains, "-o", folder / "again", "--clean")
    checks.that(again.status == 0 and not remains.exists(),
                f"{label}: --clean ended with {again.status}: {again.err.decode(errors='replace')}")
    setting.forget_arena(pid)


def main():
    setting.need_verb("record", "recover", "verify", "dump")
    setting.need_command("gcc")
    setting.go_apart()
    checks = setting.Checks("recover in every mode")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        program = build(work)
        done = setting.run(setting.record_words(work / "whole.ttape", [program, ROUNDS,
                                                                       work / "whole.said"],
                                                *COMMON), cwd=work)
        checks.that(done.status == 0, f"an uninterrupted recording: {done.status}")
        whole = events_of(work / "whole.ttape")
        for mode in MODES:
            for ends in (False, True):
                check(work, program, mode, ends, whole, checks)
    checks.verdict()


main()
