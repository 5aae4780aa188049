"""Functions that one rule of the prover alone keeps whole: each has a place between the
instructions of a return's window, or in front of what a window must not hold, and nothing else
tells of it."""
from unit import STEPPED
from ways import start

SHORT = ("inc %rax", "neg %rax", "not %rax", "dec %rax", "lea 7(%rax),%rax")
AWAY = 0x10000000


def arms(unit, labels, counted=True):
    """For each label two short instructions, it between them, and a return."""
    for label in labels:
        unit.line(unit.rng.choice(SHORT))
        if counted and unit.rng.random() < 0.3:
            unit.line(*unit.operation())
        unit.line(unit.rng.choice(SHORT), f"{label}:", unit.rng.choice(SHORT), "ret")


def go(unit, forms=("jmp", "jmp", "notrack", "ret", "call")):
    """To where %rdx says, in a form that the function's own instructions show."""
    form = unit.rng.choice(forms)
    if form == "ret":
        unit.line("push %rdx", ".cfi_adjust_cfa_offset 8", "ret", ".cfi_adjust_cfa_offset -8")
    elif form == "call":
        unit.line("call *%rdx", "inc %rax", "ret")
    else:
        unit.line(f"{'notrack ' if form == 'notrack' else ''}jmp *%rdx")


def add_distance(unit, base, labels):
    """The base is a word of data, the distances from it are in a table: code takes no place."""
    word, table = unit.label(), unit.label()
    kind, load, scale = unit.rng.choice(((".long", "movslq", 4), (".word", "movswq", 2),
                                         (".quad", "mov", 8)))
    unit.line("and $3,%edi", f"mov {word}(%rip),%rcx", f"lea {table}(%rip),%rdx",
              f"{load} (%rdx,%rdi,{scale}),%rdx", "add %rcx,%rdx")
    unit.table(word, ".quad", [base], ".data")
    unit.table(table, kind, [f"{label}-{base}" for label in labels])
    return kind


def based(unit):
    """Distances from where a word in data says, as of interpreters that keep their first label."""
    name, _ = start(unit, "based", 3)
    labels = unit.labels(4)
    kind = add_distance(unit, unit.rng.choice((name, labels[0])), labels)
    go(unit, ("jmp", "notrack", "ret") if kind == ".quad" else ("jmp", "notrack", "ret", "call"))
    arms(unit, labels)
    unit.end(name)


def based_parts(unit):
    """The same in two parts, of which one alone jumps: its labels are in the other one."""
    rng = unit.rng
    name, _ = start(unit, "parts", 3)
    labels, other, out = unit.labels(4), f"g{len(unit.known)}_part", unit.label()
    if rng.random() < 0.5:
        other = f"{name}.cold"
    unit.line("test %rsi,%rsi", f"je {out if rng.random() < 0.7 else labels[1]}")
    add_distance(unit, name, labels)
    go(unit, ("jmp", "notrack"))
    unit.end(name)
    unit.line(f".type {other},@function", f"{other}:", ".cfi_startproc", "neg %rax", f"{out}:")
    arms(unit, labels)
    unit.end(other)


def filled(unit):
    """A table of distances from itself that the function fills in: it was empty, or held others."""
    rng = unit.rng
    name, _ = start(unit, "filled", 3)
    labels, table, true, first = unit.labels(4), *(unit.label() for _ in range(3))
    unit.line("and $3,%edi", f"lea {true}(%rip),%r8", f"lea {table}(%rip),%rcx",
              "mov (%r8,%rdi,4),%edx", "sub %rcx,%r8", f"lea -{AWAY}(%rdx,%r8),%edx",
              "mov %edx,(%rcx,%rdi,4)",
              "movslq (%rcx,%rdi,4),%rdx", "add %rcx,%rdx")
    go(unit, ("jmp", "notrack"))
    unit.line(f"{first}:")
    arms(unit, labels)
    unit.end(name)
    unit.table(table, ".long", ["0"] * 4 if rng.random() < 0.5 else [f"{first}-{table}"] * 4,
               ".data")
    unit.table(true, ".long", [f"{label}-{true}+{AWAY}" for label in labels])


def behind_trap(unit):
    """A handler of faults goes on in front of a jump that no branch leads to."""
    name, _ = start(unit, "trapped", 3)
    labels, table, at, to = unit.labels(4), *(unit.label() for _ in range(3))
    unit.line(*unit.rng.sample(SHORT, 2), f"{at}:", "ud2", f"{to}:",
              f"lea {table}(%rip),%rcx", "movslq (%rcx,%rdi,4),%rdx",
              f"lea -{AWAY}(%rcx,%rdx),%rdx", "jmp *%rdx")
    arms(unit, labels)
    unit.end(name)
    unit.faults.append((name, at, to))
    unit.table(table, ".long", [f"{label}-{table}+{AWAY}" for label in labels])


