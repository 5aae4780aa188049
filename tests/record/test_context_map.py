#!/usr/bin/env python3
"""Values of addresses, and files of another machine: the runtime says in one line where its modules
are, if the environment asks for it; with that line, or a copy of /proc/PID/maps, `context` decodes
values of that process by binaries, traces and recordings of other runs; binaries are found by build
id in a folder, and a dictionary's names in a folder of debug files."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import setting

SUBJECT = setting.SOURCE / "tests" / "runtime" / "subjects" / "context_options.c"
INCLUDE = setting.SOURCE / "libtrace" / "include"
ADDRESS = ("--id-kind", "address")
failures = []
work = tempfile.mkdtemp(prefix="ttmap")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def at(*names):
    return os.path.join(work, *names)


def run(*words, **environment):
    return subprocess.run(words, env=dict(os.environ, **environment), capture_output=True,
                          text=True, timeout=120)


def write(name, text):
    with open(at(name), "w", encoding="ascii") as file:
        file.write(text)
    return at(name)


def say(exe, ids, **environment):
    """{value: stack}, and what it said on standard error."""
    if os.path.exists(at("words.ctx")):
        os.unlink(at("words.ctx"))
    done = run(exe, at("words.ctx"), "0", ids, "0", **environment)
    return dict(line.split() for line in done.stdout.splitlines()), done.stderr


def decode(what, right, *words):
    """Each value has its stack, first of all."""
    done = run(setting.COMMAND, "context", *words, "--annotate",
               write("log", "".join(f"{value}\n" for value in right)))
    found = [setting.unfold(re.sub(r"^\S+ \{(?:likely: )?(.*)\}$", r"\1", line))
             for line in done.stdout.splitlines()]
    if found != [stack.replace(">", " > ") for stack in right.values()]:
        note(what, f"{done.returncode} {found} {done.stderr}")
    return done


def check_line(exe):
    """One line, only where it is asked for; so also beside a recording."""
    right, told = say(exe, "1")
    if told:
        note("not asked", told)
    right, line = say(exe, "1", TRACETAPE_CONTEXT_MAP="1")
    if line.count("\n") != 1 or not re.match(r"tracetape map:\t[0-9a-f]{16} [0-9a-f]{40} "
                                             + re.escape(exe) + "\t", line):
        note("line", line)
    done = run(setting.COMMAND, "record", "-q", "-f", "-o", at("run.ttape"), exe, at("other.ctx"),
               "0", "0", "0", TRACETAPE_CONTEXT_MAP="1")
    if done.stderr.count("tracetape map:\t") != 1 or done.stderr.count("\n") != 1:
        note("beside a recording", done.stderr)
    return right, line


def check_addresses(exe, right, line):
    """By the line, in a log too, and by a copy of the kernel's list."""
    log = write("app.log", f"hello\n12:00 app: {line}bye\n")
    start = int(re.search(r"\t([0-9a-f]{16}) ", line)[1], 16)
    maps = write("maps", f"{start - 8192:x}-{start:x} rw-p 00000000 00:00 0 \n"
                 f"{start:x}-{start + 4096:x} r--p 00000000 fd:00 17    {exe}\n"
                 f"{start + 4096:x}-{start + 8192:x} r-xp 00001000 fd:00 17    {exe}\n")
    for label, path in (("line", log), ("maps", maps)):
        for words in (("--binary", exe), ("--graph", at("run.ttape")),
                      ("--recording", at("run.ttape"))):
            decode(f"{label}, {words[0]}", right, *words, *ADDRESS, "--map", path)
    done = run(setting.COMMAND, "context", "--binary", exe, *ADDRESS, next(iter(right)))
    if done.returncode != 1 or "where a process had it is not known" not in done.stderr:
        note("without a map", f"{done.returncode} {done.stdout} {done.stderr}")
    for path, text in ((at("none"), "cannot open"), (write("empty", "x\n"), "is no copy of")):
        done = run(setting.COMMAND, "context", "--binary", exe, "--map", path, "12/1")
        if done.returncode != 4 or text not in done.stderr:
            note(path, f"{done.returncode} {done.stderr}")


def check_folder(exe, right, line):
    """Another machine's files, under other names, beside one of another build."""
    os.makedirs(at("theirs", "lib"))
    shutil.copy(exe, at("theirs", "lib", "blob"))
    shutil.copy(sys.executable, at("theirs", "python"))
    words = ("--binary", at("theirs"), *ADDRESS)
    decode("a folder", right, *words, "--map", write("line", line))
    done = run(setting.COMMAND, "context", *words, "12/1")
    if done.returncode != 4 or "--map" not in done.stderr:
        note("a folder without a map", f"{done.returncode} {done.stderr}")
    other = re.sub(r" [0-9a-f]{40} ", " " + "0" * 40 + " ", line)
    done = run(setting.COMMAND, "context", *words, "--map", write("line", other), "12/1")
    if done.returncode != 4 or "no file in it" not in done.stderr:
        note("another build", f"{done.returncode} {done.stderr}")


def check_names(exe, line):
    """A dictionary of another machine: names from a folder of debug files."""
    right, _ = say(exe, "0")
    build_id = re.search(r" ([0-9a-f]{40}) ", line)[1]
    os.makedirs(at("debug", ".build-id", build_id[:2]))
    shutil.move(exe, at("debug", ".build-id", build_id[:2], build_id[2:] + ".debug"))
    decode("debug files", right, "--dictionary", at("words.ctx"), "--debug-dir", at("debug"))


def main():
    setting.need_verb("record", "context")
    setting.need_command("gcc")
    if os.uname().machine != "x86_64":
        setting.skip("code is read of x86-64 only")
    exe = at("program")
    subprocess.run(["gcc", "-O1", "-g", "-finstrument-functions", "-Wl,--build-id", f"-I{INCLUDE}",
                    "-o", exe, SUBJECT, f"-L{setting.BUILD}", "-ltracetape-context",
                    f"-Wl,-rpath,{setting.BUILD}"], check=True)
    right, line = check_line(exe)
    check_addresses(exe, right, line)
    check_folder(exe, right, line)
    check_names(exe, line)
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"maps of modules: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
