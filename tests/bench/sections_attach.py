"""Programs that are attached to: what a call costs while nobody does, while none of its functions
is chosen, while all are, and afterwards, beside functions that are patched at the start; and how
long a program stands still, beside stops in which nothing is done. All of it in the same turns."""
import re
import signal
import subprocess
import time
from pathlib import Path

from measure import BenchError, Row, median

FUNCTIONS = "^(leaf|inner|outer)$"
COUNT = 3000
CALLS = 40 * 4 * COUNT  # of a request, as the program has it
THREADS = (1, 20, 200)  # that wait; the first one serves
THREAD_NS = 10e3  # a thread may take so long more
MOST = 600
INTERPRETER = "while True: sum(len(str(i)) for i in range(1000))"  # has thousands of functions
SAID = re.compile(r"stood still (\d+) times, for ([\d.]+) ms at most, [\d.]+ ms in all, and is")


class Interpreter:
    def __init__(self, bench):
        self.process = subprocess.Popen(["taskset", "-c", bench.cpu, "python3", "-c", INTERPRETER])

    def end(self):
        self.process.kill()
        self.process.wait()


class Server:
    """attach_measured, on one core, and by `words` what starts it."""
    def __init__(self, bench, threads, words=()):
        command = ["taskset", "-c", bench.cpu, *words, bench.programs / "attach_measured", threads,
                   COUNT]
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise BenchError(f"{command}: {self.process.communicate()[1][-400:]}")

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.communicate(timeout=MOST)


def begin(bench, server, trace, functions):
    """Attaches, and comes back when the recorder is in the program; hooks record a little later."""
    words = [bench.command, "attach", "-f", "-o", trace, "--buffer", "64M", "-F", functions]
    attached = subprocess.Popen([*map(str, words), str(server.process.pid)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{server.process.pid}/maps")
    end = time.monotonic() + MOST
    while "tracetape" not in maps.read_text(encoding="utf-8"):
        if attached.poll() is not None or time.monotonic() > end:
            raise BenchError(f"{words}: {attached.communicate()[1][-400:]}")
        time.sleep(0.01)
    return attached


def leave(attached):
    """How often the program stood still, and for how long at most (ns)."""
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=MOST)[1]
    stops = SAID.search(said)
    if stops is None:
        raise BenchError(f"attach: {said[-400:]}")
    return int(stops[1]), float(stops[2]) * 1e6


def call_rows(bench):
    patched = [bench.command, "record", "-q", "-f", "-o", bench.work / "start.ttape", "--buffer",
               "64M", "--patch", FUNCTIONS, "--"]
    ways = {way: Server(bench, 1, patched if way == "patched" else ())
            for way in ("untraced", "never", "no match", "detached", "attached", "patched")}
    trace = bench.work / "attached.ttape"
    leave(begin(bench, ways["detached"], trace, FUNCTIONS))
    held = [begin(bench, ways["no match"], bench.work / "none.ttape", "^never$"),
            begin(bench, ways["attached"], trace, FUNCTIONS)]
    found = bench.interleave({way: server.ask for way, server in ways.items()}, 2 * bench.repeats)
    for attached in held:
        leave(attached)
    for server in ways.values():
        server.end()
    for path in (trace, bench.work / "start.ttape"):
        if bench.info(path)["events"] < (2 * bench.repeats - 1) * 2 * CALLS:
            raise BenchError(f"{path.name} lacks events")
    ns = {way: median(times) for way, times in found.items()}
    for way, what in (("never", "that nobody attached to"), ("no match", "attached, none chosen"),
                      ("detached", "left again")):
        yield Row(f"a call of a program {what}, over untraced", f"{ns['untraced']:.3f} ns",
                  f"{ns[way]:.3f} ns", ns[way] / ns["untraced"], 1.05, 1.01)
    added = {way: max(ns[way] - ns["untraced"], 0.01) for way in ns}
    yield Row("a call recorded, attached, over untraced (ns)", f"{ns['untraced']:.2f} untraced",
              f"{ns['attached']:.2f}", added["attached"], 0, 0)
    yield Row("the same, the part of record --patch", f"{added['patched']:.2f} ns",
              f"{added['attached']:.2f} ns", added["attached"] / added["patched"], 0, 0)


def longest_empty(bench, server, count):
    said = bench.call([bench.programs / "stops_empty", server.process.pid, count])
    return max(map(int, said.split()))


def stop_row(bench, server, threads, what, functions, floor, aim):
    """Of the stops of one attach the longest, and of as many empty ones; of some turns the best, as
    what else the machine does only adds."""
    ours, empty = [], []
    for _ in range(3 * bench.repeats):
        attached = begin(bench, server, bench.work / "stopped.ttape", functions)
        count, longest = leave(attached)
        ours.append(longest)
        empty.append(longest_empty(bench, server, count))
    server.end()
    asked = 1.3 * min(empty) + threads * THREAD_NS
    return Row(f"the longest stop of {what}, of what is asked", f"{min(empty) / 1e6:.2f} ms empty",
               f"{min(ours) / 1e6:.2f} ms", min(ours) / asked, floor, aim)


def attach(bench):
    yield from call_rows(bench)
    for threads in THREADS:
        yield stop_row(bench, Server(bench, threads - 1), threads, f"{threads} threads", FUNCTIONS,
                       1, 0.8)
    yield stop_row(bench, Interpreter(bench), 1, "python3, all its functions", ".", 0, 0)