def boundless(unit):
    """A table of distances from itself whose index nothing bounds but the program."""
    name, _ = start(unit, "boundless", 3)
    labels, table = unit.labels(4), unit.label()
    unit.line(f"lea {table}(%rip),%rcx",
              *(["movslq (%rcx,%rdi,4),%rdx"] if unit.rng.random() < 0.5 else
                ["shl $2,%rdi", "movslq (%rdi,%rcx),%rdx"]), "add %rcx,%rdx")
    go(unit, ("jmp", "notrack"))
    arms(unit, labels)
    unit.end(name)
    unit.table(table, ".long", [f"{label}-{table}" for label in labels])


def gives(unit):
    """A function puts the address of a place within it aside; another one adds distances to it."""
    slot = 8 * (len(unit.known) * 3 % 256)
    giver, k = start(unit, "gives", 0)
    labels, table, here = unit.labels(4), unit.label(), unit.label()
    unit.line(f"lea {here}(%rip),%rcx", f"mov %rcx,h_slots+{slot}(%rip)", "nop", "ret")
    arms(unit, labels[:2])
    unit.line(f"{here}:")
    arms(unit, labels[2:])
    unit.end(giver)
    taker, _ = start(unit, "adds", 3)
    unit.count(k)
    unit.line(f"call {giver}", f"mov h_slots+{slot}(%rip),%rcx", f"lea {table}(%rip),%rdx",
              "movslq (%rdx,%rdi,4),%rdx", "add %rcx,%rdx")
    go(unit, ("jmp", "notrack"))
    unit.end(taker)
    unit.table(table, ".long", [f"{label}-{here}" for label in labels])


def from_end(unit):
    """Distances from a function's end, and another one that jumps."""
    name, _ = start(unit, "ends", 3)
    labels, table, end = unit.labels(4), unit.label(), unit.label()
    unit.line("and $3,%edi", f"lea {table}(%rip),%rcx", "movslq (%rcx,%rdi,4),%rdx",
              f"lea {end}(%rip),%rcx", "add %rcx,%rdx", "jmp h_hop")
    arms(unit, labels)
    unit.line(f"{end}:")
    unit.end(name)
    unit.table(table, ".long", [f"{label}-{end}" for label in labels])


def into_taken(unit):
    """Distances from another function's start, whose address was in memory meanwhile."""
    slot = 8 * (len(unit.known) * 3 % 256)
    target, _ = start(unit, "entered", 0)
    labels, table = unit.labels(4), unit.label()
    unit.line(unit.rng.choice(SHORT), "ret")
    arms(unit, labels)
    unit.end(target)
    name, _ = start(unit, "enters", 3)
    unit.line(f"lea {target}(%rip),%rcx", f"mov %rcx,h_slots+{slot}(%rip)",
              f"lea {table}(%rip),%rdx", "movslq (%rdx,%rdi,4),%rdx",
              f"mov h_slots+{slot}(%rip),%rcx", "add %rcx,%rdx")
    go(unit, ("jmp", "notrack"))
    unit.end(name)
    unit.table(table, ".long", [f"{label}-{target}" for label in labels])


def skipping(unit):
    """Who is called returns to behind an instruction or two, where all is well."""
    rng = unit.rng
    skips = f"g{len(unit.known)}_skip"
    name, _ = start(unit, "skips", 1)
    unit.line(f"call {skips}", rng.choice(SHORT[:4]), rng.choice(SHORT), "ret")
    unit.end(name)
    unit.begin(skips, value=None)
    unit.line(*rng.choice((
        ["addq $3,(%rsp)", "ret"], ["pop %rcx", ".cfi_adjust_cfa_offset -8", "add $3,%rcx",
                                    "jmp *%rcx"],
        ["mov (%rsp),%rdx", "add $3,%rdx", "mov %rdx,(%rsp)", "ret"],
        ["pop %rdx", ".cfi_adjust_cfa_offset -8", "lea 3(%rdx),%rdx", "push %rdx",
         ".cfi_adjust_cfa_offset 8", "ret"])))
    unit.end(skips)


def fault_behind_branch(unit):
    """What faults has a branch in front, among a function's first instructions or its last."""
    rng = unit.rng
    name, _ = unit.function("branches", 3)
    at, to, out = (unit.label() for _ in range(3))
    fault = rng.choice(("mov (%rdx),%eax", "add (%rdx),%eax", "cmp %al,(%rdx)", "incl (%rdx)"))
    unit.begin(name, value=None)
    if rng.random() < 0.5:
        unit.line("test %edi,%edi", f"{rng.choice(('je', 'jne'))} {out}", f"{at}:", fault, f"{to}:")
        unit.operations(rng.randint(0, 1))
        unit.line(f"{out}:", "mov %rsi,%rax", "ret")
    else:
        unit.line("mov %rsi,%rax")
        unit.operations(rng.randint(1, 2))
        unit.line("test %edi,%edi", f"{rng.choice(('je', 'jne'))} {out}", f"{at}:", fault, f"{to}:",
                  "ret", f"{out}:", "not %rax", "ret")
    unit.end(name)
    unit.faults.append((name, at, to))


