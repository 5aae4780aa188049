"""Ways into a function that the generator makes, in assembly. Each takes a Unit and adds one or
more."""


def start(unit, kind, mask, value="%rsi", flags=0):
    name, k = unit.function(kind, mask, flags)
    unit.begin(name, value=value)
    return name, k


def go(unit, register="%rdx", own=False):
    """A jump to where a register says, in one of its forms; own: of this function, in no memory."""
    way = unit.rng.choice(("jmp",) * 4 + ("ret", "call", "notrack") +
                          (() if own else ("memory", "hop")))
    if way == "jmp":
        unit.line(f"jmp *{register}")
    elif way == "notrack":
        unit.line(f"notrack jmp *{register}")
    elif way == "ret":
        unit.line(f"push {register}", ".cfi_adjust_cfa_offset 8", "ret",
                  ".cfi_adjust_cfa_offset -8")
    elif way == "memory":
        unit.line(f"mov {register},-104(%rsp)", "jmp *-104(%rsp)")
    elif way == "hop":
        unit.line(*([f"mov {register},%rdx"] if register != "%rdx" else []), "jmp h_hop")
    else:
        unit.line(f"call *{register}", "inc %rax", "ret")


def bound(unit, count, out):
    """The index is known to be small, or only the program knows."""
    if unit.rng.random() < 0.5:
        unit.line(f"cmp ${count - 1},{unit.rng.choice(('%rdi', '%edi'))}", f"ja {out}")
    elif unit.rng.random() < 0.4:
        unit.line(f"and ${count - 1},%edi")


def distances(unit):
    """Tables of 8, 16 and 32 bits, from a label, the function, its end, or the table."""
    rng = unit.rng
    kind, load, scale = rng.choice(((".byte", "movzbl", 1), (".byte", "movsbq", 1),
                                    (".word", "movzwl", 2), (".word", "movswq", 2),
                                    (".long", "movslq", 4), (".long", "movslq", 4),
                                    (".long", "movl", 4)))
    count = 4 if load == "movsbq" else rng.choice((4, 4, 8))
    name, _ = start(unit, "dist" + kind[1] + str(count), count - 1)
    labels, table, out, end = unit.labels(count), unit.label(), unit.label(), unit.label()
    is_signed = load in ("movsbq", "movswq", "movslq")
    bases = ([name] if load != "movsbq" else []) + [labels[0]] + ([end] if is_signed else []) + \
        ([table] * 2 if load == "movslq" else [])
    base = rng.choice(bases)
    if load in ("movzbl", "movzwl", "movl") and base == labels[0]:
        base = out
    unit.operations(rng.randint(0, 2) if scale > 1 else 0)
    bound(unit, count, out)
    unit.line(f"lea {table}(%rip),%rcx",
              f"{load} (%rcx,%rdi,{scale}),{'%edx' if load[-1] == 'l' else '%rdx'}")
    if base != table:
        unit.line(f"lea {base}(%rip),%rcx")
    unit.operations(rng.choice((0, 0, 0, 1, 5, 14)) if scale > 1 or base == table else 0)
    unit.line("add %rcx,%rdx")
    if rng.random() < 0.3:
        unit.operations(1)
    go(unit)
    unit.line(f"{out}:")
    unit.arms(labels, count + 2 if scale == 1 else None)
    unit.line(f"{end}:")
    unit.end(name)
    unit.table(table, kind, [f"{label}-{base}" for label in labels],
               rng.choice((".rodata", ".rodata", ".data")))


def end_with_middle(unit, middle, at):
    """Three operations and a return; the label stands in front of the `at`-th of them."""
    for i in range(3):
        if i == at:
            unit.line(f"{middle}:")
        unit.line(*unit.operation())
    unit.line(*([f"{middle}:"] if at == 3 else []), "ret")


