"""The verbs and what they are given to do in sweeps of faults: small inputs that need every part of
a verb."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import sweep
from sweep import Case

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime"))
import contexts


def calls(count):
    lines = ["0 1 enter main", "3 2 enter work"]
    for i in range(1, count + 1):
        lines += [f"{i * 10} 1 enter f{i % 7}", f"{i * 10 + 5} 1 exit"]
    lines += ["meta k v", '4 2 enter x "text" 5', "9 2 exit x", f"{count * 10 + 10} 1 exit"]
    return "\n".join(lines) + "\n"


def chrome():
    events = [{"name": f"f{i % 5}", "ph": "B" if i % 2 == 0 else "E", "ts": i * 3, "pid": 1,
               "tid": 1 + i // 20} for i in range(60)]
    return json.dumps({"traceEvents": events})


def uftrace(folder):
    """A recording of uftrace: one task, calls of two functions in turn."""
    folder.mkdir()
    files = {
        "info": b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
        + b"exename:/bin/prog\n",
        "task.txt": b'SESS timestamp=1.000000000 pid=10 sid=0123456789abcdef exename="/bin/prog"\n'
        b"TASK timestamp=1.000000001 tid=10 pid=10\n",
        "sid-0123456789abcdef.map": b"555500000000-555500010000 r-xp 00000000 00:00 0   /bin/prog "
        b"build-id:0102\n",
        "prog.sym": b"# path name: /bin/prog\n0000000000001000 T one\n0000000000001100 T two\n"
        b"0000000000001200 ? end\n"}
    calls_of = ((i, 0x555500001000 + i // 2 % 2 * 256) for i in range(200))
    files["10.dat"] = b"".join(struct.pack("<QQ", 1000000010 + i, i % 2 | 5 << 3 | address << 16)
                               for i, address in calls_of)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def dictionary(work):
    """Of context values: a context of one function, in a module that is nowhere."""
    offset, operation = 0x1000, contexts.AFFINE
    seed = contexts.seed(b"file:gone")
    value = contexts.value_of(operation, [contexts.identity(seed, offset)])
    place = 1 << 48 | offset
    data = bytearray(contexts.HEAD + contexts.MODULES * contexts.MODULE + 1024 * contexts.ENTRY)
    magic = int.from_bytes(b"ttcontx\n", "little")
    struct.pack_into("<QIIIIQ", data, 0, magic, 1, operation, contexts.STABLE, 1024,
                     contexts.check(magic ^ 1, 0, 1024))
    path = b"/nowhere/gone"
    struct.pack_into("<QQQII", data, contexts.HEAD, contexts.check(seed, len(path), 0), seed, 0, 0,
                     len(path))
    data[contexts.HEAD + 96:contexts.HEAD + 96 + len(path)] = path
    struct.pack_into("<4Q", data, contexts.HEAD + contexts.MODULES * contexts.MODULE, value,
                     1 << 32, place, contexts.check(value, 1 << 32, place))
    (work / "words.ctx").write_bytes(data)
    (work / "words.log").write_text(f"[{value:016x}/1] here\n", encoding="ascii")


def prepare(run):
    """Inputs of the cases."""
    work = run.work
    (work / "in.txt").write_text(calls(300), encoding="ascii")
    (work / "in.json").write_text(chrome(), encoding="ascii")
    uftrace(work / "in.uftrace")
    run.tracetape("convert", "in.txt", "-o", "a.ttape", "--partition-events", "100")
    run.tracetape("cut", "a.ttape", "--events", "0..200", "-o", "one.ttape")
    run.tracetape("cut", "a.ttape", "--events", "200..", "-o", "two.ttape")
    bytes_ = bytearray((work / "a.ttape").read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    (work / "damaged.ttape").write_bytes(bytes_)
    dictionary(work)
    (work / "short.ttape").write_bytes(bytes(bytes_[:len(bytes_) * 2 // 3]))


def events():
    """Verbs that print what is in a file."""
    return [
        Case("info", ["info", "a.ttape"]),
        Case("info --json", ["info", "--json", "a.ttape"]),
        Case("verify", ["verify", "a.ttape"]),
        Case("verify, damaged", ["verify", "damaged.ttape"]),
        Case("verify --json", ["verify", "--json", "damaged.ttape"]),
        Case("dump", ["dump", "a.ttape"]),
        Case("dump of a pipe", ["dump", "-"], stdin="a.ttape"),
        Case("dump --follow", ["dump", "--follow", "a.ttape"]),
        Case("dump --jobs", ["dump", "--jobs", "2", "--format", "ndjson", "a.ttape"]),
        Case("dump csv", ["dump", "--format", "csv", "--limit", "40", "a.ttape"]),
    ]


def answers():
    """Verbs that answer questions."""
    return [
        Case("context --dictionary", ["context", "--dictionary", "words.ctx", "--annotate",
                                      "words.log"]),
        Case("context", ["context", "--recording", "a.ttape", "1234/2"]),
        Case("report", ["report", "--jobs", "2", "a.ttape"]),
        Case("report --exact", ["report", "--exact", "--json", "--jobs", "1", "a.ttape"]),
        Case("slow", ["slow", "--jobs", "2", "a.ttape"]),
        Case("slow --self", ["slow", "--self", "--json", "--jobs", "1", "a.ttape", "f3"]),
        Case("report --callers", ["report", "--callers", "f3", "--jobs", "2", "a.ttape"]),
        Case("last", ["last", "--all", "a.ttape"]),
        Case("last --json", ["last", "--json", "a.ttape"]),
        Case("tree", ["tree", "--partitions", "--jobs", "2", "a.ttape"]),
        Case("tree --full", ["tree", "--full", "--fold", "--jobs", "1", "a.ttape"]),
        Case("tree --json", ["tree", "--json", "--partitions", "--jobs", "1", "a.ttape"]),
        Case("graph", ["graph", "a.ttape"]),
        Case("graph --format dot", ["graph", "--format", "dot", "--all", "a.ttape"]),
        Case("graph --json", ["graph", "--json", "a.ttape"]),
        Case("graph --summary", ["graph", "--summary", "a.ttape"]),
        Case("diff", ["diff", "one.ttape", "two.ttape"]),
        Case("diff --first", ["diff", "--first", "one.ttape", "two.ttape"]),
        Case("diff --json", ["diff", "--json", "one.ttape", "two.ttape"]),
    ]


def formats(run):
    """Export formats that this build has."""
    said = run.tracetape("export", "--help").stdout.decode()
    return [name for name in ("chrome", "perfetto", "firefox", "speedscope", "folded",
                              "callgrind", "ctf", "csv", "arrow", "sqlite")
            if f"\n  {name} " in said]


def files(run):
    """Verbs that make files."""
    cases = [
        Case("convert", ["convert", "in.txt", "-o", "new.ttape", "--partition-events", "100"],
             ("new.ttape",)),
        Case("convert of a pipe", ["convert", "-", "-o", "new.ttape"], ("new.ttape",),
             stdin="in.txt"),
        Case("convert to a pipe", ["convert", "in.txt", "-o", "-"]),
        Case("convert -f", ["convert", "in.txt", "-f", "-o", "new.ttape"], ("new.ttape",)),
        Case("convert, literal", ["convert", "in.txt", "-o", "new.ttape", "--level", "0"],
             ("new.ttape",)),
        Case("convert uftrace", ["convert", "in.uftrace", "-o", "new.ttape"], ("new.ttape",),
             loss=True),
        Case("convert chrome", ["convert", "in.json", "-o", "new.ttape"], ("new.ttape",)),
        Case("cut", ["cut", "a.ttape", "--events", "50..150", "-o", "new.ttape"], ("new.ttape",)),
        Case("merge", ["merge", "one.ttape", "two.ttape", "-o", "new.ttape"], ("new.ttape",)),
        Case("recover", ["recover", "damaged.ttape", "-o", "new.ttape"], ("new.ttape",)),
        Case("recover, cut off", ["recover", "short.ttape", "-o", "new.ttape"], ("new.ttape",)),
        Case("symbolize", ["symbolize", "a.ttape", "-o", "new.ttape"], ("new.ttape",), loss=True),
    ]
    for name in formats(run):
        output = "new." + name
        words = ["export", "--format", name, "--jobs", "2", "a.ttape", "-o", output]
        cases.append(Case(f"export {name}", words, (output,), varies=name == "ctf"))
    if "ctf" in formats(run):
        cases.append(Case("export ctf, its helper", ["export", "--format", "ctf", "a.ttape", "-o",
                                                     "new.ctf"], ("new.ctf",), varies=True,
                          in_child=True))
        run.tracetape("export", "--format", "ctf", "a.ttape", "-o", "in.ctf")
        cases.append(Case("convert ctf", ["convert", "in.ctf", "-o", "new.ttape"], ("new.ttape",),
                          loss=True))
        cases.append(Case("convert ctf, its helper", ["convert", "in.ctf", "-o", "new.ttape"],
                          ("new.ttape",), in_child=True, loss=True))
    return cases


PROGRAM = """#include <unistd.h>
static int f(int n) { return n < 2 ? n : f(n - 1) + 1; }
int main(int count, char **words)
{
    int sum = 0;
    for (int i = 0; i < (count > 1 ? 200 : 2); i++)
        sum += f(30);
    if (count > 1)
        (void)sleep(3600); /* until it is killed */
    return words != NULL && sum > 0 ? 0 : 1;
}
"""


def own_program(run):
    """A program with hooks; False where that cannot be made, or not be run."""
    if shutil.which("gcc") is None or sweep.SANITIZED:
        return False
    source = run.work / "program.c"
    source.write_text(PROGRAM, encoding="ascii")
    built = subprocess.run(["gcc", "-g", "-O0", "-finstrument-functions", "-o", "program",
                            source.name], cwd=run.work, check=False, capture_output=True)
    source.unlink()
    return built.returncode == 0


def killed_recording(run):
    """What a killed recorder leaves: partitions, a spill file, an arena."""
    words = [sweep.COMMAND, "record", "-q", "-p", "2000", "-o", "killed.ttape", "./program", "long"]
    with subprocess.Popen(words, cwd=run.work, start_new_session=True) as recorder:
        folder = run.work / "killed.ttape.recording"
        trace = folder / "trace.0"
        for _ in range(1200):
            time.sleep(0.05)
            if trace.exists() and trace.stat().st_size > 3000:
                break
        time.sleep(0.3)
        os.killpg(recorder.pid, signal.SIGSTOP)
        own_arena(folder)
        os.killpg(recorder.pid, signal.SIGKILL)


def own_arena(folder):
    """From then on this process counts as its recorder: else another test's `record` would move it
    into the folder, at any time of a sweep."""
    found = re.search(rb"/dev/shm/tracetape-[^/]{6}/arena", (folder / "journal").read_bytes())
    with open(found.group(), "r+b") as file:
        file.seek(28)  # recorder/arena/arena.h
        file.write(os.getpid().to_bytes(4, "little"))


def controlled(run):
    """A recording that goes on while it is controlled: process ids of its recorder and program."""
    words = [sweep.COMMAND, "record", "-q", "-o", "long.ttape", "./program", "long"]
    with open(os.devnull, "wb") as null:
        recorder = subprocess.Popen(words, cwd=run.work, start_new_session=True, stderr=null)
    for _ in range(1200):
        if run.tracetape("control", str(recorder.pid), "flush", check=False).returncode == 0:
            break
        time.sleep(0.05)
    return recorder


def more_recordings(run):
    """Other ways to record, for sweeps that have the time."""
    if not own_program(run):
        return []
    record = ["record", "-q", "-o", "new.ttape"]
    return [Case(f"record {how[0]}", [*record, *how, "./program"], (output,), loss=True, alone=True,
                 varies=True, remains="new.ttape.recording")
            for how, output in ((["--rotate", "1M"], "new.0001.ttape"),
                                (["--keep-last", "1M"], "new.ttape"))]


def recordings(run):
    """The verbs about recording."""
    if not own_program(run):
        return []
    recorder = controlled(run)
    pid = str(recorder.pid)

    def end():
        os.killpg(recorder.pid, signal.SIGKILL)
        recorder.wait()
        for folder in ("killed.ttape.recording", "long.ttape.recording"):
            run.tracetape("recover", "-q", "-f", "--clean", folder, "-o", "cleaned.ttape",
                          check=False)
    run.tracetape("record", "-q", "--no-symbols", "-o", "bare.ttape", "./program")
    killed_recording(run)
    run.at_end = end
    symbolize = ["symbolize", "bare.ttape", "-o", "new.ttape"]
    return [
        Case("record", ["record", "-q", "-o", "new.ttape", "./program"], ("new.ttape",), alone=True,
             loss=True, varies=True, remains="new.ttape.recording"),
        Case("record --files", ["record", "-q", "-o", "new.ttape", "--files", "./program"],
             ("new.*-*.ttape",), loss=True, alone=True, varies=True,
             remains="new.ttape.recording"),
        Case("control status", ["control", pid, "status"], varies=True),
        Case("control flush", ["control", pid, "flush"], varies=True),
        Case("control off", ["control", pid, "off"], varies=True),
        Case("symbolize of a recording", symbolize, ("new.ttape",), loss=True),
        Case("symbolize, its helper", symbolize, ("new.ttape",), loss=True, in_child=True),
        Case("recover of a recording",
             ["recover", "-q", "killed.ttape.recording", "-o", "new.ttape"], ("new.ttape",),
             loss=True),
    ]
