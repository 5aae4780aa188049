#!/usr/bin/env python3
"""`tracetape context`: each value that a program said decodes to the stack that its source says, by
dictionary and by recording, whatever the operation; of a dictionary that is cut or damaged what is
left is right or said to be missing, and nothing else is certain (W40)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import setting

SUBJECTS = setting.SOURCE / "tests" / "runtime" / "subjects"
INCLUDE = setting.SOURCE / "libtrace" / "include"
OPERATIONS = ("affine", "xor", "add", "multiply")
ENTRIES = 1 << 20
STEP = 1 if os.environ.get("TTAPE_THOROUGH") == "1" else 7
failures = []
work = tempfile.mkdtemp(prefix="ttcontext")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def at(name):
    return os.path.join(work, name)


def build(name, source, *flags):
    subprocess.run(["gcc", "-O1", "-g", "-finstrument-functions", "-pthread", f"-I{INCLUDE}",
                    *flags, "-o", at(name), SUBJECTS / source, f"-L{setting.BUILD}",
                    "-ltracetape-context",
                    f"-Wl,-rpath,{setting.BUILD}"], check=True)
    return at(name)


def context(*words, allowed=(0,)):
    done = subprocess.run([setting.COMMAND, "context", *words], capture_output=True, text=True,
                          timeout=120)
    if done.returncode not in allowed:
        note(" ".join(map(str, words)), f"status {done.returncode}: {done.stderr[:300]}")
    return done.stdout, done.stderr


def say(command, **environment):
    return subprocess.run(command, env=dict(os.environ, **environment), check=True, timeout=60,
                          capture_output=True, text=True).stdout


def check_lines(what, annotated, log, open_too=False, missing_too=False):
    """Lines are `VALUE {calls} main>calls`; returns how many were decoded."""
    decoded = 0
    if len(annotated.splitlines()) != len(log.splitlines()):
        note(what, f"{len(annotated.splitlines())} lines of {len(log.splitlines())}")
    for line in annotated.splitlines():
        match = re.fullmatch(r"[0-9a-f]{16}/\d+ \{(.*)\} (\S+)", line)
        if match is None:
            note(what, f"'{line}'")
            continue
        said, stack = match.groups()
        said = setting.unfold(said)
        right = stack.replace(">", " > ")
        if said == right or (open_too and said.startswith("open: ") and
                             right in said[len("open: "):].split(" | ")):
            decoded += 1
        elif not (missing_too and said == "not found"):
            note(what, f"'{line}'")
    return decoded


def check_both():
    """The dictionary of one run and the recording of another."""
    exe, log = build("program", "context.c"), at("program.log")
    lines = "".join(sorted(set(say([exe], TRACETAPE_CONTEXT=at("program.ctx"))
                               .splitlines(keepends=True))))
    with open(log, "w", encoding="ascii") as file:
        file.write(lines)
    subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", at("program.ttape"), exe],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    ways = {"dictionary": ("--dictionary", at("program.ctx")),
            "recording": ("--recording", at("program.ttape"))}
    for what, words in ways.items():
        check_lines(what, context(*words, "--annotate", log)[0], lines)
    check_pipe(log, lines)
    check_form(lines)
    value = next(line.split()[0] for line in lines.splitlines() if line.endswith("recurse"))
    answer = json.loads(context(*ways["dictionary"], *ways["recording"], "--json", value)[0])[0]
    stack = answer["stacks"][0]
    if answer["certainty"] != "certain" or stack["functions"] != ["main"] + 3 * ["recurse"] or \
            stack["entered"] != 2 or not stack["in_dictionary"] or \
            stack["recursions"] != [{"first": 1, "functions": 1, "times": 3}]:
        note("json", f"{answer}")
    text = context(*ways["dictionary"], value)[0]
    if text.splitlines()[2:] != ["    main", "    recurse × 3"]:
        note("text", text)
    if "not found" not in context(*ways["recording"], value[:-1] + "9", allowed=(1,))[0]:
        note("wrong depth", "is found")
    other = build("other", "context.c", "-DOTHER=1", "-O2")
    subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", at("other.ttape"), other],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    if check_lines("other build", context("--recording", at("other.ttape"), "--annotate", log,
                                          allowed=(1,))[0], lines, missing_too=True):
        note("other build", "values are found")
    return exe, log, lines


def check_form(lines):
    """Values that a log writes otherwise: --value says how; what only looks so stays bare."""
    first, rest = lines.splitlines()[0], lines.splitlines()[1]
    value, depth = first.split()[0].split("/")
    stack = first.split()[1].replace(">", " > ")
    log = (f"[0x{value.upper()}] Hello world.\n[0x{value}] at {depth}: again [0xfeedbeef]\n"
           f"{rest}\nno value\n")
    words = [setting.COMMAND, "context", "--dictionary", at("program.ctx"), "--annotate", "-"]
    for form in (r"\[(0x[0-9A-Fa-f]{16})\]( at ([0-9]+):)?", r"\[(0x[0-9A-Fa-f]{16})\]",
                 r"\[0x[0-9a-f]+", r"\[0x([0-9A-Fa-f]+)\]"):
        done = subprocess.run([*words, "--value", form], input=log, capture_output=True, text=True,
                              check=False, timeout=60)
        told = done.stdout.splitlines()
        is_found = form != r"\[0x[0-9a-f]+"  # all of the match would have to be a value
        if (f"] {{{stack}}} Hello world." in setting.unfold(told[0])) != is_found or \
                told[2:] != [rest, "no value"] or len(told) != 4:
            note(f"--value {form}", f"{done}")
    done = subprocess.run([*words, "--value", f"(0x{value}). at ({depth})"], input=log, text=True,
                          capture_output=True, check=False, timeout=60)
    if f" at {depth} {{{stack}}}: again" not in setting.unfold(done.stdout) or done.returncode:
        note("--value with a depth", f"{done}")
    for bad in (["--value", "("], ["--value"]):
        done = subprocess.run([*words, *bad], input="", text=True, capture_output=True, check=False)
        if done.returncode != 2:
            note(f"{bad}", f"{done}")


def check_pipe(log, lines):
    """By a pipe it is the same; JSON is refused; many depths of one value take no long time."""
    words = [setting.COMMAND, "context", "--dictionary", at("program.ctx"), "--annotate"]
    piped = subprocess.run([*words, "-"], input=lines, capture_output=True, text=True, check=False,
                           timeout=60)
    if piped.returncode or check_lines("pipe", piped.stdout, lines) != len(lines.splitlines()):
        note("pipe", f"{piped.returncode} {piped.stderr}")
    refused = subprocess.run([*words, log, "--json"], capture_output=True, check=False, timeout=60)
    if refused.returncode != 2:
        note("--json with --annotate", f"{refused}")
    first = lines.splitlines()[0].encode()
    hostile = b"a\tb \x1b[31m\x1b]0;t\x07 " + first + b" \xc2\x9b2J \xe2\x80\xae \x9b\r c\r\n"
    told = subprocess.run([*words, "-"], input=hostile, capture_output=True, check=False,
                          timeout=60).stdout
    if any(byte in told for byte in (b"\x1b", b"\x07", b"\xc2\x9b", b"\x9b", b"\xe2\x80\xae",
                                     b"\r ")) or not told.startswith(b"a\tb \\x1b[31m"):
        note("what acts on terminals", f"{told}")
    many = "".join(f"0123456789abcdef/{depth}\n" for depth in range(300000))
    hostile = subprocess.run([*words, "-"], input=many, capture_output=True, text=True,
                             check=False, timeout=60)
    if hostile.returncode != 1 or len(hostile.stdout.splitlines()) != 300000:
        note("many depths", f"{hostile.returncode} {hostile.stderr[:200]}")


def check_operations():
    exe = build("options", "context_options.c")
    for number, operation in enumerate(OPERATIONS):
        for kind, word in enumerate(("stable", "address")):
            what, words = f"{operation}, {word}", at("options.ctx")
            if os.path.exists(words):
                os.unlink(words)
            lines = say([exe, words, str(number), str(kind), "0"])
            with open(at("options.log"), "w", encoding="ascii") as file:
                file.write(lines)
            told, _ = context("--dictionary", words, "--annotate", at("options.log"),
                              allowed=(0, 1) if operation == "xor" else (0,))
            check_lines(what, told, lines, open_too=operation == "xor")


def check_damage(exe, log, lines):
    good = open(at("program.ctx"), "rb").read()
    all_of_it = len(lines.splitlines())
    used = [place for place in range(ENTRIES, len(good), 32) if any(good[place:place + 32])]
    if len(used) < all_of_it:
        note("damage", f"{len(used)} entries")
    cases = [("cut", good[:size]) for size in (0, 30, 3000, 5000, ENTRIES, *used[::STEP])]
    contexts = {place: good[place:place + 8] + good[place + 12:place + 16] for place in used}
    stand = Counter(contexts.values())
    for place in used[::STEP]:
        if stand[contexts[place]] > 1:
            continue  # two threads wrote it at once: one of them is enough
        for word in range(4):
            data = bytearray(good)
            data[place + 8 * word + 3] ^= 0x10
            cases.append((f"byte {place + 8 * word + 3}", bytes(data)))
    cases += [(f"byte {p}", good[:p] + bytes([good[p] ^ 1]) + good[p + 1:])
              for p in (0, 8, 12, 20, 24, 4096, 4104, 4112, 4128, 4136)]
    for what, data in cases:
        with open(at("bad.ctx"), "wb") as file:
            file.write(data)
        told, _ = context("--dictionary", at("bad.ctx"), "--annotate", log, allowed=(0, 1, 3, 4))
        decoded = check_lines(what, told, lines, missing_too=True) if told else 0
        if what.startswith("byte") and decoded == all_of_it and int(what.split()[1]) > ENTRIES:
            note(what, "damaged, and all is there")
    del exe


def check_names(exe, log):
    """By file and offset where the program is gone."""
    os.rename(exe, exe + ".gone")
    told, said = context("--dictionary", at("program.ctx"), "--annotate", log)
    os.rename(exe + ".gone", exe)
    if not re.search(r"\{program\+0x[0-9a-f]+ > program\+0x", told) or "program" not in said:
        note("a program that is gone", f"{told[:200]} {said[:200]}")


def check_words():
    for words, status in (((), 2), (("--dictionary", "x"), 2), (("12",), 2),
                          (("--dictionary", at("program.ctx"), "12/x"), 2),
                          (("--dictionary", at("none"), "12"), 4),
                          (("--dictionary", __file__, "12"), 4)):
        _, said = context(*words, allowed=(status,))
        if not said.startswith("tracetape: "):
            note(f"{words}", said[:200])


def main():
    setting.need_verb("record", "context")
    setting.need_command("gcc")
    exe, log, lines = check_both()
    check_operations()
    check_damage(exe, log, lines)
    check_names(exe, log)
    check_words()
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"context, decoded: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
