"""Ways to observe a patch that the generator makes, in assembly: faults whose handlers look at the
place, registers and flags, what is below the stack pointer, places that instructions read; and
functions that leave little room."""
from ways import start
from unit import ALL_REGISTERS, DIRECTION, STEPPED

FAULTS = (["mov (%rcx),%eax"], ["add (%rcx),%rax"], ["mov %eax,8(%rcx)"], ["movzbl (%rcx),%edx"],
          ["cmpq $0,(%rcx)"], ["movdqu (%rcx),%xmm0"], ["lock incq (%rcx)"], ["ud2"], ["hlt"],
          ["xchg %rax,(%rcx)"], ["mov 4(%rcx,%rdi,4),%rdx"], ["int3"], ["movl $5,(%rcx)"])


def faults(unit):
    """An instruction that faults, anywhere in front of returns and behind the entry."""
    rng = unit.rng
    name, _ = start(unit, "fault", 3)
    at, to = unit.label(), unit.label()
    unit.operations(rng.randint(0, 2) if rng.random() < 0.7 else 0)
    way, nops = rng.random(), rng.random() < 0.2
    if way < 0.12:
        unit.line("xor %ecx,%ecx", "xor %edx,%edx", f"{at}:", "idivq %rcx", f"{to}:")
    elif way < 0.24:
        unit.line("mov h_nowhere(%rip),%rcx", f"{at}:", "call *(%rcx)", f"{to}:")
    elif way < 0.3:
        unit.line("mov h_nowhere(%rip),%rcx", f"{at}:", "jmp *(%rcx)", f"{to}:")
    elif way < 0.36:
        unit.line("mov h_nowhere(%rip),%rcx", f"{at}:", "push (%rcx)", f"{to}:")
    else:
        fault = rng.choice(FAULTS)
        zero = rng.random() < 0.3 and fault != ["ud2"]
        unit.line("xor %ecx,%ecx" if zero else "mov h_nowhere(%rip),%rcx")
        unit.operations(rng.randint(0, 1))
        if fault == ["int3"]: # a handler is shown what is behind it, and goes on there
            to = at
            unit.line("int3", f"{at}:")
        else:
            unit.line(f"{at}:", *fault, *(["inc %rax"] if nops else []), f"{to}:")
    if rng.random() < 0.3:
        out = unit.label()
        unit.line("test %edi,%edi", f"{rng.choice(('je', 'jne'))} {out}", *unit.operation(),
                  f"{out}:")
    unit.operations(rng.choice((0, 0, 1, 2)))
    unit.line("ret")
    unit.end(name)
    unit.faults.append((name, at, to))


def plain(unit):
    """Any instructions, looked at in single steps; all registers are known."""
    rng = unit.rng
    name, _ = start(unit, "plain", 3, flags=STEPPED | ALL_REGISTERS)
    framed = rng.random() < 0.3
    unit.by_rbp = framed
    if framed:
        unit.line("push %rbp", ".cfi_def_cfa_offset 16", ".cfi_offset %rbp,-16", "mov %rsp,%rbp",
                  ".cfi_def_cfa_register %rbp")
        if rng.random() < 0.5:
            unit.line("sub $32,%rsp", "mov %rax,-8(%rbp)", "add -8(%rbp),%rax")
    unit.operations(rng.randint(0, 6))
    if rng.random() < 0.5:
        unit.call_leaf()
    if rng.random() < 0.5:
        out = unit.label()
        unit.line("test $1,%edi", f"je {out}", *unit.operation(), f"{out}:")
    if framed:
        unit.line("leave" if rng.random() < 0.5 else "mov %rbp,%rsp\n    pop %rbp",
                  ".cfi_def_cfa %rsp,8")
    unit.by_rbp = False
    unit.line("ret")
    unit.end(name)


def plain_leaf(unit):
    """What other functions call."""
    name, k = unit.function("leaf", 0, STEPPED | ALL_REGISTERS)
    unit.begin(name, value=None)
    unit.line("lea 5(%rsi,%rsi,2),%rax", "rol $7,%rax", "inc %rax", "ret")
    unit.end(name)
    unit.leaf = name, k


