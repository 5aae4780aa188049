#!/usr/bin/env python3
"""tracetape binary: a program whose instructions we wrote, and this system's C library and loader,
whose system calls objdump counts and whose frames readelf reads."""
import bisect
import json
import os
import re
import subprocess
import sys
import tempfile

BIN = os.environ["TTAPE_BIN"]
CC = os.environ.get("TTAPE_CC", "cc")

CODE = r"""
    .text
    .macro begin name
    .globl \name
    .type \name, @function
\name: .cfi_startproc
    .endm
    .macro finish name
    .cfi_endproc
    .size \name, . - \name
    .p2align 8          # short branches of one do not reach another
    .endm

    begin before        # the number in front: one window of 7 bytes
    mov $39, %eax
    syscall
    ret
    finish before

    begin behind        # somebody jumps to the syscall: what is behind moves
1:  syscall
    cmp $-4095, %rax
    jae 1b
    ret
    finish behind

    begin branched      # jumps to the syscall and right behind it
    xor %eax, %eax
1:  syscall
2:  nop
    nop
    nop
    js 1b
    je 2b
    ret
    finish branched

    begin relative      # the number in memory, relative to the instruction
    mov number(%rip), %eax
    syscall
    ret
    finish relative

    begin farther       # a short branch is moved in its long form
    jmp 1f
1:  syscall
    js 3f
    ret
2:  nop
3:  jmp 2b
    finish farther

    begin shared        # two, with nothing in front or behind
    syscall
    syscall
    ret
    finish shared

    begin lonely        # three bytes
    syscall
    ret
    finish lonely

    begin beside        # a call cannot be moved: its return address would be elsewhere
    call before
    syscall
    ret
    finish beside

    begin chosen        # a table of distances leads to between number and syscall
    lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
    mov $1, %eax
two: syscall
three: nop
    nop
    nop
    ret
    finish chosen

    begin unknown       # a jump whose targets nobody can tell
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov (%rdi), %rax
    add %rsi, %rax
    jmp *%rax
    mov $2, %eax
    syscall
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    finish unknown

    begin compared      # where glibc 2.41 cancels threads
    mov %rsi, %rax
    mov %r11, 8(%rsp)
    syscall
    ret
    finish compared

    begin tail          # calls, and one that leaves the frame first
    call *pointer(%rip)
    call elsewhere@PLT
    call *elsewhere@GOTPCREL(%rip)
    jmp before
    finish tail

    .type nowhere, @function
nowhere:                # no unwind entry: known by its symbol
    mov $60, %eax
    syscall
    ret
    .size nowhere, . - nowhere
    .byte 0x0f, 0x05    # of no function at all

    .section .text.unlikely, "ax"
    .type tail.cold, @function
tail.cold: .cfi_startproc
    .cfi_def_cfa_offset 16
    mov $3, %eax
    syscall
    jmp tail
    .cfi_endproc
    .size tail.cold, . - tail.cold

    .section .rodata
    .p2align 2
table: .long two - table, three - table
number: .long 7
    .data
pointer: .quad 0
    .section .note.GNU-stack, "", @progbits
"""

FIXED = r"""
    .text
    .globl _start
_start: .cfi_startproc  # a jump through a register, as a call at a function's end is
    mov places(,%rdi,8), %rax
    jmp *%rax
    mov $60, %eax
.Linside: syscall
    nop
    ret
    .cfi_endproc
    .data
    .p2align 3
places: .quad .Linside
    .section .note.GNU-stack, "", @progbits
"""
INLINED = """
static volatile int sum;
static inline __attribute__((always_inline)) void innermost(int n) { sum += n; }
static inline __attribute__((always_inline)) void inner(int n)
{
    innermost(n);
    innermost(n + 1);
}
__attribute__((noinline)) void outer(int n) { inner(n); }
int main(int count, char **words) { (void)words; outer(count); return 0; }
"""

PATCH = "can be patched"
BRANCHED = "branches lead to where the jump would be"


