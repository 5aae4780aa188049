#!/usr/bin/env python3
"""A log of Redis, from Debian's sources, whose one printing line was given a context value: each
line of it decodes by the dictionary, certainly, to a stack whose last function but the log's own
has that line's text in its source; lines of the child that saves come from the child's stack; and
the recording of another run of the same program says the same.

Redis is talked to by a socket in the test's own folder."""
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import debian_source
import setting

INCLUDE = setting.SOURCE / "libtrace" / "include"
PRINTS = 'fprintf(fp,"%d:%c %s %c %s\\n",'
PRINTS_CONTEXT = 'fprintf(fp,"%d:%c %s %c [" TTAPE_CONTEXT_FORMAT "] %s\\n",'
ARGUMENTS = "buf,c[level],msg);"
ARGUMENTS_CONTEXT = "buf,c[level],TTAPE_CONTEXT_ARGUMENTS(ttape_context()),msg);"
LINE = re.compile(r"\d+:([A-Z]) .*? [.*#-] \[[0-9a-f]{16}/(\d+) \{([^}]*)\}\] (.*)")
FUNCTION = re.compile(r"^[A-Za-z][\w\s*]*?\b(\w+)\([^;{]*\)\s*\{$(.*?)^\}", re.M | re.S)
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
CONVERSION = re.compile(r"%[-+ #0]*[\d.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z]")
HELPERS = ["_serverLog", "serverLogRaw"]


def build(source):
    server = source / "src" / "server.c"
    text = server.read_text(encoding="utf-8")
    for old, new in ((PRINTS, PRINTS_CONTEXT), (ARGUMENTS, ARGUMENTS_CONTEXT)):
        if text.count(old) != 1:
            setting.skip(f"this Redis prints its log in another way: no '{old}'")
        text = text.replace(old, new)
    text = text.replace('#include "server.h"\n',
                        '#include "server.h"\n#include <tracetape/context.h>\n', 1)
    server.write_text(text, encoding="utf-8")
    libraries = f"-L{setting.BUILD} -Wl,--no-as-needed -ltracetape-context " \
                f"-Wl,-rpath,{setting.BUILD}"
    subprocess.run(["make", "-C", source / "src", "-j2", "MALLOC=libc", "OPTIMIZATION=-O1",
                    f"CFLAGS=-finstrument-functions -I{INCLUDE}", f"LDFLAGS={libraries}",
                    "redis-server"], check=True, capture_output=True, timeout=1800)
    return source / "src" / "redis-server"


def functions_of(source):
    """{function: [pattern of a text in it]}; short texts say nothing."""
    found = {}
    for path in sorted((source / "src").glob("*.c")):
        for name, body in FUNCTION.findall(path.read_text(encoding="utf-8", errors="replace")):
            for literal in LITERALS.findall(body):
                text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literal))
                parts = [part.replace('\\"', '"') for part in CONVERSION.split(text)]
                if sum(map(len, parts)) >= 5 or text == "%s":
                    pattern = ".*".join(re.escape(part) for part in parts)
                    found.setdefault(name, []).append(re.compile(pattern))
    return found


def ask(connection, *words):
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    connection.sendall((f"*{len(words)}\r\n" + "".join(parts)).encode())
    return connection.recv(65536)


def drive(process, path):
    """A little of everything that logs: a save by a child, a debug line, an end."""
    end = time.monotonic() + 60
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    while True:
        try:
            connection.connect(str(path))
            break
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                raise
            time.sleep(0.05)
    for number in range(200):
        ask(connection, "SET", f"key{number}", "value" * number)
    ask(connection, "BGSAVE")
    ask(connection, "DEBUG", "LOG", "a line of the test")
    ask(connection, "CONFIG", "SET", "maxmemory", "100kb")
    while b"rdb_bgsave_in_progress:0" not in ask(connection, "INFO", "persistence"):
        time.sleep(0.05)
    connection.sendall(b"*1\r\n$8\r\nSHUTDOWN\r\n")
    process.wait(timeout=60)
    connection.close()


def serve(server, where, recorded=False):
    where.mkdir()
    own = [server, "--port", "0", "--unixsocket", where / "socket", "--dir", where,
           "--logfile", where / "log", "--loglevel", "verbose", "--enable-debug-command", "yes"]
    words = setting.record_words(where / "run.ttape", own) if recorded else own
    environment = {**os.environ, "TRACETAPE_CONTEXT": str(where / "dictionary")}
    process = subprocess.Popen([str(word) for word in words], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        drive(process, where / "socket")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    return where / "log"


def check_log(checks, source, log, *words):
    texts, lines, children = functions_of(source), 0, 0
    done = setting.tracetape("context", *words, "--annotate", log, timeout=300)
    checks.equal(done.status, 0, f"annotate: {done.err}")
    for line in done.out.decode().splitlines():
        match = LINE.fullmatch(line)
        if match is None:
            checks.that("[" not in line, f"a value that is not told: '{line}'")
            continue
        role, depth, said, text = match.groups()
        stack = setting.unfold(said).split(" > ")
        lines, children = lines + 1, children + (role == "C" and len(stack) > 4)
        checks.equal((len(stack), stack[0]), (int(depth), "main"), f"'{line}'")
        while stack[-1] in HELPERS:
            stack.pop()
        known = any(pattern.search(text) for pattern in texts.get(stack[-1], ()))
        checks.that(known, f"'{stack[-1]}' has no such text: '{text}'")
    checks.that(lines >= 12, f"{lines} lines")
    checks.that(children >= 1, "no line of the child that saves")


def main():
    setting.need_verb("context", "record")
    checks = setting.Checks("context of redis")
    with setting.work_dir() as folder:
        work = Path(folder)
        source = debian_source.fetch(work, "redis", "make")
        server = build(source)
        log = serve(server, work / "plain")
        check_log(checks, source, log, "--dictionary", work / "plain" / "dictionary")
        serve(server, work / "recorded", recorded=True)
        check_log(checks, source, log, "--recording", work / "recorded" / "run.ttape")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