def shorts(unit):
    """Functions of few bytes, one behind the other."""
    rng = unit.rng
    for _ in range(rng.randint(2, 4)):
        name, _ = unit.function("short", 1, STEPPED | ALL_REGISTERS)
        unit.begin(name, align=0, value=None)
        unit.line(*rng.choice((["mov %rsi,%rax", "ret"], ["lea 1(%rsi),%eax", "ret"],
                               ["push %rsi", ".cfi_adjust_cfa_offset 8", "pop %rax",
                                ".cfi_adjust_cfa_offset -8", "ret"], ["mov %esi,%eax", "ret"],
                               ["xor %eax,%eax", "ret"], ["mov $1,%al", "ret"], ["ret"],
                               ["repz ret"], ["test %edi,%edi", "je 1f", "inc %rax", "1:", "ret"],
                               ["mov %rsi,%rax", "inc %rax", "ret"])))
        unit.end(name)


def falls(unit):
    """A function that goes on in the next one."""
    name, _ = start(unit, "falls", 0, value="%rsi")
    unit.operations(unit.rng.randint(0, 2))
    second, k = unit.function("behind", 0, 0)
    unit.count(k)
    unit.end(name)
    unit.begin(second, align=0, value=None)
    unit.operations(unit.rng.randint(1, 3))
    unit.line("ret")
    unit.end(second)


def tails(unit):
    """Jumps to the start of another function, in all forms."""
    rng, (leaf, k) = unit.rng, unit.leaf
    name, _ = start(unit, "tail", 1, flags=STEPPED)
    unit.operations(rng.randint(0, 2))
    unit.line("mov %rax,%rsi")
    way = rng.randint(0, 4)
    if way < 2:
        unit.count(k)
        unit.line(f"jmp {leaf}")
    elif way == 2:
        out = unit.label()
        unit.line("test %edi,%edi", f"jne {out}", "ret", f"{out}:")
        unit.count(k)
        unit.line("cmp %eax,%eax", f"je {leaf}", "ud2")
    elif way == 3:
        unit.count(k)
        unit.line(f"lea {leaf}(%rip),%rdx", "jmp *%rdx")
    else:
        place = unit.label()
        unit.count(k)
        unit.line(f"jmp *{place}(%rip)")
        unit.table(place, ".quad", [leaf], ".data")
    unit.end(name)


def places(unit):
    """Instructions that read and write places of the program, in front and at the end."""
    rng = unit.rng
    name, _ = unit.function("place", 1, STEPPED | ALL_REGISTERS)
    slot = 8 * rng.randint(0, 15)
    unit.begin(name, value=None)
    unit.line(rng.choice((f"mov h_data+{slot}(%rip),%rax", f"movzbl h_data+{slot}(%rip),%eax",
                          f"cmpq $3,h_data+{slot}(%rip)", f"addl $7,h_data+{slot}(%rip)",
                          f"movdqu h_data+{slot}(%rip),%xmm5", f"incb h_data+{slot}(%rip)",
                          f"movw $9,h_data+{slot}(%rip)", f"imul $77,h_data+{slot}(%rip),%rax")))
    unit.operations(rng.randint(0, 3))
    unit.line(*rng.choice((["mov %rsi,%rax"], [f"xor h_data+{slot}(%rip),%rax"],
                           [f"mov %rax,h_data+{slot}(%rip)"])), "ret")
    unit.end(name)


def flags(unit):
    """Flags that are live where the function is entered, and where it is left."""
    rng = unit.rng
    name, k = unit.function("flags", 1, STEPPED | ALL_REGISTERS)
    unit.begin(name, value=None)
    unit.line(rng.choice(("adc %rsi,%rax", "setc %al", "sbb %rax,%rax", "cmovz %rsi,%rax",
                          "rcl $1,%rsi", "lahf", "jc 1f\n1: setp %al")))
    unit.operations(rng.randint(0, 2))
    unit.line(rng.choice(("add $5,%rsi", "cmp %rsi,%rax", "stc", "clc", "nop", "bt $3,%rax")),
              "ret")
    unit.end(name)
    caller, _ = start(unit, "asks", 1, flags=STEPPED)
    unit.count(k)
    unit.line("cmp $7,%rsi", f"call {name}", "setc %cl", "movzbl %cl,%ecx", "adc %rcx,%rax",
              "mov %r8,%rdx", "add %r9,%rdx", "add %r10,%rdx", "add %r11,%rdx", "add %rdx,%rax",
              "movq %xmm7,%rdx", "add %rdx,%rax", "ret")
    unit.end(caller)


