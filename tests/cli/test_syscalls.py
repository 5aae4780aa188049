#!/usr/bin/env python3
"""tracetape syscalls: the background document's tables of system calls, recomputed, to the last
call and microsecond; calls in calls in handlers of signals; choices."""
import json
import os
import subprocess
import tempfile

TOOL = os.environ["TTAPE_BIN"]

# What was seen at each end of a call: time, call, path.
TABLE_3 = [(1, "S1", "A1 A2"), (5, "S2", "A1 A2 S1"), (7, "S2", None), (9, "S1", None),
           (11, "S1", "A1 A3 A2"), (15, "S2", "A1 A3 A2 S1"), (17, "S2", None),
           (21, "S2", "A1 A3 A2 S1"), (23, "S2", None), (28, "S1", None)]
TABLE_10 = [(time, call, path and path.replace(" S1", "")) for time, call, path in TABLE_3]
# S1 and S2 are in a library of the system, where they are functions in paths.
MODULES = """module 0x1000 0x2000 /opt/app/run
module 0x8000 0x9000 /usr/lib/sys.so
symbol 0x1010 A1
symbol 0x1020 A2
symbol 0x1030 A3
symbol 0x8010 S1
"""


def run(*words, status=0):
    found = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert found.returncode == status, (words, found.returncode, found.stderr)
    return found.stdout


def convert(name, text):
    with open(name + ".txt", "w") as file:
        file.write(text)
    run("convert", "--strict", name + ".txt", "-o", name + ".ttape", "--force")
    return name + ".ttape"


def of_table(name, rows, head=""):
    lines = [f"{time}us 1 syscall-enter {call} path={';'.join(path.split())}" if path
             else f"{time}us 1 syscall-exit {call}" for time, call, path in rows]
    return convert(name, head + "\n".join(lines) + "\n")


def answer(path, *words):
    return json.loads(run("syscalls", path, "--json", *words))


def sums(found, kind):
    """Path or call -> calls, microseconds."""
    out = {}
    for row in found["rows"]:
        key = " ".join(row["path"]) if "path" in row else row.get("call", row.get("module"))
        out[key] = (row[kind]["calls"], row[kind]["time_ns"] / 1000)
    assert len(out) == len(found["rows"])
    return out


def bases(found):
    return [(found[which]["calls"], found[which]["time_ns"] / 1000) for which in ("all", "shown")]


def test_whole_paths():
    trace = of_table("table3", TABLE_3)
    by_call = answer(trace)  # table 4
    assert bases(by_call) == [(5, 25), (5, 25)], bases(by_call)
    assert sums(by_call, "sum") == {"S1": (2, 25), "S2": (3, 6)}
    by_path = answer(trace, "--by", "path")  # tables 5 and 6
    assert sums(by_path, "inclusive") == {
        "A1 A2 S1": (2, 8), "A1 A2 S1 S2": (1, 2), "A1 A3 A2 S1": (3, 17),
        "A1 A3 A2 S1 S2": (2, 4)}, by_path
    assert sums(by_path, "exclusive") == {
        "A1 A2 S1": (1, 6), "A1 A2 S1 S2": (1, 2), "A1 A3 A2 S1": (1, 13),
        "A1 A3 A2 S1 S2": (2, 4)}
    expanded = sums(answer(trace, "--by", "path", "--expand"), "inclusive")
    assert expanded == {**sums(by_path, "inclusive"), "A1": (5, 25), "A1 A2": (2, 8),
                        "A1 A3": (3, 17), "A1 A3 A2": (3, 17)}, expanded
    through = answer(trace, "--by", "path", "--through", "A3")  # tables 7 and 8
    assert bases(through) == [(5, 25), (3, 17)]
    assert sums(through, "inclusive") == {"A3 A2 S1": (3, 17), "A3 A2 S1 S2": (2, 4)}
    assert sums(through, "exclusive") == {"A3 A2 S1": (1, 13), "A3 A2 S1 S2": (2, 4)}
    to = answer(trace, "--by", "path", "--to", "S2")  # table 9
    assert bases(to) == [(5, 25), (3, 6)]
    assert sums(to, "inclusive") == {"A1 A2 S1 S2": (1, 2), "A1 A3 A2 S1 S2": (2, 4)}
    shallow = sums(answer(trace, "--by", "path", "--depth", 2), "inclusive")
    assert shallow == {"A1 A2": (2, 8), "A1 A3": (3, 17)}, shallow
    text = run("syscalls", trace, "--by", "path", "--through", "A3")
    for share in ("100.0%", "60.0%", "66.7%", "23.5%", "16.0%", "76.5%", "52.0%", "33.3%"):
        assert share in text, (share, text)
    folded = run("syscalls", trace, "--format", "folded")
    assert sorted(folded.splitlines()) == ["A1;A2;S1 6", "A1;A2;S1;S2 2", "A1;A3;A2;S1 13",
                                           "A1;A3;A2;S1;S2 4"], folded
    picture = run("syscalls", trace, "--format", "dot")
    assert picture.count("[label=\"A1") == 1 and picture.count(" -> ") == 7, picture


