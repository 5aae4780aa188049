"""What the gates in this folder share: the tree, its C code without comments, and the verdict."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("TTAPE_SRC") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TTAPE_BUILD") or ROOT / "build" / "release")
HERE = Path(__file__).resolve().parent
PRODUCT = ("base", "format", "writer", "reader", "answers", "recorder", "libtrace", "program",
           "tools")
IGNORED = {".git", "build", "__pycache__", ".cache"}

IN_HASTE = os.environ.get("TTAPE_QUICK") == "1"


def files(*suffixes, under=None):
    """Repository-relative paths of the files with these suffixes, sorted."""
    found = []
    for top in under or ["."]:
        for folder, names, leaves in os.walk(ROOT / top):
            names[:] = [n for n in names if n not in IGNORED]
            found += [Path(folder, leaf).relative_to(ROOT) for leaf in leaves
                      if leaf.endswith(suffixes)]
    return sorted(found)


def recent(paths):
    """Of these paths what the last 100 commits (in haste, for scripts/quick, 10) or the work tree
    changed; all of them in the long form, and where the history is not there."""
    if os.environ.get("TTAPE_THOROUGH") == "1":
        return list(paths)
    named, commits = [], "-10" if IN_HASTE else "-100"
    for words in (["log", commits, "--name-only", "--format="], ["diff", "--name-only", "HEAD"],
                  ["ls-files", "--others", "--exclude-standard"]):
        run = subprocess.run(["git", "-c", f"safe.directory={ROOT}", *words], cwd=ROOT,
                             capture_output=True, text=True, check=False)
        if run.returncode:
            return list(paths)
        named += run.stdout.splitlines()
    changed = {Path(name) for name in named}
    return [path for path in paths if Path(path) in changed]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def without_comments(code):
    """Comments become blanks, lines stay where they are, strings are kept."""
    def blank(match):
        piece = match.group(0)
        return re.sub(r"[^\n]", " ", piece) if piece.startswith("/") else piece
    return TOKEN.sub(blank, code)


FUNCTION = re.compile(r"\bTTAPE_API\b([^;{]*?)\b(ttape_\w+)\s*\(", re.S)
VARIABLE = re.compile(r"\bTTAPE_API\s+extern\b[^;()]*?\b(ttape_\w+)\s*(?:\[[^;]*\])?;", re.S)


def public_names():
    """What each public header declares TTAPE_API."""
    found = {}
    for path in files(".h", under=["libtrace/include"]):
        code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", without_comments(text(path)), flags=re.M)
        found[path.name] = {match.group(2) for match in FUNCTION.finditer(code)} | {
            match.group(1) for match in VARIABLE.finditer(code)}
    return found


def exceptions(name):
    """The lines of a list of justified exceptions: (words before the reason, reason).

    A line reads `word word ...: reason`; one without a reason is an error of its own."""
    rows = []
    path = HERE / name
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        head, _, reason = line.partition(":")
        if not reason.strip():
            sys.exit(f"tests/tidy/{name}:{number}: an exception needs a reason after ':'")
        rows.append((tuple(head.split()), reason.strip()))
    return rows


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def verdict(name, problems, summary):
    for problem in problems:
        print(problem)
    if problems:
        print(f"{name}: FAILED, {len(problems)} finding{'s' if len(problems) != 1 else ''}")
        sys.exit(1)
    print(f"{name}: ok, {summary}")
