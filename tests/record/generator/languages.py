"""Functions in C and C++ that the generator makes. Each takes a Unit, the text so far and the
number of its function, and adds definitions; what it calls, it calls by CALL or counts itself."""

HELPER = (1 << 64) - 1 # mask of what main does not call


class Source:
    def __init__(self, unit, is_cpp, is_gcc, is_small, unwinds):
        self.is_small = is_small # distances between labels fit into a byte
        self.unit, self.rng = unit, unit.rng
        self.is_cpp, self.is_gcc, self.unwinds = is_cpp, is_gcc, unwinds
        self.text = []

    def name(self, kind, mask=7):
        name = f"f{len(self.unit.known)}_{kind}"
        return name, self.unit.add_known(name, mask, 4)

    def helper(self, kind, is_static=False):
        """What the program calls itself, and counts: (name, number)."""
        name = f"f{len(self.unit.known)}_{kind}"
        self.unit.known.append((name if not is_static else f"0*{name}", HELPER, 4, True))
        return name, len(self.unit.known) - 1

    def add(self, text):
        self.text.append(text)

    def define(self, name, body):
        self.add(f'{"C " if self.is_cpp else ""}KEPT long {name}(unsigned long op, long x)\n'
                 f"{{\n{body}\n}}\n")

    def some(self, low=1, high=99):
        return self.rng.randint(low, high)

    def statement(self, is_short=False):
        """is_short: of few bytes, with any compiler."""
        rng, k = self.rng, self.some()
        return rng.choice((
            f"x += {k};", f"x ^= x << {k % 31 + 1};", f"x = x * {k} + (long)op;", "x = -x;",
            f"x -= x >> {k % 31 + 1};", f"if (x & {k}) x = ~x;", f"x %= {k * 1000003};",
            f"for (unsigned i = 0; i < (op & 3) + {k % 4}; i++) x = x * 3 + (long)i;",
            f"while (x > {k}) x >>= {k % 7 + 1};", f"h_data[{k % 16}] += (unsigned long)x;",
            f"x += (long)h_data[(op + {k}) % 16];", f"x = x > {k} ? x - {k} : {k} - x;",
            "x = ~x;" if is_short else "x += __builtin_popcountl((unsigned long)x);",
            f"x = (long)(x * 1.5) / {k};"))

    def statements(self, count):
        return "\n".join(f"    {self.statement()}" for _ in range(count))


def switches(source):
    name, k = source.name("switch", 15)
    cases, step = source.rng.choice((4, 6, 9, 16)), source.rng.choice((1, 1, 1, 3, 1000))
    body = [f"    x ^= {k * 7919};", f"    switch (op * {step}) {{"]
    for i in source.rng.sample(range(16), cases):
        body += [f"    case {i * step}: {source.statement()}",
                 source.rng.choice(("        break;", "        /* fall through */",
                                    "        return x;", f"        x += {source.some()}; break;"))]
    body += ["    default: x++;", "    }", source.statements(source.some(0, 2)), "    return x;"]
    source.define(name, "\n".join(body))


def labels(source):
    """Labels as values: by distance, in a table, filled in as it runs."""
    name, k = source.name("labels", 3)
    way = source.rng.choice(("int", "short", "signed char" if source.is_small else "int",
                             "void *", "filled"))
    if way == "void *":
        table = "    static const void *const t[] = {&&a, &&b, &&c, &&d};\n    goto *t[op];"
    elif way == "filled":
        table = "".join(f"    h_slots[{k * 4 % 252 + i}] = &&{label};\n"
                        for i, label in enumerate("abcd"))
        table += f"    goto *h_slots[{k * 4 % 252} + op];"
    else:
        table = (f"    static const {way} t[] = {{&&a - &&a, &&b - &&a, &&c - &&a, &&d - &&a}};\n"
                 "    goto *((char *)&&a + t[op]);")
    arms = "\n".join(f"{label}: {source.statement(way == 'signed char')}" for label in "abcd")
    source.define(name, f"    x += {k * 31};\n{table}\n{arms}\n    return x;")


