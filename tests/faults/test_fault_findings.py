#!/usr/bin/env python3
"""What sweeps of faults have found, each by a name, on inputs so small that every call is tried."""
import sys

import sweep
import verb_cases
from sweep import Case


def cases(run):
    """(name of the finding, what is run, kinds of calls, actions, calls of a kind or None: each)"""
    out = ("new.ttape",)
    convert = ["convert", "in.txt", "-o", "new.ttape"]
    yield "interrupted_sync_is_repeated", Case("convert", convert, out), ["sync"], ["eintr"], None
    # without memory for it the index stood in the file as it was: other bytes for the same events
    yield "compression_without_memory", Case("cut", [
        "cut", "a.ttape", "--events", "50..150", "-o", "new.ttape"], out), ["alloc"], ["fail"], None
    yield "graph_that_cannot_look", Case("graph", ["graph", "--json", "tiny.ttape"]), \
        ["alloc", "read"], ["fail"], None
    yield "json_event_without_memory", Case("convert chrome", [
        "convert", "tiny.json", "-o", "new.ttape"], out), ["alloc"], ["fail"], None
    yield "uftrace_text_that_ends_early", Case("convert uftrace", [
        "convert", "in.uftrace", "-o", "new.ttape"], out, loss=True), ["read", "open", "stat"], \
        ["fail", "short", "eintr"], None
    formats = verb_cases.formats(run)
    if "sqlite" in formats:  # names became NULL
        yield "sqlite_text_without_memory", Case("export sqlite", [
            "export", "--format", "sqlite", "tiny.ttape", "-o", "new.sqlite"], ("new.sqlite",)), \
            ["alloc"], ["fail"], 300
    if "ctf" in formats:
        export = ["export", "--format", "ctf", "tiny.ttape", "-o", "new.ctf"]
        folder = ("new.ctf",)
        helper = Case("export ctf", export, folder, varies=True, in_child=True)
        yield "babeltrace2_aborts", helper, ["open", "name", "write"], ["fail"], None
        run.tracetape("export", "--format", "ctf", "tiny.ttape", "-o", "in.ctf")
        yield "ctf_folder_that_cannot_be_read", Case("convert ctf", [
            "convert", "in.ctf", "-o", "new.ttape"], out, loss=True), ["read", "open"], \
            ["fail", "short", "eintr"], None
    yield from of_recordings(run)


def of_recordings(run):
    found = {case.name: case for case in verb_cases.recordings(run)}
    if not found:
        return
    # a thread that there was no memory for was closed: a read of NULL. A trace that had its name
    # counted as not done
    yield "thread_without_memory", found["record"], ["alloc"], ["fail"], 60
    # a live recording whose command could not be started left its trace, which had its name already
    yield "live_recording_that_does_not_begin", Case("record --live", [
        "record", "-q", "--live", "-o", "new.ttape", "./program"], ("new.ttape",), loss=True,
        alone=True, varies=True, remains="new.ttape.recording"), ["process"], ["fail"], None
    # libdw calls a file wrong, or without lines, that it has no memory for
    yield "lines_without_memory", found["symbolize, its helper"], ["alloc"], ["fail"], None
    # a spill file, trace or arena that could not be opened counted as gone
    yield "recover_without_descriptors", found["recover of a recording"], \
        ["open", "read", "map"], ["fail"], None


run = sweep.Sweep(most=None)
verb_cases.prepare(run)
(run.work / "tiny.json").write_text(
    '[{"name":"f","ph":"B","ts":1,"pid":1,"tid":1},{"ph":"E","ts":2,"pid":1,"tid":1}]',
    encoding="ascii")
(run.work / "tiny.txt").write_text('0 1 enter f\n1 1 enter x "text" 5\n2 1 exit\n3 1 exit\n',
                                   encoding="ascii")
run.tracetape("convert", "tiny.txt", "-o", "tiny.ttape")
for name, case, kinds, actions, most in cases(run):
    if len(sys.argv) < 2 or sys.argv[1] in name:
        before = run.failures
        run.most = most if not sweep.SANITIZED else min(most or 12, 12)
        run.sweep(case, kinds, actions)
        print(f"{name}: {'ok' if run.failures == before else 'FAILED'}")
run.close()
