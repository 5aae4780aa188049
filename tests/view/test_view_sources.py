#!/usr/bin/env python3
"""Source text comes from files that the trace names, and from nothing else: not upwards, not by a
link, not from what is no regular file, not from a path that the trace does not name. Which lines
ran is what `tracetape lines` says."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from view_client import COMMAND, Server, check, end


def quote(path):
    return "".join(c if c.isalnum() or c in "/._-" else "".join(f"%{b:02x}" for b in c.encode())
                   for c in str(path))


def make_trace(folder, files):
    """A function of each file."""
    lines = ['process 1 "prog"', 'thread 1 10 "first"']
    for i, file in enumerate(files):
        lines.append(f"symbol {16 + i:#x} f{i} {file}:{i + 1}")
    for i in range(len(files)):
        lines += [f"{100 * i} 10 enter {16 + i:#x}", f"{100 * i + 7} 10 exit"]
    text = Path(folder, "trace.txt")
    text.write_text("\n".join(lines) + "\n")
    trace = Path(folder, "trace.ttape")
    done = subprocess.run([COMMAND, "convert", text, "-o", trace], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAILED: convert: {done.stderr}")
    return trace


def ask_text(server, path):
    answer = server.ask(f"source?file={quote(path)}")[0]
    return answer["lines"] if "lines" in answer else answer["error"]["message"]


def check_paths(folder):
    source = Path(folder, "src")
    source.mkdir()
    Path(source, "a<b>.c").write_text("int a;\n<img onerror=x>\u202e\0\n" + "x" * 5000 + "\n")
    Path(folder, "secret").write_text("secret\n")
    Path(source, "link.c").symlink_to("../secret")
    Path(folder, "way").symlink_to("src")
    os.mkfifo(Path(source, "pipe.c"))
    with open(Path(source, "large.c"), "wb") as large:
        large.truncate((8 << 20) + 1)
    names = [f"{source}/a<b>.c", f"{source}/link.c", f"{folder}/way/a<b>.c",
             f"{source}/../secret", f"{source}/pipe.c", f"{source}/large.c", f"{source}",
             "../src/a<b>.c", f"{source}/nothing.c", "/proc/self/environ/../../1/environ"]
    trace = make_trace(folder, names)
    with Server(trace) as server:
        text = ask_text(server, names[0])
        check("text", text[:1], ["int a;"])
        check("hostile text", text[1], "<img onerror=x>\u202e\0")
        check("a long line is cut", text[2].startswith("xxx") and len(text[2]) < 1100)
        for number, reason in [(1, "by a link"), (2, "by a link"), (3, "upwards"),
                               (4, "no regular file"), (5, "too large"), (6, "no regular file"),
                               (8, "is not here"), (9, "upwards")]:
            said = ask_text(server, names[number])
            check(f"'{names[number]}'", isinstance(said, str) and reason in said or said)
        for path in [f"{folder}/secret", f"{source}/../src/a<b>.c", "src/a<b>.c", "/etc/passwd",
                     f"{source}//a<b>.c", f"{source}/./a<b>.c", "../../../../etc/passwd", ""]:
            said = ask_text(server, path)
            check(f"'{path}', which the trace does not name",
                  "no file" in said if isinstance(said, str) else said)
    with Server(trace, "--sources", str(folder)) as server:
        check("below --sources", ask_text(server, names[7])[:1], ["int a;"])
        check("by a link, with --sources", "by a link" in str(ask_text(server, names[1])))
        check("upwards, with --sources: below it", ask_text(server, names[3])[:1], ["secret"])
    here = os.getcwd()
    os.chdir(folder)
    with Server(trace) as server:
        check("below the folder of the command", ask_text(server, names[7])[:1], ["int a;"])
    os.chdir(here)


PROGRAM = """int half(int n)
{
    if (n > 3)
        return n / 2;
    if (n > 9)
        n = 1;
    return n;
}
int main(void)
{
    return half(2) + half(6) - 5;
}
"""


def check_lines(folder):
    """Of a program with blocks."""
    stub = Path(os.environ["TTAPE_BUILD"], "libtracetape-blocks.a")
    source, program = Path(folder, "prog.c"), Path(folder, "prog")
    source.write_text(PROGRAM)
    built = subprocess.run(
        ["gcc", "-g", "-O0", "-finstrument-functions", "-fsanitize-coverage=trace-pc", source, "-o",
         program, "-Wl,--whole-archive", stub, "-Wl,--no-whole-archive", "-lpthread", "-ldl"],
        capture_output=True, text=True)
    if built.returncode:
        print(f"lines are not tried: {built.stderr.strip().splitlines()[-1]}")
        return
    trace = Path(folder, "prog.ttape")
    subprocess.run([COMMAND, "record", "-o", trace, program], check=True, capture_output=True)
    with Server(trace) as server:
        calls = server.ask("longest?by=start&count=9")[0]["calls"]
        for call in calls:
            said = subprocess.run([COMMAND, "lines", "--json", "--frame", call["id"], trace],
                                  capture_output=True, check=True).stdout
            check(f"lines of {call['id']}", server.ask(f"lines?id={call['id']}")[0]["lines"],
                  json.loads(said))
        half = server.ask("search?text=half&count=1")[0]["sites"][0]["site"]
        said = subprocess.run([COMMAND, "lines", "--json", "--function", "^half$", trace],
                              capture_output=True, check=True).stdout
        answer = server.ask(f"lines?site={half}")[0]["lines"]
        check("lines of a function", answer, json.loads(said))
        states = {line["line"]: line["state"] for line in answer["files"][0]["lines"]}
        check("states", (states[4], states[6]), ("ran", "never"))
        file = answer["files"][0]["file"]
        check("its text", ask_text(server, file), PROGRAM.splitlines())
        check("no such call", "has no call" in
              server.ask("lines?id=s0e999999")[0]["error"]["message"])


def check_without_blocks(folder):
    with Server(Path(folder, "trace.ttape")) as server:
        check("without blocks", "trace-pc" in server.ask("lines?site=0")[0]["error"]["message"])


with tempfile.TemporaryDirectory() as name:
    place = Path(os.path.realpath(name))
    check_paths(place)
    check_lines(place)
    check_without_blocks(place)
end("sources are those that the trace names")