def interpreter(source):
    """A loop of computed gotos."""
    name, k = source.name("machine")
    way = source.rng.choice(("table", "distance"))
    code = ", ".join(str(source.rng.randint(0, 3)) for _ in range(12)) + ", 4"
    table, go = ("static const void *const t[] = {&&a, &&b, &&c, &&d, &&e};", "goto *t[*at++]") \
        if way == "table" else ("static const int t[] = {0, &&b - &&a, &&c - &&a, &&d - &&a, "
                                "&&e - &&a};", "goto *((char *)&&a + t[*at++])")
    arms = "".join(f"    {label}: {source.statement()} {go};\n" for label in "abcd")
    source.define(name, f"    static const unsigned char code[] = {{{code}}};\n    {table}\n"
                  f"    const unsigned char *at = code + op;\n    x ^= {k};\n    {go};\n{arms}"
                  "    e: return x;")


def jumps(source):
    helper, number = source.helper("jumper")
    name, _ = source.name("setjmp")
    source.add(f"static jmp_buf {name}_at;\n")
    source.define(helper, f"    if (op & 1) longjmp({name}_at, (int)(x & 15) + 1);\n"
                  f"{source.statements(1)}\n    return x;")
    source.define(name, f"    volatile long kept = x;\n    int back = setjmp({name}_at);\n"
                  f"    if (back != 0) return kept * back;\n    kept += {source.some()};\n"
                  f"    return CALL({number}, op, x & 255) + kept;")


def varied(source):
    helper, number = source.helper("varied", True)
    name, _ = source.name("arguments")
    source.add(f"static KEPT COPIED long {helper}(int n, ...)\n{{\n    va_list list;\n"
               f"    long sum = {number};\n    va_start(list, n);\n"
               "    for (int i = 0; i < n; i++)\n        sum = sum * 3 + (i % 3 == 2 ? "
               "(long)va_arg(list, double) : va_arg(list, long));\n    va_end(list);\n"
               "    return sum;\n}\n")
    source.define(name, f"    h_counts[{number}]++;\n    return {helper}((int)op + 2, x, 2L, "
                  "(double)op, 4L, 5L, 6.5, 7L, 8L, 9.5, 10L);")


def structs(source):
    size = source.rng.choice((2, 3, 7, 40))
    helper, number = source.helper("struct", True)
    name, _ = source.name("structs")
    source.add(f"struct s{number} {{ long all[{size}]; }};\nstatic KEPT COPIED struct s{number} "
               f"{helper}(struct s{number} s, long x)\n{{\n    for (int i = 0; i < {size}; i++)\n"
               f"        s.all[i] = s.all[{size - 1} - i] * {source.some()} + x;\n"
               "    return s;\n}\n")
    source.define(name, f"    struct s{number} s;\n    for (int i = 0; i < {size}; i++)\n"
                  f"        s.all[i] = x + i;\n    h_counts[{number}]++;\n    s = {helper}(s, x);\n"
                  f"    h_counts[{number}]++;\n    s = {helper}(s, (long)op);\n"
                  f"    return s.all[0] ^ s.all[{size - 1}];")


def numbers(source):
    helper, number = source.helper("number", True)
    name, _ = source.name("numbers")
    kind = source.rng.choice(("double", "float", "long double"))
    source.add(f"static KEPT COPIED {kind} {helper}({kind} a, int n, {kind} b, {kind} c)\n"
               f"{{\n    return a * n + b / ({source.some()} + c * c);\n}}\n")
    source.define(name, f"    h_counts[{number}]++;\n    {kind} y = {helper}(x & 1023, (int)op, 2, "
                  f"op);\n    h_counts[{number}]++;\n    y += {helper}(y, 3, y, 1);\n"
                  "    return (long)(y * 16);")


def tail(source):
    name, _ = source.name("jumps_on")
    source.define(name, f"{source.statements(source.some(0, 2))}\n    if (op & 1)\n        x++;\n"
                  f"    return CALL({source.unit.leaf[1]}, op, x);")


def recursion(source):
    name, k = source.name("again")
    source.define(name, f"    if (op < 2)\n        return x ^ {k};\n"
                  f"    x = CALL({k}, op - 1, x * {source.some()}) + 1;\n"
                  f"    return x + CALL({k}, op - 2, x);")


