#!/usr/bin/env python3
"""What functions are given and return: each kind of value that C and C++ have, with and without
optimisation, by two compilers; whose values are recorded, by name; what a person says by hand; and
texts that are no memory."""
import os
import re
import shutil
import sys
from pathlib import Path

import setting

POINTER = r"(?:0x[0-9a-f]+|&[\w.]+(?:\+\d+)?)"
# What a call looks like, as dump has it: P is an address, eight dots are any text.
RECORD = ('{id=5, name="name", code="code", low=6, middle=-3, color=GREEN, at.x=-2, at.y=9, '
          "bits=1069547520, number=1.5, wide=-1e-30, next=0x0}")
C_CALLS = [
    "integers(a=-1, b=-300, c=-70000, d=-5000000000, e=9) = -705102996",
    "unsigneds(a=255, b=65535, c=4000000000, d=18446744073709551615, e=1) = 4000065790",
    "floats(a=1.5, b=-2.25, c=3, d=9.9999461011147596e-41) = 2.25",
    "no_numbers(a=inf, b=-inf, c=-0) = ........",
    'texts(a="a text", b="buffer", c=P, d=0x0) = "a text"',
    "enums(a=BLUE, b=MINUS, c=true, d=120 'x') = MINUS",
    "enums(a=RED, b=PLUS, c=false, d=121 'y') = PLUS",
    "masks(a=HALF, b=BYTE) = WORD",
    r"packeds(a={m=11 '\x0b', n=22, k=33}, b=44, c={n=-2, k=5, m=99 'c'}, d=55) = "
    r"{m=11 '\x0b', n=119, k=33}",
    "pairs(a={a=7, b=2.5}, b={x=3, y=-4}) = {a=10, b=2.5}",
    "larges(before=1, a=P, after=2) = P",
    "unions(a={l=-6, d=nan}, b=nothing, c=P, d=P) = -3",
    f"records(a=P{RECORD}, b={RECORD}, c=1) = 5",
    f"records(a=0x0, b={RECORD}, c=2) = 2",
    'records(a=P{id=6, name=0x10, code="", low=0, middle=0, color=RED}, '
    "b={id=0, name=0x0, ........}, c=3) = 0",
    f"found(a=P{RECORD}) = P{RECORD}",
    "wordy(a=P{a=a_constant_........_10, ........, p=1}, b=7) = 7",
    'fourteen(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=11, l=inf, m="thirteen", '
    "n={x=-2, y=9}) = ........",
    'stacks(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=-8, i="ninth") = 21',
    "many_floats(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9.5, j=10) = 55.5",
    "wides(a=1, b=11)",
    "halves(a=hex:02000000000000000100000000000000, b=12) = hex:0e000000000000000100000000000000",
    'nowhere(a="ends", b=0x10, c=1) = 1',
    "nowhere(a=P, b=0x0, c=2) = 2",
    "pointed(f=above, at=&table+16, g=0x0) = &table",
    "pointed(f=0x0, at=0x10, g=above) = 0x0",
    "nothing()",
    "above() = 7",
    "integers(a=........, b=2, c=3, d=4, e=1) = 11",
    "variadic(a=4) = 4",
]
CPP_CALLS = [
    "n::thing::get(this=P, plus=2, k=two) = 9",
    "n::thing::turn(this=P, p={x=3, y=4}, q=P{x=3, y=4}) = 7",
    "by_address(c={v=9}, after=77) = 86",
    "by_register(k={v=3}, after=78) = 81",
    "returned(v=6) = {v=6}",
    "owned(p=P, more=8, c={v=4}) = 16",
    r'texts(a="lit\x00le", b="llllllllllllllllllll", c="view", d="llllllllllllllllllll") = 31',
    'texts(a="", b="", c="", d=0x0) = 0',
    'repeated(n=3) = "xxx"',
    f'repeated(n=30) = "{30 * "x"}"',
    'begun(a="begun") = "be"',
    r'labels(a=P{x=8, y=9, label="lit\x00le", seen="seen"}, b=2) = 10',
    "twice<int>(v=21) = 42",
    "twice<double>(v=1.25) = 2.5",
    "thrown(v=0) = 0",
    "thrown(v=3)",
]
BUILDS = {"gcc -O0": ("gcc", "-O0"), "gcc -O2": ("gcc", "-O2"), "clang -O1": ("clang", "-O1"),
          "clang -O0": ("clang", "-O0"), "gcc -O2, DWARF 4": ("gcc", "-O2", "-gdwarf-4")}


