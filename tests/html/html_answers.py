"""What the reader in a page answers, beside the command's server: the same bytes."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "view"))
from view_client import COMMAND, Server, skip  # noqa: E402

SOURCE = Path(os.environ["TTAPE_SRC"])
ENGINE = Path(os.environ["TTAPE_BUILD"], "engine", "engine.wasm")
MEMORY_MOST = 300 << 20  # of both workers; each is given 96 MiB, as the server is here
# What is no answer: how many partitions were decoded, which is more where two threads look ahead,
# and what another question had left in memory.
ADDED = re.compile(rb',"decoded":"\d*"|bytes: \d+ at least')


def need():
    if shutil.which("node") is None:
        skip("node is missing (scripts/setup installs it)")
    if not ENGINE.exists():
        skip("this build has no reader as WebAssembly")


def make_words(folder):
    """System calls of all numbers with arguments that have words, errors, fractions, functions of
    the C library, enumerations' types, and bytes that are no text."""
    chance = random.Random(5)
    table = (SOURCE / "libtrace" / "names" / "call_names.c").read_text(encoding="utf-8")
    calls = re.findall(r'\[\d+\] = "(\w+)"', table)
    numbers = [0, 1, 2, 3, 9, 10, 17, 0x42, 0x241, 0x80802, 0x80000, 0x5401, 0x40049409, 2**32 - 1,
               2**32 - 100, 2**64 - 1, 2**63, 4096, 0x7ffe12345678, 0x53564d41, 0x3d0f00]
    others = ['"/etc/passwd"', '"a\\"b\\\\\\n\\x01\\xff<b>"', "hex:00ff4100", "null", "-5", "0.5",
              "1e-300", "0.1", "nan", "inf", "123456.5", "1e300", "-0.0", "3.14159265358979"]
    lines = ['process 1 "prog"', 'thread 1 10 "first"', "module 0x1000 0x2000 /lib/libc.so.6",
             "symbol 0x1100 open", "symbol 0x1200 work", "symbol 0x1300 strtol",
             "0 10 enter 0x1200"]
    for i, name in enumerate(calls * 3):
        values = [str(chance.choice(numbers)) if chance.random() < 0.8 else chance.choice(others)
                  for _ in range(chance.choice((0, 1, 2, 3, 6, 6, 6)))]
        result = chance.choice((0, 3, 0x7f0000001000, -1 - i % 140, "hex:4142"))
        lines += [f"{i + 1} 10 syscall-enter {name} {' '.join(values)}",
                  f"{i + 1} 10 syscall-exit - {result} {'hex:414200' if i % 4 == 0 else ''}"]
    for i in range(600):
        bits = struct.unpack("<d", chance.randbytes(8))[0]
        lines += [f"{9000 + i} 10 enter {('0x1100', '0x1200', '0x1300')[i % 3]} "
                  f"{chance.choice(others)} {chance.choice(others)} {bits!r}",
                  f"{9000 + i} 10 exit - {chance.choice(others)} {chance.random() * 10**(i % 9)!r}"]
    text, trace = Path(folder, "words.txt"), Path(folder, "words.ttape")
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run([COMMAND, "convert", text, "-o", trace], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
    return trace


def listed(count):
    return ",".join(map(str, range(count))) or "0"


def make_requests(info, streams, values=64):
    """Questions of every word; what they name is there in nearly every trace."""
    end = max(int(info["end"]), 1)
    level = max(end.bit_length() - 8, 0)
    some = listed(min(streams, 8))
    yield "trace\nthreads\nmodules"
    yield f"sites?sites={listed(min(info['sites'], 200))}&all=1"
    for l in (level, level - 1, level - 4, level - 9):
        for index in (0, 1, 100):
            if l >= 0:
                yield f"tiles?level={l}&index={index}&count=2&streams={some}&depths=64"
    for how in ("total", "self", "calls", "mean", "max", "min", "idle"):
        yield f"functions?sort={how}&count=300"
    yield f"functions?from={end // 3}&to={end // 2 + 1}\nfunctions?text=a&reverse=1"
    yield "children?id=-&count=100\nnode?id=-"
    for s in range(min(streams, 4)):
        yield (f"children?id=s{s}\nchildren?id=s{s}&mode=opened\n"
               f"children?id=s{s}&mode=full&count=50\nnode?id=s{s}e0\nnode?id=s{s}e1&mode=full\n"
               f"values?id=s{s}e0\nvalues?id=s{s}e3")
        for first in range(0, min(int(info["events"]), values), 16):
            yield "\n".join(f"values?id=s{s}e{e}" for e in range(first, first + 16))
        for time in (0, end // 7, end // 2, end - 1):
            yield (f"stack?stream={s}&time={time}&depth=0\n"
                   f"stack?stream={s}&time={time}&depth=3")
        yield f"path?id=s{s}e5\npath?id=s{s}e7"
    for by in ("duration", "self", "start"):
        yield f"longest?by={by}&count=30"
    for site in range(min(info["sites"], 4)):
        for more in ("", f"&from={end // 3}&to={end // 2 + 1}&count=10"):
            yield "\n".join([f"butterfly?site={site}{more}"] * 16) # until it is complete
    for site in range(min(info["sites"], 12)):
        yield (f"function?site={site}\nlongest?site={site}&count=5\n"
               f"next?site={site}&stream=0&time=0\nnext?site={site}&stream=0&event=9&back=1")
    yield "search?text=ma\nsearch?text=e&count=500\nmodule_sites?modules=0,1"
    yield "find?text=1&count=20\nfind?text=e"
    yield "nothing\nnode?id=x\nsource?file=/nowhere.c\n" + "trace\n" * 3


def ask_server(server, requests):
    return [server.post(request)[2] for request in requests]


def compare(traces):
    """Problems, and how many answers were compared."""
    need()
    problems, asked, tasks, wanted = [], 0, [], []
    for trace in traces:
        opened = subprocess.run([COMMAND, "info", "--json", trace], capture_output=True)
        if opened.returncode not in (0, 3):
            tasks.append({"path": str(trace), "name": str(trace), "requests": []})
            wanted.append(opened.stderr.decode(errors="replace"))
            continue
        with Server(trace, "--names", "mangled", "--memory", "96M") as server:
            info = server.ask("trace")[0]
            values = 4000 if Path(trace).name == "words.ttape" else 64
            requests = list(make_requests(info, info["streams"], values))
            wanted.append(ask_server(server, requests))
        tasks.append({"path": str(trace), "name": str(trace), "requests": requests})
    ran = subprocess.run(["node", Path(__file__).with_name("engine.js")], capture_output=True,
                         input=json.dumps({"engine": str(ENGINE), "traces": tasks}).encode())
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(said) != len(tasks):
        return [f"the reader ended after {len(said)} of {len(tasks)} traces: "
                f"{tasks[len(said)]['path']}: {ran.stderr.decode()[-600:]}"], asked
    for task, wants, got in zip(tasks, wanted, said):
        name = Path(task["path"]).name
        if isinstance(wants, str):
            asked += 1
            if got.get("error", "?") not in wants:
                problems.append(f"{name}: {got}, not {wants}")
            continue
        if "error" in got:
            problems.append(f"{name}: does not open: {got['error']}")
            continue
        if got["memory"] > MEMORY_MOST:
            problems.append(f"{name}: {got['memory']} bytes of memory")
        for request, want, answer in zip(task["requests"], wants, got["responses"]):
            asked += 1
            want, answer = ADDED.sub(b"", want), ADDED.sub(b"", answer.encode("latin1"))
            if request.startswith("butterfly"):
                want, answer = last_of(want), last_of(answer)
            if want != answer and not both_refuse(request, want, answer):
                at = next((i for i, (a, b) in enumerate(zip(want, answer)) if a != b),
                          min(len(want), len(answer)))
                problems.append(f"{name}: {request[:100]!r}: "
                                f"{answer[max(at - 60, 0):at + 60]!r}, not "
                                f"{want[max(at - 60, 0):at + 60]!r}")
    return problems, asked


def last_of(answer):
    """A butterfly is read in pieces, as many at once as there are threads."""
    last = json.loads(answer)[-1]
    assert last.get("complete", "error" in last), last
    return json.dumps(last).encode()


def both_refuse(request, want, answer):
    """Sources are not the trace's: each says so in its own words."""
    if "source?" not in request:
        return False
    cut = [[{} if "error" in one else one for one in json.loads(text)] for text in (want, answer)]
    return cut[0] == cut[1]


def tell(what, problems, asked):
    for line in problems[:20]:
        print(line)
    print(f"{what}: {'FAILED' if problems else 'ok'}, {asked} answers")
    return 1 if problems else 0
