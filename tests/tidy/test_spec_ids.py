#!/usr/bin/env python3
"""Spec-id gate: every id that code cites is a sentence of spec/, and every sentence is cited; every
path that a comment or a page names is there; each decision has a number of its own, and none points
to a paper outside of here.

An id looks like F-IDX-04. It is defined where it opens a line of a spec/*.md page, behind list,
quote, table or emphasis marks at most; anywhere else in spec/ it is a reference. Exceptions, each
with its reason: spec_id_exceptions.txt."""
import re

import tidy

ID = re.compile(r"\b[A-Z]-[A-Z]{2,4}-[0-9]{2}\b")
DEFINITION = re.compile(r"^[\s>|*+#`\[(_-]*(?:<a [^>]*>)?[*`\[(]*([A-Z]-[A-Z]{2,4}-[0-9]{2})\b")
CODE = (".c", ".h", ".inc", ".py", ".sh", ".json", ".txt", ".csv")
CITERS = (*tidy.PRODUCT, "tests", "fuzz", "scripts")
EXCEPTIONS = "spec_id_exceptions.txt"
FOLDERS = "|".join((*CITERS, "spec"))
NAMED = re.compile(rf"(?<![\w/.$}}>-])(?:{FOLDERS})/[\w./*-]*[\w/*](?![\w<{{$])")
# pages that say where files will be, or were
FUTURE = ("spec/decisions/0005-rooms.md", "spec/decisions/0112-top-rooms.md")
OUTSIDE = re.compile(r"\bDESIGN\b|\b(?:the|this) issue\b|\bissue \d+|\bthe page\b|\banchors\b|"
                     r"(?<!\w)shared/|\bgolden\.md|\bfault-cases\b")
COMMENT = re.compile(r"(?:^|\s)#[^\n]*|\"{3}.*?\"{3}", re.S)  # of all languages but C


def scan_spec():
    defined, references, problems = {}, {}, []
    pages = [p for p in tidy.files(".md", under=["spec"]) if "decisions" not in p.parts]
    for path in pages:
        for number, line in enumerate(tidy.text(path).splitlines(), 1):
            opening = DEFINITION.match(line)
            name = opening.group(1) if opening else None
            if name in defined:
                problems.append(f"{path}:{number}: {name} is already defined at {defined[name]}")
            elif name:
                defined[name] = f"{path}:{number}"
            for other in set(ID.findall(line)) - {name}:
                references.setdefault(other, f"{path}:{number}")
    return defined, references, problems


def scan_code():
    cited = {}
    own = {"tests/tidy/test_spec_ids.py", f"tests/tidy/{EXCEPTIONS}"}
    for path in tidy.files(*CODE, under=CITERS):
        if str(path) in own:
            continue
        for number, line in enumerate(tidy.text(path).splitlines(), 1):
            for name in ID.findall(line):
                cited.setdefault(name, f"{path}:{number}")
    return cited


def commentary(path):
    """What a page says, or the comments of a source file; lines stay where they are."""
    whole = tidy.text(path)
    if path.suffix == ".md":
        return whole
    token, is_c = (tidy.TOKEN, True) if path.suffix in (".c", ".h", ".inc") else (COMMENT, False)
    kept = [" " if c != "\n" else c for c in whole]
    for match in token.finditer(whole):
        if not is_c or match.group(0).startswith("/"):
            kept[match.start():match.end()] = match.group(0)
    return "".join(kept)


def scan_paths():
    """Paths that are not there. NAME and the like stand for any text, as an asterisk does."""
    found, problems = 0, []
    scripts = [p for p in tidy.files("", under=["scripts", ".ci"]) if not p.suffix]
    for path in tidy.files(*CODE[:5], ".cmake", ".md", "CMakeLists.txt") + scripts:
        if str(path) in FUTURE:
            continue
        for number, line in enumerate(commentary(path).splitlines(), 1):
            for name in NAMED.findall(line):
                found += 1
                pattern = re.sub(r"(?:NAME|N+(?=[./*]|$)|\*)+", "*", name)
                if not any(tidy.ROOT.glob(pattern.rstrip("/"))):
                    problems.append(f"{path}:{number}: '{name}' is not there")
    return found, problems


def scan_decisions():
    taken, problems = {}, []
    for path in tidy.files(".md", under=["spec/decisions"]):
        number = path.name[:4]
        if number in taken:
            problems.append(f"{path}: {taken[number]} has this number, too")
        taken[number] = path.name
        problems += [f"{path}:{at}: '{named.group()}' is not in the repository: say it itself"
                     for at, line in enumerate(tidy.text(path).splitlines(), 1)
                     for named in OUTSIDE.finditer(line)]
    return problems


def main():
    defined, references, problems = scan_spec()
    cited = scan_code()
    if not defined and not cited:
        tidy.skip("no spec/ page defines an id yet, and no code cites one")
    excused = {"uncited": set(), "undefined": set()}
    for words, _ in tidy.exceptions(EXCEPTIONS):
        if len(words) != 2 or words[0] not in excused or not ID.fullmatch(words[1]):
            problems.append(f"tests/tidy/{EXCEPTIONS}: cannot read '{' '.join(words)}'")
            continue
        excused[words[0]].add(words[1])
    unknown = {n: at for n, at in (cited | references).items() if n not in defined}
    silent = {n: at for n, at in defined.items() if n not in cited}
    problems += [f"{at}: {n} is not defined in spec/" for n, at in sorted(unknown.items())
                 if n not in excused["undefined"]]
    problems += [f"{at}: {n} is cited by no code and no test" for n, at in sorted(silent.items())
                 if n not in excused["uncited"]]
    for what, still in (("undefined", unknown), ("uncited", silent)):
        problems += [f"tests/tidy/{EXCEPTIONS}: '{what} {n}' is no longer needed"
                     for n in sorted(excused[what] - still.keys())]
    named, missing = scan_paths()
    tidy.verdict("spec ids", problems + missing + scan_decisions(),
                 f"{len(defined)} sentences defined and cited, {named} paths named")


main()