def say(path, *options):
    done = subprocess.run([BIN, "binary", "--json", *options, path], stdout=subprocess.PIPE)
    assert done.returncode == 0, (path, done.returncode)
    return json.loads(done.stdout)


def build(folder):
    with open(f"{folder}/code.s", "w") as out:
        out.write(CODE)
    subprocess.run([CC, "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-o", f"{folder}/code.so",
                    f"{folder}/code.s"], check=True)
    return f"{folder}/code.so"


def check_own(path):
    found = say(path, "--all")
    sites = {}
    for site in found["system_calls"]:
        sites.setdefault(site["function"], []).append(site)
    address = {f["name"]: f["start"] for f in found["functions"]}
    assert found["system_call_count"] == 14, found["system_call_count"]

    def one(name, **expected):
        assert len(sites[name]) == 1, (name, sites[name])
        for key, value in expected.items():
            assert sites[name][0][key] == value, (name, key, sites[name][0])
        return sites[name][0]

    one("before", patch=PATCH, call=39, original="b8270000000f05", before="b827000000", after=None,
        window=address["before"], fixups=[], flags_dead=True)
    one("behind", patch=PATCH, call=None, window=address["behind"], before=None,
        after="483d01f0ffff", flags_dead=True)
    one("branched", patch=BRANCHED, window=None)
    site = one("relative", patch=PATCH, call=None, window=address["relative"])
    assert site["before"].startswith("8b05") and len(site["before"]) == 12
    assert len(site["fixups"]) == 1 and site["fixups"][0]["at"] == 2
    assert site["fixups"][0]["tail"] == 4
    site = one("farther", patch=PATCH, after="0f8800000000c3", original="0f057802c3",
               flags_dead=False)
    assert site["fixups"] == [{"at": 2, "tail": 4, "target": site["window"] + 6}], site
    assert [s["patch"] for s in sites["shared"]] == ["another system call is too near"] * 2
    one("lonely", patch="the function is too short")
    one("beside", patch="the instructions beside it cannot be moved")
    one("chosen", patch=BRANCHED, call=None)
    one("unknown", patch="its function has jumps to unknown places")
    one("compared", patch="the C library compares its address")
    one("nowhere", patch=PATCH, call=60, unwind=None)
    # the cold piece is of its function, and tells so
    one("tail.cold", patch=PATCH, call=3)
    pieces = [f for f in found["functions"] if f["piece_of"] is not None]
    assert [f["name"] for f in pieces] == ["tail.cold"]
    assert found["functions"][pieces[0]["piece_of"]]["name"] == "tail"

    names = [f["name"] for f in found["functions"]]
    calls = [(names[c["caller"]], c["name"] or (c["callee"] is not None and names[c["callee"]])
              or None, c["kind"], c["is_tail"]) for c in found["calls"]]
    # a global function of a library may be another one's, once it is linked; a short jump is not
    assert calls == [("tail.cold", "tail", "linked", True), ("beside", "before", "linked", False),
                     ("tail", None, "pointer", False), ("tail", "elsewhere", "linked", False),
                     ("tail", "elsewhere", "linked", False), ("tail", "before", "direct", True)], \
        calls


def check_fixed(folder):
    """Addresses in data that no relocation tells of: one is that of the system call."""
    with open(f"{folder}/fixed.s", "w") as out:
        out.write(FIXED)
    subprocess.run([CC, "-static", "-nostdlib", "-no-pie", "-o", f"{folder}/fixed",
                    f"{folder}/fixed.s"], check=True)
    site, = say(f"{folder}/fixed")["system_calls"]
    assert site["patch"] == BRANCHED and site["call"] is None, site