def listed(trace, *words):
    return [line.split("\t") for line in run("syscalls", trace, "--list", *words).splitlines()]


def test_application():
    whole = of_table("modules", TABLE_3, MODULES)
    part = of_table("table10", TABLE_10, MODULES)
    for trace in (whole, part):  # tables 11 and 12, of both
        found = answer(trace, "--by", "path", "--application")
        assert sums(found, "inclusive") == {"A1 A2": (2, 8), "A1 A3 A2": (3, 17)}, found
        assert sums(found, "exclusive") == {"A1 A2": (2, 8), "A1 A3 A2": (3, 17)}
    found = answer(whole, "--by", "path")  # tables 5 and 6, through calls, not functions
    assert sums(found, "inclusive") == {
        "A1 A2 S1": (2, 8), "A1 A2 S1 S2": (1, 2), "A1 A3 A2 S1": (3, 17),
        "A1 A3 A2 S1 S2": (2, 4)}, found
    assert sums(found, "exclusive")["A1 A3 A2 S1"] == (1, 13), found
    through = sums(answer(whole, "--by", "path", "--through", "A3"), "inclusive")
    assert through == {"A3 A2 S1": (3, 17), "A3 A2 S1 S2": (2, 4)}, through
    mixed = of_table("mixed", TABLE_3[:4] + [(30, "S3", "S1"), (31, "S3", None)], MODULES)
    found = answer(mixed, "--by", "path", "--application")  # a path that has no frame of its own
    assert sums(found, "inclusive") == {"A1 A2": (2, 8), "": (1, 1)}, found
    assert "(no path) >" not in run("syscalls", mixed, "--by", "path", "--application")
    rows = listed(whole, "--application")
    assert rows == listed(part), (rows, listed(part))
    assert [tuple(row[2:]) for row in rows] == [
        ("enter", call, path.replace(" ", " > ")) if path else ("exit", call)
        for _, call, path in TABLE_10], rows
    assert [row[0] for row in rows] == [f"+{(time - 1) / 1e6:.9f}s" for time, _, _ in TABLE_10]
    by_module = sums(answer(whole, "--by", "module"), "sum")
    assert by_module == {"/opt/app/run": (5, 25)}, by_module
    all_own = sums(answer(whole, "--by", "module", "--own", "nothing"), "sum")
    assert list(all_own.values()) == [(5, 25)], all_own


def test_calls_and_modules():
    """Tables 1 and 2: Foo 300 calls, 400 us; Bar 200, 20; Moo 10, 600."""
    lines = ["module 0x1000 0x2000 /opt/mycode.dll", "module 0x3000 0x4000 /opt/other.dll",
             "symbol 0x1010 caller", "symbol 0x3010 other"]
    now = 0
    for name, count, nanoseconds, path in (("Foo", 300, 400000, "caller"),
                                           ("Bar", 200, 20000, "caller"),
                                           ("Moo", 10, 600000, "other")):
        for i in range(count):
            took = nanoseconds * (i + 1) // count - nanoseconds * i // count
            lines += [f"{now} 1 syscall-enter {name} path={path}",
                      f"{now + took} 1 syscall-exit {name}"]
            now += took + 5
    trace = convert("table1", "\n".join(lines) + "\n")
    found = answer(trace)
    assert bases(found) == [(510, 1020)] * 2
    assert sums(found, "sum") == {"Foo": (300, 400), "Bar": (200, 20), "Moo": (10, 600)}
    assert sums(answer(trace, "--by", "module"), "sum") == {
        "/opt/mycode.dll": (500, 420), "/opt/other.dll": (10, 600)}
    text = run("syscalls", trace)
    for share in ("58.8%", "39.2%", "2.0%"):
        assert text.count(share) == 2, (share, text)


