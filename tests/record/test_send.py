#!/usr/bin/env python3
"""A trace on its way to a receiver: the same bytes at the end whatever became of the connection,
the receiver, its disk or the recorder meanwhile; a trace at any moment; nothing but traces in the
receiver's folder, whatever strangers say to it."""
import atexit
import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent import futures
from pathlib import Path

import setting
import traces

HELLO, SAID = b"\x89TTsend\n", struct.Struct("<HHIQQ")
HAS, NO, NOT_NOW = 1, 2, 3
CALLS = 100_000  # about 50 KB of them
KEPT = []  # sockets, to the end of the test


def until(what, holds):
    """Waits for what a test is about."""
    for _ in range(60_000):
        if holds():
            return
        time.sleep(0.001)
    raise TimeoutError(what)


class Receiver:
    """`tracetape receive` on a port that stays its own when it is started again: a socket that does
    not listen keeps others from it. It goes with the test."""

    def __init__(self, folder, *options, port=0, before=None):
        self.folder, self.err = Path(folder), Path(f"{folder}.err")
        if port == 0:
            kept = socket.socket()
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(("127.0.0.1", 0))
            port = kept.getsockname()[1]
            KEPT.append(kept)
        with open(self.err, "ab") as err:
            self.process = subprocess.Popen(
                [setting.COMMAND, "receive", "--listen", f"127.0.0.1:{port}", *options, folder],
                stdout=subprocess.PIPE, stderr=err, preexec_fn=before)
        atexit.register(self.process.kill)
        self.url = self.process.stdout.readline().decode().strip()
        self.port = int(self.url.rpartition(":")[2] or 0)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.stdout.close()
        return self.process.wait(timeout=60)

    def said(self):
        return self.err.read_text(encoding="utf-8", errors="replace")


class Proxy:
    """Between the two: cuts connections off after so many bytes, or is not there at all."""

    def __init__(self, port, cut_bytes):
        self.port, self.cut_bytes, self.cuts, self.passes = port, cut_bytes, 0, True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client = self.listener.accept()[0]
            if self.passes:
                threading.Thread(target=self.relay, args=(client,), daemon=True).start()
            else:
                client.close()

    def relay(self, client):
        server = socket.create_connection(("127.0.0.1", self.port))
        threading.Thread(target=self.answer, args=(server, client), daemon=True).start()
        self.copy(client, server, self.cut_bytes)

    def copy(self, source, sink, most):
        """Whole bytes only as far as they go: connections end in the middle of anything."""
        with contextlib.suppress(OSError):
            while most > 0 and self.passes and (data := source.recv(min(most, 65536))):
                sink.sendall(data)
                most -= len(data)
        self.cuts += most <= 0
        for end, how in ((source, socket.SHUT_RDWR), (sink, socket.SHUT_WR)):
            with contextlib.suppress(OSError):
                end.shutdown(how)

    def answer(self, server, client):
        """To the end, also where nobody hears it: what is on its way to the receiver gets there."""
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                with contextlib.suppress(OSError):
                    client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def hello(name, header, version=1, claimed=None):
    """With a right hash where the command made one of the same: made here once more."""
    name = name if isinstance(name, bytes) else name.encode()
    body = HELLO + struct.pack("<HHI", version, len(name) if claimed is None else claimed, 0) + \
        header + name
    return body + struct.pack("<Q", xxh3(body))


def xxh3(data):
    """By a door of the system's: the library has no name of its own for it."""
    import ctypes
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    return library.XXH3_64bits(data, ctypes.c_size_t(len(data)))


def ask(receiver, data, more=b""):
    """What a receiver says to these bytes: the first answer, then all that comes to the end."""
    with socket.create_connection(("127.0.0.1", receiver.port)) as s:
        s.settimeout(60)
        s.sendall(data)
        answers = [read_said(s)]
        if answers[0] and answers[0][0] == HAS and more:
            with contextlib.suppress(OSError):
                s.sendall(more)
                s.shutdown(socket.SHUT_WR)
            while answers[-1]:
                answers.append(read_said(s))
        return [a for a in answers if a]


