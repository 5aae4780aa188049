#!/usr/bin/env python3
"""Programs of the system under their own load on the loopback, attached to and left over and over:
answers are right and none is lost, the slowest take no longer than the stops that are said and what
they vary by untraced, what is said is for how long it was held, each trace is whole and names
functions of the program, and /proc shows the program and its children as before. For
scripts/programs attach, as an ordinary user."""
import argparse
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import attach_programs
import process_state
import server_soak
import setting

WAYS = {"untraced": None, "no match": (), "attached": (), "all modules": ("--module", ".")}
SAID = re.compile(r"stood still \d+ times?, for ([\d.]+) ms at most, ([\d.]+) ms in all, and is as")
MOST = 120  # of seconds, for what comes at once
LOST = 20   # and then nobody asks any more
THIRDS = 3
PATIENCE = 100  # of ms, for a thread that waits in the kernel: then all others go on
SAID_MS = 0.1  # a time that is said may be less than it was by its last digit
QUIET = 12  # functions; of some the code cannot be changed while the program runs


# ---- who asks ----

class Asker:
    """A process that asks all the time: when each answer came, and how long it took."""
    def __init__(self, program, place, folder):
        context = multiprocessing.get_context("fork")
        self.is_over, self.count = context.Event(), context.Value("Q", 0)
        self.result = folder.parent / "asked.json"
        self.process = context.Process(target=self.ask_all, args=(program, place, folder))
        self.process.start()

    def ask_all(self, program, place, folder):
        os.chdir(folder)
        os.setsid()  # who asks all the time starves no recorder
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.setswitchinterval(0.0005)
        found = {"times": [], "wrong": [], "lost": []}
        threads = [threading.Thread(target=self.ask, args=(program.talk, place, one, found))
                   for one in range(1 if program.is_filter else program.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.result.write_text(json.dumps(found), encoding="ascii")

    def ask(self, talk, place, number, found):
        conversation = None
        while not self.is_over.wait(0.001) and len(found["lost"]) < LOST:
            number += 16
            begin = time.monotonic()
            try:
                conversation = conversation or talk.open(place)
                is_right = talk.ask(conversation, number)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                found["lost"].append(f"question {number}: {error!r}")
                conversation = None
                continue
            end = time.monotonic()
            found["times"].append((end, end - begin))
            with self.count.get_lock():
                self.count.value += 1
            if not is_right:
                found["wrong"].append(f"question {number}")

    def wait_for(self, more):
        """Until so many more questions were answered."""
        wanted, end = self.count.value + more, time.monotonic() + MOST
        while self.count.value < wanted and self.process.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        return self.count.value >= wanted

    def end(self):
        self.is_over.set()
        self.process.join()
        return json.loads(self.result.read_text(encoding="ascii"))


def slowest(times, spans):
    """The 99.9th percentile in ms of what was answered in these spans of time."""
    took = sorted(one for end, one in times if any(low <= end <= high for low, high in spans))
    return took[min(len(took) - 1, len(took) * 999 // 1000)] * 1e3 if took else 0.0


# ---- one program ----

class Run:
    """A program that serves, and what is found out of it."""
    def __init__(self, name, work, checks, seconds):
        self.name, self.work, self.checks, self.seconds = name, work, checks, seconds
        self.program = attach_programs.PROGRAMS[name]
        self.spans = {way: [] for way in WAYS}
        self.longest_ms = self.stopped_ms = 0.0  # of one stop; at most, of all of one attach
        self.took = 0.0  # of seconds, by the last attach: so long are spans that are compared
        self.library, self.held = work / "ends.so", work / "held"
        setting.call(["gcc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE",
                      setting.PROGRAMS / "p_attach_ends.c", "-o", self.library])
        self.names, self.quiet, self.cycles = set(), None, 0
        self.trace, self.process, self.asker = work / "run.ttape", None, None

    def that(self, holds, what, *details):
        return self.checks.that(holds, f"{self.name}: {what}", *details)

    def start(self):
        folder = self.work / "served"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        port = server_soak.free_port()
        words = [str(word) for word in self.program.prepare(folder, port)]
        pipe = subprocess.PIPE if self.program.is_filter else subprocess.DEVNULL
        with open(folder / "said", "wb") as out:
            self.process = subprocess.Popen(
                words, cwd=folder, stdin=pipe, stdout=pipe if self.program.is_filter else out,
                stderr=out, start_new_session=True, bufsize=0,
                env=setting.environment(HOME=folder, **self.program.environment))
        if self.program.is_filter:
            place = (self.process.stdin, os.fdopen(os.dup(self.process.stdout.fileno()), "rb"))
        else:
            place = port
            if not server_soak.wait_for(self.program, port, self.process):
                return self.that(False, "it does not start", (folder / "said").read_text())
        self.asker = Asker(self.program, place, folder)
        answers = self.asker.wait_for(self.program.first)
        return self.that(answers, "it does not answer") and self.choose_target()

    def choose_target(self):
        """The process that is attached to."""
        def words(pid):
            return process_state.read(pid, "cmdline").replace("\0", " ")
        self.pid = self.process.pid
        if self.program.target:
            found, end = [], time.monotonic() + MOST
            while not found and time.monotonic() < end: # it may come with the first question
                self.asker.is_over.wait(0.01)
                found = [pid for pid in process_state.descendants(self.pid)[1:]
                         if re.search(self.program.target, words(pid))]
            if not self.that(found, "its process is not there"):
                return False
            self.pid = found[0]
        self.state = process_state.State(self.pid, self.program.makes_code)
        return True

    def options(self, way):
        if way == "all modules":
            return WAYS[way]
        return (*self.program.options, *(("-F", self.quiet) if way == "no match" else ()))

    def attach(self, way):
        begin = time.monotonic()
        done = setting.run([setting.COMMAND, "attach", "--duration", f"{self.seconds}s",
                            "--max-size", "64M", *self.options(way), "-f", "-o", self.trace,
                            self.pid], timeout=600, env=setting.environment(
                                LD_PRELOAD=self.library, STOPS_TOOK=self.held))
        self.took = time.monotonic() - begin
        self.spans[way].append((begin, begin + self.took))
        said, what = done.err.decode(errors="replace"), f"cycle {self.cycles}, {way}"
        stops = SAID.search(said)
        is_empty = way == "no match" and done.status == 4 and "nothing was recorded" in said
        if not self.that((done.status in (0, 3) or is_empty) and stops,
                         f"{what}: status {done.status}", said):
            return False
        self.look_at_stops(float(stops[1]), float(stops[2]), what)
        if is_empty:
            return True
        self.longest_ms = max(self.longest_ms, float(stops[1]))
        self.stopped_ms = max(self.stopped_ms, float(stops[2]))
        self.look_at_trace(way, what)
        return True

    def look_at_stops(self, longest, total, what):
        """Whether it was held no longer than is said; its children have stops of their own."""
        lines = [line.split() for line in self.held.read_text(encoding="ascii").splitlines()]
        held = [int(took) / 1e6 for task, took in lines if int(task) == self.pid]
        if self.program.waits: # in these a thread waited for its child, and was not held
            held = [each for each in held if each < PATIENCE]
        self.held.unlink()
        self.that(held and sum(held) <= total + SAID_MS and max(held) <= longest + SAID_MS,
                  f"{what}: {total} ms in all are said, {longest} at most, where stops took", *held)

    def look_at_trace(self, way, what):
        verified = setting.tracetape("verify", self.trace, timeout=600)
        self.that(verified.status == 0, f"{what}: verify {verified.status}", verified.out,
                  verified.err)
        told = setting.tracetape("info", self.trace, timeout=600)
        wrong = re.findall(rb".*reason: (?:damage|sandbox).*", told.out)
        self.that(not wrong, f"{what}: records that nobody could have written", *wrong)
        if way == "attached" and (self.quiet is None or self.cycles % 10 == 0):
            said = setting.tracetape("report", "--json", self.trace, timeout=600)
            rows = json.loads(said.out)["rows"] if said.status == 0 else []
            self.names |= {row["name"] for row in rows}
            self.that(rows, f"{what}: its report has no function", said.err)

    def choose_quiet(self):
        """Functions that no question leads to: attached with these alone, nothing is recorded."""
        done = setting.tracetape("attach", "--plan", "--json", *self.program.options, self.pid,
                                 timeout=600)
        modules = json.loads(done.out) if done.status == 0 else {}
        quiet = [one["name"] for module in modules.get("modules", [modules])
                 for one in module.get("functions", [])
                 if one["name"] not in self.names and {"kind": "entry", "reason": "can"}.items() <=
                 one["probes"][0].items()]
        middle = len(quiet) // 2
        self.quiet = f"^({'|'.join(map(re.escape, quiet[middle:middle + QUIET]))})$"

    def cycle(self, ways):
        self.cycles += 1
        for way in ways:
            if way == "untraced":
                begin = time.monotonic()
                self.asker.is_over.wait(max(self.seconds, self.took / THIRDS))
                self.asker.wait_for(1)
                self.spans[way].append((begin, time.monotonic()))
                continue
            if not self.attach(way) or not self.that(
                    self.asker.wait_for(1), f"cycle {self.cycles}, {way}: no answers any more"):
                return False
            if self.quiet is None:
                self.choose_quiet()
            problems = self.state.problems(self.process.pid)
            self.that(not problems, f"cycle {self.cycles}, {way}: afterwards", *problems)
        return self.that(self.process.poll() is None, f"cycle {self.cycles}: it has ended")

    def look_at_times(self, times):
        """Whether attaching made no answer slower than it says."""
        ms = {way: slowest(times, spans) for way, spans in self.spans.items()}
        untraced = self.spans["untraced"]
        part = max(len(untraced) // THIRDS, 1)
        varied = [slowest(times, untraced[at:at + part]) for at in range(0, len(untraced), part)]
        most = max(varied) + max(varied) - min(varied) + self.stopped_ms
        for way in ("no match", "attached"):
            self.that(ms[way] <= most, f"{way}: 99.9 % of answers within {ms[way]:.1f} ms, where "
                      f"untraced it is {min(varied):.1f} to {max(varied):.1f}, and stops took "
                      f"{self.stopped_ms:.1f} at most")
        return ms

    def end(self):
        found = self.asker.end()
        self.that(not found["wrong"], f"{len(found['wrong'])} wrong answers", *found["wrong"][:5])
        self.that(not found["lost"], f"{len(found['lost'])} lost answers", *found["lost"][:5])
        ms = self.look_at_times(found["times"])
        named = [one for one in self.names if re.search(self.program.names, one)]
        self.that(named, f"no function is called '{self.program.names}'", sorted(self.names)[:20])
        print(f"{self.name} | {self.cycles} | {len(found['times'])} | {len(found['wrong'])} | "
              f"{len(found['lost'])} | {ms['untraced']:.1f} | {ms['no match']:.1f} | "
              f"{ms['attached']:.1f} | {self.longest_ms:.1f}", flush=True)


    def stop(self):
        if self.asker is not None:
            self.asker.is_over.set()
        if self.process is None:
            return  # it could not be prepared
        for pid in reversed(process_state.descendants(self.process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        if self.asker is not None:
            self.asker.process.join()


def look_refused(run):
    done = setting.tracetape("attach", "--duration", "10ms", "-o", run.trace, run.pid)
    said = done.err.decode(errors="replace")
    run.that(done.status == 4 and run.program.refused in said, f"{done.status}: {said}")
    problems = run.state.problems(run.process.pid)
    run.that(not problems, "after it was refused", *problems)
    found = run.asker.end()
    run.that(not found["wrong"] and not found["lost"], "answers", found["wrong"], found["lost"])
    print(f"{run.name} | refused: {said.strip()}", flush=True)


def soak(name, work, checks, asked):
    run = Run(name, work, checks, asked.seconds)
    try:
        if not run.start():
            return
        if run.program.refused:
            look_refused(run)
            return
        if not run.cycle(["attached"]):
            return
        run.cycles, run.spans["attached"] = 0, []
        end = time.monotonic() + asked.most
        while run.cycles < asked.cycles and time.monotonic() < end and run.cycle(WAYS):
            continue
        run.end()
    finally:
        run.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cycles", type=int, default=100, help="of each program")
    parser.add_argument("--most", type=int, default=1200, help="seconds for each program")
    parser.add_argument("--seconds", type=float, default=0.05, help="attached in each way")
    parser.add_argument("--program", default="", help="a regular expression of its name")
    asked = parser.parse_args()
    setting.need_verb("attach")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the program ends, too
    checks = setting.Checks("attach, programs")
    print(f"user {os.geteuid()}, {asked.cycles} cycles each\nprogram | cycles | answers | wrong | "
          "lost | 99.9 % in ms untraced | no match | attached | longest stop", flush=True)
    with setting.work_dir() as work:
        for name in attach_programs.PROGRAMS:
            if re.search(asked.program, name):
                soak(name, Path(work), checks, asked)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