def wide(unit):
    """Distances of 64 bits, and the address of a label that is taken with 32."""
    rng = unit.rng
    name, _ = start(unit, "wide", 3)
    labels, table = unit.labels(4), unit.label()
    base = rng.choice((labels[0], name, table))
    bound(unit, 4, labels[1])
    if unit.fixed and rng.random() < 0.6:
        unit.line(f"lea {labels[0]}(%rip),%edx", f"lea {labels[1]}(%rip),%ecx", "test $1,%dil",
                  "cmovne %rcx,%rdx")
    else:
        unit.line(f"lea {table}(%rip),%rcx", "mov (%rcx,%rdi,8),%rdx", f"lea {base}(%rip),%rcx")
        unit.operations(rng.choice((0, 0, 1, 13)))
        unit.line("add %rcx,%rdx")
    go(unit)
    unit.arms(labels)
    unit.end(name)
    unit.table(table, ".quad", [f"{label}-{base}" for label in labels])


def biased(unit):
    """Distances that no one but the function can read: none of its places is their base. Some jump
    by them where only a handler of faults goes on."""
    rng = unit.rng
    name, _ = start(unit, "biased", 3)
    labels, table, base, at, to = unit.labels(4), *(unit.label() for _ in range(4))
    if rng.random() < 0.3:
        unit.line(f"{at}:", "ud2", f"{to}:")
        unit.faults.append((name, at, to))
    unit.line(f"lea {table}(%rip),%rcx", "movslq (%rcx,%rdi,4),%rdx")
    unit.operations(rng.choice((0, 0, 1, 8)))
    is_far = rng.random() < 0.5
    if is_far:
        unit.line("lea -0x10000000(%rcx,%rdx),%rdx")
    else:
        unit.line(f"lea {base}(%rip),%rcx", "add %rcx,%rdx")
    go(unit, own=True)
    unit.arms(labels)
    unit.end(name)
    unit.table(base, ".quad", ["1", "2", "3"], ".data")
    unit.table(table, ".long", [f"{label}-{table}+0x10000000" if is_far else f"{label}-{base}"
                                for label in labels], ".data" if not is_far else ".rodata")


def changing(unit):
    """A table that the function itself fills in before it jumps."""
    rng = unit.rng
    name, _ = start(unit, "changing", 3)
    labels, table, true = unit.labels(4), unit.label(), unit.label()
    base = min(labels, key=lambda label: int(label[2:]))
    unit.line("and $3,%edi", f"lea {true}(%rip),%rdx", f"lea {table}(%rip),%rcx",
              "mov (%rdx,%rdi,4),%edx", "mov %edx,(%rcx,%rdi,4)", "movslq (%rcx,%rdi,4),%rdx",
              f"lea {base}(%rip),%rcx", "add %rcx,%rdx", "jmp *%rdx")
    unit.arms(labels)
    unit.end(name)
    unit.table(table, ".long", ["0"] * 4, ".data")
    unit.table(true, ".long", [f"{label}-{base}" for label in labels])


def exported(unit):
    """A place that only a symbol tells of: the program asks the loader for it by name."""
    rng = unit.rng
    name, k = start(unit, "exporting", 0)
    at, middle = rng.randint(0, 3), f"m{k}_within"
    unit.line(f".globl {middle}")
    end_with_middle(unit, middle, at)
    unit.end(name)
    unit.add_known(f"0*@{middle}", 0, 0)


def padding(unit):
    """What is behind a return, and looks like padding, is come to."""
    rng = unit.rng
    name, _ = start(unit, "padding", 1)
    inner = unit.label()
    unit.line("test %edi,%edi", f"je {inner}", *unit.operation(), "ret",
              *["nop"] * rng.randint(0, 3), f"{inner}:", *["nop"] * rng.randint(1, 4),
              "inc %rax", "ret")
    unit.end(name)


def addresses(unit):
    """Words of 64 bits that are places, in data that the loader fills in."""
    rng = unit.rng
    count = rng.choice((4, 8))
    name, _ = start(unit, "words", count - 1)
    labels, table, out = unit.labels(count), unit.label(), unit.label()
    unit.operations(rng.randint(0, 2))
    bound(unit, count, out)
    unit.line(f"lea {table}(%rip),%rcx")
    if rng.random() < 0.5:
        unit.line("jmp *(%rcx,%rdi,8)")
    else:
        unit.line("mov (%rcx,%rdi,8),%rdx")
        go(unit)
    unit.line(f"{out}:")
    unit.arms(labels)
    unit.end(name)
    unit.table(table, ".quad", labels, rng.choice((".data", '.data.rel.ro,"aw"')))