def nested(source):
    if not source.is_gcc or source.is_cpp:
        return recursion(source)
    helper, number = source.helper("applies")
    name, _ = source.name("nested")
    source.define(helper, "    long (*f)(long) = (long (*)(long))op;\n    return f(x) + f(x + 1);")
    source.define(name, f"    long n = x & 15;\n    long inner(long y) {{ n += y; return n * "
                  f"{source.some()}; }}\n    x = CALL({number}, (unsigned long)inner, x);\n"
                  "    return x + n;")
    return None


def rooms(source):
    name, k = source.name("room")
    source.define(name, f"    char *at = (char *)__builtin_alloca(op * 16 + {source.some()});\n"
                  f"    memset(at, (int)op + {k % 9}, op + 1);\n    char more[op + 1];\n"
                  "    memcpy(more, at, op + 1);\n    return x + more[op];")


def asks(source):
    """Who asks where it came from."""
    if not source.unwinds:
        return recursion(source)
    helper, number = source.helper("asks_where")
    name, _ = source.name("asked")
    source.define(helper, f"    char *from = (char *)__builtin_return_address(0);\n"
                  "    void *all[64];\n"
                  "    x += from > &__executable_start && from < &etext;\n"
                  f"    return x * 64 + backtrace(all, 64) + {source.some()};")
    source.define(name, f"{source.statements(1)}\n    x += CALL({number}, op, x & 7);\n"
                  f"    x += CALL({number}, op, x & 3) * 3;\n    return x;")
    return None


def sorts(source):
    helper, number = source.helper("compares", True)
    name, _ = source.name("sorts")
    source.add(f"static KEPT COPIED int {helper}(const void *a, "
               f"const void *b)\n{{\n    h_counts[{number}]++;\n    long one = *(const long *)a, "
               f"other = *(const long *)b ^ {number % 2};\n    return one < other ? -1 : "
               "one > other;\n}\n")
    source.define(name, "    long all[8];\n    for (int i = 0; i < 8; i++)\n"
                  f"        all[i] = (x >> i * 4 & 255) * {source.some()} % 251;\n"
                  f"    qsort(all, 8, sizeof all[0], {helper});\n    return all[op] + all[3];")


def cold(source):
    helper, number = source.helper("is_cold", True)
    name, _ = source.name("mostly")
    source.add(f"static __attribute__((noinline, cold)) COPIED long {helper}(long x)\n{{\n"
               f"    h_data[{number % 16}]++;\n    return x * {source.some()};\n}}\n")
    source.define(name, f"{source.statements(1)}\n    if (__builtin_expect(op == 3, 0)) {{\n"
                  f"        h_counts[{number}]++;\n        x = {helper}(x) + 1;\n"
                  f"        if (x & 1) x += {source.some()};\n    }}\n{source.statements(1)}\n"
                  f"    if (__builtin_expect(op > 5, 0)) {{\n        h_counts[{number}]++;\n"
                  f"        return {helper}(x - 1);\n    }}\n    return x + {source.some()};")


def inlined(source):
    name, k = source.name("holds")
    copy = f"inline{k}"
    source.add(f"static inline __attribute__((always_inline)) long {copy}(unsigned long op, "
               f"long x)\n{{\n"
               f"{source.statements(2)}\n    return x;\n}}\n")
    source.define(name, f"    if (op & 1)\n        x = {copy}(op, x);\n{source.statements(1)}\n"
                  f"    for (unsigned n = 0; n < op; n++)\n        x += {copy}(n, x + n);\n"
                  f"    return {copy}(op, x);")


def signals(source):
    helper, number = source.helper("handles", True)
    name, _ = source.name("raises", 1)
    source.add(f"static volatile long {name}_seen;\nstatic KEPT "
               f"COPIED void {helper}(int number)\n{{\n    {name}_seen += number + "
               f"{source.some()};\n}}\n")
    source.define(name, f"    signal(SIGUSR1, {helper});\n    h_counts[{number}]++;\n"
                  f"    raise(SIGUSR1);\n    return x + {name}_seen;")


def forks(source):
    name, k = source.name("vfork", 0)
    source.define(name, f"    static int is_done;\n    int status = 0;\n"
                  "    if (is_done++ % 7 != 0)\n"
                  f"        return x + {k};\n    pid_t child = vfork();\n    if (child == 0)\n"
                  f"        _exit({source.some(0, 77)});\n    waitpid(child, &status, 0);\n"
                  "    return x + WEXITSTATUS(status);")


