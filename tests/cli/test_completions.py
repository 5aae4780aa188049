#!/usr/bin/env python3
"""Completions of three shells have every verb and every option of --help, and bash's does what a
user who presses Tab expects. zsh and fish read theirs where they are installed. The command that
tells of its options finds its own library, and those of the build's environment."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
FOLDER = Path(os.environ["TTAPE_BUILD"]) / "tools" / "completions"


def say(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def press_tab(*words):
    """What bash offers for the last of the words."""
    script = f'. "{FOLDER}/tracetape"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); ' \
        '_tracetape; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-uc", script, "bash", "tracetape", *words], check=True,
                          capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return [word for word in done.stdout.split("\n") if word]


def check_paths_of_libraries():
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder, "command")
        command.write_text('#!/bin/sh\n[ "$LD_LIBRARY_PATH" = /own:/of/the/build ] || exit 1\n'
                           f'LD_LIBRARY_PATH= exec "{COMMAND}" "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        script = Path(os.environ["TTAPE_SRC"], "cmake", "completions.cmake")
        subprocess.run(["cmake", f"-DCOMMAND={command}", "-DLIBRARIES=/own", f"-DFOLDER={folder}",
                        "-P", script], check=True,
                       env={**os.environ, "LD_LIBRARY_PATH": "/of/the/build"})
        for path in FOLDER.iterdir():
            assert path.read_bytes() == Path(folder, path.name).read_bytes(), path.name


def main():
    check_paths_of_libraries()
    files = [FOLDER / name for name in ("tracetape", "_tracetape", "tracetape.fish")]
    bash, zsh, fish = (path.read_text(encoding="utf-8") for path in files)
    verbs, count = re.findall(r"^  ([a-z]+)  ", say("--help"), re.M), 0
    assert press_tab("") == [*verbs, "help", "--help", "--version"]
    assert press_tab("help", "") == verbs and press_tab("sym") == ["symbolize"]
    for verb in verbs:
        table = say(verb, "--help").split("\nOptions:\n")[1].split("\n\n")[0]
        options = re.findall(r"^  (?:-(\w), |    )--([a-z-]+)( \S+)?(?:\[=[A-Z]+\])? ", table, re.M)
        assert len(options) == sum("--" in line for line in table.splitlines()), verb
        wanted = [word for letter, name, _ in options
                  for word in ([f"--{name}", f"-{letter}"] if letter else [f"--{name}"])]
        assert press_tab(verb, "-") == wanted, (verb, press_tab(verb, "-"))
        part = re.search(rf"^    {verb}\)\n(.*?) ;;$", zsh, re.M | re.S)[1]
        for letter, name, argument in options:
            spelled = f"--{name}=" if argument else f"--{name}"
            letters = f"{{-{letter}{'+' if argument else ''},{spelled}}}'[" if letter else \
                f"'{spelled}["
            assert letters in part, (verb, letters)
            line = f"complete -c tracetape -n '__fish_seen_subcommand_from {verb}' -l {name}" + \
                (" -r" if argument else "") + (f" -s {letter}" if letter else "") + " -d '"
            assert line in fish, line
            count += 1
    assert press_tab("dump", "--li") == ["--limit"] and press_tab("dump", "run") == []
    for shell, path in (("bash", files[0]), ("zsh", files[1]), ("fish", files[2])):
        if shutil.which(shell):
            subprocess.run([shell, "-n", path], check=True)
        else:
            print(f"SKIPPED: {shell} reads its file (it is not installed)")
    print(f"ok: {count} options of {len(verbs)} verbs")


if not FOLDER.is_dir():
    print("SKIPPED: built without completions (for another machine)")
    sys.exit(77)
main()
