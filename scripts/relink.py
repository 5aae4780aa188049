"""Programs with one source changed, made beside a build: what a changed file goes into is compiled,
and each program linked again with that in front of the build's archives. Nothing of the build
changes, and no build tool looks at the rest of the tree."""
import os
import re
import shlex
import shutil

import covering


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
    def __init__(self, build, targets):
        self.build, self.place = build, build / "changed"
        self.compiles, self.links, self.archives = commands_of(build, targets)
        self.files = dependencies(build)

    def begin(self, path):
        """Another file has changed: nothing is made yet."""
        self.made, self.path = {}, str(path)
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()

    def knows(self, program):
        return program in self.links

    def compile(self, name):
        """The object as it is now; "": it cannot be compiled."""
        if name not in self.made:
            target = str(self.place / name.replace("/", "_"))
            command = re.sub(r"-o \S+\.o ", f"-o {shlex.quote(target)} ", self.compiles[name])
            command = re.sub(r"-MD -MT \S+ -MF \S+ ", "", command)
            done = covering.run("sh", "-c", command, cwd=self.build)
            self.made[name] = target if done.returncode == 0 else ""
        return self.made[name]

    def changed(self, names):
        return [n for n in names if self.path in self.files.get(n, ()) and n in self.compiles]

    def program(self, name):
        """The program with the changed file in it; "": it cannot be made."""
        command = self.links[name]
        words = command.split()
        for mine in self.changed([w for w in words if w.endswith(".o")]):
            if not self.compile(mine):
                return ""
            command = command.replace(f" {mine} ", f" {self.made[mine]} ")
        front = {m for archive in words for m in self.changed(self.archives.get(archive, ()))}
        objects = [self.compile(member) for member in sorted(front)]
        if "" in objects:
            return ""
        target = str(self.place / os.path.basename(name))
        command = command.replace(f"-o {name} ", f"-o {target} {' '.join(objects)} ")
        done = covering.run("sh", "-c", command, cwd=self.build)
        return target if done.returncode == 0 else ""
