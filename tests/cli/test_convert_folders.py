#!/usr/bin/env python3
"""Folders of uftrace: libraries that were loaded at one address one after the other, each process
its own; Python programs, whose functions lie in no file; ints, enumerations."""
import os
import struct
import subprocess
import sys
import tempfile

BIN = os.environ["TTAPE_BIN"]
EXE, SHARED = 0x555500000000, 0x7F1000000000
HEADER = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
failures = []


def record(time, kind, depth, address, data=b""):
    word = kind | bool(data) << 2 | 5 << 3 | depth << 6 | address << 16
    return struct.pack("<QQ", time, word) + data


def call(time, depth, address, *values):
    """An enter with an argument and an exit with a result, or without both."""
    data = [struct.pack("<Q", value) for value in values] or [b"", b""]
    return record(time, 0, depth, address, data[0]) + record(time + 1, 1, depth, address, data[-1])


def dump(folder, files):
    """The events of a folder as `dump` has them: without their times."""
    os.mkdir(folder)
    for name, data in files.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
    for command in (["convert", folder, "-o", f"{folder}.ttape"], ["dump", f"{folder}.ttape"]):
        done = subprocess.run([BIN, *command], capture_output=True, check=False)
        if done.returncode != 0:
            failures.append(f"{command}: {done.returncode} {done.stderr}")
    return [" ".join(line.split()[1:]) for line in done.stdout.decode().splitlines()[1:]]


def check(got, *want):
    if got != list(want):
        failures.append(f"{got} instead of {list(want)}")


def check_libraries(folder):
    task = 'SESS timestamp=0.000000001 pid=1 sid=aa exename="/bin/prog"\n' \
        "TASK timestamp=0.000000001 tid=1 pid=1\n"
    for time, tid, name in ((10, 1, "a"), (20, 1, "b"), (30, 1, "a"), (45, 2, "b"), (60, 1, "b"),
                            (65, 3, "a")):
        task += f"DLOP timestamp=0.{time:09} tid={tid} sid=aa base={SHARED:x} " \
            f'libname="/lib/lib{name}.so"\n'
    task += "FORK timestamp=0.000000040 pid=2 ppid=1\nTASK timestamp=0.000000003 tid=3 pid=1\n"
    got = dump(folder, {
        "info": HEADER + b"exename:/bin/prog\n", "task.txt": task,
        "sid-aa.map": f"{EXE:x}-{EXE + 0x9000:x} r-xp 00000000 08:01 7   /bin/prog\n",
        "prog.sym": "0000000000001000 T main\n0000000000002000 ? __sym_end\n",
        "liba.so.sym": "0000000000000100 T alpha\n0000000000000200 T both\n"
                       "0000000000000300 ? __sym_end\n",
        "libb.so.sym": "0000000000000100 T beta\n0000000000000180 ? __sym_end\n",
        "1.dat": record(5, 0, 0, EXE + 0x1000) +
        b"".join(call(t, 1, SHARED + 0x100) for t in (11, 21, 31, 50, 61, 66)) +
        call(70, 1, SHARED + 0x200) + record(90, 1, 0, EXE + 0x1000),
        "2.dat": call(41, 0, SHARED + 0x100) + call(46, 0, SHARED + 0x100) +
        call(67, 0, SHARED + 0x100),
        "3.dat": call(72, 0, SHARED + 0x100)})
    # process 2 has its parent's library until it loads its own; thread 3 has process 1's
    check(got, "1 main() {", "1 1 ns alpha();", "1 1 ns beta();", "1 1 ns alpha();",
          "2 1 ns alpha();", "2 1 ns beta();", "1 1 ns alpha();", "1 1 ns beta();",
          "1 1 ns alpha();", "2 1 ns beta();", "1 1 ns both();", "3 1 ns alpha();",
          "1 85 ns } /* main */")