def contexts(source):
    helper, number = source.helper("other_stack", True)
    name, _ = source.name("contexts", 1)
    source.add(f"static ucontext_t {name}_here, {name}_there;\nstatic long {name}_x;\n"
               f"static KEPT COPIED void {helper}(void)\n{{\n"
               f"    {name}_x *= {source.some()};\n    swapcontext(&{name}_there, &{name}_here);\n"
               f"    {name}_x += {source.some()};\n}}\n")
    source.define(name, f"    static char stack[65536];\n    getcontext(&{name}_there);\n"
                  f"    {name}_there.uc_stack.ss_sp = stack;\n"
                  f"    {name}_there.uc_stack.ss_size = sizeof stack;\n"
                  f"    {name}_there.uc_link = &{name}_here;\n    {name}_x = x;\n"
                  f"    makecontext(&{name}_there, {helper}, 0);\n    h_counts[{number}]++;\n"
                  f"    swapcontext(&{name}_here, &{name}_there);\n"
                  f"    swapcontext(&{name}_here, &{name}_there);\n    return {name}_x + (long)op;")


def throws(source):
    """Exceptions through frames with cleanups, caught, thrown again."""
    thrower, number = source.helper("throws")
    between, second = source.helper("passes")
    name, _ = source.name("catches")
    kind = source.rng.choice(("int", "long", "const char *"))
    value = '"text"' if kind[0] == "c" else f"({kind}){source.some()}"
    source.define(thrower, f"    if (op & 1)\n        throw {value};\n    if (op == 2)\n"
                  f"        throw 2.5;\n{source.statements(1)}\n    return x;")
    source.define(between, f"    keeps keep(&x);\n{source.statements(1)}\n    try {{\n"
                  f"        x += CALL({number}, op, x);\n    }} catch (double) {{\n"
                  f"        x = {source.some()};\n        if (op > 9) throw;\n    }}\n"
                  f"    return x + CALL({number}, op & 4, x);")
    source.define(name, f"    for (int i = 0; i < 2; i++)\n        try {{\n"
                  f"            keeps keep(&x);\n            x ^= CALL({second}, op + i, x);\n"
                  f"            x++;\n        }} catch ({kind} value) {{\n"
                  f"            x += (value != 0) * {source.some()};\n        }} "
                  "catch (...) {\n            x--;\n        }\n    return x;")


def methods(source):
    name, k = source.name("virtual", 1)
    source.add(f"struct base{k} {{ virtual long f(long x) {{ return x + {k}; }} virtual ~base{k}() "
               f"{{}} }};\nstruct more{k} : base{k} {{ long f(long x) {{ return "
               f"x * {k % 50 + 2}; }} }};\n")
    source.define(name, f"    base{k} one;\n    more{k} two;\n    base{k} *volatile at = "
                  "op ? &one : &two;\n"
                  f"    auto added = [&](long y) {{ return y + x * {source.some()}; }};\n"
                  "    return added(at->f(x));")


def pads(source):
    """A landing pad between the instructions of a return's window, in a table by hand."""
    unit, rng = source.unit, source.rng
    thrower, number = source.helper("thrower")
    name, _ = source.name("pad", 3)
    source.define(thrower, f"    if (op & 1)\n        throw {source.some()};\n    return x;")
    pad, first, last, table, person = (unit.label() for _ in range(5))
    unit.begin(name, value=None)
    unit.line(f".cfi_personality 0x9b,{person}", f".cfi_lsda 0x1b,{table}", "push %rbx",
              ".cfi_adjust_cfa_offset 8", ".cfi_rel_offset %rbx,0", "mov %rsi,%rbx")
    unit.count(number)
    unit.line(f"{first}:", f"call {thrower}", f"{last}:", "add %rax,%rbx",
              rng.choice(("inc %rbx", "neg %ebx", "add $5,%rbx")), f"{pad}:",
              rng.choice(("mov %ebx,%eax", "xchg %rbx,%rax", "movslq %ebx,%rax")))
    unit.line("pop %rbx", ".cfi_adjust_cfa_offset -8", ".cfi_restore %rbx", "ret")
    unit.end(name)
    words = rng.choice((".uleb128", ".long"))
    begin, end, types, base = (unit.label() for _ in range(4))
    unit.data += ['.section .gcc_except_table,"a",@progbits', ".p2align 2", f"{table}:",
                  ".byte 0xff,3", f".uleb128 {base}-{types}", f"{types}:",
                  f".byte {1 if words == '.uleb128' else 3}", f".uleb128 {end}-{begin}",
                  f"{begin}:", f"{words} {first}-{name}", f"{words} {last}-{first}",
                  f"{words} {pad}-{name}", ".uleb128 1", f"{end}:", ".byte 1,0", ".p2align 2",
                  ".long 0", f"{base}:", ".data", ".p2align 3",
                  f"{person}: .quad __gxx_personality_v0"]


