"""A program that calls all the time, faster than its calls are encoded: nothing is lost, and the
recorder stays within the bounds of spec/recording.md and of decision 0054 all the time: memory of
its own, the arena, the spill file. The rate and what the program waited are printed."""
import os
import subprocess
import tempfile
import time
from pathlib import Path

import setting
import traces

THREADS = 2
ARENA_MOST = (512 << 20) + (96 << 10)
OWN_MOST = 128 << 20  # of the recorder; partitions of a million events, two threads that encode
SPILL_DEFAULT = 4 << 30
VERIFY_MOST = 1500  # seconds, for some billion events
OUTER_EVENTS = 4 * THREADS + 8  # main, the threads' function, their starts
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all",
        "--inh-caps=-all"]


def free_memory():
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 1 << 62


def on_disk(path):
    """Without the blocks in which a file system keeps where the others are."""
    try:
        state = os.stat(path)
        return min(state.st_blocks * 512, state.st_size)
    except OSError:
        return 0


def own_memory(pid):
    """(of its own, shared) in bytes: the latter is the arena, as far as it was touched."""
    found = {}
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(":")
            if key in ("RssAnon", "RssShmem"):
                found[key] = int(value.split()[0]) * 1024
    except OSError:
        pass
    return found.get("RssAnon", 0), found.get("RssShmem", 0)


class Peaks:
    """The most that was seen of each, and by how much it was above its bound."""

    def __init__(self, spill_most):
        self.most = {"memory": 0, "arena": 0, "spill": 0}
        self.beyond = {}
        self.spill_most, self.free = spill_most, 0

    def add(self, name, found, bound):
        self.most[name] = max(self.most[name], found)
        if found > bound:
            self.beyond[name] = f"{name}: {found} bytes, of {bound} at most"

    def look(self, pid, folder):
        own, arena = own_memory(pid)
        self.add("memory", own, OWN_MOST)
        self.free = max(self.free, free_memory() + arena)  # others take memory meanwhile
        self.add("arena", arena, min(ARENA_MOST, self.free // 2))
        self.add("spill", on_disk(folder / "spill"), self.spill_most)


def record(words, folder, peaks, env):
    """(status, what was said): looked at five times a second."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(w) for w in words], env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said)
        while process.returncode is None:
            try:
                process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                peaks.look(process.pid, folder)
        said.seek(0)
        return process.returncode, said.read().decode(errors="replace")


def run(seconds, spill=None):
    """spill: MiB, where it should be less than by itself."""
    setting.need_verb("record")
    checks = setting.Checks("long run")
    with setting.work_dir() as work:
        os.chmod(work, 0o777)
        program = setting.build("p_steady.c")
        trace, report = Path(work, "long.ttape"), Path(work, "report")
        options = ["--spill", f"{spill}M"] if spill else []
        words = setting.record_words(trace, [program, int(seconds * 1000), THREADS], *options,
                                     quiet=False)
        if os.geteuid() == 0:
            setting.need_command("setpriv")
            words = [*USER, *words]
        peaks = Peaks(spill << 20 if spill else SPILL_DEFAULT)
        begin = time.monotonic()
        status, said = record(words, Path(f"{trace}.recording"), peaks,
                              setting.environment(OWN_REPORT=report))
        took = time.monotonic() - begin
        if not checks.equal(status, 0, f"status; {said}"):
            checks.verdict()
        about = traces.info(trace)
        lines = dict(line.split() for line in report.read_text(encoding="ascii").splitlines())
        made = 2 * (int(lines["node"]) + int(lines["leaf"]))
        checks.equal(traces.lost_and_told(about), 0, "lost events")
        made += 2 * traces.recorder_calls(trace)[0]
        checks.that(made <= about["events"] <= made + OUTER_EVENTS,
                    f"{about['events']} events, of {made} and some")
        verified = setting.tracetape("verify", trace, timeout=VERIFY_MOST)
        checks.equal(verified.status, 0, f"verify; {verified.err}")
        for what in peaks.beyond.values():
            checks.that(False, what)
        print(f"{made} events in {seconds} s of the program: {made / seconds / 1e6:.1f} M/s; "
              f"{made / took / 1e6:.1f} M/s until all was encoded, "
              f"{trace.stat().st_size / made:.3f} bytes an event")
        print("; ".join(f"{name}: {most / (1 << 20):.0f} MiB at most"
                        for name, most in peaks.most.items()))
        print("\n".join(line for line in said.splitlines() if "waited" in line)
              or "the program did not wait")
    checks.verdict()
