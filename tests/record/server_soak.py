#!/usr/bin/env python3
"""Servers under load on the loopback, recorded, for a minute each: all requests are answered, and
the server says what it says untraced and ends as it ends untraced. For scripts/programs, as an
ordinary user."""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import setting

WAYS = {"default": [], "syscalls": ["--syscalls", "--keep-last", "64M"]}
REASONS = {3: "lost", 4: "nothing was recorded"}
START_S, END_S = 120, 300
JAVA = """
import com.sun.net.httpserver.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Server {
    public static void main(String[] words) throws Exception {
        var at = new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0]));
        var server = HttpServer.create(at, 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            try { if (exchange.getRequestURI().getQuery() != null) throw new Exception("never"); }
            catch (Exception error) { throw new RuntimeException(error); }
            var numbers = IntStream.range(0, 500).boxed().map(i -> "n" + i * 7919 % 541)
                .sorted().collect(Collectors.joining(","));
            byte[] text = numbers.getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
"""
NODE = """
const zlib = require("zlib"), http = require("http");
http.createServer((request, response) => {
  const list = Array.from({length: 200}, (_, i) => i * 7919 % 541).sort();
  zlib.deflate(JSON.stringify(list), (error, packed) => {
    const text = zlib.inflateSync(packed);
    response.writeHead(error ? 500 : 200, {"Content-Length": text.length});
    response.end(text);
  });
}).listen(+process.argv[2], "127.0.0.1");
"""
NGINX = """
daemon off; worker_processes 2; pid %(folder)s/pid; error_log %(folder)s/error.log;
events { worker_connections 256; }
http {
  keepalive_requests 100000000;
  access_log %(folder)s/access.log; gzip on; gzip_min_length 1; gzip_types text/plain;
  client_body_temp_path %(folder)s/a; proxy_temp_path %(folder)s/b; fastcgi_temp_path %(folder)s/c;
  uwsgi_temp_path %(folder)s/d; scgi_temp_path %(folder)s/e;
  server { listen 127.0.0.1:%(port)d; root %(folder)s; location / { } }
}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tool(name):
    """Where a program is: Debian has postgres' own in a folder of its release."""
    found = shutil.which(name, path="/usr/bin:/usr/sbin") or next(
        iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        raise FileNotFoundError(f"'{name}' is not installed")
    return str(found)


def java(folder, port):
    (folder / "Server.java").write_text(JAVA, encoding="ascii")
    subprocess.run([tool("javac"), "Server.java"], cwd=folder, check=True)
    return [tool("java"), "-Xmx256m", "-cp", folder, "Server", port]


def node(folder, port):
    (folder / "server.js").write_text(NODE, encoding="ascii")
    return [tool("node"), folder / "server.js", port]


def redis(folder, port):
    return [tool("redis-server"), "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save",
            "5 100", "--appendonly", "yes", "--logfile", folder / "log"]


def nginx(folder, port):
    (folder / "index.html").write_text("text " * 500, encoding="ascii")
    text = NGINX % {"folder": folder, "port": port}
    (folder / "nginx.conf").write_text(text, encoding="ascii")
    return [tool("nginx"), "-e", folder / "error.log", "-c", folder / "nginx.conf"]


def postgres(folder, port):
    data = folder / "data"
    subprocess.run([tool("initdb"), "-A", "trust", "-U", "bench", "-D", data], check=True,
                   stdout=subprocess.DEVNULL)
    return [tool("postgres"), "-D", data, "-k", folder, "-p", port, "-c",
            "listen_addresses=127.0.0.1", "-c", "logging_collector=off", "-c",
            "log_min_messages=fatal"]


def by_http(port, seconds):
    yield [tool("ab"), "-q", "-k", "-c", 8, "-t", seconds, "-n", 100_000_000,
           f"http://127.0.0.1:{port}/"]


def by_redis(port, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield [tool("redis-benchmark"), "-p", port, "-c", 20, "-n", 5000, "-r", 5000, "-P", 4,
               "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset", "--csv"]


def by_postgres(port, seconds):
    at = ["-h", "127.0.0.1", "-p", port, "-U", "bench"]
    yield [tool("pgbench"), "-q", "-i", "-s", 2, *at, "postgres"]
    yield [tool("pgbench"), "-n", "-c", 8, "-j", 2, "-T", seconds, *at, "postgres"]
    yield [tool("psql"), *at, "-c", "select count(*) from pgbench_accounts", "postgres"]


def ask_postgres(port):
    """It takes connections before it answers them."""
    return setting.run([tool("pg_isready"), "-q", "-h", "127.0.0.1", "-p", port, "-U", "bench",
                        "-d", "postgres"]).status == 0


@dataclass(frozen=True)
class Server:
    """`prepare` makes a folder's files and says the words; `good` and `bad` are of clients; `ask`
    says whether it answers, once it takes connections."""
    prepare: object
    load: object
    good: str
    bad: str = r"(?i)error|refused|fatal"
    ask: object = lambda _: True


SERVERS = {
    "openjdk": Server(java, by_http, r"Failed requests: +0\n", "Non-2xx"),
    "node": Server(node, by_http, r"Failed requests: +0\n", "Non-2xx"),
    "redis": Server(redis, by_redis, r'"SET","[1-9]'),
    "nginx": Server(nginx, by_http, r"Failed requests: +0\n", "Non-2xx"),
    "postgres": Server(postgres, by_postgres, r"number of failed transactions: 0 |200000",
                       ask=ask_postgres),
}


def takes_connections(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def wait_for(server, port, process):
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if takes_connections(port) and server.ask(port):
            return True
        time.sleep(0.05)
    return False


def use(server, port, seconds):
    """What clients said that is not as it should be, and all that they said."""
    wrong, texts = [], []
    for words in server.load(port, seconds):
        done = setting.run(words, timeout=seconds + END_S)
        out, err = (text.decode(errors="replace") for text in (done.out, done.err))
        texts.append(out)
        if done.timed_out or done.status or re.search(server.bad, out):
            wrong.append(f"{words[0]}: {'not in time' if done.timed_out else done.status}\n"
                         f"{out[-600:]}{err[-600:]}")
    return wrong, "\n".join(texts)


def serve(server, work, seconds, prefix=()):
    """Starts, loads, ends: status, output, recorder's lines, what is wrong, what clients said."""
    folder = Path(work, "server")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    port = free_port()
    words = [str(word) for word in [*prefix, *server.prepare(folder, port)]]
    with open(folder / "out", "wb") as out:
        process = setting.start(words, cwd=folder, out=out, err=out,
                                env=setting.environment(HOME=folder, XDG_CACHE_HOME=work))
        try:
            if wait_for(server, port, process):
                wrong, said = use(server, port, seconds)
            else:
                wrong, said = ["it does not start"], ""
            alive = process.poll() is None
            process.send_signal(signal.SIGTERM)
            status = process.wait(END_S)
        except subprocess.TimeoutExpired:
            wrong, alive, status = [*wrong, "it does not end"], True, -signal.SIGKILL
        finally:
            setting.kill_group(process)
    text = (folder / "out").read_text(errors="replace")
    ours = re.findall("^tracetape: .*$", text, re.M)
    text = re.sub("^tracetape: .*\n", "", text, flags=re.M).replace(str(port), "PORT")
    if not alive:
        wrong.append(f"it has ended by itself: {text[-600:]}")
    if not re.search(server.good, said):
        wrong.append(f"clients said: {said[-600:]}")
    return setting.DIED - status if status < 0 else status, text, ours, wrong, said


def rate(said):
    found = re.search(r"Requests per second: +([\d.]+)|tps = ([\d.]+)|\"GET\",\"([\d.]+)", said)
    return next((float(one) for one in found.groups() if one), 0) if found else 0


def compare(checks, name, work, seconds, ways):
    server = SERVERS[name]
    status, text, _, wrong, said = serve(server, work, min(seconds, 5))
    print(f"{name}, untraced: status {status}, {rate(said):.0f} a second", flush=True)
    checks.that(not wrong, f"{name}, untraced", *wrong)
    for way in ways:
        trace = Path(work, "run.ttape")
        found = serve(server, work, seconds, [setting.COMMAND, "record", "-f", "-o", trace,
                                              *WAYS[way], "--"])
        size = trace.stat().st_size / 1e6 if trace.is_file() else 0
        print(f"{name}, {way}: status {found[0]}, {rate(found[4]):.0f} a second, {size:.0f} MB",
              *found[2], sep="\n    ", flush=True)
        checks.that(not found[3], f"{name}, {way}", *found[3])
        checks.that(found[0] == status or (status == 0 and found[0] in REASONS and
                                           REASONS[found[0]] in str(found[2])),
                    f"{name}, {way}: status {found[0]} for {status}", *found[2])
        checks.equal(found[1], text, f"{name}, {way}: output")
        if trace.is_file():
            seen = setting.run([setting.COMMAND, "verify", trace], timeout=1200)
            checks.that(seen.status in (0, 3), f"{name}, {way}: verify", seen.out, seen.err)
            trace.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--server", default="", help="a regular expression of its name")
    parser.add_argument("--postgres", choices=("too", "only", "not"), default="too")
    parser.add_argument("--way", default="", help="a regular expression of its name")
    asked = parser.parse_args()
    setting.need_verb("record")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server ends, too
    checks = setting.Checks("servers")
    ways = [way for way in WAYS if re.search(asked.way, way)]
    fits = {"too": lambda _: True, "only": lambda name: name == "postgres",
            "not": lambda name: name != "postgres"}
    print(f"user {os.geteuid()}, {asked.seconds} s each", flush=True)
    with setting.work_dir() as work:
        for name in SERVERS:
            if re.search(asked.server, name) and fits[asked.postgres](name):
                compare(checks, name, work, asked.seconds, ways)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
