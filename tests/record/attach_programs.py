"""Programs of the system that attach_soak.py attaches to: how each is started by an ordinary user,
how it is asked, and what a right answer is."""
import getpass
import json
import os
import re
import socket
import subprocess
from dataclasses import dataclass, field

import server_soak
from server_soak import tool

PYTHON = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        text = ",".join(sorted(str(i * 7919 % 541) for i in range(200))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
FORKS = """
import os, subprocess, sys, threading
for line in sys.stdin:
    n, found = int(line), []
    if n % 3 == 0:
        child = os.fork()
        if child == 0:
            os._exit(sum(i * n for i in range(100)) % 251)
        found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    elif n % 3 == 1:
        found.append(int(subprocess.run(["echo", line.strip()], capture_output=True).stdout))
    else:
        one = threading.Thread(target=lambda: found.append(n * 2))
        one.start()
        one.join()
    print(found[0], flush=True)
"""
PERL = """
$| = 1;
while (my $n = <STDIN>) {
    my %seen = map { ($_ * 7919 % 541) => 1 } 0 .. 199;
    print eval { die "odd\\n" if $n % 2; join(",", (sort keys %seen)[0 .. 9]) . "," . $n * 2 } ||
        "it is odd", "\\n";
}
"""
RUBY = """
require "socket"
server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |one|
    while (line = one.gets)
      n = line.to_i
      list = (0...200).map { |i| (i * 7919 % 541).to_s }.sort
      begin
        raise "deep" if n.odd?
        text = "even"
      rescue
        text = "odd"
      end
      one.write(list[n % 200] + "," + text + "\\n")
    end
  end
end
"""
PHP = """<?php
$list = array_map(fn($i) => (string)($i * 7919 % 541), range(0, 199));
sort($list, SORT_STRING);
$text = implode(",", $list);
header("Content-Length: " . strlen($text));
echo $text;
"""
BASH = """
twice() { local n=$1; echo $((n * 2)); }
while read -r n; do
    printf '%s,%s,%s\\n' "$(twice "$n")" "$(echo "$n" | tr 0-9 a-j)" "${n//1/x}"
done
"""
GO = """
package main
import ("fmt"; "net/http"; "os")
func main() {
    http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "right") })
    http.ListenAndServe("127.0.0.1:" + os.Args[1], nil)
}
"""
HAPROXY = """
global
  nbthread 2
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 60s
frontend all
  bind 127.0.0.1:%(port)d
  http-request return status 200 content-type text/plain string "right answers"
"""
LIGHTTPD = """
server.document-root = "%(folder)s/www"
server.bind = "127.0.0.1"
server.port = %(port)d
index-file.names = ("index.html")
mimetype.assign = (".html" => "text/html")
"""
SSHD = """
Port %(port)d
ListenAddress 127.0.0.1
HostKey %(folder)s/host
AuthorizedKeysFile %(folder)s/key.pub
PidFile none
StrictModes no
MaxStartups 100
UsePAM no
"""
ANSWER_S = 60
DIGITS = str.maketrans("0123456789", "abcdefghij")


# ---- starting ----

def write(folder, name, text, **words):
    """A file of the program's folder, in whose text these words stand."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text % {"folder": folder, **words} if words else text, encoding="ascii")
    return path


def memcached(_, port):
    return [tool("memcached"), "-t", "4", "-l", "127.0.0.1", "-p", port, "-U", "0"]


def haproxy(folder, port):
    return [tool("haproxy"), "-db", "-f", write(folder, "haproxy.cfg", HAPROXY, port=port)]


def lighttpd(folder, port):
    write(folder, "www/index.html", "text " * 500)
    path = write(folder, "lighttpd.conf", LIGHTTPD, port=port)
    return [tool("lighttpd"), "-D", "-f", path]


def sshd(folder, port):
    for name in ("host", "key"):
        subprocess.run([tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", folder / name],
                       check=True)
    return [tool("sshd"), "-D", "-e", "-f", write(folder, "sshd", SSHD, port=port)]


def git(folder):
    """A repository with a commit, and its name."""
    def run(*words):
        return subprocess.run([tool("git"), "-c", "user.name=a", "-c", "user.email=a@b", *words],
                              cwd=folder / "repository", check=True, capture_output=True,
                              text=True).stdout.strip()
    write(folder, "repository/file", "text " * 500)
    run("init", "-q", "-b", "main")
    run("add", "file")
    run("commit", "-q", "-m", "one")
    return run("rev-parse", "main")


def git_daemon(folder, port):
    git(folder)
    return [tool("git"), "daemon", "--listen=127.0.0.1", f"--port={port}", "--export-all",
            f"--base-path={folder}", "--reuseaddr", folder]


def git_objects(folder, _):
    git(folder)
    return [tool("git"), "-C", folder / "repository", "cat-file", "--batch-check"]


def php(folder, port):
    write(folder, "index.php", PHP)
    return [tool("php"), "-n", "-S", f"127.0.0.1:{port}", "-t", folder]


def go(folder, port):
    path = write(folder, "server.go", GO)
    subprocess.run([tool("go"), "build", "-o", folder / "server", path], check=True, cwd=folder,
                   env={**os.environ, "HOME": str(folder), "GO111MODULE": "off"})
    return [folder / "server", port]


def script(interpreter, name, text):
    return lambda folder, port: [tool(interpreter), write(folder, name, text), port]


# ---- asking: each says whether the answer to the n-th question is right ----

class Lines:
    """A question is a line, and so is its answer."""
    def __init__(self, question, answer):
        self.question, self.answer = question, answer

    def open(self, place):
        if isinstance(place, tuple):
            return place
        one = socket.create_connection(("127.0.0.1", place), timeout=ANSWER_S)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        file = one.makefile("rwb", buffering=0)
        return file, one.makefile("rb")

    def ask(self, files, number):
        files[0].write(self.question(number).encode())
        wanted = self.answer(number).encode()
        said = b""
        while said.count(b"\n") < wanted.count(b"\n"):
            line = files[1].readline()
            if not line:
                raise ConnectionError("it has ended")
            said += line
        return said == wanted

    def close(self, files):
        for file in files:
            file.close()


class Http(Lines):
    """One connection for all questions."""
    def __init__(self, answer):
        super().__init__(None, None)
        self.wanted = answer.encode()

    def ask(self, files, number):
        files[0].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        size = None
        for head in iter(files[1].readline, b"\r\n"):
            if not head:
                raise ConnectionError("no answer")
            found = re.match(rb"(?i)content-length: *(\d+)", head)
            size = int(found[1]) if found else size
        return files[1].read(size) == self.wanted


class Once(Lines):
    """A connection for each question."""
    def __init__(self, talk):
        super().__init__(None, None)
        self.talk = talk

    def open(self, place):
        return place

    def ask(self, place, number):
        files = self.talk.open(place)
        try:
            return self.talk.ask(files, number)
        finally:
            self.talk.close(files)


class Postgres(Lines):
    """Its protocol, as far as one question needs it: each connection is a process of its own."""
    def __init__(self):
        super().__init__(None, None)

    def open(self, place):
        files = super().open(place)
        words = b"user\0bench\0database\0postgres\0\0"
        files[0].write((len(words) + 8).to_bytes(4, "big") + (196608).to_bytes(4, "big") + words)
        self.read(files)
        return files

    @staticmethod
    def read(files):
        """All rows' bytes until it waits for a question."""
        rows = []
        while True:
            head = files[1].read(5)
            if len(head) < 5:
                raise ConnectionError("no answer")
            body = files[1].read(int.from_bytes(head[1:], "big") - 4)
            if head[:1] == b"E":
                raise ConnectionError(body.decode(errors="replace"))
            if head[:1] == b"D":
                rows.append(body[6:])
            if head[:1] == b"Z":
                return rows

    def ask(self, files, number):
        text = (f"select sum(i * {number % 1000}) from generate_series(1, 100) i "
                f"where i % 2 = 0 or i % 2 = 1").encode() + b"\0"
        files[0].write(b"Q" + (len(text) + 4).to_bytes(4, "big") + text)
        return self.read(files) == [str(5050 * (number % 1000)).encode()]

    def close(self, files):
        files[0].write(b"X\0\0\0\4")
        super().close(files)


class GitDaemon(Lines):
    """What git says of its branches; each connection is a process of its own."""
    def __init__(self):
        super().__init__(None, None)

    def ask(self, files, number):
        words = b"git-upload-pack /repository\0host=a\0"
        files[0].write(b"%04x" % (len(words) + 4) + words)
        said = b""
        while not said.endswith(b"0000"):
            got = files[1].read1()
            if not got:
                raise ConnectionError(said)
            said += got
        files[0].write(b"0000")
        return b" refs/heads/main\n" in said


class Ssh(Lines):
    def __init__(self):
        super().__init__(None, None)

    def open(self, place):
        return place

    def ask(self, place, number):
        done = subprocess.run(
            [tool("ssh"), "-F", "none", "-i", "key", "-p", str(place), "-o",
             "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
             "LogLevel=ERROR", f"{getpass.getuser()}@127.0.0.1", f"echo {number}"], check=False,
            capture_output=True, timeout=ANSWER_S, stdin=subprocess.DEVNULL)
        if done.returncode == 255:
            raise ConnectionError(done.stderr.decode(errors="replace"))
        return done.stdout == f"{number}\n".encode()


class SshWaits(Lines):
    """A connection that never says who it is: its process is under a filter of system calls."""
    def __init__(self):
        super().__init__(None, None)

    def ask(self, files, number):
        return True

    def open(self, place):
        files = super().open(place)
        files[0].write(b"SSH-2.0-a\r\n")
        if not files[1].readline().startswith(b"SSH-2.0"):
            raise ConnectionError("no answer")
        return files


# ---- the table ----

@dataclass(frozen=True)
class Program:
    """`prepare` makes a folder's files and says the words. `target` is a regular expression of the
    command line of the process that is attached to, among those that the first one has started.
    `names`: of functions that a report has. `quiet`: those that no question leads to."""
    prepare: object
    talk: object
    names: str = "."
    quiet: str = ""
    connections: int = 4
    options: tuple = ()
    first: int = 200  # so many questions before it is attached to
    target: str = ""
    refused: str = ""  # in these words
    is_filter: bool = False  # asked by its own input and output
    makes_code: bool = False
    waits: bool = False  # for children of vfork, in the kernel, where nobody can stop it
    ask: object = lambda _: True
    environment: dict = field(default_factory=dict)


LIST = [str(i * 7919 % 541) for i in range(200)]
SORTED = ",".join(sorted(LIST))
JAVA = ",".join(sorted(f"n{i * 7919 % 541}" for i in range(500)))
NODE = json.dumps(sorted((int(one) for one in LIST), key=str), separators=(",", ":"))


def bash_answer(number):
    return f"{number * 2},{str(number).translate(DIGITS)},{str(number).replace('1', 'x')}\n"


def number_line(number):
    return f"{number}\n"


def redis_question(number):
    return f"INCRBY a{number % 7} 0\r\nSET k{number} {number}\r\nGET k{number}\r\n"


def redis_answer(number):
    return f":0\r\n+OK\r\n${len(str(number))}\r\n{number}\r\n"


def memcached_question(number):
    return f"set k{number % 999} 0 0 5\r\nright\r\nget k{number % 999}\r\n"


PROGRAMS = {
    "java": Program(server_soak.java, Http(JAVA), makes_code=True, options=("--module", "/libjvm")),
    "node": Program(server_soak.node, Http(NODE), makes_code=True),
    "python3": Program(script("python3", "server.py", PYTHON), Http(SORTED)),
    "python3 forks": Program(script("python3", "forks.py", FORKS), Lines(
        number_line, lambda n: f"{(4950 * n % 251, n, n * 2)[n % 3]}\n"), is_filter=True,
        waits=True),
    "ruby": Program(script("ruby", "server.rb", RUBY), Lines(
        number_line, lambda n: f"{sorted(LIST)[n % 200]},{'odd' if n % 2 else 'even'}\n")),
    "php": Program(php, Once(Http(SORTED)), connections=2),
    "php workers": Program(php, Once(Http(SORTED)), target="php", connections=2,
                           environment={"PHP_CLI_SERVER_WORKERS": "3"}),
    "postgres": Program(server_soak.postgres, Once(Postgres()), connections=2,
                        ask=server_soak.ask_postgres),
    "postgres backend": Program(server_soak.postgres, Postgres(), target="postgres: bench",
                                connections=2, ask=server_soak.ask_postgres),
    "nginx": Program(server_soak.nginx, Http("text " * 500), target="worker process"),
    "haproxy": Program(haproxy, Http("right answers")),
    "lighttpd": Program(lighttpd, Once(Http("text " * 500))), # of one it takes 65,535
    "redis": Program(server_soak.redis, Lines(redis_question, redis_answer)),
    "memcached": Program(memcached, Lines(
        memcached_question, lambda n: f"STORED\r\nVALUE k{n % 999} 0 5\r\nright\r\nEND\r\n")),
    "sshd": Program(sshd, Ssh(), connections=1, first=3),
    "sshd net": Program(sshd, SshWaits(), connections=1, first=9, target=r"sshd: .*\[net\]",
                        refused="a filter of system calls"),
    "git daemon": Program(git_daemon, Once(GitDaemon()), connections=1, first=20),
    "git": Program(git_objects, Lines(lambda n: f"{n:040x}\n", lambda n: f"{n:040x} missing\n"),
                   is_filter=True),
    "bash": Program(script("bash", "loop.sh", BASH), Lines(number_line, bash_answer),
                    is_filter=True),
    "perl": Program(script("perl", "loop.pl", PERL), Lines(
        number_line, lambda n: "it is odd\n" if n % 2 else
        ",".join(sorted(LIST)[:10]) + f",{n * 2}\n"), is_filter=True),
    "sqlite3": Program(lambda *_: [tool("sqlite3"), "-batch", ":memory:"], Lines(
        lambda n: "with recursive c(i) as (select 1 union all select i + 1 from c where i < 50) "
        f"select sum(i * {n % 1000}) from c;\n", lambda n: f"{1275 * (n % 1000)}\n"),
        is_filter=True),
    "go": Program(go, Http("right"), refused=" Go"),
}
