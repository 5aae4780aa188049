#!/usr/bin/env python3
"""`last --core`: the address of a fault out of a core file; what is no core file, or is cut off or
altered anywhere, is refused or read, and never crashes."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = os.environ["TTAPE_BIN"]
STEP = 1 if os.environ.get("TTAPE_THOROUGH") == "1" else 13
UNUSED = 128 - 24  # bytes of siginfo behind the address
TRACE = """process 7 prog
thread 7 7 main
thread 7 8 other
symbol 0x1100 main
0 7 enter main
5 8 enter main
10 7 marker "tracetape:process_end" 3 11
10 8 marker "tracetape:thread_end" 2
"""
failures = []


def that(holds, what, found=""):
    if not holds:
        failures.append(f"{what}: {found}")


def last(trace, core):
    return subprocess.run([BIN, "last", "--json", trace, "--core", core], capture_output=True,
                          check=False, timeout=60)


def faults(done):
    threads = json.loads(done.stdout)["threads"] if done.returncode == 0 else []
    return {thread["tid"]: (thread["fault_signal"], thread["fault_address"])
            for thread in threads if thread["fault_address"] is not None}


def note(name, kind, content):
    name = name + b"\0"
    pad = [b"\0" * (-len(text) % 4) for text in (name, content)]
    return struct.pack("<3I", len(name), len(content), kind) + name + pad[0] + content + pad[1]


def core_of(tid, number, code, address, instruction=0):
    status = bytearray(336)
    struct.pack_into("<i", status, 32, tid)
    struct.pack_into("<Q", status, 240, instruction)
    siginfo = struct.pack("<4iQ", number, 0, code, 0, address).ljust(128, b"\0")
    notes = note(b"LINUX", 0x202, bytes(8)) + note(b"CORE", 1, bytes(status)) + \
        note(b"CORE", 3, bytes(136)) + note(b"CORE", 0x53494749, siginfo)
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<2I6Q", 1, 5, 0, 0, 0, 0, 0, 4096)
    return head + load + struct.pack("<2I6Q", 4, 0, 176, 0, 0, len(notes), 0, 4) + notes


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace, core = Path(folder) / "a.ttape", Path(folder) / "core"
        (Path(folder) / "in.txt").write_text(TRACE, encoding="ascii")
        subprocess.run([BIN, "convert", Path(folder) / "in.txt", "-o", trace], check=True)
        for case, wanted in (((7, 11, 1, 0xdead0), {7: (11, 0xdead0)}),
                             ((8, 11, 2, 0), {8: (11, 0)}),
                             ((7, 11, 0x80, 0), {}),  # a general protection fault
                             ((7, 11, 0, 0xdead0), {}),  # sent by somebody
                             ((7, 6, -6, 0xdead0), {}),
                             ((7, 7, 1, 0xdead0), {}),  # not what ended it
                             ((99, 11, 1, 0xdead0), {})):
            core.write_bytes(core_of(*case))
            done = last(trace, core)
            that(faults(done) == wanted and done.returncode == 0, case, done)
        hint = b"ulimit -c unlimited before record"
        core.write_bytes(core_of(7, 11, 1, 0xdead0))
        for words, wanted in (([], 1), (["--core", core], 0)):
            done = subprocess.run([BIN, "last", trace, *words], capture_output=True, check=False)
            that(done.stdout.count(hint) == wanted, f"how to get an address, {words}", done)
        whole = core_of(7, 11, 1, 0xdead0)
        for at in range(0, len(whole), STEP):
            core.write_bytes(whole[:at])
            is_enough = at >= len(whole) - UNUSED
            that(last(trace, core).returncode == (0 if is_enough else 4), f"cut off at {at}")
            altered = bytearray(whole)
            altered[at] ^= 0xff
            core.write_bytes(altered)
            that(last(trace, core).returncode in (0, 4), f"altered at {at}")
        for other in (trace, folder, "/dev/null", core.with_name("none")):
            done = last(trace, other)
            that(done.returncode == 4 and b"cannot use the core file" in done.stderr, other, done)
    for failure in failures[:10]:
        print(f"FAILED: {failure}")
    print(f"last --core: {'FAILED' if failures else 'ok'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
