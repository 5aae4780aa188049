#!/usr/bin/env python3
"""A program that limits or locks its memory has as much of it as without the recorder: as many
threads fit under `ulimit -v`, mlockall succeeds where it did and what comes after it as well; the
memory that is recorded into is not locked."""
import re

import setting
import traces

THREADS = 9
STACK = 4100  # KiB, with its guard page
SPARE = 3072  # KiB, less than one more thread needs: all that recording may take
LOCKED_SPARE = 200  # KiB, above what the program needs: ours counts while it is mapped
UNLIMITED = 1 << 20


def number(done, name):
    return int(re.search(rf"{name} (\d+)".encode(), done.err).group(1))


def compare(checks, work, label, words, calls):
    alone = setting.run(words)
    trace = work / f"{label.replace(' ', '-')}.ttape"
    done = setting.run(setting.record_words(trace, words))
    checks.equal((done.status, done.out), (alone.status, alone.out), f"{label}: {done.err}")
    if checks.that(trace.is_file(), f"{label}: no trace"):
        checks.equal(traces.lost(traces.info(trace)), 0, f"{label}: lost")
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], calls, f"{label}: calls")
    return alone, done


def main():
    setting.need_verb("record")
    checks = setting.Checks("room")
    program = setting.build("p_room.c", log=False)
    with setting.work_dir() as work:
        work = setting.Path(work)
        size = number(setting.run([program, "size"]), "size")
        limited = size + THREADS * STACK + SPARE
        words = ["sh", "-c", f'ulimit -v {limited}; exec "$0" "$@"', program, "threads"]
        alone, _ = compare(checks, work, "threads", words, 1000100 + 100 * THREADS)
        checks.equal(alone.out, f"threads {THREADS}\n".encode(), "threads alone")
        # What the program locks is known when it has run once.
        need = number(setting.run([program, "locks", str(UNLIMITED)]), "locked")
        for label, kib in (("locks", UNLIMITED), ("locks little", need + LOCKED_SPARE)):
            alone, done = compare(checks, work, label, [program, "locks", str(kib)], 1000200)
            more = number(done, "locked") - number(alone, "locked")
            print(f"{label}: {more} KiB more are locked")
            checks.that(more <= 2 * SPARE, f"{label}: {more} KiB more are locked")
        size = number(setting.run(setting.record_words(work / "s.ttape", [program, "size"])),
                      "size") - size
        print(f"{size} KiB more are mapped")
        checks.that(size <= SPARE, f"{size} KiB more are mapped")
    checks.verdict()


main()
