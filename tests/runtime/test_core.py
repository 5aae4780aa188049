#!/usr/bin/env python3
"""`tracetape context --core`: of programs that stand still, alone, beside recording and with chosen
functions, a dump gives each open call the value and the branch value that the program said there,
and locals what they hold; what is cut, missing or of another build is said in words."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import arena as rt
import cores

MAGIC = b"ttape contexts\n\0"
STUB = ("-Wl,--whole-archive", "-ltracetape-blocks", "-Wl,--no-whole-archive")
HOOKS = ("-finstrument-functions", "-fsanitize-coverage=trace-pc", *STUB)
TOOL = os.environ["TTAPE_BIN"]
ALONE, RECORDING = "libtracetape-context", "libtracetape-rt"
shop = rt.Workshop()
failures = []


def fail(what, why):
    failures.append(f"{what}: {why}")


def path_of(name):
    return os.path.join(shop.directory, name)


def build(name, compiler, *flags):
    subprocess.run([compiler, "-g", "-pthread", "-Wall", "-Wextra", "-Werror", f"-I{rt.INCLUDE}",
                    "-o", path_of(name), os.path.join(rt.SUBJECTS, "core.c"), f"-L{rt.BUILD}",
                    *flags, f"-Wl,-rpath,{rt.BUILD}"], check=True)
    return path_of(name)


def show(*arguments):
    return subprocess.run([TOOL, "context", "--core", *arguments], capture_output=True, text=True,
                          check=False, timeout=120)


def frames_of(answer):
    return [frame for thread in json.loads(answer.stdout)["threads"]
            for stack in thread["stacks"] for frame in stack["calls"]]


def check_values(what, still, answer, library):
    if answer.returncode or answer.stderr:
        fail(what, f"exit {answer.returncode}: {answer.stderr}")
        return []
    frames = frames_of(answer)
    if {thread["runtime"] for thread in json.loads(answer.stdout)["threads"]} != {library}:
        fail(what, f"the runtime is not {library}")
    for function, value, branch in still.said:
        found = [frame for frame in frames if frame["value"] == value]
        if len(found) != 1 or found[0]["function"] != function:
            fail(what, f"{function} {value}: {found}")
        elif function == "leaf" and found[0].get("branch", "-") != branch:
            fail(what, f"branches of leaf are {branch}, not {found[0].get('branch')}")
    depths = sorted(int(frame["value"].split("/")[1]) for frame in frames)
    if depths != [1, 1, 2, 2, 3, 3, 4, 4, 5, 6]:
        fail(what, f"depths {depths}")
    return frames


def locals_of(frames, function):
    return [{one["name"]: one["value"] for one in frame["locals"]} for frame in frames
            if frame["function"] == function]


def check_locals(what, frames):
    """Of code that is not optimised, all of them."""
    points = sorted(re.sub(r"0x[0-9a-f]+", "AT", one.get("point", ""))
                    for one in locals_of(frames, "recurse"))
    wanted = sorted(f'{{x = {i}, y = {2 * i}, name = AT "a point"}}' for i in (0, 1, 2, 3, 0, 1))
    if points != wanted:
        fail(what, f"points {points}")
    for one in locals_of(frames, "leaf"):
        if (one["number"], one["colour"], one["half"]) != ("4", "GREEN", "2") or \
                not one["text"].endswith('"hello"'):
            fail(what, f"locals of leaf: {one}")
    if [one["given"] for one in locals_of(frames, "thread")] != ["-12345"]:
        fail(what, "locals of thread")
    places = {frame["function"]: re.sub(r".*/", "", frame.get("line", "")) for frame in frames}
    if not all(re.fullmatch(r"core\.c:\d+", place) for place in places.values()):
        fail(what, f"lines {places}")


def check_optimised(what, frames):
    """Some of them, and words for the others."""
    texts = [text for frame in frames for text in
             (one["value"] for one in frame["locals"])]
    if not any('"hello"' in text for text in texts) or not any("(" in text for text in texts):
        fail(what, f"locals {texts}")


def check_kinds():
    for compiler in ("gcc", "clang"):
        for level in ("-O0", "-O2"):
            if not shutil.which(compiler):
                continue
            kind = [flag.replace("trace-pc", "trace-pc-guard") if compiler == "clang" else flag
                    for flag in HOOKS]
            program = build(f"{compiler}{level}", compiler, level, *kind, "-ltracetape-context")
            still = cores.Still([program])
            answer = show(still.dump(path_of("core")), "--json")
            still.end()
            frames = check_values(f"{compiler} {level}", still, answer, ALONE)
            (check_locals if level == "-O0" else check_optimised)(f"{compiler} {level}", frames)
    for what, flags in (("chosen", ["-DCHOSEN", "-ltracetape-context"]),
                        ("static", ["-finstrument-functions", "-l:libtracetape-context.a"])):
        still = cores.Still([build(what, "gcc", "-O0", *flags)])
        answer = show(still.dump(path_of("core")), "--json")
        still.end()
        check_locals(what, check_values(what, still, answer, ALONE))


def check_recorded():
    program = build("recorded", "gcc", "-O0", *HOOKS, "-ltracetape-context")
    still = cores.Still([TOOL, "record", "--no-patch", "-o", path_of("run.ttape"), "--", program])
    answer = show(still.dump(path_of("core")), "--json")
    still.end()
    check_locals("recorded", check_values("recorded", still, answer, RECORDING))


def expect(what, answer, status, *words):
    text = answer.stdout + answer.stderr
    if answer.returncode != status or not all(word in text for word in words):
        fail(what, f"exit {answer.returncode}, {words}: {answer.stderr}")


def check_builds():
    """Names and locals are of the same build, or there are none; values need no file."""
    program = build("stripped", "gcc", "-O0", *HOOKS, "-ltracetape-context")
    whole = path_of("whole")
    shutil.copy(program, whole)
    subprocess.run(["strip", program], check=True)
    still = cores.Still([program])
    dump = still.dump(path_of("core"))
    answer = show(dump, "--json", whole)
    check_locals("the whole file is given", check_values("whole", still, answer, ALONE))
    stripped = show(dump)
    for _, value, _ in still.said:
        if not re.search(rf"{value}  \S+  (stripped\+0x|main)", stripped.stdout):
            fail("stripped", f"{value} is not in {stripped.stdout}")
    if "its locals: there is no debug information" not in stripped.stdout:
        fail("stripped", "nothing is said of locals")
    expect("no file of it", show(dump, "/bin/true"), 3, "'/bin/true' is no file of this process")
    os.rename(build("other", "gcc", "-O1", *HOOKS, "-ltracetape-context"), program)
    other = show(dump)
    expect("another build", other, 3, "another build", still.said[0][1])
    os.unlink(program)
    expect("no file", show(dump), 3, "names and locals", "are missing", still.said[0][1])
    still.end()


def put(name, data):
    with open(path_of(name), "wb") as file:
        file.write(data)
    return path_of(name)


def check_broken():
    program = build("broken", "gcc", "-O0", *HOOKS, "-ltracetape-context")
    still = cores.Still([program])
    with open(still.dump(path_of("core")), "rb") as file:
        data = file.read()
    still.end()
    at = data.index(MAGIC)
    version = data[:at + 16] + struct.pack("<I", 99) + data[at + 20:]
    expect("another runtime", show(put("v", version)), 4, "in another way")
    expect("no runtime", show(put("n", data.replace(MAGIC, bytes(16)))), 4,
           "no runtime of tracetape")
    expect("no dump", show(program), 4, "it is no core dump")
    expect("no file", show(path_of("nothing")), 4, "cannot open")
    cut_words = set()
    for size in [len(data) * part // 20 for part in range(20)] + [len(data) - 1]:
        answer = show(put("cut", data[:size]))
        if answer.returncode not in (3, 4) or not answer.stderr:
            fail("cut", f"{size} bytes: exit {answer.returncode}: {answer.stderr}")
        cut_words.add(answer.returncode)
    if 3 not in cut_words:
        fail("cut", "nothing of a dump that was cut is used")


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a preloaded runtime and a sanitizer's cannot be in one process")
    try:
        check_kinds()
        check_recorded()
        check_builds()
        check_broken()
    except cores.CannotTrace as why:
        rt.skip(f"no dump can be written here: {why}")
    finally:
        cores.end_all()
        shop.close()
    for failure in failures[:30]:
        print(failure)
    print(f"core: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