def fixed_tables(unit):
    """Words of 32 bits, and of 64 at any byte: at fixed addresses only."""
    rng = unit.rng
    name, _ = start(unit, "fixed", 3)
    labels, table = unit.labels(4), unit.label()
    unit.operations(rng.randint(0, 2))
    way = rng.randint(0, 3)
    if way == 0:
        unit.line(f"mov {table}(,%rdi,4),%edx")
        go(unit)
    elif way == 1:
        unit.line(f"jmp *{table}(,%rdi,8)")
    elif way == 2:
        unit.line(f"mov ${table},%ecx", "mov (%rcx,%rdi,4),%edx")
        go(unit)
    else:
        unit.line(f"movzbl {table}(%rdi),%edx", f"add ${labels[0]},%rdx")
        go(unit)
    unit.arms(labels, 7)
    unit.end(name)
    if way == 3:
        unit.table(table, ".byte", [f"{label}-{labels[0]}" for label in sorted(
            labels, key=lambda label: label != labels[0])], align=0)
    else:
        unit.table(table, ".long" if way != 1 else ".quad", labels,
                   rng.choice((".rodata", ".data")), align=rng.choice((0, 3)))


def constants(unit):
    """Addresses as constants and displacements of instructions, at fixed addresses; by lea."""
    rng = unit.rng
    name, k = start(unit, "const", 3)
    labels = unit.labels(4)
    unit.operations(rng.randint(0, 2))
    way = rng.randint(0, 4) if unit.fixed else 5
    one, other = labels[:2]
    if way == 0:
        unit.line(f"mov ${one},%edx", f"mov ${other},%ecx", "test $1,%dil", "cmovne %rcx,%rdx")
        go(unit)
    elif way == 1:
        unit.line("test %rdi,%rdi", f"je {labels[2]}", f"push ${one}",
                  ".cfi_adjust_cfa_offset 8", "ret", ".cfi_adjust_cfa_offset -8")
    elif way == 2:
        unit.line(f"movl ${one},-16(%rsp)", "movl $0,-12(%rsp)", f"movq ${other},-8(%rsp)",
                  "and $1,%edi", "jmp *-16(%rsp,%rdi,8)")
    elif way in (3, 4):
        slot = 8 * (4 * k % 256)
        unit.line(*(f"movq ${label},h_slots+{slot + 8 * i}(%rip)"
                    for i, label in enumerate(labels)))
        unit.line(f"jmp *h_slots+{slot}(,%rdi,8)")
    else:
        unit.line(f"lea {one}(%rip),%rdx", f"lea {other}(%rip),%rcx", "test $1,%dil",
                  "cmovne %rcx,%rdx")
        go(unit)
    unit.arms(labels)
    unit.end(name)


def sized(unit):
    """Handlers of one size, that the index is multiplied with."""
    rng = unit.rng
    size = rng.choice((4, 8, 16))
    name, _ = start(unit, "sized", 3)
    base, table = unit.label(), {4: ",%rdi,4", 8: ",%rdi,8"}
    unit.operations(rng.randint(0, 2))
    if rng.random() < 0.3:
        unit.line("and $3,%edi")
    if size in table and rng.random() < 0.5:
        if unit.fixed and rng.random() < 0.5:
            unit.line(f"lea {base}({table[size]}),%rdx")
        else:
            unit.line(f"lea {base}(%rip),%rcx", f"lea (%rcx{table[size]}),%rdx")
    else:
        unit.line(f"imul ${size},%rdi,%rdx" if rng.random() < 0.5 else
                  f"shl ${size.bit_length() - 1},%rdi", f"lea {base}(%rip),%rcx")
        unit.line("add %rdi,%rcx" if "shl" in unit.text[-2] else "add %rdx,%rcx", "mov %rcx,%rdx")
    go(unit)
    unit.line(f".p2align {size.bit_length() - 1}", f"{base}:")
    for i in range(4):
        unit.line(rng.choice(("inc %rax", "neg %rax", "not %rax", "dec %rax", "lea 1(%rax),%rax")),
                  *(["ret"] if rng.random() < 0.3 or i == 3 else []))
        if i < 3:
            unit.line(f".balign {size},0x90")
    unit.end(name)


