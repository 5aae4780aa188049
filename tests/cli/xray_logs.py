"""Logs of LLVM's XRay: made byte by byte, or by a real program; and what is in their traces."""
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
HZ = 2_000_000_000
ENTER, EXIT, TAIL, ENTER_ARG = range(4)
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>
#define KEEP extern "C" __attribute__((noinline, xray_always_instrument))
static const char options[] = "func_duration_threshold_us=0:buffer_size=4096:buffer_max=64";
static volatile int eight = 8;
static volatile long result;
KEEP int leaf(int x) { return x * 2 + 1; }
KEEP __attribute__((xray_log_args(1))) int with_argument(int x) { return leaf(x) + leaf(x + 1); }
KEEP int tail(int x) { return with_argument(x + 3); }
KEEP int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
KEEP void *work(void *) {
    long sum = 0;
    for (int i = 0; i < 50; i++)
        sum += tail(i) + fib(eight);
    result = sum;
    return nullptr;
}
int main(int argc, char **) {
    pthread_t threads[2];
    if (argc > 1) {
        __xray_log_select_mode("xray-fdr");
        if (__xray_log_init_mode("xray-fdr", options) != XRAY_LOG_INITIALIZED)
            return 77;
        __xray_patch();
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], nullptr, work, nullptr);
    work(nullptr);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], nullptr);
    if (argc > 1) {
        __xray_unpatch();
        __xray_log_finalize();
        __xray_log_flushLog();
    }
}
"""


def head(version=3, mode=0, hz=HZ):
    return struct.pack("<HHIQ16x", version, mode, 0x7fff03, hz)  # flags: what LLVM leaves there


def basic(kind, function, ticks, tid=11, pid=10):
    return struct.pack("<HBBiQII8x", 0, 1, kind, function, ticks, tid, pid)


def argument(function, value, tid=11, pid=10):
    return struct.pack("<HxxiIIQ8x", 1, function, tid, pid, value)


def call(kind, function, delta):
    return struct.pack("<II", function << 4 | kind << 1, delta)


def other(kind, body):
    return bytes([kind << 1 | 1]) + body.ljust(15, b"\0")


def event(kind, delta, data, more=b""):
    return other(kind, struct.pack("<ii", len(data), delta) + more) + data


def block(tid, seconds, ticks, *records, pid=10):
    inside = b"".join((other(0, struct.pack("<i", tid)), other(4, struct.pack("<QI", seconds, 5)),
                       other(9, struct.pack("<i", pid)), other(2, struct.pack("<HQ", 1, ticks)),
                       *records))
    return other(7, struct.pack("<Q", len(inside))) + inside


def run(*words, data=None, good=0):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode == good, (words, done.returncode, done.stderr.decode()[:500])
    return done


def events(trace):
    """[(tid, kind, name, time, values)]"""
    rows = map(json.loads, run("dump", "--format", "ndjson", trace).stdout.splitlines())
    return [(row["tid"], row["kind"], row.get("symbol") or row.get("name"), row["time_ns"],
             row.get("values") or []) for row in rows]


def build(folder):
    """The program, or None where this clang has no XRay."""
    source, program = Path(folder) / "prog.cc", Path(folder) / "prog"
    source.write_text(PROGRAM, encoding="utf-8")
    if not shutil.which("clang++"):
        return None
    made = subprocess.run(["clang++", "-O1", "-g", "-fxray-instrument", source, "-o", program,
                           "-lpthread"], check=False, capture_output=True)
    return program if made.returncode == 0 else None


def record(program, flight):
    """Runs it; its log, or None."""
    how = "" if flight else ("patch_premain=true xray_mode=xray-basic "
                             "xray_naive_log_func_duration_threshold_us=0 ")
    folder = program.parent
    for old in folder.glob("log.*"):
        old.unlink()
    subprocess.run([program, *(["flight"] if flight else [])], check=False, cwd=folder,
                   capture_output=True,
                   env={**os.environ, "XRAY_OPTIONS": how + "xray_logfile_base=log."})
    logs = list(folder.glob("log.*"))
    return logs[0] if logs else None
