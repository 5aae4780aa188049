/* Seeds of the converters for Chrome trace JSON and CTF, written by hand. */
#include <string.h>

#include "fuzz_folder.h"
#include "fuzz_seeds.h"
#include "tools/convert/ctf/convert_ctf.h"

static const char *const json[] = {
    "[{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":2,\"name\":\"main\"},"
    "{\"ph\":\"B\",\"ts\":2.001,\"pid\":1,\"tid\":2,\"name\":\"work\",\"args\":{\"n\":7}},"
    "{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":2},"
    "{\"ph\":\"E\",\"ts\":4,\"pid\":1,\"tid\":2,\"name\":\"main\"}]",
    "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time_origin_ns\":\"123456789\"},"
    "\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"t\\u001b["
    "31m\"}},"
    "{\"ph\":\"X\",\"ts\":10,\"dur\":5,\"pid\":1,\"tid\":2,\"name\":\"outer\"},"
    "{\"ph\":\"X\",\"ts\":11,\"dur\":2,\"pid\":1,\"tid\":2,\"name\":\"inner\"},"
    "{\"ph\":\"i\",\"ts\":12,\"s\":\"t\",\"pid\":1,\"tid\":2,\"name\":\"here\"}],\"more\":[1,{}]}",
    /* out of order; texts for numbers; lengths that overlap; times of many digits */
    "[{\"ph\":\"X\",\"ts\":\"30\",\"dur\":\"5.5\",\"pid\":\"a\",\"tid\":\"b\",\"name\":\"late\"},"
    "{\"ph\":\"X\",\"ts\":10,\"dur\":25,\"pid\":\"a\",\"tid\":\"b\",\"name\":\"across\"},"
    "{\"ph\":\"B\",\"ts\":5e0,\"pid\":3,\"name\":\"open\"},{\"ph\":\"E\",\"ts\":1,\"pid\":3},"
    "{\"ph\":\"E\",\"ts\":18446744073709551.615,\"pid\":3,\"name\":\"none\"},"
    "{\"ph\":\"I\",\"ts\":0.0004,\"pid\":-1,\"tid\":1e400},{\"ph\":\"C\",\"ts\":1},{\"ph\":\"b\"}]",
    /* arguments: nested, of every type, large; escapes */
    "[{\"ph\":\"B\",\"ts\":1,\"name\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\",\"args\":"
    "{\"a\":[1,[2,{\"b\":null}]],\"c\":{\"d\":{\"e\":true}},\"f\":-1.5e300,\"g\":null,\"h\":false,"
    "\"i\":18446744073709551616,\"j\":-9223372036854775808,\"k\":\"\\u0000\",\"\":\"\"}},\n"
    " {\"ph\":\"R\",\"ts\":1,\"name\":{}}, 5, \"x\", [], {\"ph\":\"BB\"}, {\"ts\":1,\"ts\":2}, {]",
    /* equal times, in all orders; no JSON; one a line */
    "[,{\"ph\":\"E\",\"ts\":5,\"name\":\"a\"},{\"ph\":\"B\",\"ts\":5,\"name\":\"b\"},"
    "{\"ph\":\"B\",\"ts\":5,\"name\":\"a\"},{\"ph\":\"X\",\"ts\":5,\"dur\":3,\"name\":\"x\"},"
    "{\"ph\":\"X\",\"ts\":5,\"dur\":0,\"name\":\"z\"},{\"ph\":\"X\",\"ts\":4,\"name\":\"y\"},"
    "{\"ph\":\"E\",\"ts\":8,\"name\":\"b\"},{\"ph\":\"E\",\"ts\":9,\"name\":\"a\"}]",
    "{\"ph\":\"B\",\"ts\":-7,\"name\":5,\"args\":{\"a\":NaN,\"a\":1,\"b\":[-Infinity,,"
    "\"\x01\xff\\q\"]}}\n"
    "{\"ph\":\"E\",\"ts\":NaN},{\"ph\":\"X\",\"ts\":1,\"dur\":-1,}",
    "\xef\xbb\xbf [ {\"ph\":\"B\",\"ts\":1,\"name\":\"cut\"}, {\"ph\":\"E\",\"ts\":2,\"na"};

static void seed_chrome(void)
{
    for (size_t i = 0; i < sizeof json / sizeof json[0]; i++) {
        struct fuzz_bytes seed = {0};
        char name[] = {'j', 's', 'o', 'n', (char)('0' + i), 0};
        fuzz_put_number(&seed, i, 4);
        fuzz_put(&seed, json[i], strlen(json[i]));
        fuzz_seed("convert_chrome", name, &seed);
    }
}