def loops(unit):
    """Branches back to one of the first instructions, or its start."""
    rng = unit.rng
    name, k = start(unit, "loop", 7, value=None, flags=2)
    again, first = unit.label(), rng.randint(0, 3)
    if first > 0:
        unit.line("lea 1(%rdi),%edi" if rng.random() < 0.5 else "inc %edi")
        for _ in range(first - 1):
            unit.line(rng.choice(("mov %rsi,%rax", "nop", "xor %eax,%eax", "mov %edi,%eax")))
        unit.line(f"{again}:")
    else:
        again = name
    unit.line("lea 3(%rsi,%rsi,2),%rsi" if rng.random() < 0.5 else "inc %rsi", "mov %rsi,%rax")
    if first == 0:
        out = unit.label()
        unit.line("dec %rdi", f"jle {out}")
        unit.count(k)
        unit.line(f"jmp {again}", f"{out}:")
    else:
        way = rng.randint(0, 2)
        if way == 0:
            unit.line("dec %edi", f"jne {again}")
        elif way == 1:
            unit.line("mov %edi,%ecx", "dec %edi", f"loop {again}", "xor %ecx,%ecx")
        else:
            out = unit.label()
            unit.line("mov %edi,%ecx", "dec %ecx", f"jrcxz {out}", "mov %ecx,%edi",
                      f"jmp {again}", f"{out}:")
    unit.operations(rng.randint(0, 2))
    unit.line("ret")
    unit.end(name)


def into_other(unit):
    """A function whose middle another one jumps to, or calls, near or far."""
    rng = unit.rng
    middle, far = unit.label(), rng.random() < 0.3

    def target():
        name, _ = start(unit, "target", 0)
        end_with_middle(unit, middle, at)
        unit.end(name)

    def other():
        if far:
            unit.line('.section .text.unlikely,"ax",@progbits')
        name, _ = start(unit, "jumper", 1)
        unit.operations(rng.randint(0, 2))
        way = rng.randint(0, 3)
        if way == 0:
            unit.line(f"jmp {middle}")
        elif way == 1:
            unit.line("test %edi,%edi", f"je {middle}", "inc %rax", "ret")
        elif way == 2:
            unit.line(f"call {middle}", "inc %rax", "ret")
        else:
            unit.line(f"lea {middle}(%rip),%rdx", "test %edi,%edi")
            go(unit)
        unit.end(name)
        unit.line(".text")

    at = rng.randint(0, 3)
    for part in rng.sample((target, other), 2):
        part()


def hidden(unit):
    """Code that no symbol and no call frame information tells of, which jumps into a function."""
    rng = unit.rng
    middle, entry = unit.label(), unit.label()
    name, _ = start(unit, "beside", 0)
    at = rng.randint(0, 2)
    end_with_middle(unit, middle, at)
    unit.end(name)
    unit.line(*([".p2align 4"] if rng.random() < 0.3 else []), f"{entry}:", "mov %rsi,%rax",
              "inc %rax", f"jmp {middle}")
    unit.add_known(entry, 0, 0, counted=False)


def within(unit):
    """Branches to within an instruction: behind a prefix, or other code in the same bytes."""
    rng = unit.rng
    name, _ = start(unit, "within", 1)
    inner, out = unit.label(), unit.label()
    unit.line("test %edi,%edi", f"je {inner}")
    way = rng.randint(0, 3)
    if way == 0:
        unit.line(".byte 0xf0", f"{inner}:", "addq $5,h_data+64(%rip)", "inc %rax")
    elif way == 1: # mov $imm,%ecx; in it: inc %eax; jmp to out
        unit.line(".byte 0xb9", f"{inner}:", ".byte 0xff,0xc0", ".byte 0xeb,6", "neg %rax",
                  "inc %rax", f"{out}:")
    elif way == 2: # in a longer nop: not %rax; ret
        unit.line(".byte 0x0f,0x1f,0x80", f"{inner}:", "not %rax", "ret", "inc %rax", "inc %eax")
    else: # test $imm,%eax, which holds: add $imm,%eax; as the kernel's and the C library's
        unit.line(".byte 0xa9", f"{inner}:", "inc %eax", ".byte 0x66,0x90", "inc %rax")
    if way == 1 or way == 3:
        unit.line("xor %ecx,%ecx")
    unit.operations(rng.randint(0, 2))
    unit.line("ret")
    unit.end(name)