def check_python(folder):
    got = dump(folder, {
        "info": HEADER + b"exename:/usr/bin/python3\n",
        "task.txt": 'SESS timestamp=0.000000001 pid=1 sid=aa exename="/usr/bin/python3"\n'
                    "TASK timestamp=0.000000001 tid=1 pid=1\n",
        "sid-aa.map": f"{EXE:x}-{EXE + 0x9000:x} r-xp 00000000 08:01 7   /usr/bin/python3\n",
        "python.fake.sym": "# symbols: 2\n# path name: python.fake\n#         \n"
                           "0000000000000001 T __main__.main\n0000000000000002 P builtins.print\n"
                           "0000000000000003 ? __sym_end\n",
        "python.fake.dbg": "# path name: python.fake\nF: 1 __main__.main\nL: 7 prog.py\n",
        "1.dat": record(5, 0, 0, 1) + call(6, 1, 2) + call(8, 1, 9) + record(9, 1, 0, 1)})
    check(got, "1 __main__.main() {", "1 1 ns builtins.print();", "1 1 ns 0x9();",
          "1 4 ns } /* __main__.main */")
    done = subprocess.run([BIN, "dump", "--places", f"{folder}.ttape"], capture_output=True,
                          check=False)
    if b"prog.py:7" not in done.stdout:
        failures.append(f"no place: {done.stdout} {done.stderr}")


def check_values(folder):
    names = ("plain", "sixteen", "long", "color", "flags", "malloc", "paint")
    specs = ("", "/d16", "/i64", "/e:color", "/e:bits", "/u", "/e:other")
    debug = "# path name: /bin/prog\nE: enum color {NONE=-3,RED=0,GREEN=0x5,BLUE}\n" \
        "E: enum bits { A = 1, B, C = 04, }\nE: enum broken {A=?}\nE: what\n"
    symbols = ""
    for number, (name, spec) in enumerate(zip(names, specs)):
        symbols += f"{0x1000 + 16 * number:016x} T {name}\n"
        debug += f"F: {0x1000 + 16 * number:x} {name}\nA: @arg1{spec}\nR: @retval{spec}\n"

    def both(time, number, first, last):
        return call(time, 0, EXE + 0x1000 + 16 * number, first, last)
    got = dump(folder, {
        "info": HEADER[:16] + struct.pack("<Q", 0x77A | 1 << 10) + HEADER[24:] +
        b"exename:/bin/prog\nargspec:lines=4\nargauto:malloc@arg1/u\nretauto:malloc@retval/p\n"
        b"enumauto:enum color {PINK};enum other {ONE=1,TWO,};\nauto-args:1\n",
        "task.txt": 'SESS timestamp=0.000000001 pid=1 sid=aa exename="/bin/prog"\n'
                    "TASK timestamp=0.000000001 tid=1 pid=1\n",
        "sid-aa.map": f"{EXE:x}-{EXE + 0x9000:x} r-xp 00000000 08:01 7   /bin/prog\n",
        "prog.sym": symbols + "0000000000002000 ? __sym_end\n", "prog.dbg": debug,
        "1.dat": both(10, 0, 2**32 - 9, 2**32 - 1_001_000) + both(20, 0, 2**31 - 1, 2**64 - 2) +
        both(30, 0, 1 << 32, 2**31) + both(40, 1, 65533, 3) + both(50, 2, 2**32 - 9, 2**64 - 9) +
        both(60, 3, 0, 5) + both(70, 3, 2**32 - 3, 6) + both(80, 3, 7, 2**64 - 3) +
        both(90, 4, 3, 8) + both(95, 5, 2**32 - 1, 2**32 - 1) + both(97, 6, 2, 9)})
    check(got, "1 1 ns plain(-9) = -1001000;", "1 1 ns plain(2147483647) = -2;",
          "1 1 ns plain(4294967296) = -2147483648;", "1 1 ns sixteen(-3) = 3;",
          "1 1 ns long(4294967287) = -9;", "1 1 ns color(RED) = GREEN;",
          "1 1 ns color(NONE) = BLUE;", "1 1 ns color(7) = NONE;", "1 1 ns flags(A|B) = 8;",
          "1 1 ns malloc(4294967295) = 4294967295;", "1 1 ns paint(TWO) = 9;")


with tempfile.TemporaryDirectory() as temporary:
    check_libraries(f"{temporary}/libraries")
    check_python(f"{temporary}/python")
    check_values(f"{temporary}/values")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
