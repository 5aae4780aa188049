#!/usr/bin/env python3
"""Each verb that the command lists has a manual page, which begins with examples, is short, and
names each option of its help, and no other; options beside another verb's name are that verb's;
what verbs share is explained in tracetape(1) alone; and libtracetape(3) names each public function,
under its header."""
import os
import re
import subprocess
import sys
from pathlib import Path

import tidy

COMMAND, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])
WORDS_MOST = 1200
MACROS = ("An", "At", "Do", "Em", "Er", "Es", "In", "Me", "No", "Pa", "So", "Sy")
# The verb with most options, a line each.
LONGER = {"tracetape-record.1": 2300}
SHARED = "time|thread|process|stream|names|memory|no-pager"
# Words of a heading that mdoc takes for macros: \& before them.
MACROS = {"An", "Ad", "At", "Do", "In", "It", "No", "Of", "So", "Us"}


def say(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def library_problems():
    """A section of the page whose title names headers has exactly their functions."""
    page = (SOURCE / "man" / "libtracetape.3").read_text(encoding="utf-8")
    public, told = tidy.public_names(), {}
    for section in re.split(r"^\.S[hs] ", page.split(".Sh EXAMPLES")[0], flags=re.M)[1:]:
        headers = re.findall(r"tracetape/(\w+\.h)", section.split("\n", 1)[0])
        for name in re.findall(r"^\.Fn (\w+)", section, re.M):
            told.setdefault(name, set()).update(headers or public)
    for header, names in sorted(public.items()):
        for name in sorted(names):
            if header not in told.pop(name, ()):
                yield f"libtracetape.3 does not name {name} of {header}"
    for name in sorted(told):
        yield f"libtracetape.3 names {name}, which is not public"


def macro_problems(page):
    """In a heading "In" is a macro; other bytes than ASCII are no letters of troff's."""
    text = page.read_bytes()
    for line in re.findall(rb"^\.(?:Ss|Sh) .*$", text, re.M):
        heading = line.decode("ascii", "replace")
        yield from (f"{page.name}: write \\&{word} in '{heading}'"
                    for word in re.findall(r"(?<![\w&])[A-Z][a-z]\b", heading) if word in MACROS)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.isascii():
            yield f"{page.name}:{number}: other letters than ASCII: {line.decode(errors='replace')}"


def form_problems(page, text):
    if not 0 < text.find(".Sh EXAMPLES") < text.find(".Sh DESCRIPTION"):
        yield f"{page.name} does not begin with examples"
    most = LONGER.get(page.name, WORDS_MOST)
    if len(text.split()) > most:
        yield f"{page.name} has {len(text.split())} words, {most} is the most"
    for name in re.findall(rf"^\.It (?:Fl \w , |)(?:Fl )?-({SHARED})\b", text, re.M):
        yield f"{page.name} explains --{name}, as tracetape(1) does"


def option_problems(page, text, options):
    """Options that a page defines, or has in sentences behind a verb's name."""
    verb = page.stem.removeprefix("tracetape-")
    for line in re.findall(r"^\.It (Fl .*)", text, re.M) if verb in options else ():
        for name in re.findall(r"(?<![\w-])-([a-z][a-z-]+)", re.sub(r"\bAr \S+", "", line)):
            if name not in options[verb]:
                yield f"{page.name} tells of --{name}, which {verb} does not have"
    for named, rest in re.findall(r"\b(?:Ic|Nm) (?:tracetape )?(?:Cm )?(\w+)(.*)", text):
        for name in re.findall(r"(?<![\w-])--?([a-z][a-z-]+)", rest) if named in options else ():
            if name not in options[named]:
                yield f"{page.name} says {named} --{name}, and there is no such option"
    for title in re.findall(r"^\.S[hs] (.*)", text, re.M):
        for word in MACROS & set(title.split()):
            yield f"{page.name}: '{word}' in the heading '{title}' is a macro: \\&{word}"


def main():
    problems, options = [], {}
    verbs = re.findall(r"^  ([a-z]+)  ", say("--help"), re.M)
    for verb in verbs:
        page = SOURCE / "man" / f"tracetape-{verb}.1"
        if not page.is_file():
            problems.append(f"{verb}: no {page.relative_to(SOURCE)}")
            continue
        text = page.read_text(encoding="utf-8")
        problems += form_problems(page, text)
        # `.Fl -name` or `-name` in a line of options
        told = set(re.findall(r"(?<![\w-])-([a-z][a-z-]+)", text))
        wanted = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", say(verb, "--help"), re.M)) - {"help"}
        options[verb] = wanted
        problems += [f"{verb}: its page does not tell of --{name}" for name in
                     sorted(wanted - told)]
    for page in sorted((SOURCE / "man").iterdir()):
        problems += option_problems(page, page.read_text(encoding="utf-8"), options)
    problems += library_problems()
    for page in sorted((SOURCE / "man").glob("*.[1-9]")):
        problems += macro_problems(page)
    for problem in problems:
        print(problem)
    print(f"manual: {'FAILED' if problems or not verbs else 'ok'}, {len(verbs)} verbs")
    sys.exit(1 if problems or not verbs else 0)


main()
