#!/usr/bin/env python3
"""R10, every verb that reads traces: files of 1 EiB that are holes but for their beginning, as a
file, on standard input and through a pipe; a file that another takes the place of, that grows and
that shrinks while it is read. Each ends soon, in little memory, says which file and where, and
never by a signal."""
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import bounded
from bounded import run

EXBIBYTE = 1 << 60
HEADER_BYTES = 64
READING = [["info"], ["verify"], ["dump", "--format", "csv"], ["report"], ["report", "--exact"],
           ["tree"], ["graph"], ["export", "--format", "chrome"], ["export", "--format", "folded"]]
WRITING = [["cut", "--events", "0..4"], ["merge"], ["symbolize"], ["export", "--format", "csv"],
           ["export", "--format", "speedscope"], ["export", "--format", "callgrind"]]
FILES_ONLY = [["recover"], ["convert"]]


def big_folders():
    """Folders by what they may take: tmpfs has files of 8 EiB, ext4 of 16 TiB."""
    return [folder for folder in ("/dev/shm", None) if folder is None or os.access(folder, os.W_OK)]


def stretch(path, data):
    """A file of these bytes and a hole, as large as the file system lets it be."""
    path.write_bytes(data)
    size = EXBIBYTE
    while True:
        try:
            os.truncate(path, size)
            return size
        except OSError:
            size //= 2


def output_of(words, work):
    target = work / "output"
    target.unlink(missing_ok=True)
    return ["-o", target] if words in WRITING + FILES_ONLY else []


# ---- 1 EiB ----

def check_message(ended, name, kind):
    """It says which file, and where in it."""
    said = (ended.out + ended.err).decode()
    assert ended.status != 0 or (kind, ended.words[0]) == ("sound", "recover"), str(ended)
    assert ended.status == 0 or name in said, f"{ended}: does not name the file"
    assert "byte" in said or ended.words[0] == "convert", f"{ended}: does not say where"


def check_sparse(work, folder, kind, data):
    path = Path(folder) / f"{kind}.ttape"
    size = stretch(path, data)
    for words in READING + WRITING + FILES_ONLY:
        ended = run(*words, path, *output_of(words, work), good=(0, 1, 3, 4))
        check_message(ended, str(path), kind)
    ended = run("diff", path, path, good=(3, 4))
    check_message(ended, str(path), kind)
    for words in READING + WRITING:
        name = "standard input"
        with open(path, "rb") as file:  # read where it is
            ended = run(*words, "-", *output_of(words, work), stdin=file, good=(1, 3, 4),
                        file_bytes=1 << 20)
            check_message(ended, name, kind)
    return size


def check_pipes(work, trace):
    """Of what does not begin as a trace a pipe is not read to its end, which there is none."""
    for words in READING + WRITING:
        with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as feed:
            ended = run(*words, "-", *output_of(words, work), stdin=feed.stdout, good=(1, 4),
                        file_bytes=1 << 20)
            feed.stdout.close()
        assert b"F-FIL-01" in ended.out + ended.err, str(ended)
    with subprocess.Popen(["cat", trace, "/dev/zero"], stdout=subprocess.PIPE) as feed:
        ended = run("info", "-", stdin=feed.stdout, good=(4,), file_bytes=4 << 20)
        feed.stdout.close()
    assert b"cannot keep standard input" in ended.err, str(ended)


def check_recovered(work, folder, trace):
    """All events come out of a trace behind which the file goes on for an exbibyte."""
    target = work / "recovered.ttape"
    run("recover", Path(folder) / "sound.ttape", "-o", target)
    assert run("dump", target).out == run("dump", trace).out
    middle = Path(folder) / "middle.ttape"  # a hole between two halves, each with whole chunks
    data, size = trace.read_bytes(), stretch(middle, trace.read_bytes())
    with open(middle, "r+b") as file:
        file.seek(size - len(data))
        file.write(data)
    ended = run("recover", middle, "-o", target, "--force", good=(0, 3))
    assert ended.err.count(b"another file begins here") == 1, str(ended)
    run("verify", target)


