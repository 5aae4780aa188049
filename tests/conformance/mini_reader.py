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

from mini_check import check_indexes, check_partition
from mini_coder import Finding, need
from mini_container import KIND_NAMES, MODEL, File, NotATrace
from mini_events import EXIT_ACROSS, SITED, kind_name, run
from mini_full import read_model
from mini_order import read_order
from mini_overview import Part, check_overviews
from mini_partition import NO_MODEL, Partition
from mini_times import read_ticks

TITLE = "stream,tid,time_ns,kind,depth,address,symbol"


BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape(symbol):
    """A symbol as a CSV field: escaped as spec/vectors/README.md says, quoted as RFC 4180 does."""
    out = []
    for c in symbol.decode("utf-8", "surrogateescape"):
        code = ord(c)
        if code < 32 or 127 <= code < 160 or c in BIDI or 0xDC80 <= code <= 0xDCFF:
            out += [f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape")]
        else:
            out.append("\\\\" if c == "\\" else c)
    text = "".join(out)
    if any(c in symbol for c in b',"\r\n'):
        text = '"' + text.replace('"', '""') + '"'
    return text


class Reader:
    """Decodes every partition once, and keeps CSV lines by stream."""

    def __init__(self, data, paths=False):
        self.file, self.paths = File(data), paths
        self.findings = list(self.file.findings)
        self.numbers = {key: i for i, key in enumerate(self.file.streams)}
        self.lines, self.kinds, self.sections = {}, {}, []
        self.decoded = []
        for chunk, payload, known in self.file.partitions:
            try:
                if chunk.kind == MODEL:
                    self.model(chunk, payload)
                else:
                    self.partition(chunk, payload, known)
            except Finding as error:
                self.found(error.rule, f"chunk {chunk.sequence}: {error.message}")

    def found(self, rule, message):
        self.findings.append((rule, message))

    def model(self, chunk, payload):
        """F-MOD-01, F-MOD-02."""
        model, models = Partition(payload, True), self.file.scopes[chunk.scope].models
        need(model.model not in models, "F-MOD-02", f"model {model.model} comes twice")
        model.read_segments()
        models[model.model] = read_model(model)

    def partition(self, chunk, payload, known):
        partition, model = Partition(payload), None
        self.sections.append((chunk, partition))
        scope = self.file.scopes[chunk.scope]
        if partition.model != NO_MODEL:
            model = scope.models.get(partition.model)
            need(model, "F-MOD-02", f"model {partition.model} is not there")
            partition.model_symbols = list(model.symbols)
        partition.read_light()
        symbols, codes = read_order(partition, model)
        for kind, argument in symbols:
            need(kind not in SITED or argument < known[0], "F-EVT-08", f"site {argument}")
        for segment in partition.segments:
            need(segment.stream < known[1], "F-EVT-08", f"stream {segment.stream}")
        ticks = read_ticks(partition, codes)
        depths = partition.read_depths()
        partition.read_values()
        partition.read_switches()
        lines, kinds = self.format(partition, scope, (symbols, codes, ticks, depths))
        self.decoded.append((chunk, partition, (symbols, codes, ticks, depths)))
        for stream, rows in lines.items():       # all of a partition, or nothing
            self.lines.setdefault((chunk.scope, stream), []).extend(rows)
        for name, count in kinds.items():
            self.kinds[name] = self.kinds.get(name, 0) + count

    def path_column(self, scope, site=-1):
        """The column of how a site was reached, where it is wanted."""
        if not self.paths:
            return ""
        frames = [(scope.sites[f][5] or b"%#x" % scope.sites[f][2]) if f >= 0 else b"..."
                  for f in scope.path_frames(site)]
        return "," + escape(b";".join(frames))

    def format(self, partition, scope, decoded):
        """The CSV lines of a partition by stream, and how many events there are of a kind."""
        texts = [f"{row[2]:#x},{escape(row[5])}" + self.path_column(scope, i)
                 for i, row in enumerate(scope.sites)]
        lines, kinds, ticks = {}, {}, decoded[2]
        for segment, _, kind, argument, close, depth, tick, replay in run(partition, *decoded):
            name = kind_name(kind, close, argument, scope.sites)
            kinds[name] = kinds.get(name, 0) + 1
            time = ""
            if ticks:
                time = (partition.origin + tick * partition.resolution) % (1 << 64)
            if kind == EXIT_ACROSS:              # the site of the frame that exits
                kind, argument = replay.exited.kind, replay.exited.argument
            sited = kind in SITED and argument < len(texts)
            text = texts[argument] if sited else "," + self.path_column(scope)
            lines.setdefault(segment.stream, []).append(f"{time},{name},{depth},{text}\n")
        return lines, kinds

    def ordered_streams(self):
        """Rows by pid, tid, start time and stream number, which end in the key."""
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
        out.write(TITLE + (",path\n" if self.paths else "\n"))
        for _, tid, _, number, key in self.ordered_streams():
            begin = f"{number},{tid},"
            out.writelines(begin + line for line in self.lines.get(key, ()))

    def check(self):
        ends, parts = {}, []
        for chunk, partition, decoded in self.decoded:
            try:
                sums = check_partition(f"chunk {chunk.sequence}", partition, decoded,
                                       self.file.scopes[chunk.scope], ends, self.found)
                parts.append((chunk, Part(partition, *decoded[:2], *sums)))
            except Finding as error:
                self.found(error.rule, f"chunk {chunk.sequence}: {error.message}")
        partitions = {chunk.sequence: partition for chunk, partition in self.sections}
        check_indexes(self.file, partitions, self.found)
        check_overviews(self.file, parts, self.found)

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
    if len(names) != 1 or any(f not in ("--json", "--check", "--paths") for f in flags):
        sys.stderr.write("usage: mini_reader.py FILE [--json | --check] [--paths]\n")
        return 2
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    with open(names[0], "rb") as stream:
        data = stream.read()
    try:
        reader = Reader(data, "--paths" in flags)
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
