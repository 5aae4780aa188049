#!/usr/bin/env python3
"""Text of the kernel's tracer: events of tracepoints as a kernel 6.18 wrote them, functions of the
function tracer, and a function graph that was written by hand after the kernel's sources, as no
kernel with one was at hand."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
EVENTS = """# tracer: nop
#
# entries-in-buffer/entries-written: 8/8   #P:2
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
            bash-15414   (  15414) [000] .....  5526.038509: sys_openat(dfd: 0xffffff9c, \
mode: 0x1b6)
            bash-15414   (  15414) [000] .....  5526.038662: sys_openat -> 0x3
            bash-15415   (  15414) [000] d....  5526.038845: page_fault_user: \
address=0x55ddd9bae0dc ip=0x55ddb7eca2c3 error_code=0x7
   kworker/0:1-H-77      (-------) [000] d..2.  5526.039240: sched_switch: \
prev_comm=a b-1 prev_pid=77 prev_prio=-5 prev_state=R ==> \
next_comm=bash next_pid=15414 next_prio=115
CPU:1 [LOST 12 EVENTS]
          <idle>-0       [001] d..2.  5526.048409: cpu_idle: state=1 cpu_id=1
           <...>-9       [001] d..2.  5526.048410: vfs_read <-ksys_read
            bash-15414   (  15414) [000] .....  5526.048500: print: hello, here
            bash-15414   (  15414) [000] .....  5526.048501: print: frame=7
           <...>-9       [001] d..2.  5526.048600: e1000_clean [e1000] <-net_rx_action
           <...>-9       [001] d..2.  5526.048700: vfs_open(path=0x1, file=0x2) <-do_open
"""
GRAPH = """# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
   100.000001 |   1)    ls-7      |   0.300 us    |            }
   100.000002 |   1)    ls-7      |               |  do_sys_openat2() {
   100.000003 |   1)    ls-7      |   1.250 us    |    getname();
 ------------------------------------------
 1)    ls-7      =>   cat-8
 ------------------------------------------

   100.000004 |   1)   cat-8      |               |  ksys_read(fd=3) {
   100.000005 |   1)    ls-7      |               |    kvm_dev_ioctl [kvm]() {
   100.000006 |   1)    ls-7      |   0.500 us    |      vcpu_load [kvm]();
   100.000008 |   1)    ls-7      |   2.500 us    |    } /* kvm_dev_ioctl [kvm] */
   100.000009 |   1)    ls-7      | + 12.500 us   |  } /* do_sys_openat2 ret=0x3 */
   100.000010 |   1)   cat-8      | $ 1000001.5 us |  }
   100.000011 |   1)   cat-8      |   0.500 us    |  fput(); /* = 0x0 */
"""
WANTED_EVENTS = [
    (15414, 15414, "bash", 38509000, "sys_openat", ["(dfd: 0xffffff9c, mode: 0x1b6)"], [""]),
    (15414, 15414, "bash", 38662000, "sys_openat", ["-> 0x3"], [""]),
    (15414, 15415, "bash", 38845000, "page_fault_user",
     ["0x55ddd9bae0dc", "0x55ddb7eca2c3", "0x7"], ["address", "ip", "error_code"]),
    (77, 77, "kworker/0:1-H", 39240000, "sched_switch", ["a b-1", 77, -5, "R", "bash", 15414, 115],
     ["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"]),
    (0, 0, "<idle>", 48409000, "cpu_idle", [1, 1], ["state", "cpu_id"]),
    (9, 9, "", 48410000, "vfs_read", [], []), (9, 9, "", 48410000, "vfs_read", [], []),
    (15414, 15414, "bash", 48500000, "print", ["hello, here"], [""]),
    (15414, 15414, "bash", 48501000, "print", [7], ["frame"]),
    *[(9, 9, "", 48600000, "e1000_clean", [], [])] * 2,
    *[(9, 9, "", 48700000, "vfs_open", [], [])] * 2]
WANTED_GRAPH = [
    (7, 2000, "enter", "do_sys_openat2"), (7, 3000, "enter", "getname"),
    (7, 4250, "exit", "getname"), (7, 5000, "enter", "kvm_dev_ioctl"),
    (7, 6000, "enter", "vcpu_load"), (7, 6500, "exit", "vcpu_load"),
    (7, 8000, "exit", "kvm_dev_ioctl"), (7, 9000, "exit", "do_sys_openat2"),
    (8, 4000, "enter", "ksys_read"),
    (8, 10000, "exit", "ksys_read"), (8, 11000, "enter", "fput"), (8, 11500, "exit", "fput")]


def run(*words, data=None, good=0):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode == good, (words, done.returncode, done.stderr.decode()[:500])
    return done


def rows(trace):
    return list(map(json.loads, run("dump", "--format", "ndjson", trace).stdout.splitlines()))


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-ftrace.") as folder:
        out, text = Path(folder, "out.ttape"), Path(folder, "trace.txt")
        text.write_text(EVENTS, encoding="ascii")
        done = run("convert", text, "-o", out, good=3)
        assert b"the kernel lost 12 events" in done.stderr, done.stderr
        run("verify", out)
        threads = {s["stream"]: s for s in
                   json.loads(run("info", "--json", "--all", out).stdout)["stream_list"]}
        found = []
        for row in sorted(rows(out), key=lambda row: row["time_ns"]):
            thread = threads[row["stream"]]
            found.append((thread["pid"], thread["tid"], thread["name"],
                          row["time_ns"] - 5526 * 10**9, row["symbol"], row.get("values", []),
                          row.get("value_names", [""] * len(row.get("values", [])))))
        assert found == WANTED_EVENTS, found
        report = json.loads(run("report", "--json", out).stdout)
        row, = [row for row in report["rows"] if row["name"] == "vfs_read"]
        assert (row["module"], row["calls"]) == ("[kernel]", 1), row

        run("convert", "-", "-o", out, "--force", data=GRAPH.encode())
        run("verify", out)
        found = [(row["tid"], row["time_ns"] - 100 * 10**9, row["kind"], row["symbol"])
                 for row in rows(out)]
        assert sorted(found, key=lambda row: row[0]) == WANTED_GRAPH, found

        # what cannot be used is said: a clock of other units, a graph without its options
        bad = " 1)   0.300 us    |  getname();\n bash-1 [000] ..... 12345: x: y=1\n"
        done = run("convert", "-", "-o", out, "--force", data=(GRAPH + bad).encode(), good=3)
        assert b"2 lines are left out" in done.stderr and b"funcgraph-abstime" in done.stderr
        run("convert", "-", "--from-format", "ftrace", "-o", out, "--force", data=bad.encode(),
            good=4)
    print("ok")


sys.exit(main())