def states(unit):
    """The direction flag, x87's stack, the control registers of both, wide vectors."""
    rng = unit.rng
    name, k = unit.function("state", 1, ALL_REGISTERS | DIRECTION)
    unit.begin(name)
    unit.operations(rng.randint(0, 3))
    unit.line("ret")
    unit.end(name)
    caller, _ = start(unit, "keeps", 1)
    unit.count(k)
    unit.line("fldpi", "fld1", "stmxcsr -8(%rsp)", "mov -8(%rsp),%ecx", "or $0x6000,%ecx",
              "mov %ecx,-8(%rsp)", "ldmxcsr -8(%rsp)", "fnstcw -16(%rsp)", "movzwl -16(%rsp),%edx",
              "or $0xc00,%edx", "mov %edx,-16(%rsp)", "fldcw -16(%rsp)")
    if rng.random() < 0.5:
        unit.line("std")
    unit.line(f"call {name}", "cld", "fadd %st(1),%st", "fistpq -24(%rsp)",
              "fistpq -32(%rsp)", "add -24(%rsp),%rax", "add -32(%rsp),%rax",
              "stmxcsr -8(%rsp)", "mov -8(%rsp),%ecx", "and $0x6000,%ecx", "add %rcx,%rax",
              "fnstcw -16(%rsp)", "movzwl -16(%rsp),%edx", "add %rdx,%rax",
              "andl $~0xc00,-16(%rsp)", "fldcw -16(%rsp)", "movl $0x1f80,-8(%rsp)",
              "ldmxcsr -8(%rsp)", "ret")
    unit.end(caller)


def recursion(unit):
    name, k = unit.function("recursion", 7, 0)
    unit.begin(name, value=None)
    out = unit.label()
    unit.line("mov %rsi,%rax", "test %edi,%edi", f"je {out}", "push %rdi",
              ".cfi_adjust_cfa_offset 8", "dec %edi")
    unit.operations(unit.rng.randint(0, 2))
    unit.count(k)
    unit.line(f"call {name}", "pop %rdi", ".cfi_adjust_cfa_offset -8", "add %rdi,%rax",
              f"{out}:", "ret")
    unit.end(name)


def system_calls(unit):
    """System calls with little room, and labels around them."""
    rng = unit.rng
    name, _ = start(unit, "asks_kernel", 3)
    labels = unit.labels(2)
    unit.line("mov %rax,%r8")
    way = rng.randint(0, 3)
    at, behind = labels
    if way == 1:
        unit.line(f"lea {at}(%rip),%rdx", f"lea {behind}(%rip),%rcx", "mov $-5,%eax",
                  "test $1,%edi", "cmovne %rcx,%rdx", "mov $500,%eax", "jmp *%rdx")
    elif way == 2:
        unit.line("mov $500,%eax", "test $1,%edi", f"jne {behind}")
    elif way == 3:
        table = unit.label()
        base = rng.choice((at, name))
        unit.line("and $1,%edi", f"lea {table}(%rip),%rcx", "movzwl (%rcx,%rdi,2),%edx",
                  f"lea {base}(%rip),%rcx", "add %rcx,%rdx", "mov $500,%eax", "jmp *%rdx")
        unit.table(table, ".word", [f"{label}-{base}" for label in labels])
    else:
        unit.line("mov $500,%eax", rng.choice(("nop", "xor %edi,%edi", "mov $1,%esi")))
    if rng.random() < 0.3:
        unit.line(f"{at}:", "mov $501,%eax", "syscall", f"{behind}:")
    else:
        unit.line(f"{at}:", "syscall", f"{behind}:")
    unit.line(*rng.choice((["add %r8,%rax"], ["inc %rax", "add %r8,%rax"],
                           ["neg %eax", "add %r8,%rax"])), "xor %r11d,%r11d", "ret")
    unit.end(name)


OBSERVERS = (faults, faults, faults, plain, plain, plain, shorts, falls, tails, places, flags,
             states, recursion, system_calls, system_calls)
