"""What a person sees first: a terminal of 80 x 40."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import setting

COLUMNS, ROWS = 80, 40


def read(*words, columns=COLUMNS, rows=ROWS, wanted=0):
    """What a command prints on a terminal, as plain lines."""
    lead, follow = pty.openpty()
    fcntl.ioctl(follow, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = dict(os.environ, TRACETAPE_PAGER="cat", TERM="xterm", NO_COLOR="1")
    environment.pop("COLUMNS", None)
    child = subprocess.Popen([setting.COMMAND, *map(str, words)], stdin=subprocess.DEVNULL,
                             stdout=follow, stderr=subprocess.PIPE, env=environment)
    os.close(follow)
    data = b""
    while True:
        try:
            more = os.read(lead, 65536)
        except OSError:
            break
        if not more:
            break
        data += more
    errors = child.stderr.read()
    os.close(lead)
    assert child.wait() == wanted, (words, child.returncode, errors)
    text = re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", data.decode(errors="replace"))
    return text.replace("\r\n", "\n").splitlines()


def look(*words, columns=COLUMNS, rows=ROWS, wanted=0):
    """The first screen of it."""
    lines = []
    for line in read(*words, columns=columns, rows=rows, wanted=wanted):
        lines += [line[i:i + columns] for i in range(0, max(len(line), 1), columns)]
    return lines[:rows]


def has(lines, pattern):
    """The first line that matches, or None."""
    return next((line for line in lines if re.search(pattern, line)), None)
