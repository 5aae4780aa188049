#!/usr/bin/env python3
"""The Python package: its numbers are the command's; columns are what numpy and Arrow take; damaged
files are refused with rule and place, or skipped and counted."""
import ctypes
import functools
import json
import operator
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
SOURCE = Path(os.environ["TTAPE_SRC"])
PACKAGE = Path(os.environ["TTAPE_BUILD"]) / "python"
DEBIAN = "/usr/bin/python3"  # for whose version the headers are, and which has numpy and pandas


def run(*words, data=None, good=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode in good, (words, done.returncode, done.stderr[:400])
    return done.stdout


def make(place, rounds=3000):
    """Three threads in two processes; a signal, unwinding, frames left open, a gap."""
    text = ["process 7 one", "process 8 two", "thread 7 7 first", "thread 7 9 second",
            "thread 8 8 third", "module 0x1000 0x9000 /usr/bin/prog",
            "symbol 0x1800 leaf", "symbol 0x1100 main main.c:3", "symbol 0x1200 parse_a a.c:9",
            "symbol 0x1300 parse_b"]
    at = 10_000
    for tid in (7, 9, 8):
        text.append(f"{at} {tid} enter 0x1100")
    for i in range(rounds):
        for tid in (7, 9, 8):
            at += 11 + i % 7
            name = "0x1200" if (i + tid) % 3 else "0x1300"
            text += [f"{at} {tid} enter {name} {i}", f"{at + 3} {tid} enter 0x1800",
                     f"{at + 5 + i % 3} {tid} exit", f"{at + 9} {tid} exit"]
    run("convert", "-", "-o", place, "--force", "--partition-events", "2500",
        data="\n".join([*text, ""]).encode())
    return place


def same_events(tracetape, trace):
    rows = [json.loads(line) for line in run("dump", "--format", "ndjson", trace).splitlines()]
    plain = ("enter", "open", "switch", "gap")  # others are said in more words
    wanted = Counter((row["stream"], row["event"], row.get("time_ns") or 0, row["depth"],
                      row["kind"] if row["kind"] in plain else "") for row in rows)
    with tracetape.open(trace) as opened:
        kinds = opened.events()._columns["kind"][3]
        table = opened.events().to_lists()
        times = (time % 2 ** 64 for time in table["time_ns"])  # a vector has one below 0
        got = Counter(zip(table["stream"], table["number"], times, table["depth"],
                          (kinds[kind] if kinds[kind] in plain else "" for kind in table["kind"])))
        assert opened.events().count() == len(rows) == opened.info["events"]
    assert got == wanted, (trace, (got - wanted).most_common(2), (wanted - got).most_common(2))


def same_sums(tracetape, trace):
    report = json.loads(run("report", "--exact", "--json", "--names", "mangled", trace))
    wanted = Counter({(row["name"]): row["self_ns"] for row in report["rows"]})
    calls_wanted = {row["name"]: row["calls"] for row in report["rows"]}
    with tracetape.open(trace) as opened:
        for exact in (False, True):
            rows = opened.report(exact=exact).to_lists()
            got = Counter(dict(zip(rows["name"], rows["self_ns"])))
            counts = dict(zip(rows["name"], rows["calls"]))
            assert (got, counts) == (wanted, calls_wanted), (got, wanted, counts, calls_wanted)
        names = opened._names(0)
        for parents in (False, True):
            calls = opened.calls(parents=parents).to_lists()
            got, counts = Counter(), Counter()
            for site, self_ns, was_open in zip(calls["site"], calls["self_ns"], calls["was_open"]):
                if site != 2 ** 32 - 1:
                    got[names[site]] += self_ns
                    counts[names[site]] += not was_open
            for name in set(wanted) & set(got):
                assert got[name] == wanted[name], (trace, name, got[name], wanted[name])
            assert sum(counts.values()) == sum(calls_wanted.values())
        known = {(stream, call) for stream, call in zip(calls["stream"], calls["call"])}
        for stream, parent, depth in zip(calls["stream"], calls["parent"], calls["depth"]):
            assert (parent == 2 ** 64 - 1) == (depth == 0) and \
                (depth == 0 or (stream, parent) in known)


def same_calls(tracetape, trace):
    """As many calls as the report counts, whether parents are asked for or not."""
    report = json.loads(run("report", "--exact", "--json", trace))
    with tracetape.open(trace) as opened:
        tables = [opened.calls(parents=parents).to_lists() for parents in (False, True)]
        assert all(tables[0][name] == tables[1][name] for name in tables[0]), trace
        began = [site != 2 ** 32 - 1 and not was_open for site, was_open in
                 zip(tables[0]["site"], tables[0]["was_open"])]
        assert sum(began) == report["calls"], (trace, sum(began), report["calls"])


def same_slow(tracetape, trace):
    wanted = [row["duration_ns"] for row in
              json.loads(run("slow", "--json", "--limit", "7", trace, "parse_a"))["calls"]]
    with tracetape.open(trace) as opened:
        slow = opened.slow(match="^parse_a$", limit=7).to_lists()
        assert list(slow["duration_ns"]) == wanted and set(slow["name"]) == {"parse_a"}, slow


def choices(tracetape, trace):
    with tracetape.open(trace) as opened:
        streams = opened.streams().to_lists()
        assert sorted(streams["tid"]) == [7, 8, 9] and set(streams["process"]) == {"one", "two"}
        whole = opened.events().to_lists()
        first = opened.info["time_first_ns"]
        part = opened.events(time=("+100ns", "+0.2us"), thread=[7, 8]).to_lists()
        wanted = [(stream, number) for stream, number, time in
                  zip(whole["stream"], whole["number"], whole["time_ns"])
                  if 100 <= time - first < 200 and streams["tid"][stream] in (7, 8)]
        assert list(zip(part["stream"], part["number"])) == wanted and wanted
        assert opened.events(thread=12345).count() == 0
        sites = opened.sites().to_lists()
        assert "parse_b" in sites["symbol"] and "a.c" in sites["source"]
        assert opened.calls(match="^nobody$").count() == 0
        table = opened.calls()
    try:
        table.to_lists()
        raise AssertionError("a closed trace answered")
    except ValueError:
        pass
    copy = trace.with_name("again.ttape")
    copy.write_bytes(trace.read_bytes())
    pattern = trace.with_name("a*.ttape")
    with tracetape.open([pattern]) as both, tracetape.open([trace, copy]) as two:
        assert both.info["files"] == 2 and two.events().count() == 2 * len(whole["time_ns"])
        assert set(two.events().column("file")) == {0, 1}


class Index:
    """A number of somebody else, as numpy's are."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def arguments(tracetape, trace):
    """What is no time, thread or count is refused in words, and nothing is taken modulo 2^64."""
    last, wide = 2 ** 64 - 1, 2 ** 70
    with tracetape.open(trace) as opened:
        for wrong, said in (
                (lambda: opened.events(time=("soon", None)), "'+1.5s' or '20ms'"),
                (lambda: opened.events(time=("+1.5", None)), "'+1.5s' or '20ms'"),
                (lambda: opened.events(time=(-5, None)), "0 or more"),
                (lambda: opened.events(time=(0.5, None)), "a number, not 0.5"),
                (lambda: opened.events(time="+1s..+2s"), "a pair like"),
                (lambda: opened.events(time=(5, 4)), "ends before it starts"),
                (lambda: opened.events(thread="7"), "a number, or several"),
                (lambda: opened.events(thread=["7"]), "a number, not '7'"),
                (lambda: opened.events(thread=-7), "from 0 to"),
                (lambda: opened.report(by="x"), "by is one of function, "),
                (lambda: opened.report(by="thread", match="leaf"), "match is about functions"),
                (lambda: opened.slow(by="x"), "by is one of duration, "),
                (lambda: opened.slow(limit=0), "limit is a number from 1"),
                (lambda: opened.slow(limit=2 ** 32 + 1), "limit is a number"),
                (lambda: tracetape.open(trace, jobs=-1), "jobs is a number"),
                (lambda: tracetape.open(trace, memory=2 ** 64), "memory is a number"),
                (lambda: tracetape.open(trace, memory="1MiB"), "'512M' or '4G'"),
                (lambda: tracetape.open([]), "no file is named"),
                (lambda: tracetape.open(5), "a file, a list of files or a pattern")):
            try:
                wrong()
                raise AssertionError(f"taken, not: {said}")
            except (ValueError, TypeError) as error:
                assert said in str(error), (said, error)
        whole, first = opened.events().count(), opened.info["time_first_ns"]
        for pair in ((0, wide), (None, last), (f"{wide}", None), ("0s", f"{wide}s"), ("5", None),
                     (Index(first), Index(wide)), ("0." + "0" * 40 + "1s", None)):
            count = whole if pair[0] != f"{wide}" else 0
            assert opened.events(time=pair).count() == count, pair
        for thread in (Index(7), [Index(7)], (7, 7), {7}, iter([7])):
            assert opened.events(thread=thread).count() == opened.events(thread=7).count() > 0
    try:
        with opened:
            raise AssertionError("a closed trace was opened")
    except ValueError:
        pass
    with tracetape.open(os.fsencode(trace)) as opened:
        assert opened.paths == [str(trace)]


def nothing_ended(tracetape, trace):
    """What the command has no least and most of, the package has none of."""
    report = json.loads(run("report", "--json", "--names", "mangled", trace))
    wanted = {row["name"]: (row["min_ns"], row["max_ns"]) for row in report["rows"]}
    with tracetape.open(trace) as opened:
        columns = arrow_columns(opened.report())
        got = dict(zip(columns["name"], zip(columns["min_ns"], columns["max_ns"])))
        assert got == wanted and wanted["main"] == (None, None), (got, wanted)


def odd_names(tracetape, folder):
    """Names of any bytes: Python has them all, Arrow has UTF-8."""
    trace = folder / "odd.ttape"
    names = (b"a\xffb", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3\xa9",
             b"\xf0\x9f\x98\x80", b"\xe2\x82", b"plain")
    text = [b"thread 1 1 x"]
    for i, name in enumerate(names):
        text += [b"symbol %#x " % (0x1000 + i) + name, b"%d 1 enter %#x" % (i, 0x1000 + i)]
    run("convert", "-", "-o", trace, data=b"\n".join([*text, b""]))
    with tracetape.open(trace) as opened:
        assert [os.fsencode(name) for name in opened.sites().column("symbol")] == list(names)
        mended = arrow_columns(opened.sites())["symbol"]
        assert mended == [name.decode(errors="replace") if name != names[5] else "\ufffd\ufffd"
                          for name in names], mended


def damage(tracetape, trace):
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 0x55
    broken = trace.with_name("broken.ttape")
    broken.write_bytes(data)
    with tracetape.open(broken) as opened:
        try:
            opened.events().to_lists()
            raise AssertionError("damage was not seen")
        except tracetape.Error as error:
            assert error.rule and error.offset is not None and str(broken) in str(error), error
    with tracetape.open(broken, damaged="skip") as opened, tracetape.open(trace) as whole:
        every = set(zip(*(whole.events().to_lists()[c] for c in ("stream", "number", "time_ns"))))
        rest = list(zip(*(opened.events().to_lists()[c] for c in ("stream", "number", "time_ns"))))
        assert 0 < len(rest) < len(every) and set(rest) < every and opened.damaged > 0
        assert opened.calls().count() > 0 and opened.report(exact=True).count() > 0
    short = trace.with_name("short.ttape")
    short.write_bytes(data[:200])
    for path in (short, SOURCE / "README.md", trace.with_name("missing")):
        try:
            with tracetape.open(path) as opened:
                assert path == short and opened.events().count() == 0
        except tracetape.Error as error:
            assert str(path) in str(error)


# ---- Arrow, read by what its specification says ----

class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
                   ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                   ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
                   ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
                   ("private", ctypes.c_void_p)]
Array._fields_ = [(name, ctypes.c_int64) for name in
                  ("length", "null_count", "offset", "n_buffers", "n_children")] + \
                 [("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)),
                  ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
                  ("private", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream),
                                                   ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream),
                                                 ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
                   ("private", ctypes.c_void_p)]
LETTERS = {b"C": "B", b"I": "I", b"L": "Q", b"l": "q", b"g": "d"}


def texts_of(array):
    offsets = struct.unpack(f"={array.length + 1}q",
                            ctypes.string_at(array.buffers[1], 8 * (array.length + 1)))
    data = ctypes.string_at(array.buffers[2], offsets[-1])
    return [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]


def values_of(schema, array):
    """A column: None where a bit says that there is no value."""
    if schema.format == b"U":
        return texts_of(array)
    letter = LETTERS[schema.format]
    size = struct.calcsize(f"={array.length}{letter}")
    values = struct.unpack(f"={array.length}{letter}", ctypes.string_at(array.buffers[1], size))
    if schema.dictionary:
        words = texts_of(array.dictionary[0])
        values = [words[value] for value in values]
    if array.buffers[0]:
        bits = ctypes.string_at(array.buffers[0], array.length // 8 + 1)
        values = [value if bits[i // 8] >> i % 8 & 1 else None for i, value in enumerate(values)]
        assert values.count(None) == array.null_count
    return list(values)


def arrow_columns(table):
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = Stream.from_address(pointer(capsule, b"arrow_array_stream"))
    schema, columns = Schema(), {}
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    assert schema.format == b"+s"
    while True:
        array = Array()
        assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0, \
            stream.get_last_error(ctypes.byref(stream))
        if not array.release:
            break
        for i in range(schema.n_children):
            child = schema.children[i][0]
            columns.setdefault(child.name.decode(), []).extend(
                values_of(child, array.children[i][0]))
        array.release(ctypes.byref(array))
    schema.release(ctypes.byref(schema))
    stream.release(ctypes.byref(stream))
    return columns


def as_arrow(tracetape, trace):
    with tracetape.open(trace) as opened:
        for table in (opened.events(), opened.calls(parents=True), opened.report(),
                      opened.sites(), opened.streams(), opened.slow()):
            lists, columns = table.to_lists(), arrow_columns(table)
            assert set(columns) == set(table.columns)
            for name, (_, kind, has_none, words) in table._columns.items():
                nothing = {"I": 2 ** 32 - 1, "Q": 2 ** 64 - 1, "q": -2 ** 63}
                none = nothing.get(kind) if has_none else None
                wanted = [None if has_none and value == none else words[value] if words else value
                          for value in lists[name]]
                is_number = [value == value for value in wanted]  # not: 0 / 0
                assert is_number == [value == value for value in columns[name]] and all(
                    a == b for a, b, known in zip(columns[name], wanted, is_number) if known), name
        opened.events().__arrow_c_stream__()  # nobody takes it: nothing is left behind


def side_by_side(tracetape, trace):
    """Threads of Python read one trace at once."""
    with tracetape.open(trace) as opened:
        wanted, found = opened.events().count(), []

        def read():
            found.append(opened.events().count())
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [wanted] * 4, found


def read_once(tracetape, trace):
    """A list of batches is read once: nothing asks for its length before."""
    with tracetape.open(trace) as opened:
        table, starts = opened.events(), []
        start = table._start
        table._start = lambda: starts.append(1) or start()
        assert sum(map(len, list(table))) == table.count() and len(starts) == 2, starts


def interrupted(tracetape, trace):
    """Ctrl-C ends a report while it is made: nothing of Python runs between the signal and that."""
    send = functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)
    with tracetape.open([trace] * 2) as opened:
        for table in (opened.report(exact=True), opened.report(), opened.slow()):
            stream, done = table._start(), []
            try:
                done.extend(map(operator.call, (send, stream.__next__)))
            except KeyboardInterrupt:
                assert len(done) == 1, "the report was made to its end"
            else:
                raise AssertionError("no interrupt")


def with_numpy(tracetape, trace):
    try:
        import numpy
    except ImportError:
        print("without numpy: arrays were NOT TESTED")
        return
    with tracetape.open(trace) as opened:
        batch = next(iter(opened.events()))
        array = batch.to_numpy()["time_ns"]
        assert array.dtype == numpy.int64 and not array.flags.writeable and not array.flags.owndata
        sums = opened.calls().to_numpy()
        assert sums["self_ns"].sum() == opened.report().to_numpy()["self_ns"].sum()
    with tracetape.open([trace] * 6) as opened:  # some batches: who keeps one, keeps its numbers
        for table in (opened.events(), opened.calls()):
            kept = [batch.to_numpy() for batch in table]
            whole = table.to_numpy()
            assert len(kept) > 1 and sum(len(batch["site"]) for batch in kept) == table.count()
            for name, column in whole.items():
                assert (numpy.concatenate([batch[name] for batch in kept]) == column).all(), name


def with_pandas(tracetape, trace):
    """Frames; and what the guide's page shows runs."""
    try:
        import pandas
    except ImportError:
        print("without pandas: frames and the guide's page were NOT TESTED")
        return
    with tracetape.open(trace) as opened:
        frame = opened.calls().to_pandas()
        report = opened.report().to_pandas().set_index("name")
        sums = frame.groupby("function", observed=True)["self_ns"].sum()
        assert (report.self_ns[sums.index] == sums).all() and "open" in set(frame.ending)
        assert isinstance(frame.function.dtype, pandas.CategoricalDtype)
    page = (SOURCE / "doc" / "how-to" / "python.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0].replace("run.ttape", str(trace))
    subprocess.run([sys.executable, "-c", example], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PYTHONPATH": str(PACKAGE)})


def places(tracetape, folder):
    """Rows of where calls were made are the command's; sites have their kinds."""
    program, trace = folder / "program", folder / "places.ttape"
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", program,
                    SOURCE / "tests" / "record" / "programs" / "p_call_sites.c"], check=True)
    run("record", "-q", "-f", "-o", trace, "--patch", ".", "--libcalls", "--call-sites", "-p",
        "500", "--", program)
    wanted = Counter({(row["name"], row["from"] or ""): (row["calls"], row["self_ns"]) for row in
                      json.loads(run("report", "--by", "site", "--json", trace))["rows"]})
    with tracetape.open(trace) as opened:
        rows = opened.report(by="site").to_lists()
        got = dict(zip(zip(rows["name"], rows["called_from"]),
                       zip(rows["calls"], rows["self_ns"])))
        assert got == wanted and len(rows["name"]) == len(got) > 8, (got, wanted)
        sites = opened.sites().to_lists()
        words = opened.sites()._columns["kind"][3]
        kinds = [words[kind] for kind in sites["kind"]]
        assert {"function", "call site"} <= set(kinds) and "unknown" not in kinds, set(kinds)
        for site, place in zip(rows["from_site"], rows["called_from"]):
            assert (site == 2 ** 32 - 1) == (place == "") and \
                (place == "" or kinds[site] == "call site"), (site, place)
        part = opened.report(by="site", match="^work$").to_lists()
        assert set(part["name"]) == {"work"} and len(part["name"]) > 3, part
        assert "called_from" not in opened.report().to_lists()
        same_places(opened, wanted)


def same_places(opened, wanted):
    """Events have the places that rows of places count, and are the same without them."""
    names, kinds = opened._names(0), opened.events()._columns["kind"][3]
    rows, plain = opened.events(places=True).to_lists(), opened.events().to_lists()
    got = Counter((names[site], place) for kind, site, place in
                  zip(rows["kind"], rows["site"], rows["called_from"])
                  if kinds[kind] == "enter")
    assert got == +Counter({key: calls for key, (calls, _) in wanted.items()}), (got, wanted)
    assert all((site == 2 ** 32 - 1) == (place == "") for site, place in
               zip(rows["from_site"], rows["called_from"])), "places"
    assert all(rows[name] == column for name, column in plain.items()), "other columns"
    assert not any(place for kind, place in zip(rows["kind"], rows["called_from"])
                   if kinds[kind] == "exit"), "exits are made nowhere"
    part = opened.events(match="^work$", places=True).to_lists()
    assert part["called_from"] == [place for site, place in
                                   zip(rows["site"], rows["called_from"])
                                   if site < len(names) and names[site] == "work"], "a choice"


def main():
    sys.path.insert(0, str(PACKAGE))
    import tracetape
    with tempfile.TemporaryDirectory(prefix="ttape-python.") as folder:
        trace = make(Path(folder) / "a.ttape")
        for check in (same_events, same_sums, same_slow, choices, arguments, nothing_ended, damage,
                      as_arrow, side_by_side, read_once, interrupted, with_numpy,
                      with_pandas):
            check(tracetape, trace)
        odd_names(tracetape, Path(folder))
        places(tracetape, Path(folder))
    count = 0
    for vector in sorted((SOURCE / "spec" / "vectors").glob("*.ttape")):
        if subprocess.run([TOOL, "verify", "-q", vector], check=False,
                          capture_output=True).returncode == 0:
            same_events(tracetape, vector)
            same_calls(tracetape, vector)
            count += 1
    assert count > 40, count
    print(f"ok: {count} vectors, and traces of its own")


if __name__ == "__main__":
    if not (PACKAGE / "tracetape" / "_tracetape.abi3.so").exists():
        print("SKIPPED: the package was not built: python3-dev is missing")
        sys.exit(77)
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: the interpreter has no sanitizers")
        sys.exit(77)
    if Path(sys.executable).resolve() != Path(DEBIAN).resolve() and Path(DEBIAN).exists() and \
            "TTAPE_PYTHON_AGAIN" not in os.environ:
        os.environ["TTAPE_PYTHON_AGAIN"] = "1"
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    main()
