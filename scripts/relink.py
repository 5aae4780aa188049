"""Programs with one source changed, made beside a build: what a changed file goes into is compiled,
and each program linked again with that in front of the build's archives. Nothing of the build and
of its sources changes, so that several mutants can be tried at a time."""
import os
import re
import shlex
import shutil

import covering

# What is undefined ends the program: of the changed file alone, which costs little.
TRAPS = "-fsanitize=undefined -fsanitize-undefined-trap-on-error"


def commands_of(build, targets):
    """{object: command}, {program: command}, {archive: objects} that ninja would use."""
    compiles, links, archives = {}, {}, {}
    for line in covering.run("ninja", "-C", str(build), "-t", "commands",
                             *targets).stdout.splitlines():
        words = line.split()
        if " -c " in line and "-o" in words:
            compiles[words[words.index("-o") + 1]] = line
        elif " qc " in line:
            members = words[words.index("qc") + 1:words.index("&&", words.index("qc"))]
            archives[members[0]] = [m for m in members[1:] if m.endswith(".o")]
        elif line.startswith(": &&") and "-o" in words and "-shared" not in words:
            links[words[words.index("-o") + 1]] = line
    return compiles, links, archives


def dependencies(build):
    """{object: files that went into it}"""
    found, current = {}, None
    for line in covering.run("ninja", "-C", str(build), "-t", "deps").stdout.splitlines():
        if line.startswith("    "):
            current.add(os.path.normpath(os.path.join(build, line.strip())))
        elif ":" in line:
            current = found.setdefault(line.split(":")[0], set())
    return found


class Relink:
    """What is known of a build, for all mutants."""

    def __init__(self, build, tree, targets):
        self.build, self.tree = build, tree
        self.compiles, self.links, self.archives = commands_of(build, targets)
        self.files = dependencies(build)


class Changed:
    """One changed file, and what was made with it, in a folder of its own."""

    def __init__(self, relink, place, path, text):
        self.relink, self.place, self.made = relink, place, {}
        self.original = str(relink.tree / path)
        shutil.rmtree(place, ignore_errors=True)
        self.copy = place / "source" / path
        self.copy.parent.mkdir(parents=True)
        self.copy.write_text(text, encoding="utf-8")

    def compile(self, name):
        """The object as it is now; "": it cannot be compiled. Includes are spelled from the root:
        the folder of the copy comes first."""
        if name not in self.made:
            target = str(self.place / name.replace("/", "_"))
            command = re.sub(r"-o \S+\.o ", f"-o {shlex.quote(target)} ",
                             self.relink.compiles[name])
            command = re.sub(r"-MD -MT \S+ -MF \S+ ", "", command)
            command = command.replace(f" -c {self.original}", f" -c {self.copy}")
            command = command.replace(" -I", f" {TRAPS} -I{self.place / 'source'} -I", 1)
            done = covering.run("sh", "-c", command, cwd=self.relink.build)
            self.made[name] = target if done.returncode == 0 else ""
        return self.made[name]

    def touched(self, names):
        return [n for n in names
                if self.original in self.relink.files.get(n, ()) and n in self.relink.compiles]

    def program(self, name):
        """The program with the changed file in it; "": it cannot be made."""
        command = self.relink.links[name]
        words = command.split()
        for mine in self.touched([w for w in words if w.endswith(".o")]):
            if not self.compile(mine):
                return ""
            command = command.replace(f" {mine} ", f" {self.made[mine]} ")
        front = {m for archive in words
                 for m in self.touched(self.relink.archives.get(archive, ()))}
        objects = [self.compile(member) for member in sorted(front)]
        if "" in objects:
            return ""
        target = str(self.place / os.path.basename(name))
        command = command.replace(f"-o {name} ", f"-o {target} {' '.join(objects)} ")
        done = covering.run("sh", "-c", command, cwd=self.relink.build)
        return target if done.returncode == 0 else ""
