"""Lines of the programs in words/: by strace, and by the recorder's engines; which are equal, by
family. A family begins with a call of chdir("/family/NAME")."""
import difflib
import os
import re
import subprocess
from collections import Counter, OrderedDict
from pathlib import Path

import setting

WORDS = Path(__file__).resolve().parent / "words"
PROGRAMS = ("files", "descriptors", "network", "processes", "times", "memory")
ENGINES = {"ptrace": ["--engine", "ptrace"], "complete": ["--complete"]}
FAMILY = re.compile(r'chdir\("/family/(\w+)"\)')
# what another run has otherwise: clocks, loads, ids that the kernel counts up
CHANGING = re.compile(r"^(clock_gettime|gettimeofday|time|times|sysinfo|getrusage|adjtimex|statfs|"
                      r"clock_adjtime|getcpu|wait4|waitid|pidfd_open|timer\w*|set_tid_address|"
                      r"clone|clone3|fork|getrandom|brk|sched_getattr|(shm|sem|msg)\w+|getitimer|"
                      r"prlimit64|setitimer|nanosleep|arch_prctl|select|ppoll|"
                      r"getppid)\b")
# whose numbers may be ids of processes: those of others may be like one of them
HAS_IDS = re.compile(r"^(get[pt]id|t?g?kill|wait4|waitid|v?fork|clone3?|kcmp|process_vm_\w+|setsid|"
                     r"pidfd_open|set_tid_address|rt_t?g?sigqueueinfo|getpgrp|getpgid|getsid|---)")
COMPILER = os.environ.get("TTAPE_CC") or "cc"


def build(name):
    subprocess.run([COMPILER, "-O1", "-w", "-pthread", "-o", name, WORDS / f"words_{name}.c"],
                   check=True, timeout=300)


def plain(text, ids):
    """The line without what differs by run: addresses, ids of the processes, clocks."""
    text = re.sub(r"0x[0-9a-f]{9,16}", "ADDRESS", text)
    text = re.sub(r"\) +(= |<unf)", r") \1", text.strip())
    for number, pid in enumerate(ids if HAS_IDS.match(text) else ()):
        text = re.sub(rf"\b{pid}\b", f"PID{number}", text)
    if CHANGING.match(text):
        text = re.sub(r"(?<![\w/])-?\d+(\.\d+)?\b", "N", text)
    return text


def by_thread(rows):
    """[(tid, text)] -> [[text]], a list for each thread, in the order of their first lines."""
    threads = OrderedDict()
    for tid, text in rows:
        threads.setdefault(tid, []).append(text)
    return [[plain(text, threads) for text in lines] for lines in threads.values()]


def joined(rows):
    """What strace parts, as another thread came in between, is one line where it ended."""
    open_calls = {}
    for tid, text in rows:
        if text.endswith("<unfinished ...>"):
            open_calls[tid] = text[:-len("<unfinished ...>")].rstrip()
        elif (found := re.match(r"<\.\.\. \w+ resumed>(.*)", text)):
            begun = open_calls.pop(tid, "")
            rest = found[1]
            yield tid, begun + (" " if begun.endswith(",") and not rest[:1] in " )" else "") + rest
        else:
            yield tid, text
    for tid, text in open_calls.items():
        yield tid, text + " <unfinished ...>"


def in_folder(name, label):
    folder = Path(f"{name}-{label}")
    folder.mkdir()
    (folder / name).hardlink_to(name)
    return folder


def by_strace(name):
    folder = in_folder(name, "strace")
    subprocess.run(["strace", "-f", "-o", "../strace.txt", f"./{name}"], cwd=folder, timeout=300,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    with open("strace.txt", encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split(None, 1) for line in file]
    return by_thread(list(joined(rows)))


def by_us(name, engine):
    folder = in_folder(name, engine)
    trace = f"{name}-{engine}.ttape"
    subprocess.run([setting.COMMAND, "record", "--syscalls", "--args", "--data", *ENGINES[engine],
                    "-q", "-f", "-o", f"../{trace}", "--", f"./{name}"], cwd=folder, timeout=300,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    subprocess.run([setting.COMMAND, "verify", "-q", trace], check=True, timeout=300)
    done = subprocess.run([setting.COMMAND, "syscalls", "--list", trace], capture_output=True,
                          text=True, errors="replace", check=True, timeout=300)
    rows = [line.split("\t")[1:4] for line in done.stdout.splitlines()]
    return by_thread([(tid, text) for tid, what, text in rows if what != "enter"])


def calls(threads):
    """How many of each call there are."""
    found = (re.match(r"(\w+)\(", line) for lines in threads for line in lines)
    return Counter(name[1] for name in found if name)


def families(lines):
    found, family = OrderedDict(), "loader"
    for line in lines:
        begun = FAMILY.match(line)
        family = begun[1] if begun else family
        found.setdefault(family, []).append(line)
    return found


class Score:
    """Of each family: lines of strace's, how many of them are equal, and what is not."""

    def __init__(self):
        self.lines, self.equal, self.differences = OrderedDict(), OrderedDict(), []
        self.counts = []  # of calls, that are not strace's

    def add(self, program, expected, got):
        wanted, there = calls(expected), calls(got)
        self.counts += [f"{program}: {name} {there[name]}, not {wanted[name]}"
                        for name in sorted(wanted | there) if wanted[name] != there[name]]
        for number, lines in enumerate(expected):
            wanted = families(lines)
            there = families(got[number]) if number < len(got) else {}
            for family, texts in wanted.items():
                self.compare(f"{program}/{family}" if number == 0 else f"{program}/children",
                             texts, there.get(family, []))

    def compare(self, family, wanted, there):
        matcher = difflib.SequenceMatcher(a=wanted, b=there, autojunk=False)
        same = sum(block.size for block in matcher.get_matching_blocks())
        self.lines[family] = self.lines.get(family, 0) + len(wanted)
        self.equal[family] = self.equal.get(family, 0) + same
        if same < max(len(wanted), len(there)):
            self.differences += [f"== {family}"] + [
                line for line in difflib.unified_diff(wanted, there, lineterm="", n=0)
                if not line.startswith(("---  ", "+++  ", "@@", "--- \n", "+++ \n"))][2:]

    def share(self):
        return 100 * sum(self.equal.values()) / max(1, sum(self.lines.values()))

    def table(self):
        rows = [f"{family} {self.equal[family]}/{self.lines[family]}" for family in self.lines]
        return "\n".join(rows + [f"{self.share():.1f} % of {sum(self.lines.values())} lines"])
