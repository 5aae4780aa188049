"""Runs of the command that must end soon, in little memory, and never by a signal."""
import os
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass

TOOL = os.environ["TTAPE_BIN"]
SANITIZED = bool(os.environ.get("TTAPE_SANITIZE"))  # whose memory is another's
MOST_KIB = 256 * 1024  # resident, of any run: with the default options
SECONDS = 200 if SANITIZED else 60  # of the clock: the machine may be busy


@dataclass
class Ended:
    words: list
    status: int
    out: bytes
    err: bytes
    resident_kib: int

    def __str__(self):
        return f"{' '.join(self.words)}: status {self.status}: {self.err[-300:]!r}"


def limit_files(size_bytes):
    """Files that the command writes end there: an error, not a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


def finish(process, words, out, err, most_kib=MOST_KIB):
    """Waits for a process that was given these files."""
    old = signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.alarm(SECONDS)
    _, status, used = os.wait4(process.pid, 0)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)
    process.returncode = os.waitstatus_to_exitcode(status)
    texts = []
    for file in (out, err):
        file.seek(0)
        texts.append(file.read())
    ended = Ended(words, process.returncode, *texts, used.ru_maxrss)
    assert ended.status >= 0, f"{ended}: ended by a signal, or hangs"
    assert SANITIZED or ended.resident_kib < most_kib, f"{ended}: {ended.resident_kib} KiB resident"
    return ended


def run(*words, stdin=None, file_bytes=None, good=(0,), most_kib=MOST_KIB):
    """Ends with one of these statuses, within the time and the memory that a run may have."""
    words = [str(word) for word in words]
    before = (lambda: limit_files(file_bytes)) if file_bytes is not None else None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([TOOL, *words], stdin=stdin or subprocess.DEVNULL, stdout=out,
                                   stderr=err, preexec_fn=before)
        ended = finish(process, words, out, err, most_kib)
    assert ended.status in good, str(ended)
    return ended


def calls(count, functions=7):
    """Raw text: so many calls by one thread."""
    yield "0 1 enter main"
    for i in range(1, count + 1):
        yield f"{i * 10} 1 enter f{i % functions}"
        yield f"{i * 10 + 5} 1 exit"
    yield f"{count * 10 + 10} 1 exit"


def make(path, lines, *options):
    """A trace of raw text."""
    text = path.with_suffix(".txt")
    text.write_text("\n".join([*lines, ""]), encoding="ascii")
    run("convert", text, "-o", path, *options)
    return path