def expression(text):
    parts = re.split(r"(?<![\w.])(P)(?!\w)|(\.{8})", text)
    return "".join(POINTER if part == "P" else ".*" if part == "........" else re.escape(part)
                   for part in parts if part)


def calls_of(trace):
    """As dump has them, in the order of their ends: name(arguments) = result."""
    done = setting.tracetape("dump", trace)
    found, open_calls = [], []
    for line in done.out.decode().splitlines()[1:]:
        text = re.sub(r"^ *[\d.]+ +\d+ +([\d.]+ [num]?s)? +", "", line)
        unwound = re.match(r"(\d+) frames? unwound", text)
        if unwound:
            found += [open_calls.pop() for _ in range(int(unwound[1]))]
        elif text.endswith("{"):
            open_calls.append(text[:-2])
        elif text.startswith("}") and open_calls:
            found.append(open_calls.pop() + re.sub(r"^}|[ ;]*/\*.*|;$", "", text).rstrip())
        else:
            found.append(re.sub(r";.*", "", text))
    return found + open_calls


def record(checks, work, program, *options):
    trace = work / "values.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
    checks.equal((done.status, done.err), (0, b""), f"{program.name} {options}: status, messages")
    return calls_of(trace)


def check_all(checks, work, label, program, wanted):
    found = record(checks, work, program, "--args=.", "--patch", ".")
    for call in wanted:
        pattern = expression(call)
        near = [line for line in found if line.startswith(call.split("(", 1)[0])]
        checks.that(any(re.fullmatch(pattern, line) for line in near), f"{label}: {call}, {near}")


def only(found, *names):
    return [line for line in found if re.match(rf"({'|'.join(names)})\(", line)]


def check_choices(checks, work, program):
    some = ("above", "stacks", "nothing")
    wide = 'stacks(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=-8, i="ninth") = 21'
    for options, wanted in (
            (("--args=^stacks$",), [wide, "nothing()", "above()"]),
            (("--retval",), ["stacks() = 21", "nothing()", "above() = 7"]),
            (("--retval=abo",), ["stacks()", "nothing()", "above() = 7"]),
            (("--args", "--args-exclude", "^st"), ["stacks()", "nothing()", "above() = 7"]),
            (("--args=stacks@arg1/i8,arg7,arg8/i8,arg9/s,retval/u16",),
             ['stacks(1, 7, -8, "ninth") = 21', "nothing()", "above()"]),
            (("--args=above@arg1/s,arg40/s,fparg8,retval/s",),
             ["stacks()", "nothing()", "above(.*) = 0x7"])):
        found = only(record(checks, work, program, "--patch", ".", *options), *some)
        for one, call in zip(found, wanted):
            checks.that(one == call or re.fullmatch(call.replace("(", r"\(").replace(")", r"\)"),
                                                    one), f"{options}: {one}, not {call}")
        checks.equal(len(found), len(wanted), f"{options}: calls")


def check_named_pointers(checks, work, program):
    """Of pointers, the names of what they point to are what conditions compare, when recording and
    when reading; one that is shown under a name is not another one."""
    options = ("--patch", "^(pointed|stacks)$", "--args")
    every = only(record(checks, work, program, *options), "pointed")
    one, other = every[:1], every[1:]
    trace = (work / "values.ttape").rename(work / "pointers.ttape")
    for condition, wanted in (
            ('f="above"', one), ("f=above", one), ("f=/^ab/", one), ("f=nosuch", []),
            ('f!="above"', other), ("f!=above", other), ('at="&table+16"', one),
            ('at="table*"', one), ("at!=table", every), ("g=NULL", one), ('g="above"', other),
            ("f=above, at=table", [])):
        condition = f"pointed({condition}), stacks"
        done = setting.run([setting.COMMAND, "dump", trace, "--filter", condition], timeout=60)
        found = re.findall(r"  (pointed\(.*);", done.out.decode())
        checks.equal((found, b"stacks(" in done.out), (wanted, True), f"dump, {condition}")
        if condition[8:11] in ("f=a", "f!=", "at="):
            found = record(checks, work, program, *options, "--filter", condition)
            checks.equal(only(found, "pointed"), wanted, f"record, {condition}")