def check_inlined(folder):
    with open(f"{folder}/inlined.c", "w") as out:
        out.write(INLINED)
    subprocess.run([CC, "-g", "-O2", "-o", f"{folder}/inlined", f"{folder}/inlined.c"], check=True)
    found = say(f"{folder}/inlined", "--functions", "--inlined")
    copies = [c for c in found["inlined"] if c["function"] is not None
              and found["functions"][c["function"]]["name"] == "outer"]
    places = {(c["name"], c["line"], os.path.basename(c["file"])) for c in copies}
    assert places == {("inner", 9, "inlined.c"), ("innermost", 6, "inlined.c"),
                      ("innermost", 7, "inlined.c")}, copies
    whole = [c for c in copies if c["name"] == "inner"][0]
    assert all(whole["start"] <= c["start"] < c["end"] <= whole["end"]
               for c in copies if c["line"] == 7), copies
    subprocess.run(["strip", "-g", f"{folder}/inlined"], check=True)
    assert say(f"{folder}/inlined", "--inlined")["inlined"] == []


def library(name):
    """Where this process has it."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    for path in paths:
        if re.match(name, os.path.basename(path)):
            return path
    return None


def check_library(path):
    """Each instruction that objdump calls syscall, in the range of an unwind entry."""
    found = say(path, "--functions")
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    theirs = {int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\tsyscall", text, re.MULTILINE)}
    ranges = [(f["start"], f["end"]) for f in found["functions"] if f["has_unwind_entry"]]
    theirs = {a for a in theirs if any(start <= a < end for start, end in ranges)}
    ours = {s["address"] for s in found["system_calls"]}
    assert ours >= theirs and len(theirs) > 10, (path, sorted(theirs ^ ours))
    cannot = [s for s in found["system_calls"] if s["patch"] != PATCH]
    assert len(cannot) * 50 <= len(ours), (path, cannot)
    for site in found["system_calls"]:
        if site["patch"] == PATCH:
            assert site["window"] <= site["address"]
            assert len(site["original"]) >= 10 and "0f05" in site["original"]
    print(f"{path}: {len(ours)} system calls, {len(cannot)} cannot be patched")


def check_rows(path):
    """Each row of readelf's tables says what ours says."""
    found = say(path, "--rows")
    rows = [(r["address"], r["cfa"]) for r in found["rows"]]
    text = subprocess.run(["readelf", "--debug-dump=frames-interp", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    starts = [a for a, _ in rows]
    checked = 0
    for block in text.split("\n\n"):
        if " FDE " not in block or "LOC" not in block:
            continue
        for line in block.splitlines():
            match = re.match(r"([0-9a-f]{16}) (\S+)", line)
            if match is None or not re.match(r"(rsp|rbp)[+-]\d+$", match[2]):
                continue
            at = bisect.bisect_right(starts, int(match[1], 16)) - 1
            if rows[at][1] in ("hard", "outermost") or rows[at][1].startswith("rdi"):
                continue # what the table's other columns ask for
            assert rows[at][1] == match[2], (path, line, rows[at])
            checked += 1
    assert checked > 100, (path, checked)


def check_refusals(folder):
    def refuses(path, words):
        done = subprocess.run([BIN, "binary", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 4 and words in done.stderr and done.stdout == "", \
            (path, done.returncode, done.stderr)

    with open(f"{folder}/text", "w") as out:
        out.write("no binary\n")
    refuses(f"{folder}/text", "not an ELF file")
    refuses(f"{folder}/missing", "no such file")
    refuses(folder, "not a regular file")


def main():
    with tempfile.TemporaryDirectory() as folder:
        own = build(folder)
        check_own(own)
        check_inlined(folder)
        check_fixed(folder)
        subprocess.run(["strip", own], check=True)
        assert say(own)["system_call_count"] == 13 # nowhere has no name any more
        check_refusals(folder)
    for name in (r"libc\.so\.6|libc-.*\.so", r"ld-linux.*\.so.*|ld-.*\.so"):
        path = library(name)
        if path is not None:
            check_library(path)
    if library(r"ld-linux.*|ld-.*\.so") is not None:
        check_rows(library(r"ld-linux.*|ld-.*\.so"))
    return 0


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("SKIPPED: this machine is no x86-64")
        sys.exit(77)
    sys.exit(main())
