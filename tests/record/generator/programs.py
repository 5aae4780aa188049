"""Programs of the generator: which functions, by which compiler, with which options. A program is
what its seed makes."""
import random
from pathlib import Path

import languages
import observers
import rules
import ways
from languages import Source
from unit import Unit, table_text

HERE = Path(__file__).resolve().parent
FUNCTIONS = 36
LEVELS = ("-O0", "-O1", "-O2", "-O2", "-O3", "-Os", "-Os")
BOTH = (["-fcf-protection"], ["-fno-plt"], ["-ffunction-sections"], ["-fno-jump-tables"], ["-g"],
        ["-fno-omit-frame-pointer"], ["-fstack-protector-all"], ["-march=haswell"], ["-s"],
        ["-fno-asynchronous-unwind-tables"])
OPTIONS = {"gcc": (*BOTH, ["-falign-functions=1"], ["-mindirect-branch=thunk",
                   "-fcf-protection=none"], ["-mno-red-zone"], ["-Wl,-z,now"], ["-mcmodel=large"],
                   ["-Wl,-z,pack-relative-relocs"], ["-fno-ipa-ra"]),
           "clang": (*BOTH, ["-fuse-ld=lld"], ["-mretpoline"])}


class Program:
    """Its text, and how it is compiled."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.is_cpp = seed % 4 == 3
        self.compiler = ("gcc", "clang")[seed // 4 % 2]
        self.fixed = rng.random() < 0.45
        self.options = [rng.choice(LEVELS)]
        for more in rng.sample(OPTIONS[self.compiler], rng.randint(0, 3)):
            self.options += more
        self.options += ["-no-pie", "-fno-pie"] if self.fixed else ["-fPIE", "-pie"]
        self.options = [o for o in self.options if self.fixed or o != "-mcmodel=large"]
        self.is_stripped = "-s" in self.options
        unit = Unit(rng, self.fixed, f"p{seed}")
        self.fill(unit)
        self.names = [label.split("*")[-1] for label, _, _, counted in unit.known
                      if counted and "@" not in label]

    def fill(self, unit):
        rng = unit.rng
        unit.steps = "-fno-asynchronous-unwind-tables" not in self.options
        source = Source(unit, self.is_cpp, self.compiler == "gcc",
                        self.options[0] == "-Os" and "-march=haswell" not in self.options,
                        unit.steps)
        observers.plain_leaf(unit)
        kinds = list(ways.WAYS + (ways.FIXED_WAYS * 4 if self.fixed else ()) + rules.RULES +
                     observers.OBSERVERS)
        written = list(languages.KINDS[self.is_cpp])
        while len(unit.known) < FUNCTIONS:
            if rng.random() < 0.6:
                rng.choice(kinds)(unit)
            else:
                rng.choice(written)(source)
        harness = (HERE / "harness.s").read_text(encoding="utf-8")
        self.assembly = "\n".join([".text", *unit.text, *unit.data, *table_text(unit),
                                   ".text", harness, ""])
        self.source = "".join([languages.HEAD, *([languages.KEEPS] if self.is_cpp else []),
                               *source.text])

    def write(self, folder):
        """Returns the words that compile it, and where it is then."""
        name = "program.cc" if self.is_cpp else "program.c"
        (folder / name).write_text(self.source, encoding="utf-8")
        (folder / "functions.s").write_text(self.assembly, encoding="utf-8")
        tool = {"gcc": "g++", "clang": "clang++"}[self.compiler] if self.is_cpp else self.compiler
        return [tool, "-w", "-D_GNU_SOURCE", f"-I{HERE}", *self.options, "-o", folder / "program",
                folder / name, folder / "functions.s", "-rdynamic", "-ldl"], folder / "program"
