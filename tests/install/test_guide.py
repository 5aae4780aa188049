#!/usr/bin/env python3
"""Every command of the guide runs, page by page, in an empty folder each; where a page shows what a
command prints, the command prints lines of that shape. What sentences say of a verb is one, and its
options are (those of how-to/build.md and of README.md: test_readme.py)."""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import test_manual_examples as manual

SOURCE, COMMAND = manual.SOURCE, manual.COMMAND
# A reader types the next command when it has long been there.
SLEEPS = ("until grep -q '^Name:.sleep' /proc/$!/status && grep -q '^State:.S' /proc/$!/status; "
          "do :; done;")
STATUS = {"tracetape record ./staff": 139, "tracetape record -o killed.ttape": -9,
          "tracetape record -o wait.ttape": 142}


def blocks(text):
    """Blocks of a page: each a script, or commands with the lines that are shown below them."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M):
        if language not in ("", "sh"):
            continue
        if not block.startswith("$ "):
            yield [(block, [])]
            continue
        commands = []
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
        yield commands


def shell(folder, line):
    """What a command prints, both streams, and its status."""
    tools = f"{folder / 'bin'}:{COMMAND.parent}:{os.environ['PATH']}"
    line = re.sub(r"^tracetape view .*$", r"timeout -s INT 1 \g<0> || [ $? = 124 ]", line,
                  flags=re.M)  # it serves until it is interrupted
    line = re.sub(r"^(sleep \d+ &)", rf"\1 {SLEEPS}", line)
    done = subprocess.run(["bash", "-ec", line], cwd=folder / "work", check=False, text=True,
                          env={**os.environ, "PATH": tools}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout, done.returncode


def run_page(folder, page):
    """How many of its commands ran."""
    count = 0
    (folder / "work").mkdir(parents=True)
    (folder / "bin").mkdir()
    tool = folder / "bin" / "pkg-config"  # what it says where tracetape is installed
    tool.write_text(f"#!/bin/sh\necho {manual.BLOCKS}\n", encoding="utf-8")
    tool.chmod(0o755)
    for commands in blocks(page.read_text(encoding="utf-8")):
        for line, shown in commands:
            out, status = shell(folder, line)
            wanted = next((code for text, code in STATUS.items() if line.startswith(text)), 0)
            if status != wanted:
                print(f"FAILED: {page.name}: {line}: status {status}\n{out[-600:]}")
                sys.exit(1)
            manual.compare(f"{page.name}: {line}", shown, out)
            count += 1
    return count


def check_sentences(pages):
    """Options in sentences are options of the verb that is named there, or else of any."""
    def helped(verb):
        return subprocess.run([COMMAND, *verb, "--help"], capture_output=True, text=True,
                              check=True).stdout
    helps = {verb: helped([verb]) for verb in
             re.findall(r"^  (\w+)  ", helped([]).split("Options:", maxsplit=1)[0], re.M)}
    every = "".join(helps.values())
    count = 0
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for words in (code.split() for code in re.findall(r"`([^`\n]+)`", text)):
            named = words[1:] if words[0] == "tracetape" else words
            verb = named[0] if named and named[0] in helps else None
            if words[0] == "tracetape" and len(words) > 1:
                assert verb, f"{page.name}: {' '.join(words)}: no such verb"
            options = [word for word in words if re.match("--[a-z]", word)]
            if verb is None and not words[0].startswith("--"):
                continue  # another tool's
            for option in options:
                name = re.escape(option.split("=")[0])
                found = re.search(rf"(?<!\S){name}(?![-\w])", helps[verb] if verb else every)
                assert found, f"{page.name}: {' '.join(words)}: no option {option}"
                count += 1
    assert count > 30, count


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a program is recorded by the release's runtime")
        sys.exit(77)
    pages = sorted((SOURCE / "doc").rglob("*.md"))
    linked = "".join(page.read_text(encoding="utf-8") for page in pages)
    for page in pages:
        assert page.name == "README.md" or f"{page.name})" in linked, f"nothing leads to {page}"
    check_sentences([*pages, SOURCE / "README.md"])
    with tempfile.TemporaryDirectory(prefix="ttape-guide.") as folder:
        with ThreadPoolExecutor(2) as pool:
            counts = list(pool.map(lambda page: run_page(Path(folder) / page.stem, page), pages))
    assert sum(counts) > 40, counts
    print(f"ok: {sum(counts)} commands of {len(pages)} pages")


if __name__ == "__main__":
    main()