/* Texts, each with its NUL, as one string literal. */
#define TEXTS(texts) texts, sizeof texts

static void put_wire(struct fuzz_bytes *to, struct tool_ctf_wire wire, const char *texts,
                     size_t size)
{
    static uint64_t now = 1000;
    wire.time_ns = now += 10;
    fuzz_put(to, FUZZ_PIECE_MARK, sizeof FUZZ_PIECE_MARK - 1);
    fuzz_put(to, &wire, sizeof wire);
    fuzz_put(to, texts, size);
}

static void put_event(struct fuzz_bytes *to, enum tool_ctf_kind kind, uint64_t a, uint64_t b,
                      uint64_t c)
{
    put_wire(to,
             (struct tool_ctf_wire){
                 .kind = kind, .a = a, .b = b, .c = c, .pid = 5, .tid = 6, .flags = 3},
             NULL, 0);
}

/* What our own exports say. */
static void put_ours(struct fuzz_bytes *to)
{
    const struct tool_ctf_wire of = {.pid = 5, .tid = 6, .flags = TOOL_CTF_HAS_THREAD};
    struct tool_ctf_wire wire = of;
    wire.kind = TOOL_CTF_WIRE_CLOCK;
    put_wire(to, wire, TEXTS("monotonic"));
    wire =
        (struct tool_ctf_wire){TOOL_CTF_WIRE_THREAD, 0, 0, 5, 6, 1, 5, 6, 0, TOOL_CTF_HAS_THREAD};
    put_wire(to, wire, TEXTS("prog\0main"));
    wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_SITE, 0, 0, 0x1000, 0, 12, 5, 6, 0, 0};
    put_wire(to, wire, TEXTS("function\0main\0/bin/prog\0main.c"));
    wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_SITE, 0, 0, 0x1040, 1, 0, 5, 6, 0, 0};
    put_wire(to, wire, TEXTS("marker\0here\0(none)\0"));
    put_event(to, TOOL_CTF_WIRE_ENTRY, 0x1000, 1, 1);
    wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_POINT, 0, 0, 0x1040, 2, 0, 5, 6, 0, 3};
    put_wire(to, wire, TEXTS("(8, 0x7ff, \"a, \\\"b\", null)"));
    put_event(to, TOOL_CTF_WIRE_SIGNAL, 11, 0, 0);
    put_event(to, TOOL_CTF_WIRE_SIGNAL_END, 11, 0, 0);
    put_event(to, TOOL_CTF_WIRE_SWITCH, 3, 0, 0);
    put_event(to, TOOL_CTF_WIRE_ENTRY, 0x2000, 0, 0);
    put_event(to, TOOL_CTF_WIRE_EXIT, 0x2000, 0, TOOL_CTF_LEFT_UNWIND);
    put_event(to, TOOL_CTF_WIRE_SWITCH, 0, 0, 0);
    wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_GAP, 0, 0, 7, 0, 0, 5, 6, 0, 3};
    put_wire(to, wire, TEXTS("overflow"));
    put_event(to, TOOL_CTF_WIRE_UNSEEN, 0x3000, 0, 0);
    put_event(to, TOOL_CTF_WIRE_EXIT, 0x1000, 1, 0);
    put_event(to, TOOL_CTF_WIRE_EXIT, 0x1000, 1, TOOL_CTF_LEFT_OPEN);
    put_event(to, TOOL_CTF_WIRE_OTHER, 4, 0, 0);
    put_event(to, TOOL_CTF_WIRE_DONE, 0, 0, 0);
}

/* What LTTng's say: no sites, threads by their streams or contexts, modules at any time. */
static void put_theirs(struct fuzz_bytes *to)
{
    struct tool_ctf_wire wire = {TOOL_CTF_WIRE_MODULE, 0, 0, 0x400000, 0x1000, 0, 5, 1, 1, 0};
    put_wire(to, wire, TEXTS("/bin/prog"));
    wire.kind = TOOL_CTF_WIRE_BUILD_ID;
    put_wire(to, wire, "\1\2\3\4", 4);
    wire.kind = TOOL_CTF_WIRE_NAME;
    put_wire(to, wire, TEXTS("prog"));
    for (uint32_t i = 0; i < 3; i++) {
        wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_ENTRY, 0, 0, 0x400010, 0, 0, 5, 1, 1, 1};
        put_wire(to, wire, NULL, 0);
        wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_LOST, 0, 0, i, 0, 0, 0, 0, i, 0};
        put_wire(to, wire, NULL, 0);
        wire = (struct tool_ctf_wire){TOOL_CTF_WIRE_EXIT, 0, 0, 0, 0, 0, 5, 1, 1, 0};
        put_wire(to, wire, NULL, 0);
    }
    wire = (struct tool_ctf_wire){.kind = TOOL_CTF_WIRE_FAILED};
    put_wire(to, wire, TEXTS("no room \x1b[31m"));
}

