"""What the reader in a page answers, beside the command's server: the same bytes."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "view"))
from view_client import COMMAND, Server, skip  # noqa: E402

SOURCE = Path(os.environ["TTAPE_SRC"])
ENGINE = Path(os.environ["TTAPE_BUILD"], "engine", "engine.wasm")
MEMORY_MOST = 300 << 20  # of both workers; each is given 96 MiB, as the server is here
# What is no answer: how the command's own tables print values, and how many partitions were
# decoded, which is more where two threads look ahead.
ADDED = re.compile(rb',"(arguments_text|results_text|values_text|decoded)":"(?:[^"\\]|\\.)*"'
                   rb"|bytes: \d+ at least")  # what another question had left in memory


def need():
    if shutil.which("node") is None:
        skip("node is missing (scripts/setup installs it)")
    if not ENGINE.exists():
        skip("this build has no reader as WebAssembly")


def listed(count):
    return ",".join(map(str, range(count))) or "0"


def make_requests(info, streams):
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
            requests = list(make_requests(info, info["streams"]))
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
                problems.append(f"{name}: {request!r}: {answer[max(at - 60, 0):at + 60]!r}, not "
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
