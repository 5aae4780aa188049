#!/usr/bin/env python3
"""`tracetape report` beside `uftrace report` on the same real recordings: calls, self and total
time of every function, to the digit that uftrace prints; and from summaries as from events.

uftrace lets open frames last until its last scheduler event, and takes the time of these from
functions (see tracetape-report(1)): it gets the recording without perf-cpu*.dat. What else it
counts differently must be what the man page says: exits whose calls were not recorded.

Two recordings, and overviews of one; all with TTAPE_THOROUGH=1. Exit 77: no corpus here, or no
uftrace."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

TOOL = os.environ.get("TTAPE_BIN", "tracetape")
SOURCE = pathlib.Path(os.environ.get("TTAPE_SRC", "."))
CORPUS = pathlib.Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))
WITH_OVERVIEWS = pathlib.Path(os.environ.get("TTAPE_BUILD", "build/release"), "tests",
                              "corpus_with_overviews")
THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
FEW = ("lua_args", "lua_jmp")  # arguments, jumps
UNITS = (("us", 1000), ("ms", 1000), ("s", 1000), ("m", 60), ("h", 24))
UNKNOWN = "<0>"  # uftrace's name for frames below a child's first that nobody knows


def printed(time_ns):
    """A time as uftrace prints it: three digits of the next smaller unit behind the point."""
    if time_ns == 0:
        return ""
    whole = time_ns
    for place, (unit, scale) in enumerate(UNITS):
        whole, rest = divmod(whole, scale)
        if place + 1 == len(UNITS) or whole < UNITS[place + 1][1]:
            return f"{whole}.{rest:03d} {unit}"
    raise AssertionError


def uftrace_rows(folder):
    """name: (total, self, calls), times as printed."""
    out = subprocess.run(["uftrace", "report", "-d", folder, "--no-pager", "-f",
                          "total,self,call"], check=True, capture_output=True).stdout
    rows = {}
    for line in out.decode(errors="surrogateescape").splitlines()[2:]:
        name = line[38:]
        assert name not in rows, name
        rows[name] = (" ".join(line[2:12].split()), " ".join(line[14:24].split()),
                      int(line[26:36]))
    return rows


def report(trace, *options):
    out = subprocess.run([TOOL, "report", "--json", *options, trace], check=True,
                         capture_output=True).stdout
    return json.loads(out)


def our_rows(found):
    """The same by name: uftrace takes functions of one name for one."""
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in found["rows"]:
        name = row["name"]
        if re.search(r"(^|\+)0x[0-9a-f]+$", name):
            name = f"<{row['address'][2:]}>"
        for place, key in enumerate(("total_ns", "self_ns", "calls", "unseen_exits")):
            rows[name][place] += row.get(key, 0)
    return rows


def compare(name, theirs, found):
    """Functions that agree in everything."""
    ours, agree, problems = our_rows(found), 0, []
    unseen = found["unseen_exits"]
    for function in sorted(set(theirs) | set(ours)):
        total, self_time, calls, exits = ours.get(function, (0, 0, 0, 0))
        if function == UNKNOWN and function not in ours:
            continue
        if function not in theirs:
            problems.append(f"{function}: not in uftrace's report")
            continue
        if function not in ours:  # nothing but exits without calls
            unseen -= theirs[function][2]
            continue
        unseen -= exits
        want = (printed(total), printed(self_time), calls + exits)
        if exits > 0:  # uftrace gives them a little self time
            want = (want[0], theirs[function][1], want[2])
        if theirs[function] != want:
            problems.append(f"{function}: uftrace {theirs[function]}, tracetape {want}")
        agree += 1
    if unseen != 0:
        problems.append(f"{unseen} exits without calls that uftrace does not have")
    if problems:
        sys.exit(f"FAILED {name}: " + "; ".join(problems[:5]))
    return agree


def check_ways(name, summary, exact):
    """What summaries say is what the events say."""
    assert summary["decoded_partitions"] == 0 and exact["exact"], name
    if len(summary["rows"]) != len(exact["rows"]):
        sys.exit(f"FAILED {name}: {len(summary['rows'])} and {len(exact['rows'])} functions")
    for one, two in zip(summary["rows"], exact["rows"]):
        for key, value in one.items():
            if key != "idle_ns" and two[key] != value:
                sys.exit(f"FAILED {name}: {one['name']}: {key} is {value} by summaries and "
                         f"{two[key]} by events")


def check_histograms(name, decoded, overviews, exact):
    """As overviews tell them and as events do; estimates lie in the bucket of the percentile."""
    assert decoded["decoded_partitions"] == decoded["partitions"], name
    assert overviews["decoded_partitions"] < 16, name  # others have overviews
    assert decoded["percentiles_from"] == overviews["percentiles_from"] == "histograms"
    assert decoded["rows"] == overviews["rows"], name
    for row, other in zip(decoded["rows"], exact["rows"]):
        buckets = row.get("histogram", [])
        assert sum(bucket["calls"] for bucket in buckets) == row["ended"], (name, row["name"])
        for share in ("p50", "p90", "p95", "p99") if buckets else ():
            inside = [b for b in buckets
                      if b["least_ns"] <= other[f"{share}_ns"] <= b["most_ns"]]
            estimate = row[f"{share}_estimate_ns"]
            assert inside[0]["least_ns"] <= estimate <= inside[0]["most_ns"], (name, row["name"])


def check_others(name, bare, overviews, exact):
    """Trees, and the longest calls of all functions and of some, are those of the same partitions
    without overviews."""
    names = [row["name"] for row in exact["rows"] if row["calls"] > 1]
    questions = [["tree", "--partitions"], ["slow"], ["slow", "--time", "+1ms..+5ms"]]
    questions += [["slow", "-n", str(count), function]
                  for function in names[::max(1, len(names) // 6)] for count in (1, 30)]
    for question in questions:
        found = []
        for trace in (bare, overviews):
            out = subprocess.run([TOOL, question[0], "--json", trace, *question[1:]], check=True,
                                 capture_output=True).stdout
            found.append({key: value for key, value in json.loads(out).items()
                          if key not in ("file", "decoded")})
        if found[0] != found[1]:
            sys.exit(f"FAILED {name}: {' '.join(question)} differs with overviews")


def check_overviews(name, folder, work, trace, exact):
    small, parted = work / "small.ttape", work / "parted.ttape"
    subprocess.run([TOOL, "convert", folder, "-o", small, "--partition-events", "3000"],
                   check=True)
    none = work / "none.ttape"
    subprocess.run([WITH_OVERVIEWS, small, parted, "16"], check=True)
    subprocess.run([WITH_OVERVIEWS, small, none, str(2**64 - 1)], check=True)
    check_others(name, none, parted, exact)
    check_ways(f"{name}, overviews", report(parted), exact)
    check_histograms(name, report(trace, "--histogram"), report(parted, "--histogram"), exact)


def check(name, folder, work):
    bare, trace = work / "bare", work / "trace.ttape"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("perf-cpu*.dat"),
                    copy_function=os.link)
    subprocess.run([TOOL, "convert", folder, "-o", trace, "--jobs", "2"], check=True)
    theirs = uftrace_rows(bare)
    exact = report(trace, "--exact")
    check_ways(name, report(trace), exact)
    if THOROUGH or name == FEW[0]:
        check_overviews(name, folder, work, trace, exact)
    agree = compare(name, theirs, exact)
    print(f"{name}: {agree} functions, {exact['calls']} calls agree", flush=True)


def main():
    archives = [path for path in sorted(CORPUS.glob("*.uftrace.tar.xz"))
                if THOROUGH or path.name.split(".")[0] in FEW]
    if not archives:
        print(f"SKIPPED: no recordings in {CORPUS}")
        sys.exit(77)
    if shutil.which("uftrace") is None:
        print("SKIPPED: uftrace is not installed")
        sys.exit(77)
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="ttape-report-") as work:
            work = pathlib.Path(work)
            with tarfile.open(archive) as tar:
                tar.extractall(work / "all")
            folder = next(p.parent for p in (work / "all").rglob("info"))
            check(archive.name.split(".")[0], folder, work)


main()
