#!/usr/bin/env python3
"""Who may ask the server of `tracetape view`, and what each response says of itself: hosts,
origins, keys, methods, paths, lengths; slow clients; where it listens; what others see of the
key."""
import http.client
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from view_client import COMMAND, Server, check, end

TRACE = Path(os.environ["TTAPE_SRC"], "spec", "vectors", "all-kinds.ttape")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff", "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer", "cache-control": "no-store"}
OTHERS = {"content-type", "content-length", "date", "connection"}


def send(server, *lines, body=b""):
    """The status of a request, byte by byte."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as plain:
        plain.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
        answer = b""
        while piece := plain.recv(65536):
            answer += piece
    return int(answer.split(b" ")[1]) if answer else 0


def check_heads(server):
    host, key = f"Host: 127.0.0.1:{server.port}", f"X-Tracetape-Key: {server.key}"
    wrong = "X-Tracetape-Key: " + server.key[:-1] + ("0" if server.key[-1] != "0" else "1")
    ask = ["POST /ask HTTP/1.1", "Content-Length: 5"]
    cases = [
        ("right", 200, [*ask, host, key]),
        ("localhost", 200, [*ask, "Host: localhost:1234", key]),
        ("IPv6's loopback", 200, [*ask, "Host: [::1]:8080", key]),
        ("no key", 401, [*ask, host]),
        ("wrong key", 401, [*ask, host, wrong]),
        ("a part of the key", 401, [*ask, host, key[:-1]]),
        ("no host", 400, [*ask, key]),
        ("two hosts, the right one first", 400, [*ask, host, "Host: evil.example", key]),
        ("two hosts, the right one last", 400, [*ask, "Host: evil.example", host, key]),
        ("two keys, the right one last", 400, [*ask, host, wrong, key]),
        ("two origins, the own one last", 400,
         [*ask, host, key, "Origin: http://evil.example",
          f"Origin: http://127.0.0.1:{server.port}"]),
        ("two places that it comes from", 400,
         [*ask, host, key, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"]),
        ("two lengths", 400, [*ask, host, key, "Content-Length: 500"]),
        ("a length and an encoding", 400, [*ask, host, key, "Transfer-Encoding: chunked"]),
        ("foreign host", 421, [*ask, "Host: evil.example", key]),
        ("host that begins as ours", 421, [*ask, "Host: 127.0.0.1.evil.example", key]),
        ("host with words for a port", 421, [*ask, "Host: 127.0.0.1:80x", key]),
        ("own origin", 200, [*ask, host, key, f"Origin: http://127.0.0.1:{server.port}"]),
        ("foreign origin", 403, [*ask, host, key, "Origin: http://evil.example"]),
        ("origin of another port", 403, [*ask, host, key, "Origin: http://127.0.0.1:1"]),
        ("null origin", 403, [*ask, host, key, "Origin: null"]),
        ("cross-site", 403, [*ask, host, key, "Sec-Fetch-Site: cross-site"]),
        ("same site, another origin", 403, [*ask, host, key, "Sec-Fetch-Site: same-site"]),
        ("same origin", 200, [*ask, host, key, "Sec-Fetch-Site: same-origin"]),
    ]
    for what, wanted, lines in cases:
        check(what, send(server, *lines, body=b"trace"), wanted)
    navigate = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]
    for what, wanted, lines in [
            ("page", 200, ["GET / HTTP/1.1", host]),
            ("page, from a link", 200, ["GET / HTTP/1.1", host, *navigate]),
            ("page, in another page", 403, ["GET / HTTP/1.1", host, navigate[0]]),
            ("script, by another page", 403, ["GET /page.js HTTP/1.1", host, *navigate]),
            ("unknown path", 404, ["GET /etc/passwd HTTP/1.1", host]),
            ("path upwards", 404, ["GET /../../etc/passwd HTTP/1.1", host]),
            ("page with a query", 404, ["GET /?k=1 HTTP/1.1", host]),
            ("question by GET", 405, ["GET /ask HTTP/1.1", host, key]),
            ("page by POST", 405, ["POST / HTTP/1.1", host, "Content-Length: 0"]),
            ("a browser's question before one of another page", 403,
             ["OPTIONS /ask HTTP/1.1", host, "Origin: http://evil.example"])]:
        check(what, send(server, *lines), wanted)


def check_bodies(server):
    check("body of the largest size", server.post("x" * 65536)[0], 200)
    check("oversized body", server.post("x" * 65537)[0], 413)
    check("too many lines", server.post("trace\n" * 65)[0], 400)
    check("still there", server.post("trace")[0], 200)


def check_headers(server):
    for path in ("/", "/page.js", "/page.css", "/icon.svg", "/nothing"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        answer.read()
        connection.close()
        check(f"headers of {path}", {n: v for n, v in found.items() if n not in OTHERS}, HEADERS)


def is_open(plain):
    """The server has not ended this connection, which it does after a while."""
    plain.setblocking(False)
    try:
        return plain.recv(1) != b""
    except BlockingIOError:
        return True


def check_slow(server, count):
    """So many clients that never end their requests, or read no answer, keep nobody waiting: not
    the page that is in use, and not one that comes then."""
    begins = [b"GE", b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\n",
              b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Tracetape-Key: " + server.key.encode()
              + b"\r\nContent-Length: 9\r\n\r\ntr", b""]
    slow = []
    for i in range(count):
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=120)
        plain.sendall(begins[i % len(begins)])
        slow.append(plain)
    start = time.monotonic()
    for _ in range(5):
        check(f"page in use, beside {count} slow clients", server.post("trace\nthreads")[0], 200)
    check(f"new page, beside {count} slow clients",
          send(server, "GET / HTTP/1.1", f"Host: 127.0.0.1:{server.port}"), 200)
    check(f"beside {count} slow clients, at once",
          time.monotonic() - start < 10 or all(map(is_open, slow)), True)
    for plain in slow:
        plain.close()


def check_many_at_once(server):
    """More than may be open at a time are refused; behind them it goes on."""
    many = []
    for _ in range(450):
        try:
            many.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        except OSError:
            break
    for plain in many:
        plain.close()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if send(server, "GET / HTTP/1.1", f"Host: 127.0.0.1:{server.port}") == 200:
                return
        except OSError:
            pass
    check("behind many connections", "no answer", "an answer")


def check_other_page(server):
    """What a page of another origin can do without a word of the key: nothing that tells."""
    host = f"Host: 127.0.0.1:{server.port}"
    ask = ["POST /ask HTTP/1.1", "Content-Length: 5", host]
    for what, more in (("form", ["Content-Type: application/x-www-form-urlencoded"]),
                       ("simple request", ["Content-Type: text/plain",
                                           "Origin: http://127.0.0.1:1"]),
                       ("no-cors", ["Sec-Fetch-Mode: no-cors", "Sec-Fetch-Site: cross-site"]),
                       ("frame", ["Sec-Fetch-Dest: iframe", "Sec-Fetch-Site: cross-site"])):
        status = send(server, *ask, *more, body=b"trace")
        check(f"another page's {what}", status in (401, 403), True)


def check_listening(server):
    """On 127.0.0.1 alone."""
    wanted = f"0100007F:{server.port:04X}"
    found = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
             if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"]
    check("where it listens", found, [wanted])
    try:
        there = [line for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
                 if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"]
        check("where it listens by IPv6", there, [])
    except FileNotFoundError:
        pass


def check_browser():
    """The browser gets a file that only its owner can read, which goes when the page has asked."""
    with tempfile.TemporaryDirectory() as folder:
        opener = Path(folder, "xdg-open")
        opener.write_text(f'#!/bin/sh\ncd "{folder}" && printf "%s\\n" "$@" >words\n'
                          'cat "$1" >text.new && mv text.new text\n')
        opener.chmod(0o755)
        process = subprocess.Popen(
            [COMMAND, "view", str(TRACE)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":77",
                 "XDG_RUNTIME_DIR": folder})
        address = process.stdout.readline().strip()
        key = re.search(r"#k=([0-9a-f]{32})", address)[1]
        end = time.monotonic() + 60
        while not Path(folder, "text").exists() and time.monotonic() < end:
            time.sleep(0.02)
        words = Path(folder, "words").read_text()
        check("key in the browser's arguments", key in words, False)
        page = Path(words.strip())
        check("where the browser's file is", page.parent, Path(folder))
        check("who may read it", stat.S_IMODE(page.stat().st_mode), 0o600)
        check("what it says", address in Path(folder, "text").read_text(), True)
        check("key in the command's arguments",
              key.encode() in Path(f"/proc/{process.pid}/cmdline").read_bytes(), False)
        port = int(re.search(r":(\d+)/", address)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/ask", "trace", {"X-Tracetape-Key": key})
        check("asks", connection.getresponse().status, 200)
        connection.close()
        end = time.monotonic() + 60
        while page.exists() and time.monotonic() < end:
            time.sleep(0.05)
        check("the file, when the page has asked", page.exists(), False)
        process.terminate()
        check("status at the end", process.wait(60), 0)
        process.stdout.close()


def check_options():
    for words in (["--at", "n=<script>"], ["--at", 'x"y'], ["--at", "a b"]):
        done = subprocess.run([COMMAND, "view", *words, str(TRACE)], capture_output=True)
        check(f"place {words}", done.returncode, 2)
    done = subprocess.run([COMMAND, "view", "/nowhere.ttape"], capture_output=True)
    check("no file", done.returncode, 4)


with Server(TRACE) as server:
    check_heads(server)
    check_bodies(server)
    check_headers(server)
    check_slow(server, 16)
    check_slow(server, 100)
    check_many_at_once(server)
    check_other_page(server)
    check_listening(server)
check("status after SIGTERM", server.status, 0)
check_browser()
check_options()
end("nobody else can ask")
