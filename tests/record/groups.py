"""Control groups with a limit of memory."""
import contextlib
import os
import select
import signal
from pathlib import Path


class Group:
    """A control group with a limit, of the first version or the second."""

    def __init__(self, mebibytes, root, limit, peak, kills):
        self.path = root / f"ttape-test-{os.getpid()}"
        self.peak, self.kills = self.path / peak, self.path / kills
        self.path.mkdir()
        try:
            with open(self.path / limit, "r+", encoding="ascii") as file:
                file.write(str(mebibytes << 20))
        except OSError:
            self.path.rmdir()
            raise

    def enter(self):
        """To be called by a process of its own, before it becomes the recorder."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def kill_count(self):
        words = self.kills.read_text(encoding="ascii").split()
        return int(words[words.index("oom_kill") + 1])

    def close(self):
        """What is left of a recording that was killed goes, too."""
        for word in (self.path / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):
                handle = os.pidfd_open(int(word))
                os.kill(int(word), signal.SIGKILL)
                select.select([handle], [], [], 60)
                os.close(handle)
        for _ in range(100_000):  # who has just ended may still be counted
            with contextlib.suppress(OSError):
                return self.path.rmdir()
            os.sched_yield()
        return self.path.rmdir()

    def peak_bytes(self):
        return int(self.peak.read_text(encoding="ascii")) if self.peak.exists() else 0


@contextlib.contextmanager
def small(mebibytes):
    """A Group, or None where there can be none here."""
    kinds = [("/sys/fs/cgroup", "memory.max", "memory.peak", "memory.events"),
             ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes",
              "memory.oom_control")]
    group = None
    for root, *files in kinds:
        try:
            group = Group(mebibytes, Path(root), *files)
            break
        except OSError:
            continue
    try:
        yield group
    finally:
        if group:
            group.close()