def late_frame(unit):
    """A frame is made behind a branch, as compilers do for what seldom needs one."""
    rng = unit.rng
    name, _ = unit.function("late", 3, STEPPED)
    out = unit.label()
    unit.begin(name, value=None)
    unit.line(rng.choice(("test %edi,%edi", "cmp $2,%edi")), f"je {out}", "push %rbx",
              ".cfi_adjust_cfa_offset 8", ".cfi_rel_offset %rbx,0", "mov %rsi,%rbx")
    unit.operations(rng.randint(0, 1))
    unit.line("lea 3(%rbx),%rax", "pop %rbx", ".cfi_adjust_cfa_offset -8", ".cfi_restore %rbx",
              "ret", f"{out}:", "mov %rsi,%rax", "ret")
    unit.end(name)


def hosted(unit):
    """A return without room, behind room for its jump in which a frame is made, or taken down."""
    rng = unit.rng
    name, _ = unit.function("hosted", 3, STEPPED)
    out, more, is_made = unit.label(), unit.label(), rng.random() < 0.5
    push = ["push %rbx", ".cfi_def_cfa_offset 16", ".cfi_rel_offset %rbx,0", "mov %rsi,%rbx"]
    pop = ["pop %rbx", ".cfi_def_cfa_offset 8", ".cfi_restore %rbx"]
    wide = rng.choice((["imul $123457,%rax,%rax"], ["add $123457,%rax"], ["xor $123457,%rax"]))
    unit.begin(name, value=None)
    unit.line(*([] if is_made else push), "mov %rsi,%rax", "cmp $3,%edi", f"jne {out}",
              "test %rax,%rax", f"js {more}", *([] if is_made else [".cfi_remember_state"]))
    unit.line(*(push if is_made else ["lea 5(%rbx),%rax", *pop]), *wide,
              "lea 3(%rsi,%rax),%rax", *(pop if is_made else []), "ret")
    unit.line(*([] if is_made else [".cfi_restore_state", ".cfi_remember_state"]), f"{out}:",
              *(["not %rax"] if is_made else pop), "ret",
              *([] if is_made else [".cfi_restore_state"]), f"{more}:", "neg %rax",
              *([] if is_made else pop), "ret")
    unit.end(name)


def through_place(unit):
    """A call through a word of data among a function's first instructions."""
    rng, (leaf, k) = unit.rng, unit.leaf
    name, _ = unit.function("through", 1, STEPPED)
    place = unit.label()
    unit.begin(name, value=None)
    unit.line(*rng.choice((["sub $8,%rsp", ".cfi_adjust_cfa_offset 8"],
                           ["push %rdi", ".cfi_adjust_cfa_offset 8"],
                           ["nop", "nop", "push %rdi", ".cfi_adjust_cfa_offset 8"])),
              f"call *{place}(%rip)", "lea 8(%rsp),%rsp", ".cfi_adjust_cfa_offset -8")
    unit.count(k)
    unit.line("ret")
    unit.end(name)
    unit.table(place, ".quad", [leaf], ".data")


def asks_based(unit):
    """Jumps to a system call whose number was set elsewhere, by distances from a word of data."""
    rng = unit.rng
    name, _ = start(unit, "asks_based", 3)
    labels = unit.labels(4)
    unit.line("mov %rax,%r8", "mov $500,%eax")
    add_distance(unit, name, labels)
    go(unit, ("jmp", "notrack"))
    for label in labels:
        unit.line(rng.choice(("inc %r9", "mov %rdi,%r9")), f"{label}:", "syscall", "inc %rax",
                  "add %r8,%rax", "xor %r11d,%r11d", "ret")
    unit.end(name)


def asks_framed(unit):
    """The stack moves next to a system call: in front of it, or behind."""
    name, _ = start(unit, "asks_framed", 1, flags=STEPPED)
    push, pop = ["push %rdx", ".cfi_adjust_cfa_offset 8"], \
        ["pop %rdx", ".cfi_adjust_cfa_offset -8"]
    unit.line("mov %rax,%r8", "mov $500,%eax", *push)
    if unit.rng.random() < 0.5:
        unit.line("syscall", *pop, "inc %rax", "add %r8,%rax")
    else:
        unit.line("test %esi,%esi", *pop, *push, "syscall", *pop, "lea (%rax,%r8),%rax")
    unit.line("xor %r11d,%r11d", "ret")
    unit.end(name)


RULES = (based, based_parts, filled, behind_trap, boundless, gives, from_end, into_taken, skipping,
         fault_behind_branch, late_frame, hosted, through_place, asks_based, asks_framed)