def word(unit):
    """The address of a place within a function, in data: who calls it knows no more."""
    rng = unit.rng
    name, _ = start(unit, "placed", 0)
    at, middle = rng.randint(0, 3), unit.label()
    end_with_middle(unit, middle, at)
    unit.end(name)
    unit.add_known(middle, 0, 0, counted=False)


def cold(unit):
    """A part elsewhere, which is come to from the middle and goes back to it."""
    rng = unit.rng
    name, _ = start(unit, "parted", 1)
    piece, back, framed = f"{name}.cold", unit.label(), rng.random() < 0.5
    if framed:
        unit.line("push %rdi", ".cfi_adjust_cfa_offset 8")
    unit.operations(rng.randint(0, 1))
    unit.line("test %edi,%edi", f"{rng.choice(('je', 'jne'))} {piece}")
    unit.operations(rng.randint(0, 1))
    unit.line(f"{back}:")
    unit.operations(rng.randint(0, 1))
    if framed:
        unit.line("pop %rdi", ".cfi_adjust_cfa_offset -8")
    unit.line("ret")
    unit.end(name)
    unit.line('.section .text.unlikely,"ax",@progbits', f".type {piece},@function", f"{piece}:",
              ".cfi_startproc", *([".cfi_def_cfa_offset 16"] if framed else []))
    unit.operations(rng.randint(0, 2))
    if rng.random() < 0.7:
        unit.line(f"jmp {back}")
    else:
        unit.line(f"lea {back}(%rip),%rdx", "jmp *%rdx")
    unit.end(piece)
    unit.line(".text")


def behind_call(unit):
    """Data behind a call, which the callee reads and jumps over; thunks that return elsewhere."""
    rng = unit.rng
    skips = f"g{len(unit.known)}_skips"
    name, _ = start(unit, "data", 3)
    if rng.random() < 0.5:
        unit.operations(rng.randint(0, 1))
        unit.line(f"call {skips}", ".byte 0xc3,0x90,0x90,0x90,0x90,3", "inc %rax", "ret")
        unit.end(name)
        unit.begin(skips, value=None)
        unit.line("pop %rcx", ".cfi_adjust_cfa_offset -8", "movzbl 5(%rcx),%edx",
                  "add %rdx,%rax", "add $6,%rcx", "jmp *%rcx")
    else:
        labels, table = unit.labels(4), unit.label()
        unit.line(f"lea {table}(%rip),%rcx", "movslq (%rcx,%rdi,4),%rdx", "add %rcx,%rdx",
                  f"jmp {skips}")
        unit.arms(labels)
        unit.end(name)
        unit.table(table, ".long", [f"{label}-{table}" for label in labels])
        one, again = unit.label(), unit.label()
        unit.begin(skips, value=None)
        unit.line(f"call {one}", f"{again}:", "pause", f"jmp {again}", f"{one}:",
                  "mov %rdx,(%rsp)", "ret")
    unit.end(skips)


def others_table(unit):
    """A table of distances into a function beside, by which another one jumps, or a third one."""
    rng = unit.rng
    labels, table = unit.labels(4), unit.label()
    target, _ = unit.function("others", 0, 0)
    kind, load, scale = rng.choice(((".byte", "movzbl", 1), (".word", "movzwl", 2),
                                    (".long", "movslq", 4)))
    name, _ = start(unit, "chooses", 3)
    unit.line(f"lea {table}(%rip),%rcx",
              f"{load} (%rcx,%rdi,{scale}),{'%edx' if load[-1] == 'l' else '%rdx'}",
              f"lea {target}(%rip),%rcx", "add %rcx,%rdx")
    go(unit)
    unit.end(name)
    unit.begin(target, value="%rsi")
    unit.arms(labels, 6)
    unit.end(target)
    unit.table(table, kind, [f"{label}-{target}" for label in labels])


WAYS = (distances, distances, distances, wide, biased, changing, exported, padding, addresses,
        constants, sized, loops, loops, into_other, hidden, within, word, word, cold, behind_call,
        others_table)
FIXED_WAYS = (fixed_tables, constants)
