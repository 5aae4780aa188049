"""Writes small CTF 1.8 traces byte by byte, as LTTng's user-space tracer lays them out: one stream
file for each CPU, threads in every event's context."""
import struct
from pathlib import Path

START = 1_600_000_000_000_000_000  # of the clock, nanoseconds since 1970
UUID = bytes(range(16))

HEAD = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
trace {{ major = 1; minor = 8; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f"; byte_order = le;
  packet.header := struct {{ uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }}; }};
env {{ domain = "ust"; tracer_name = "lttng-ust"; {env} }};
clock {{ name = "monotonic"; freq = 1000000000; offset = {start}; }};
typealias integer {{ size = 64; align = 8; signed = false;
  map = clock.monotonic.value; }} := time_t;
stream {{ id = 0;
  packet.context := struct {{ time_t timestamp_begin; time_t timestamp_end; uint64_t content_size;
    uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; }};
  event.header := struct {{ uint16_t id; time_t timestamp; }};
  event.context := struct {{ {context} }}; }};
"""
EVENTS = (("lttng_ust_cyg_profile:func_entry", "uint64_t addr; uint64_t call_site;"),
          ("lttng_ust_cyg_profile:func_exit", "uint64_t addr; uint64_t call_site;"),
          ("lttng_ust_cyg_profile_fast:func_entry", "uint64_t addr;"),
          ("lttng_ust_cyg_profile_fast:func_exit", "uint8_t dummy;"),
          ("lttng_ust_statedump:bin_info",
           "uint64_t baddr; uint64_t memsz; string path; uint8_t is_pic;"),
          ("lttng_ust_statedump:build_id",
           "uint64_t baddr; uint64_t length; uint8_t build_id[length];"),
          ("other:thing", "string text;"))
ENTRY, EXIT, FAST_ENTRY, FAST_EXIT, BIN_INFO, BUILD_ID, OTHER = range(7)


def metadata(threads=True, env="", start=START):
    context = "int32_t vpid; int32_t vtid; string procname;" if threads else "int32_t nothing;"
    text = HEAD.format(env=env, start=start, context=context)
    for number, (name, fields) in enumerate(EVENTS):
        text += f'event {{ name = "{name}"; id = {number}; stream_id = 0;\n' \
                f"  fields := struct {{ {fields} }}; }};\n"
    return text.encode()


def fields(kind, *values):
    """The payload of an event."""
    if kind in (ENTRY, EXIT):
        return struct.pack("<QQ", values[0], 0x99)
    if kind == FAST_ENTRY:
        return struct.pack("<Q", values[0])
    if kind == FAST_EXIT:
        return b"\0"
    if kind == BIN_INFO:
        return struct.pack("<QQ", *values[:2]) + values[2].encode() + b"\0\1"
    if kind == BUILD_ID:
        return struct.pack("<QQ", values[0], len(values[1])) + values[1]
    return str(values[0]).encode() + b"\0"


def packet(events, cpu, discarded=0, threads=True):
    """events: (time, pid, tid, kind, value...), times from the clock's start."""
    body = b""
    for time, pid, tid, kind, *values in events:
        body += struct.pack("<HQ", kind, time)
        body += struct.pack("<ii", pid, tid) + f"p{pid}\0".encode() if threads else bytes(4)
        body += fields(kind, *values)
    size = 8 * (4 + 16 + 4 + 8 * 5 + 4 + len(body))
    head = struct.pack("<I16sI", 0xC1FC1FC1, UUID, 0)
    context = struct.pack("<QQQQQI", events[0][0], events[-1][0], size, size, discarded, cpu)
    return head + context + body


def write(folder, cpus, **options):
    """cpus: for each, a list of packets, each (events, discarded)."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    threads = options.get("threads", True)
    (folder / "metadata").write_bytes(metadata(**options))
    for cpu, packets in enumerate(cpus):
        (folder / f"channel0_{cpu}").write_bytes(
            b"".join(packet(events, cpu, lost, threads) for events, lost in packets))