static void seed_ctf(void)
{
    static const char metadata[] = "\x57\x1d\xd1\x75 and more bytes";
    struct fuzz_bytes ours = {0}, theirs = {0}, deep = {0}, link = {0};
    fuzz_put_number(&ours, 0, 4);
    put_ours(&ours);
    fuzz_seed("convert_ctf", "ours", &ours);
    fuzz_put_number(&theirs, 0x100, 4);
    put_theirs(&theirs);
    fuzz_seed("convert_ctf", "theirs", &theirs);
    fuzz_put_number(&deep, 0, 4);
    put_theirs(&deep);
    fuzz_folder_pack(&deep, "ust/uid/0/64-bit/metadata", metadata, sizeof metadata);
    fuzz_folder_pack(&deep, "ust/uid/0/64-bit/channel0_0", "x", 1);
    fuzz_folder_pack(&deep, "ust/uid/1/metadata", "/* CTF 1.8 */", 13);
    fuzz_seed("convert_ctf", "deep", &deep);
    fuzz_put_number(&link, 0, 4);
    fuzz_folder_pack(&link, "metadata", metadata, sizeof metadata);
    fuzz_folder_pack(&link, "channel0_0@", "/etc/passwd", 11);
    fuzz_seed("convert_ctf", "link", &link);
}

static void put_xray_head(struct fuzz_bytes *to, uint64_t version, uint64_t mode)
{
    fuzz_put_number(to, 0, 4); /* parameters */
    fuzz_put_number(to, version | mode << 16 | UINT64_C(3) << 32, 8);
    fuzz_put_number(to, 1000000000, 8);
    fuzz_put_number(to, 4096, 8);
    fuzz_put_number(to, 0, 8);
}

/* Kinds: 0 enter, 1 exit, 2 tail exit, 3 enter with an argument. */
static void put_xray_basic(struct fuzz_bytes *to, uint64_t kind, uint64_t function, uint64_t time)
{
    fuzz_put_number(to, kind << 24 | function << 32, 8);
    fuzz_put_number(to, time, 8);
    fuzz_put_number(to, 11 | UINT64_C(10) << 32, 8);
    fuzz_put_number(to, 0, 8);
}

static void put_xray_other(struct fuzz_bytes *to, uint64_t kind, uint64_t low, uint64_t high)
{
    fuzz_put_number(to, kind << 1 | 1, 1);
    fuzz_put_number(to, low, 8);
    fuzz_put_number(to, high, 7);
}

static void put_xray_buffer(struct fuzz_bytes *to, uint64_t thread, uint64_t seconds)
{
    struct fuzz_bytes in = {0};
    put_xray_other(&in, 0, thread, 0);
    put_xray_other(&in, 4, seconds, 7);
    put_xray_other(&in, 9, 10, 0);
    put_xray_other(&in, 2, 1 | 1000 << 16, 0);
    fuzz_put_number(&in, 1 << 4, 8);
    put_xray_other(&in, 5, 5 | UINT64_C(3) << 32, 0);
    fuzz_put(&in, "hello", 5);
    put_xray_other(&in, 8, 2 | UINT64_C(3) << 32, 9);
    fuzz_put(&in, "ab", 2);
    fuzz_put_number(&in, 2 << 4 | 3 << 1 | UINT64_C(5) << 32, 8);
    put_xray_other(&in, 6, 77, 0);
    fuzz_put_number(&in, 2 << 4 | 2 << 1 | UINT64_C(5) << 32, 8);
    put_xray_other(&in, 3, 5000, 0);
    fuzz_put_number(&in, 1 << 4 | 1 << 1 | UINT64_C(5) << 32, 8);
    put_xray_other(to, 7, in.size, 0);
    fuzz_put(to, in.data, in.size);
}