def sequences(source):
    """A restartable sequence whose commit is a return's neighbour; a step comes between, and its
    handler counts as well."""
    unit = source.unit
    if any("restarts" in line for line in unit.text):
        return switches(source)
    name, k = source.name("sequence", 0)
    first, commit, abort, about = (unit.label() for _ in range(4))
    unit.line(f".globl r{k}_restarts", f".type r{k}_restarts,@function", f"r{k}_restarts:",
              ".cfi_startproc", "mov %fs:0,%rax", "add %rsi,%rax", f"lea {about}(%rip),%rcx",
              "mov %rcx,8(%rax)", f"{first}:", "mov 4(%rax),%ecx", "shl $6,%rcx",
              "mov (%rdi,%rcx),%rdx", "inc %rdx", "push h_trap(%rip)",
              ".cfi_adjust_cfa_offset 8", "popfq", ".cfi_adjust_cfa_offset -8",
              "mov %rdx,(%rdi,%rcx)", f"{commit}:", "xor %eax,%eax", "ret", ".long 0x53053053",
              f"{abort}:", "mov $1,%eax", "ret", ".cfi_endproc",
              f".size r{k}_restarts,.-r{k}_restarts")
    section = source.rng.choice(("__rseq_cs", ".data.other"))
    unit.data += [f'.section {section},"aw"', ".p2align 5", f"{about}: .long 0,0",
                  f".quad {first},{commit}-{first},{abort}"]
    linkage = 'extern "C"' if source.is_cpp else "extern"
    source.add(f"{linkage} long r{k}_restarts(long *counters, ptrdiff_t offset);\n"
               f"static long {name}_all[4096 * 8];\n")
    source.define(name, f"""    if (__rseq_size == 0)
        return x;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return x;
    long *mine = &{name}_all[sched_getcpu() * 8], before = *mine, again = 1;
    h_tally = 0;
    h_counter = mine;
    while (again != 0) {{
        long *at = {name}_all;
        ptrdiff_t offset = __rseq_offset;
        __asm__ volatile("sub $128,%%rsp\\n\\tcall *%3\\n\\tpushfq\\n\\tandq $~0x100,(%%rsp)\\n\\t"
                         "popfq\\n\\tadd $128,%%rsp"
                         : "=&a"(again), "+D"(at), "+S"(offset)
                         : "b"(r{k}_restarts)
                         : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
    }}
    h_counter = NULL;
    return x * 3 + *mine - before - h_tally;""")
    return None


COMMON = (switches, switches, labels, labels, interpreter, jumps, varied, structs, numbers, tail,
          recursion, rooms, asks, sorts, cold, cold, inlined, signals, contexts, sequences)
KINDS = {False: COMMON + (nested, nested, forks), True: COMMON[:2] + COMMON[5:] + (throws,) * 7 +
         (pads,) * 4 + (methods, methods)}
HEAD = """#define HARNESS_MAIN
#include <setjmp.h>
#include <stdarg.h>
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include "harness.h"
#ifdef __cplusplus
#define C extern "C"
C {
#endif
extern char __executable_start, etext;
#ifdef __cplusplus
}
#endif
#ifdef __clang__
#define COPIED
#else
#define COPIED __attribute__((noclone))
#endif
"""
KEEPS = """struct keeps {
    long *at;
    explicit keeps(long *place) : at(place) { *at += 3; }
    ~keeps() { *at ^= 5; }
};
"""