# ---- files that change ----

def paused(words, path, change):
    """The verb's output, where the file is changed as soon as the first bytes of it came."""
    words = [*words, str(path)]
    with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as kept:
        process = subprocess.Popen([bounded.TOOL, *words], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=err)
        kept.write(os.read(process.stdout.fileno(), 4096))
        change()
        while data := process.stdout.read(1 << 16):
            kept.write(data)
        process.stdout.close()
        return bounded.finish(process, words, kept, err)


def check_paused(work, first, second):
    """The pipe is full long before the trace ends: most of it is read after the change."""
    path, more = work / "paused.ttape", work / "more.ttape"
    for words in (["dump", "--format", "csv"], ["export", "--format", "csv"],
                  ["export", "--format", "chrome"]):
        want = run(*words, first).out
        assert len(want) > 2 << 20, "more than any pipe holds"
        path.write_bytes(first.read_bytes())
        more.write_bytes(second.read_bytes())
        ended = paused(words, path, lambda: os.rename(more, path))
        assert ended.status == 0 and ended.out == want, f"{ended}: replaced"
        path.write_bytes(first.read_bytes())
        ended = paused(words, path, lambda: append(path, second.read_bytes()))
        assert ended.status == 0 and ended.out == want, f"{ended}: grows"
        path.write_bytes(first.read_bytes())
        ended = paused(words, path, lambda: os.truncate(path, HEADER_BYTES))
        assert ended.status in (3, 4) and len(ended.out) < len(want), f"{ended}: shrinks"
        said = ended.err.decode()
        assert str(path) in said and "byte" in said and "F-CHK-10" in said, str(ended)


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)


def keep_changing(path, stop, contents):
    """Other files take its place, and it grows, until it is enough."""
    spare = path.with_name("spare")
    while not stop.is_set():
        for data in contents:
            spare.write_bytes(data[:len(data) // 2])
            os.rename(spare, path)
            append(path, data[len(data) // 2:])


def check_changing(work, first, second):
    """Every verb, while the file is never the same: it reads one of the two, whole or cut off."""
    path, stop = work / "changing.ttape", threading.Event()
    contents = [first.read_bytes(), second.read_bytes()]
    path.write_bytes(contents[0])
    thread = threading.Thread(target=keep_changing, args=(path, stop, contents))
    thread.start()
    try:
        for words in READING + WRITING + FILES_ONLY[:1]:
            for _ in range(2):
                ended = run(*words, path, *output_of(words, work), good=(0, 1, 3, 4))
                name = (path if words != ["recover"] else path.with_name("output")).name
                assert ended.status == 0 or name in (ended.out + ended.err).decode(), ended
        run("diff", path, path, good=(0, 1, 3, 4))
    finally:
        stop.set()
        thread.join()


def main():
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        trace = bounded.make(work / "a.ttape", bounded.calls(1500), "--partition-events", "500")
        sizes = {}
        for parent in big_folders():
            with tempfile.TemporaryDirectory(dir=parent, prefix="ttape-sparse.") as folder:
                for kind, data in (("sound", trace.read_bytes()), ("zeros", b""),
                                   ("header", trace.read_bytes()[:HEADER_BYTES])):
                    sizes[parent] = check_sparse(work, folder, kind, data)
                check_recovered(work, folder, trace)
            if sizes[parent] == EXBIBYTE:
                break
        check_pipes(work, trace)
        long = bounded.make(work / "b.ttape", bounded.calls(60000), "--partition-events", "5000")
        check_paused(work, long, trace)
        check_changing(work, long, trace)
    most = max(sizes.values())
    print(f"ok: files of 2^{most.bit_length() - 1} bytes" +
          ("" if most == EXBIBYTE else ": no file system here has larger ones"))


main()