def check_filters(checks, work, program):
    """Of what was recorded by verbs that read it, and when it is recorded."""
    trace, some = work / "values.ttape", "records|found|pairs|enums"
    found = record(checks, work, program, "--patch", some, "--args")
    checks.that(re.fullmatch(expression(f"records(a=P, b={RECORD}, c=1) = 5"),
                             only(found, "records")[0]), "of all functions: what is passed", found)
    record(checks, work, program, "--patch", some, "--args=.")
    cut, merged = work / "cut.ttape", work / "merged.ttape"
    setting.tracetape("cut", "-f", trace, "-o", cut, "--time", "+0s..")
    setting.tracetape("merge", "-f", cut, "-o", merged)
    checks.that(re.search(r"found\(a=&[\w.]*record\b", " ".join(calls_of(merged))),
                "what pointers point to, behind cut and merge", calls_of(merged))
    for condition, wanted in (('records(b.name="na*")', [5, 2]), ("records(a.id=6)", [0]),
                              ("records(b.middle = -3, a=NULL)", [2]),
                              ("enums(a=BLUE)", ["MINUS"]), ("records(b.color=GREEN, c<2)", [5]),
                              ("pairs(a.b > 2.25)", ["{a=10"]),
                              ("records(b.wide<0, b.at.y=9)", [5, 2]), ("pairs(a.c=1)", [])):
        lines = [f"= {result}" for result in wanted]
        for verb, options in (("dump", ()), ("slow", ("--first", "-F", "."))):
            done = setting.run([setting.COMMAND, verb, trace, "--filter", condition, *options],
                               timeout=60)
            found = re.findall(r"= (?:-?\w+|{a=\d+)(?=[;,} \n]+|, b)", done.out.decode())
            checks.equal([one for one in found if one in lines], lines,
                         f"{verb} --filter {condition}: {done.out}")
        done = setting.run([setting.COMMAND, "tree", trace, "--filter", condition], timeout=60)
        calls = re.findall(r"(\d+)  s0e\d+ ", done.out.decode())
        checks.equal(sum(map(int, calls)), len(wanted), f"tree --filter {condition}: {done.out}")
    check_named_pointers(checks, work, program)
    for condition, wanted in (('records(b.name="na*", b.low & 2)', 2), ("records(a.id=6)", 1)):
        found = record(checks, work, program, "--patch", some, "--filter", condition)
        checks.equal(len(only(found, "records")), wanted, f"record --filter {condition}")