def test_handler_and_failures():
    """A call in a handler that interrupted a call; calls that fail; functions as paths."""
    trace = convert("nested", """0 1 enter main
1us 1 syscall-enter read 3
3us 1 signal 14
3us 1 enter on_alarm
4us 1 syscall-enter write 2
6us 1 syscall-exit write +5
7us 1 exit
7us 1 signal-end 14
9us 1 syscall-exit read -4
10us 1 syscall-enter openat
12us 1 syscall-exit openat -2
13us 1 syscall-enter getpid
14us 1 syscall-exit getpid +77
15us 1 exit
""")
    found = answer(trace)
    assert bases(found)[0] == (4, 11), found  # write's time is within read's
    errors = {row["call"]: row["sum"]["errors"] for row in found["rows"]}
    assert errors == {"read": 1, "write": 0, "openat": 1, "getpid": 0}, errors
    paths = sums(answer(trace, "--by", "path"), "inclusive")
    assert paths == {"main read": (2, 8), "main read (signal 14) on_alarm write": (1, 2),
                     "main openat": (1, 2), "main getpid": (1, 1)}, paths
    failed = answer(trace, "--failed")
    assert sums(failed, "sum") == {"read": (1, 8), "openat": (1, 2)}, failed
    for choice, names in (("read,write", {"read", "write"}), ("%file", {"openat"}),
                          ("/^get|^op/", {"openat", "getpid"}), ("!%desc", {"getpid"}),
                          ("all,!read", {"write", "openat", "getpid"}), ("%wait", {"read"})):
        got = {row["call"] for row in answer(trace, "--calls", choice)["rows"]}
        assert got == names, (choice, got)
    run("syscalls", trace, "--calls", "raed", status=2)
    summary = run("syscalls", trace, "--summary").splitlines()
    assert summary[0].split() == ["%", "time", "seconds", "usecs/call", "calls", "errors",
                                  "syscall"]
    assert summary[2].split() == ["72.73", "0.000008", "8", "1", "1", "read"], summary
    assert summary[-1].split() == ["100.00", "0.000011", "2", "4", "2", "total"], summary
    run("syscalls", trace, "--to", "nothing", status=4)


def test_arguments():
    """Calls in words, by strace's rules, and chosen by their paths and descriptors."""
    trace = convert("words", """1us 1 syscall-enter openat -100 "/etc/passwd" 524288 0 0 0
2us 1 syscall-exit openat +3
3us 1 syscall-enter read 3 0x7ffe10 832 0 0 0
4us 1 syscall-exit read +832
5us 1 syscall-enter unlink "/etc/passwd-" 0 0 0 0 0
6us 1 syscall-exit unlink -13
""")
    lines = ['openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3',
             "read(3, 0x7ffe10, 832) = 832",
             'unlink("/etc/passwd-") = -1 EACCES (Permission denied)']
    assert [row[3] for row in listed(trace) if row[2] == "exit"] == lines, listed(trace)
    assert [row[3] for row in listed(trace) if row[2] == "enter"] == [
        line.split(" = ")[0] for line in lines]
    assert [row[2:] for row in listed(trace, "--failed")] == [["exit", lines[2]]]
    done = subprocess.run([TOOL, "syscalls", trace, "--list", "--path", "/nowhere"],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "") and "no system calls of these" in done.stderr
    within = convert("within", """module 0x1000 0x2000 /opt/program
symbol 0x1010 main
0 1 enter 0x1010
5us 1 syscall-enter unlink "/etc/passwd-" 0 0 0 0 0
6us 1 syscall-exit unlink -13
""")
    assert [row[2:] for row in listed(within, "--failed")] == [["exit", lines[2], "main"]]
    for choice, names in ((("--path", "/etc/passwd"), {"openat"}), (("--fd", "3"), {"read"}),
                          (("--path", "/etc"), {"openat", "unlink"}),
                          (("--path", "/etc/"), {"openat", "unlink"}),
                          (("--path", "/"), {"openat", "unlink"}),
                          (("--path", "/etc/passwd/"), {"openat"})):
        got = {row["call"] for row in answer(trace, *choice)["rows"]}
        assert got == names, (choice, got)
    for choice in (("--fd", "100"), ("--path", "/et")):
        assert run("syscalls", trace, "--json", *choice, status=4) == ""
    text = run("dump", trace)
    assert all(line.split("(")[1].split(")")[0] in text for line in lines), text
    assert " = -1 EACCES (Permission denied);" in text, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        test_whole_paths()
        test_application()
        test_calls_and_modules()
        test_handler_and_failures()
        test_arguments()


main()
