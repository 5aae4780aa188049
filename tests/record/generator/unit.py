"""One program of the generator: its functions in assembly and their names, labels, tables."""

SCRATCH = ("%r8", "%r9", "%r10", "%r11", "%rsi")
ALL_REGISTERS, STEPPED, IN_C, DIRECTION = 1, 2, 4, 8 # flags of harness.h


class Unit:
    """Text of an assembly file. The value of each function is in %rax from its first instruction
    on, so that any instruction may be come to; %rdi is what chooses, %rcx and %rdx what is
    calculated with."""

    def __init__(self, rng, fixed, name):
        self.rng, self.fixed, self.name = rng, fixed, name
        self.text, self.data, self.known, self.faults = [], [], [], []
        self.number, self.leaf, self.steps = 0, None, True
        self.by_rbp = False # the frame is found by %rbp

    # ---- names ----

    def label(self):
        self.number += 1
        return f".L{self.number}"

    def add_known(self, label, mask=0, flags=0, counted=True):
        """A function that the program calls; returns its number."""
        self.known.append((label, mask, flags, counted))
        return len(self.known) - 1

    def function(self, kind, mask=0, flags=0):
        """The name and number of a new function."""
        name = f"f{len(self.known)}_{kind}"
        return name, self.add_known(name, mask, flags)

    # ---- text ----

    def line(self, *lines):
        self.text += [line if line.endswith(":") or line.startswith(".") else f"    {line}"
                      for line in lines]

    def begin(self, name, frame=True, value="%rsi", align=None):
        """A function's start; the value is taken from where it is given."""
        align = self.rng.choice((0, 0, 0, 1, 4)) if align is None else align
        self.line(f".globl {name}" if self.rng.random() < 0.7 else f"# {name}",
                  f".type {name},@function", *([f".p2align {align}"] if align else []), f"{name}:",
                  *([".cfi_startproc"] if frame else []))
        if self.rng.random() < 0.15:
            self.line("endbr64")
        if value:
            self.line(f"mov {value},%rax")

    def end(self, name, frame=True):
        self.line(*([".cfi_endproc"] if frame else []), f".size {name},.-{name}")

    def table(self, label, kind, entries, section=".rodata", align=3):
        self.data += [f".section {section}" if section != ".data" else ".data",
                      f".p2align {align}" if align else ".byte 0", f"{label}:",
                      *(f"{kind} {entry}" for entry in entries)]

    def count(self, k):
        """A call that code makes itself; flags are lost."""
        self.line(f"incq h_counts+{8 * k}(%rip)")

    # ---- instructions that calculate ----

    def operation(self):
        """Some instructions on %rax, any registers but what chooses."""
        rng, r = self.rng, self.rng.choice(SCRATCH)
        k, slot, at = rng.randint(1, 100), 8 * rng.randint(0, 15), 8 * rng.randint(1, 12)
        label = self.label()
        return rng.choice((
            ["inc %rax"], ["inc %eax"], ["neg %rax"], ["not %rax"], ["dec %eax"], ["cltq"],
            [f"add ${k},%rax"], [f"xor ${k * 123457},%rax"], [f"lea {k}(%rax,%rax,2),%rax"],
            [f"xor {r},%rax"], [f"rol ${k % 63 + 1},%rax"], [f"imul ${k},%rax,%rax"], ["nop"],
            ["bswap %rax"], [f"mov %rax,{r}", f"lea ({r},%rax,2),%rax"], [f"add {r},%rax"],
            [f"add h_data+{slot}(%rip),%rax"], [f"xor %rax,h_data+{slot}(%rip)"],
            [f"mov %rax,-{at}(%rsp)"], [f"mov %rax,-{at}(%rsp)", "inc %rax",
                                        f"xor -{at}(%rsp),%rax"],
            ["push %rax", ".cfi_adjust_cfa_offset 8", "inc %eax", f"pop {r}",
             ".cfi_adjust_cfa_offset -8"] if not self.by_rbp else ["inc %eax"],
            ["movq %rax,%xmm1", "paddq %xmm1,%xmm1", "movq %xmm1,%rax"],
            [f"cmp ${k},%rax", f"jl {label}", "inc %rax", f"{label}:"],
            [f"test ${k},%al", f"jne {label}", f"{label}:"], [f"cmp {r},%rax", "sete %al"],
            [f"adc ${k},%rax"], ["stc"], ["cmc"], [f"sbb {r},{r}"], ["rcl $1,%rax"],
            [f"bt ${k % 60},%rax"], [f"cmovc {r},%rax"], ["lock xadd %rax,h_data(%rip)"],
            [f"mov %rax,-{at}(%rsp)", f"fildq -{at}(%rsp)", "fadd %st(0),%st",
             f"fistpq -{at}(%rsp)", f"mov -{at}(%rsp),{r}"],
            [f"xchg %rax,{r}"], [".byte 0x66", "nop"], [f"movzbl %al,%esi"],
            [f"mov %rsp,{r}", f"sub %rsp,{r}"], [f"movdqu h_data+{slot}(%rip),%xmm3",
                                                 "paddd %xmm3,%xmm2"]))

    def operations(self, count):
        for _ in range(count):
            self.line(*self.operation())

    def call_leaf(self):
        """Of the program's first function, once it is there."""
        name, k = self.leaf
        self.count(k)
        self.line("mov %rax,%rsi", f"call {name}")

    def arms(self, labels, most=None):
        """Instructions with the labels between them, anywhere, and what returns."""
        rng = self.rng
        count = rng.randint(len(labels), most or len(labels) + 5)
        at = sorted(rng.choices(range(count + 1), k=len(labels)))
        for i in range(count):
            self.line(*(f"{label}:" for label, place in zip(labels, at) if place == i))
            choice = rng.random()
            if choice < 0.15 and i + 1 < count:
                self.line("ret")
                continue
            if choice < 0.2 and self.leaf and not most:
                self.call_leaf()
            self.line(*self.operation())
        self.line(*(f"{label}:" for label, place in zip(labels, at) if place == count), "ret")

    def labels(self, count):
        found = [self.label() for _ in range(count)]
        self.rng.shuffle(found)
        return found


def table_text(unit):
    """What the harness knows of all functions; a name behind `0*` is of one that only C knows."""
    lines = [".data" if unit.fixed else '.section .data.rel.ro,"aw"', ".p2align 3",
             ".globl h_all,h_names,h_count,h_faults,h_faults_end,h_counts", "h_all:"]
    names = [".section .rodata"]
    for label, mask, flags, _ in unit.known:
        lines.append(f".quad {'0' if '*' in label else label},{mask},"
                     f"{flags & ~(0 if unit.steps else STEPPED)}")
    lines.append("h_names:")
    for i, (label, _, _, is_counted) in enumerate(unit.known):
        lines.append(f".quad {f'.Lname{i}' if is_counted else 0}")
        if is_counted:
            names.append(f".Lname{i}: .asciz \"{label.split('*')[-1]}\"")
    lines.append("h_faults:")
    for name, at, to in unit.faults:
        lines += [f".quad {name}", f".long {at}-{name},{to}-{name}"]
    return [*lines, "h_faults_end:", f"h_count: .quad {len(unit.known)}", *names,
            f".comm h_counts,{8 * len(unit.known)},8"]