def check_by_hand(checks, work, program):
    found = record(checks, work, program, "--patch", ".",
                   "--args=many_floats@fparg1/f64,fparg8,arg1/i32,retval/f64",
                   "--args=^floats$@fparg1/f32,retval/f32")
    checks.equal(only(found, "many_floats", "floats"),
                 ["floats(1.5) = 2.25", "many_floats(1, 8, 10) = 55.5"], "by hand: floats")
    wide = 'stacks(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=-8, i="ninth") = 21'
    for options, wanted in (  # nothing that is asked for is dropped
            (("--retval=^stacks$@retval/i32",), "stacks() = 21"),
            (("--args=^stacks$@arg8", "--args=^stacks$@arg1/c", "--args=^st@retval"),
             r"stacks(-8, 1 '\x01') = 21"),  # debug information says how wide arg8 is
            (("--args=^stacks$@arg8/i64", "--args=^stacks$@arg8/i8"), "stacks(-8)"),
            (("--args=^stacks$@arg2/i64", "--args"), wide),
            (("--args=^stacks$@arg2", "--retval=^stacks$"), "stacks(2) = 21"),
            (("--args=^stacks$@%rsi/i8,%stack+1,arg9/s%stack+3,%r8/u",),
             'stacks(2, 7, "ninth", 5)')):
        checks.equal(only(record(checks, work, program, "--patch", ".", *options), "stacks"),
                     [wanted], f"by hand: {options}")
    done = setting.run([setting.COMMAND, "record", "-f", "-o", work / "none.ttape", "--patch", ".",
                        "--args=nosuch@arg1", "--args=^above$@arg1", "--", program], timeout=60)
    said = [line for line in done.err.decode().splitlines() if "is said of" in line]
    checks.that(len(said) == 1 and "'nosuch@arg1'" in said[0], "by hand: of no function", said)
    library = setting.build("p_hand_calls.c", hooks=False, log=False)
    found = record(checks, work, library, "--patch", ".", "--libcalls", "--args=^calloc$@arg2")
    checks.that(any(re.match(r"calloc\(nmemb=3, size=5\) = 0x", line) for line in found),
                "by hand: a library's function", found)
    for more in ((), ("--args",)):  # also of those that nobody knows, and in floating point
        found = record(checks, work, library, "--patch", ".", "--libcalls", *more,
                       "--args=^calloc$@arg2/x64", "--args=^strto(ll|l)$@arg1/s,arg3/i32",
                       "--retval=^strtoll?$@retval/i64", "--args=^strtod$@arg1/s,retval/f64",
                       "--args=^gcvt$@arg1/u8,fparg1/f64,retval/s,arg2/p")
        found = [re.sub("0x[0-9a-f]{6,}", "0x", line) for line in found]
        checks.equal(only(found, "calloc", "strtod", "strtoll", "gcvt"),
                     ["calloc(nmemb=3, size=0x5) = 0x", 'strtod("077") = 77',
                      'strtoll("077", 8) = 63', 'gcvt(7, 19.25, 0x) = "19.25"'],
                     f"by hand: library functions, {more}")
    for bad in ("x@arg0", "x@arg1/q", "x@fparg9", "x@arg1/i7", "x@retval,retval", "@arg1",
                "x@arg1,", "x@fparg1/s", "x@arg1/s8", "x@arg1/c32", "(",
                "x@%rbx", "x@%stack+0", "x@%rdi/f64", "x@arg1/i8%xmm0"):
        done = setting.tracetape("record", f"--args={bad}", "--", program)
        checks.equal(done.status, 2, f"--args={bad}: status")
    done = setting.tracetape("record", *(f"--args=f{i}@arg1" for i in range(25)), "--", program)
    checks.that(done.status == 2 and b"more than 24 times NAME@" in done.err, "25 by hand", done)


def check_hooks(checks, work):
    program = setting.build("p_values.c", compiler="gcc", flags=("-O1",), log=False)
    done = setting.run([setting.COMMAND, "record", "-f", "-o", work / "hooks.ttape", "--args", "--",
                        program], timeout=60)
    checks.equal(done.status, 0, "with hooks: status")
    checks.that(b"hooks do not tell what functions are given" in done.err, "with hooks", done.err)


def main():
    setting.need_verb("record")
    checks = setting.Checks("values")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "cache"))
        for label, (compiler, *flags) in BUILDS.items():
            if shutil.which(compiler) is None:
                continue
            program = setting.build("p_values.c", compiler=compiler, flags=("-g", *flags),
                                    hooks=False, log=False)
            check_all(checks, work, label, program, C_CALLS)
            if label == "gcc -O2":
                check_choices(checks, work, program)
                check_by_hand(checks, work, program)
                check_filters(checks, work, program)
            cpp = setting.build("p_values_cpp.cc", compiler=compiler,
                                flags=("-g", "-std=c++17", *flags),
                                hooks=False, log=False)
            check_all(checks, work, f"C++, {label}", cpp, CPP_CALLS)
        check_hooks(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