def read_said(s):
    data = b""
    while len(data) < SAID.size or len(data) < SAID.size + SAID.unpack(data[:24])[1]:
        try:
            got = s.recv(1 if len(data) < SAID.size else SAID.unpack(data[:24])[1])
        except OSError:  # it was closed, and had more to read than it has
            return None
        if not got:
            return None
        data += got
    kind, _, zero, offset, _ = SAID.unpack(data[:24])
    assert zero == 0
    return kind, offset, data[24:].decode()


def local_trace(folder, program, name, calls, *options):
    trace = Path(folder, name)
    setting.call(setting.record_words(trace, [program, str(calls)], "-p", "20000", *options))
    return trace


def check_record(checks, folder, program):
    """Three at once, through a proxy that cuts; each whole, and the folder here empty again."""
    receiver = Receiver(folder / "three")
    proxy = Proxy(receiver.port, 15_000)
    jobs = []
    for i in range(3):
        here = folder / f"here{i}"
        here.mkdir()
        url = f"tcp://127.0.0.1:{proxy.own}/r{i}.ttape"
        words = [setting.COMMAND, "record", "--no-patch", "-p", "20000", "--live", "-o", url, "--",
                 program, str(CALLS + i)]
        jobs.append((here, words, setting.start(words, cwd=here)))
    for i, (here, words, job) in enumerate(jobs):
        done = setting.finish(job, words, 120)
        trace = receiver.folder / f"r{i}.ttape"
        checks.equal(done.status, 0, f"record {i}: {done.err[-300:]}")
        checks.that(b"is with the receiver" in done.err, "what is said", done.err)
        checks.equal(traces.verify(trace), None, f"{trace} is whole")
        checks.equal(traces.info(trace)["events"] // 2, CALLS + i + 2, "all calls")
        checks.equal(sorted(os.listdir(here)), [], "nothing stays here")
    checks.that(proxy.cuts > 3, "the connection was cut", proxy.cuts)
    checks.equal(receiver.end(), 0, f"receiver: {receiver.said()}")


def check_same_bytes(checks, folder, trace):
    """A trace that is sent, cut off, kept by a receiver that is killed, and a damaged one."""
    receiver = Receiver(folder / "same")
    data = trace.read_bytes()
    there = receiver.folder / trace.name
    said = ask(receiver, hello(trace.name, data[:64]), data[:len(data) // 2])
    checks.equal(said[0], (HAS, 0, ""), "a new one begins")
    checks.that(0 < said[-1][1] <= len(data) // 2, "part of it is acknowledged", said)
    until("its end", lambda: "went before the end" in receiver.said())
    checks.equal(there.read_bytes(), data[:said[-1][1]], "what is acknowledged, and no more")
    checks.equal(setting.tracetape("recover", there, "-o", folder / "made.ttape").status, 0,
                 "what is there is a trace")
    receiver.end(signal.SIGKILL)
    with open(there, "r+b") as file:  # as a power cut may leave it: what is behind was not synced
        file.write(data[:said[-1][1] - 5] + bytes(90))
    receiver = Receiver(folder / "same", port=receiver.port)
    done = setting.tracetape("send", trace, receiver.url)
    checks.equal(done.status, 0, f"send: {done.err}")
    checks.equal(there.read_bytes(), data, "the same bytes")
    done = setting.tracetape("send", trace, receiver.url)
    checks.equal(done.status, 0, "once more is nothing new")
    until("complete", lambda: "complete" in receiver.said())
    checks.equal(receiver.end(), 0, receiver.said())


def check_strangers(checks, folder, trace, other):
    """Nothing of what they say leaves more than it may."""
    receiver = Receiver(folder / "strange", "--max-size", "60K")
    data = other.read_bytes()
    header = data[:64]
    (folder / "outside").write_bytes(b"outside")
    (receiver.folder / "link.ttape").symlink_to(folder / "outside")
    (receiver.folder / "old.ttape").write_bytes(b"old")
    kept = {"link.ttape", "old.ttape"}
    for name in ("../a.ttape", "/tmp/a.ttape", ".a.ttape", "-a.ttape", "a", ".ttape", "a/b.ttape",
                 "a\\n.ttape", "a\0.ttape", "x" * 195 + ".ttape", b"\xff.ttape", "link.ttape",
                 "old.ttape"):
        said = ask(receiver, hello(name, header), data)
        checks.equal([a[0] for a in said], [NO], f"the name {name!r} is refused")
    checks.equal(ask(receiver, hello("v.ttape", header, version=2))[0][2],
                 "this receiver knows version 1 of sending only", "another version")
    right = hello("a.ttape", header)
    for data_sent in (b"GET / HTTP/1.1\r\n\r\n", HELLO + bytes(300),
                      right[:-1] + bytes([right[-1] ^ 1]),
                      hello("a.ttape", header, claimed=60_000), hello("a.ttape", header) + b"x"):
        checks.equal(ask(receiver, data_sent)[0][0], NO, f"{data_sent[:16]!r} is refused")
    checks.equal(ask(receiver, hello("a.ttape", bytes(64))), [(HAS, 0, "")], "a question")
    for at, what in ((10, "F-FIL"), (64, "F-CHK-01"), (80, "F-CHK-02"), (140, "F-CHK-03")):
        bad = bytearray(data)
        bad[at] ^= 1
        said = ask(receiver, hello("bad.ttape", bytes(bad[:64])), bytes(bad))
        checks.that(said[-1][0] == NOT_NOW and what in said[-1][2], f"damage at {at}", said)
    said = ask(receiver, hello("long.ttape", header), data + b"more")
    checks.that(any(a[1] == len(data) for a in said) or said[-1][0] == NOT_NOW, "behind the end")
    kept.add("long.ttape")
    said = ask(receiver, hello("flood.ttape", header), data + bytes(1 << 20))
    checks.equal(said[-1][0], NOT_NOW, "a flood is refused")
    until("those without a partition to go",
          lambda: set(os.listdir(receiver.folder)) <= kept | {"flood.ttape"})
    checks.equal((folder / "outside").read_bytes(), b"outside", "no link is followed")
    checks.equal((receiver.folder / "old.ttape").read_bytes(), b"old", "nothing is replaced")
    done = setting.tracetape("send", trace, f"{receiver.url}/big.ttape")
    checks.that(done.status == 4 and b"--max-size" in done.err, "the limit is told", done.err)
    receiver.end()


def check_full_disk(checks, folder, trace):
    """A receiver that cannot write more says so; one that can goes on from there."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    receiver = Receiver(folder / "full", before=limit)
    there, data = receiver.folder / trace.name, trace.read_bytes()
    said = ask(receiver, hello(trace.name, data[:64]), data[:50_000])
    until("the end", lambda: "went before" in receiver.said())
    done = setting.tracetape("send", trace, receiver.url)
    checks.that(done.status == 4 and b"File too large" in done.err, "told to the sender",
                (done.err, receiver.process.poll()))
    receiver.end()
    checks.that(0 < said[-1][1] <= there.stat().st_size <= 100_000, "whole chunks stay",
                (said, there.stat().st_size))
    receiver = Receiver(folder / "full", port=receiver.port)
    checks.equal(setting.tracetape("send", trace, receiver.url).status, 0, "it goes on")
    checks.equal(there.read_bytes(), data, "the same bytes")
    done = setting.tracetape("send", trace, f"{receiver.url}/no.txt")
    checks.equal(done.status, 2, "a name that cannot be")
    receiver.end()


def check_kept(checks, folder, other):
    """What is there and cannot be read now is kept; what was taken away counts no more."""
    there = folder / "kept" / "huge.ttape"
    there.parent.mkdir()
    header = other.read_bytes()[:64]
    huge = b"\xF3TTchk\xB1\x1A" + struct.pack("<HHIQQQQQ", 1, 0, 0, 0, 1 << 30, 1 << 30, 0, 0)
    there.write_bytes(header + huge + struct.pack("<Q", xxh3(huge)))
    os.truncate(there, 128 + (1 << 30))  # no room is taken
    size = there.stat().st_size
    memory = () if os.environ.get("TTAPE_SANITIZE") else (1 << 29, 1 << 29)
    receiver = Receiver(there.parent, "--max-size", "40K", before=lambda: memory and
                        resource.setrlimit(resource.RLIMIT_AS, memory))
    if memory:
        said = ask(receiver, hello(there.name, header))
        checks.that(said and said[0][0] == NOT_NOW and "cannot read" in said[0][2], "unread", said)
    checks.equal(there.stat().st_size, size, "it is kept")
    question = hello("new.ttape", bytes(64))
    checks.that("--max-size" in ask(receiver, question)[0][2], "the limit is reached")
    there.unlink()
    until("the limit to be counted anew", lambda: ask(receiver, question)[0][0] == HAS)
    checks.equal(receiver.end(), 0, receiver.said())
    there.write_bytes(b"old")
    receiver = Receiver(there.parent, "--force", "--max-size", "4100")
    said = ask(receiver, hello(there.name, b"x" * 64))
    checks.that(said[0][0] == NO and "is no trace" in said[0][2], "no trace replaces one", said)
    (there.parent / "more").write_bytes(bytes(5000))
    checks.equal(receiver.end(), 0, receiver.said())
    receiver = Receiver(there.parent, "--force", "--max-size", "4100")
    said = ask(receiver, hello(there.name, header))
    checks.that(said[0][0] == NOT_NOW and "--max-size" in said[0][2], "nor what has no room", said)
    checks.equal(there.read_bytes(), b"old", "it is there")
    checks.equal(receiver.end(), 0, receiver.said())


def check_taken(checks, folder, other):
    """Of two traces of a name the first comes; what another process writes, and one connection too
    many, are for later."""
    data = other.read_bytes()
    receiver = Receiver(folder / "taken")
    with contextlib.ExitStack() as held:
        held_file = held.enter_context(open(receiver.folder / "held.ttape", "wb"))
        held_file.write(data)
        held_file.flush()
        fcntl.lockf(held_file, fcntl.LOCK_EX)
        said = ask(receiver, hello("held.ttape", data[:64]))[0]
        checks.that(said[0] == NOT_NOW and "by another process" in said[2], "a lock", said)
        count, said = 0, (HAS, 0, "")
        while said[0] == HAS and count < 70:
            s = held.enter_context(socket.create_connection(("127.0.0.1", receiver.port)))
            s.settimeout(60)
            s.sendall(hello(f"n{count}.ttape", data[:64]))
            said = read_said(s)
            count += said[0] == HAS
            if count == 1:
                for header in (b"x" * 64, bytes(64)):
                    no = ask(receiver, hello("n0.ttape", header))[0]
                    checks.that(no[0] == NO and "is coming from 127" in no[2], "it comes", no)
        checks.that(said[0] == NOT_NOW and "as many senders" in said[2] and 60 <= count <= 64,
                    "at most 64 senders", (count, said))
    until("those without a partition to go",
          lambda: os.listdir(receiver.folder) == ["held.ttape"])
    checks.equal(receiver.end(), 0, receiver.said())


def check_refused(checks, folder, other):
    """What cannot be sent, or taken, is said, and with which status."""
    receiver = Receiver(folder / "refused")
    place, cut = f"127.0.0.1:{receiver.port}", folder / "cut.ttape"
    cut.write_bytes(other.read_bytes()[:-1])
    for words, status, said in (
            (("receive", "--listen", place, folder / "again"), 4, b"cannot listen at"),
            (("receive", "--listen", "localhost:0", folder / "again"), 4, b"is no address"),
            (("receive", "--listen", receiver.url, folder / "again"), 2, b"ADDRESS:PORT"),
            (("receive", cut), 4, b"cannot open the folder"),
            (("send", cut, receiver.url), 4, b"is no complete trace"),
            (("send", folder / "none.ttape", receiver.url), 4, b"cannot open"),
            (("send", other, place), 2, b"tcp://HOST:PORT"),
            (("send", other, "tcp://127.0.0.1:99999"), 2, b"tcp://HOST:PORT"),
            (("record", "--files", "-o", receiver.url, "true"), 2, b"none of --files")):
        done = setting.tracetape(*words)
        checks.that(done.status == status and said in done.err, f"{words}", (done.status, done.err))
    alike = folder / "alike"
    alike.mkdir()
    for name, level in (("a.ttape", 0), ("b.ttape", 9)):
        setting.tracetape("convert", other, "-o", alike / name, "--level", str(level))
    headers = {(alike / name).read_bytes()[:64] for name in ("a.ttape", "b.ttape")}
    checks.equal(len(headers), 1, "both begin alike")
    checks.equal(setting.tracetape("send", alike / "a.ttape", receiver.url).status, 0, "one")
    done = setting.tracetape("send", alike / "b.ttape", f"{receiver.url}/a.ttape")
    checks.that(done.status == 4 and b"begins alike" in done.err, "the other", done.err)
    checks.equal((receiver.folder / "a.ttape").read_bytes(), (alike / "a.ttape").read_bytes(),
                 "the first stays")
    checks.equal(receiver.end(), 0, receiver.said())


def mode_of(job):
    told = setting.tracetape("control", str(job.pid), "status", "--json").out
    return json.loads(told)["mode"] if told else None


def check_spill(checks, folder, program):
    """Nobody takes it for a while: what waits here is bounded, and the trace has a gap; then all of
    it comes, and what was acknowledged gave its room back."""
    receiver = Receiver(folder / "spill")
    proxy = Proxy(receiver.port, 1 << 60)
    here = folder / "spilled"
    here.mkdir()
    words = [setting.COMMAND, "record", "--no-patch", "--live", "-p", "100000", "--spill", "64K",
             "--level", "0", "-o", f"tcp://127.0.0.1:{proxy.own}/s.ttape", "--", program, "400000",
             "steps"]
    job = setting.start(words, cwd=here, stdin=subprocess.PIPE)
    local = here / "s.ttape.unsent"

    def step():
        job.stdin.write(b"x")
        job.stdin.flush()

    def size():
        return local.stat().st_size if local.exists() else 0

    step()
    until("its first partition", lambda: (receiver.folder / "s.ttape").exists())
    proxy.passes = False
    step()
    until("recording to be off", lambda: mode_of(job) == "off")
    checks.equal(setting.tracetape("control", str(job.pid), "on").status, 0, "on")
    until("recording to be off all the same", lambda: mode_of(job) == "off")
    proxy.passes = True
    until("recording to be on", lambda: mode_of(job) == "on")
    until("room to be given back", lambda: local.stat().st_blocks * 512 < size())
    proxy.passes = False
    step()
    until("recording to be off again", lambda: mode_of(job) == "off")
    checks.equal(setting.tracetape("control", str(job.pid), "off").status, 0, "off")
    proxy.passes = True
    for _ in range(2):  # rounds in which there is room
        setting.tracetape("control", str(job.pid), "flush")
        until("it to be sent", lambda: (receiver.folder / "s.ttape").stat().st_size == size())
    checks.equal(mode_of(job), "off", "as it was asked to be")
    checks.equal(setting.tracetape("control", str(job.pid), "on").status, 0, "on again")
    until("recording to be on again", lambda: mode_of(job) == "on")
    step()
    done = setting.finish(job, words, 120)
    checks.equal(done.status, 0, f"record: {done.err[-300:]}")
    trace = receiver.folder / "s.ttape"
    checks.equal(traces.verify(trace), None, "it is whole")
    checks.that(traces.info(trace)["gaps"] > 0, "with a gap")
    checks.equal(receiver.end(), 0, receiver.said())


def check_left(checks, folder, program, other):
    """The receiver is gone at the end: the trace stays, and is sent later. A recorder that is
    killed leaves what it always does."""
    receiver = Receiver(folder / "left")
    here = folder / "left-here"
    here.mkdir()
    words = [setting.COMMAND, "record", "--no-patch", "--live", "-p", "20000", "-o",
             f"{receiver.url}/left.ttape", "--", program, "60000", "steps"]
    there = receiver.folder / "left.ttape"
    for ends in (False, True):
        job = setting.start(words, cwd=here, stdin=subprocess.PIPE)
        job.stdin.write(b"x")
        job.stdin.flush()
        until("a partition", lambda: there.exists() and there.stat().st_size > 10_000)
        if not ends:
            os.kill(job.pid, signal.SIGKILL)
            setting.finish(job, words, 60)
            until("its end", lambda: "went before" in receiver.said())
            done = setting.tracetape("recover", here / "left.ttape.unsent.recording", "-o",
                                     here / "all.ttape", "--clean", "-f")
            checks.equal(done.status, 0, f"recover: {done.err}")
            checks.equal(traces.verify(here / "all.ttape"), None, "all of it")
            whole = setting.tracetape("send", here / "all.ttape", f"{receiver.url}/left.ttape")
            checks.equal(whole.status, 0, f"what was recovered goes on there: {whole.err}")
            checks.equal(there.read_bytes(), (here / "all.ttape").read_bytes(), "all of it")
            done = setting.tracetape("send", other, f"{receiver.url}/left.ttape")
            checks.that(done.status == 4 and b"another trace" in done.err, "of another run")
            there.unlink()
            (here / "left.ttape.unsent").unlink()
            (here / "left.ttape").write_bytes(b"the user's own")
            continue
        receiver.end(signal.SIGKILL)
        for _ in range(3):
            job.stdin.write(b"x")
            job.stdin.flush()
        done = setting.finish(job, words, 120)
        checks.equal(done.status, 4, f"record: {done.err[-300:]}")
        checks.that(b"goes on" in done.err, "how to send it", done.err)
        receiver = Receiver(folder / "left", port=receiver.port)
        done = setting.tracetape("send", here / "left.ttape.unsent",
                                 f"{receiver.url}/left.ttape")
        checks.equal(done.status, 0, f"send: {done.err}")
        checks.equal(there.read_bytes(), (here / "left.ttape.unsent").read_bytes(), "the bytes")
    checks.equal((here / "left.ttape").read_bytes(), b"the user's own", "it is left alone")
    done = setting.tracetape("record", "-o", f"{receiver.url}/left.ttape", program, "3", cwd=here)
    checks.that(done.status == 4 and not (here / "left.ttape.unsent.recording").exists(),
                "a name that is there: nothing is run", done.err)
    done = setting.tracetape("syscalls", "-o", f"{receiver.url}/new.ttape", "--", program, "3")
    checks.that(done.status == 2 and b"of record and attach" in done.err, "syscalls", done.err)
    receiver.end()
    done = setting.tracetape("record", "-o", receiver.url, program, "3", cwd=here)
    checks.that(done.status == 4 and b"cannot reach" in done.err, "nobody is there", done.err)


def main():
    setting.need_verb("record", "receive", "send")
    setting.go_apart()
    checks = setting.Checks("send")
    program = setting.build("p_steps.c", flags=("-O1",), log=False)
    with setting.work_dir() as folder:
        folder = Path(folder)
        trace = local_trace(folder, program, "local.ttape", 300_000, "--level", "0")
        other = local_trace(folder, program, "other.ttape", 1000)
        jobs = ((check_same_bytes, trace), (check_strangers, trace, other),
                (check_full_disk, trace), (check_kept, other), (check_taken, other),
                (check_refused, other), (check_record, program), (check_spill, program),
                (check_left, program, other))
        with futures.ThreadPoolExecutor(len(jobs)) as pool:  # they wait more than they work
            for done in [pool.submit(job[0], checks, folder, *job[1:]) for job in jobs]:
                done.result(timeout=300)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
