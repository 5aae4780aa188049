#!/usr/bin/env python3
"""mini_reader.py FILE [--json | --check]: an independent decoder of tracetape files.

Written from the specification (spec/*.md) alone, so that the specification and the product can be
checked against each other. Prints what `tracetape dump --format csv` prints; with --json counts
and sections; with --check the rules that the file breaks. Exit 0 ok, 1 findings, 3 truncated,
4 not a trace.

    file -> mini_container -> mini_partition -> mini_order, mini_times -> mini_events -> here
"""
import json
import sys

from mini_check import check_indexes, check_partition, count_gaps
from mini_coder import Finding
from mini_container import KIND_NAMES, File, NotATrace
from mini_events import SITED, kind_name, run
from mini_order import read_order
from mini_partition import Partition
from mini_times import read_ticks

TITLE = "stream,tid,time_ns,kind,depth,address,symbol"


def escape(symbol):
    """A symbol as a CSV field (RFC 4180), control characters escaped."""
    text = symbol.decode("utf-8", "surrogateescape")
    text = "".join(f"\\x{ord(c):02x}" if ord(c) < 32 or ord(c) == 127 else c for c in text)
    if any(c in text for c in ',"\r\n'):
        text = '"' + text.replace('"', '""') + '"'
    return text


class Reader:
    """Decodes every partition once, and keeps CSV lines by stream."""

    def __init__(self, data):
        self.file = File(data)
        self.findings = list(self.file.findings)
        self.numbers = {key: i for i, key in enumerate(self.file.streams)}
        self.lines, self.kinds, self.sections = {}, {}, []
        self.decoded, self.gaps = [], {}
        for chunk, payload in self.file.partitions:
            try:
                self.partition(chunk, payload)
            except Finding as error:
                self.found(error.rule, f"chunk {chunk.sequence}: {error.message}")

    def found(self, rule, message):
        self.findings.append((rule, message))

    def partition(self, chunk, payload):
        partition = Partition(payload)
        self.sections.append((chunk, partition))
        partition.read_light()
        scope = self.file.scopes[chunk.scope]
        symbols, codes = read_order(partition, scope)
        ticks = read_ticks(partition, codes)
        depths = partition.read_depths()
        self.decoded.append((chunk, partition, (symbols, codes, ticks, depths)))
        self.gaps[chunk.sequence] = count_gaps(partition, symbols, codes)
        texts = [f"{row[2]:#x},{escape(row[5])}" for row in scope.sites]
        for segment, _, kind, argument, close, depth, tick, _ in run(
                partition, symbols, codes, ticks, depths):
            name = kind_name(kind, close, argument, scope.sites)
            self.kinds[name] = self.kinds.get(name, 0) + 1
            time = ""
            if ticks:
                time = (partition.origin + tick * partition.resolution) % (1 << 64)
            text = ","
            if kind in SITED and argument < len(texts):
                text = texts[argument]
            key = chunk.scope, segment.stream
            self.lines.setdefault(key, []).append(f"{time},{name},{depth},{text}\n")

    def ordered_streams(self):
        """(number, scope and stream, row) by pid, tid, start time and stream number."""
        rows = []
        for key in set(self.numbers) | set(self.lines):
            scope = self.file.scopes[key[0]]
            if key not in self.numbers:
                self.found("F-STR-01", f"stream {key} is not defined")
                continue
            process, tid, start, _ = scope.streams[key[1]]
            rows.append((scope.processes[process][0], tid, start, self.numbers[key], key))
        return sorted(rows)

    def csv(self, out):
        out.write(TITLE + "\n")
        for _, tid, _, number, key in self.ordered_streams():
            begin = f"{number},{tid},"
            out.writelines(begin + line for line in self.lines.get(key, ()))

    def check(self):
        ends = {}
        for chunk, partition, decoded in self.decoded:
            try:
                check_partition(f"chunk {chunk.sequence}", partition, decoded,
                                self.file.scopes[chunk.scope], ends, self.found)
            except Finding as error:
                self.found(error.rule, f"chunk {chunk.sequence}: {error.message}")
        check_indexes(self.file, self.gaps, self.found)

    def json(self):
        """Counts and a summary of the sections."""
        def plain(value):
            return value.hex() if isinstance(value, bytes) else value
        file = self.file
        partitions = [{
            "chunk": chunk.sequence, "scope": chunk.scope, "events": part.events,
            "segments": part.segment_count, "symbols": part.symbol_count,
            "order": part.order_form, "times": part.time_form, "resolution": part.resolution,
            "sections": {str(k): {"stored": e[1], "content": e[2]}
                         for k, e in part.entries.items()},
        } for chunk, part in self.sections]
        return {
            "trace_id": file.trace_id.hex(), "minor": file.minor, "complete": bool(file.footer),
            "bytes": len(file.data), "events": sum(self.kinds.values()), "kinds": self.kinds,
            "chunks": [{"kind": KIND_NAMES.get(c.kind, c.kind), "scope": c.scope,
                        "stored": c.stored, "content": c.content} for c in file.chunks],
            "unknown_chunks": file.unknown,
            "scopes": [{"sites": len(s.sites), "modules": len(s.modules), "files": len(s.files),
                        "processes": len(s.processes), "streams": len(s.streams),
                        "metadata": {k: plain(v[1]) for k, v in s.metadata.items()}}
                       for s in file.scopes],
            "partitions": partitions,
            "findings": [{"rule": rule, "message": message} for rule, message in self.findings],
        }


def report(findings, out):
    for rule, message in findings:
        out.write(f"{rule}: {message}\n")


def main(arguments):
    flags = [a for a in arguments if a.startswith("--")]
    names = [a for a in arguments if not a.startswith("--")]
    if len(names) != 1 or any(f not in ("--json", "--check") for f in flags):
        sys.stderr.write("usage: mini_reader.py FILE [--json | --check]\n")
        return 2
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    with open(names[0], "rb") as stream:
        data = stream.read()
    try:
        reader = Reader(data)
    except NotATrace:
        sys.stderr.write(f"not a trace: '{names[0]}'\n")
        return 4
    except Finding as error:
        report([(error.rule, error.message)], sys.stdout if "--check" in flags else sys.stderr)
        return 3 if error.rule == "F-FIL-03" else 1
    if "--check" in flags:
        reader.check()
        report(reader.findings, sys.stdout)
    elif "--json" in flags:
        print(json.dumps(reader.json(), indent=1))
    else:
        reader.csv(sys.stdout)
        report(reader.findings, sys.stderr)
    if reader.file.truncated:
        return 3
    return 1 if reader.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
