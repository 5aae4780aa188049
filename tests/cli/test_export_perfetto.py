#!/usr/bin/env python3
"""The schema that Perfetto exports are written by, against the field numbers, types and enumerators
that Perfetto publishes (protos/perfetto/trace in its source): copied from there by hand, so that a
slip in ours is a difference. The bytes of every export are decoded with that schema, and without
any: what protoc finds by number alone has to be what is published under that number."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
PROTO = Path(os.environ["TTAPE_SRC"]) / "tools" / "export" / "formats" / "export_perfetto.proto"
PUBLISHED = {  # message: {field: (number, type)}
    "Trace": {"packet": (1, "TracePacket")},
    "TracePacket": {
        "timestamp": (8, "uint64"), "trusted_packet_sequence_id": (10, "uint32"),
        "track_event": (11, "TrackEvent"), "interned_data": (12, "InternedData"),
        "sequence_flags": (13, "uint32"), "track_descriptor": (60, "TrackDescriptor")},
    "TrackDescriptor": {
        "uuid": (1, "uint64"), "name": (2, "string"), "process": (3, "ProcessDescriptor"),
        "thread": (4, "ThreadDescriptor"), "parent_uuid": (5, "uint64")},
    "ProcessDescriptor": {
        "pid": (1, "int32"), "cmdline": (2, "string"), "process_name": (6, "string")},
    "ThreadDescriptor": {"pid": (1, "int32"), "tid": (2, "int64"), "thread_name": (5, "string")},
    "TrackEvent": {
        "category_iids": (3, "uint64"), "debug_annotations": (4, "DebugAnnotation"),
        "type": (9, "Type"), "name_iid": (10, "uint64"), "track_uuid": (11, "uint64"),
        "source_location_iid": (34, "uint64")},
    "DebugAnnotation": {
        "uint_value": (3, "uint64"), "int_value": (4, "int64"), "double_value": (5, "double"),
        "string_value": (6, "string"), "pointer_value": (7, "uint64"), "name": (10, "string")},
    "InternedData": {
        "event_categories": (1, "EventCategory"), "event_names": (2, "EventName"),
        "source_locations": (4, "SourceLocation")},
    "EventCategory": {"iid": (1, "uint64"), "name": (2, "string")},
    "EventName": {"iid": (1, "uint64"), "name": (2, "string")},
    "SourceLocation": {
        "iid": (1, "uint64"), "file_name": (2, "string"), "function_name": (3, "string"),
        "line_number": (4, "uint32")},
}
ENUMERATORS = {
    "SEQ_UNSPECIFIED": 0, "SEQ_INCREMENTAL_STATE_CLEARED": 1, "SEQ_NEEDS_INCREMENTAL_STATE": 2,
    "TYPE_UNSPECIFIED": 0, "TYPE_SLICE_BEGIN": 1, "TYPE_SLICE_END": 2, "TYPE_INSTANT": 3}
EVENTS = """meta dropped_events 77
process 7 "prog"
thread 7 70 worker
thread 7 71 other
module 0x1000 0x2000 /bin/x
symbol 0x1010 main main.c:12
10 70 enter main 1 -2 0x7ffe 0.5 "text" null
20 70 marker tick 42
25 70 gap 3 overflow
30 70 switch 1
31 70 enter body
32 70 unwind 1
33 70 switch 0
40 70 exit - 99
50 71 enter main
"""


def schema(text):
    """({message: {field: (number, type)}}, {enumerator: number})"""
    fields, enumerators, message = {}, {}, None
    for line in re.sub(r"//[^\n]*", "", text).splitlines():
        begins = re.match(r"message (\w+) \{", line)
        if begins:
            message = fields.setdefault(begins.group(1), {})
        field = re.match(r"  (?:optional|repeated) (\w+) (\w+) = (\d+);", line)
        if field:
            message[field.group(2)] = int(field.group(3)), field.group(1)
        value = re.match(r"    (\w+) = (\d+);", line)
        if value:
            enumerators[value.group(1)] = int(value.group(2))
    return fields, enumerators


def numbers_of(text, message, found):
    """Every (message, number) of what protoc decodes without a schema; a length-delimited field is
    a message where the published one is."""
    stack = [message]
    for line in text.splitlines():
        line = line.strip()
        match = re.match(r"(\d+)( \{|: .*)$", line)
        if match:
            number = int(match.group(1))
            found.add((stack[-1], number))
            known = {n: t for n, t in PUBLISHED.get(stack[-1], {}).values()}
            assert number in known or stack[-1] is None, f"{stack[-1]} has no field {number}"
            if match.group(2) == " {":  # a short text can look like a message
                stack.append(known.get(number) if known.get(number) in PUBLISHED else None)
        elif line == "}":
            stack.pop()
    assert stack == [message]


def main():
    fields, enumerators = schema(PROTO.read_text(encoding="utf-8"))
    assert fields == PUBLISHED, {m: set(fields[m].items()) ^ set(PUBLISHED.get(m, {}).items())
                                 for m in fields if fields[m] != PUBLISHED.get(m)}
    assert enumerators == ENUMERATORS
    if shutil.which("protoc") is None:
        print("SKIPPED: protoc is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "in.txt").write_text(EVENTS, encoding="utf-8")
        subprocess.run([TOOL, "convert", work / "in.txt", "-o", work / "in.ttape"], check=True)
        done = subprocess.run([TOOL, "export", "--format", "perfetto", work / "in.ttape", "-o",
                               work / "out"], check=False, capture_output=True)
        if b"not in this build" in done.stderr:
            print("SKIPPED: the command was built without protobuf-c")
            return 77
        assert done.returncode == 0, done.stderr
        with open(work / "out", "rb") as file:
            text = subprocess.run(["protoc", "--decode_raw"], stdin=file, check=True,
                                  capture_output=True).stdout.decode()
    assert text.count('"lost events"') == 1 and text.count('"place not known"') == 1 and \
        re.search(r'3: 77\n\s*10: "lost"', text), text[:600]
    found = set()
    numbers_of(text, "Trace", found)
    wanted = {(m, n) for m, list_of in PUBLISHED.items() for n, _ in list_of.values()} - {
        ("ProcessDescriptor", 2), ("SourceLocation", 3)}
    assert found - {f for f in found if f[0] is None} >= wanted - {
        (m, n) for m, n in wanted if m in ("EventCategory", "EventName", "SourceLocation")
        and n == 2}, wanted - found
    print(f"ok: {sum(map(len, PUBLISHED.values()))} fields")
    return 0


sys.exit(main())
