#!/usr/bin/env python3
"""`view` of several files, a folder or a list: the threads of all on one axis, each with its host
and how far its clock may be off; what cannot be read is named and left out."""
import subprocess
import tempfile
from pathlib import Path

from view_client import COMMAND, Server, check, end

NOW = 1_790_000_000 * 10**9


def make(path, host, offset_ns, error_ns, first):
    text = f"""meta host {host}
meta boot_id {host}
meta realtime_offset_ns {offset_ns}
meta realtime_error_ns 1000
meta utc_error_ns {error_ns}
meta utc_error_end_ns {error_ns}
process 7 prog
thread 7 7 main
symbol 0x10 on_{host}
{first} 7 enter 0x10
{first + 1000} 7 exit
"""
    subprocess.run([COMMAND, "convert", "-", "-o", path], input=text, text=True, check=True,
                   capture_output=True)


def ask_all(work, *operands, status=0):
    with Server(operands[-1], *map(str, operands[:-1])) as server:
        trace, = server.ask("trace")
        threads, = server.ask("threads")
        hosts = {t["host"]: (t.get("clock_error"), t["tid"]) for t in threads["threads"]}
        starts = {t["host"]: int(t["origin"]) + int(t["first_tick"]) * int(t["resolution"])
                  for t in threads["threads"]}
        functions, = server.ask("functions")
    check(f"{operands}: status", server.status, status)
    check(f"{operands}: hosts", hosts, {"one": ("0", "7"), "two": ("3002000", "7")})
    check(f"{operands}: events", trace["events"], "4")
    check(f"{operands}: times", starts["two"] - starts["one"], 500)
    return functions


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "d").mkdir()
        make(work / "d/1.ttape", "one", NOW, 1_000_000, 2000)
        make(work / "d/2.ttape", "two", NOW - 9_000_000, 2_000_000, 9_002_500)
        (work / "list").write_text("d/1.ttape\nd/2.ttape\n", encoding="utf-8")
        (work / "bad.ttape").write_text("no trace\n", encoding="utf-8")
        ask_all(work, work / "d/1.ttape", work / "d/2.ttape")
        ask_all(work, work / "d")
        ask_all(work, f"@{work}/list")
        ask_all(work, work / "d/1.ttape", work / "bad.ttape", work / "d/2.ttape", status=3)
        done = subprocess.run([COMMAND, "view", "--no-browser", work / "bad.ttape", work / "none"],
                              text=True, capture_output=True, check=False)
        check("nothing to show: status", done.returncode, 4)
    end("several files on one axis")


main()