static void seed_xray(void)
{
    struct fuzz_bytes basic = {0}, flight = {0}, old = {0};
    put_xray_head(&basic, 3, 0);
    put_xray_basic(&basic, 0, 1, 1000);
    put_xray_basic(&basic, 3, 2, 1001);
    fuzz_put_number(&basic, 1 | UINT64_C(2) << 32, 8);
    fuzz_put_number(&basic, 11 | UINT64_C(10) << 32, 8);
    fuzz_put_number(&basic, 99, 8);
    fuzz_put_number(&basic, 0, 8);
    put_xray_basic(&basic, 2, 2, 1005);
    put_xray_basic(&basic, 1, 1, 1009);
    fuzz_seed("convert_xray", "basic", &basic);
    put_xray_head(&flight, 5, 1);
    put_xray_buffer(&flight, 11, 8);
    fuzz_put_number(&flight, 0, 8);
    put_xray_buffer(&flight, 12, 7);
    put_xray_buffer(&flight, 11, 7);
    fuzz_seed("convert_xray", "flight", &flight);
    put_xray_head(&old, 3, 1);
    put_xray_buffer(&old, 11, 8);
    fuzz_seed("convert_xray", "flight3", &old);
}

static const char *const perf[] = {
    "# words\n"
    " my prog 42/43 [001] 100.000000010: 1 branches:uH:   tr strt      0 [unknown] ([unknown]) =>"
    " 401004 main+0x4 (/bin/a (b))\n"
    " my prog 42/43 [001] 100.000000020: 1 branches:uH:   call 401009 main+0x9 (/bin/a) =>"
    " 402000 f<int, (x)>(a)+0x0 (/bin/a)\n"
    " my prog 42/43 [001] 100.000000030: tr end  syscall 402009 f<int, (x)>(a)+0x9 (/bin/a) =>"
    " 0 [unknown] ([unknown])\n"
    " my prog 42/43 [001] 100.000000040: tr strt 0 [unknown] ([unknown]) => 402011 f<int,"
    " (x)>(a)+0x11 (/bin/a)\n"
    " my prog 42/43 [001] 100.000000050: jmp 402013 f<int, (x)>(a)+0x13 (/bin/a) => 403000 "
    "tail+0x0 (/bin/a)\n"
    " my prog 42/43 [001] 100.000000060: return 403009 tail+0x9 (/bin/a) => 40100e main+0xe "
    "(/bin/a)\n"
    " instruction trace error type 1 time 100.000000070 cpu 1 pid 42 tid 43 ip 0 code 8: Lost "
    "trace data\n",
    "prog 77 5.000001: call 401009 main => 402000 work\nprog 77 5.000003: return 402010 work => "
    "40100e main\nprog 77 5.000004: hw int 1 => 2\nprog 78 4.000004: tr end 1 => 0\n"};

static const char *const ftrace[] = {
    "# tracer: nop\n a b-1-42 (   41) [001] d..2. 5.000001: sched_switch: prev_comm=a prev_prio=-5 "
    "prev_state=R ==> next_comm=b next_pid=0x1f\n<idle>-0 [000] ..... 5.000002: f <-g\n"
    "CPU:1 [LOST 12 EVENTS]\n <...>-9 (-------) [001] 5.1: sys_read(fd: 3)\n",
    "# tracer: function_graph\n 5.000001 | 1) ls-7 | | f() {\n 5.000002 | 1) ls-7 | + 1.250 us | "
    "g(); /* = 0x0 */\n ------\n 1) ls-7 => cat-8\n 5.000003 | 1) ls-7 | $ 99.5 us | }\n"};

static void seed_ftrace(void)
{
    for (size_t i = 0; i < sizeof ftrace / sizeof ftrace[0]; i++) {
        struct fuzz_bytes seed = {0};
        char name[] = {'f', 't', 'r', 'a', 'c', 'e', (char)('0' + i), 0};
        fuzz_put_number(&seed, i, 4);
        fuzz_put(&seed, ftrace[i], strlen(ftrace[i]));
        fuzz_seed("convert_ftrace", name, &seed);
    }
}

static void seed_perf(void)
{
    for (size_t i = 0; i < sizeof perf / sizeof perf[0]; i++) {
        struct fuzz_bytes seed = {0};
        char name[] = {'p', 'e', 'r', 'f', (char)('0' + i), 0};
        fuzz_put_number(&seed, i, 4);
        fuzz_put(&seed, perf[i], strlen(perf[i]));
        fuzz_seed("convert_perf", name, &seed);
    }
}

void fuzz_seed_converters(void)
{
    seed_xray();
    seed_perf();
    seed_ftrace();
    seed_chrome();
    seed_ctf();
}
