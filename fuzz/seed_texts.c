/* Seeds written by hand: text, a uftrace recording, CBOR. */
#include <string.h>

#include "fuzz_folder.h"
#include "fuzz_seeds.h"

static const char *const texts[] = {
    "0 1 enter main\n5 1 enter work\n9 1 exit\n12 1 exit\n",
    "process 1 \"a \\x1b b\" start=1s\nprocess 2 parent=1\nthread 1 10 \"t\"\n"
    "module 0x1000 0x2000 /bin/x build-id=0aff\nsymbol 0x1010 main main.c:12 kind=function\n"
    "symbol 0x1020 b x.c:1 kind=block\nmeta clock monotonic\nmeta exit_status 3\n"
    "100 10 enter 0x1010 1 -2 0x30 0.5 \"text\" hex:00ff null\n+5 10 leaf 0x1020\n"
    "- 10 exit - 7\n",
    ("1us 1 open a\n2us 1 open b\n3 1 signal 11\n4 1 enter h\n5 1 signal-end 11\n6 1 unwind 1\n"
     "7 1 switch 3\n8 1 enter co\n9 1 switch 0\n10 1 gap 5 overflow\n11 1 gap\n12 1 exit zzz\n"
     "13 1 marker \"0x5\"\n14 1 syscall write 1 2 3\n15 1 branch x\n16 1 block y depth=3\n"),
    ("# comment\n\n5 1 exit nothing\n4 1 enter back\n18446744073709551615 2 enter late\n"
     "bad line\n9 1\n1 x enter y\n\"quoted\" 1 enter y\n"),
    "1 1 enter a depth=7\n2 1 enter b depth=2\n3 1 exit b depth=0\n4 1 exit a\n"};

/* Requests to a view. */
static const char *const questions[] = {
    "trace\nthreads?first=0&count=3\nsites?sites=0,1,2&all=1\nsearch?text=w%6Frk&count=2",
    "tiles?level=0&index=-1&count=9&streams=0&depths=3&instants=16\ntiles?level=55&streams=0,0",
    "children?id=-\nchildren?id=s0&mode=full&first=1&count=2\nnode?id=s0p1\nnode?id=s0e5&mode="
    "pruned",
    "stack?stream=0&time=77&depth=1\npath?id=s0e5\npath?id=s0p0f0\npath?id=s0p1b0",
    "functions?from=-7&to=99&streams=0&sort=mean&reverse=1&text=o&first=1&count=2\nfunction?site=1",
    "longest?site=1&by=self&count=3&from=5&to=700\nlongest?by=start&least=3&most=90\nlongest?"
    "callers=0\nnext?site=1&stream=0&event=9&"
    "back=1",
};

static void put_record(struct fuzz_bytes *to, uint64_t time, uint64_t type, uint64_t depth,
                       uint64_t address, uint64_t more)
{
    fuzz_put_number(to, time, 8);
    fuzz_put_number(to, type | more << 2 | 5 << 3 | depth << 6 | address << 16, 8);
}

static struct fuzz_bytes info_file(const char *lines)
{
    struct fuzz_bytes info = fuzz_copy("Ftrace!\0", 8);
    fuzz_put_number(&info, 4, 4);
    fuzz_put_number(&info, 40, 2);
    fuzz_put_number(&info, 1 | 2 << 8, 2);
    fuzz_put_number(&info, 0x77a, 8);
    fuzz_put_number(&info, 0x3fff, 8);
    fuzz_put_number(&info, 1024, 8);
    fuzz_put(&info, lines, strlen(lines));
    return info;
}

static void pack_text(struct fuzz_bytes *to, const char *name, const char *text)
{
    fuzz_folder_pack(to, name, text, strlen(text));
}

static void pack_tables(struct fuzz_bytes *to)
{
    struct fuzz_bytes info = info_file(
        "exename:/bin/prog\ncmdline:prog \x1b[31m\nargspec:lines=2\n"
        "argspec:f@arg1/s,arg2/d32,arg3/f32,arg4/c,arg5/t3;^g.*@fparg1/80\n"
        "retspec:f@retval/i16\nauto-args:1\nargauto:h@arg1/p,arg2/x64\nretauto:h@retval/s\n"
        "pattern_type:regex\n");
    fuzz_folder_pack(to, "info", info.data, info.size);
    pack_text(to, "task.txt",
              "SESS timestamp=1.000000000 pid=10 sid=aa exename=\"/bin/prog\"\n"
              "TASK timestamp=1.000000001 tid=10 pid=10\nTASK timestamp=1.000000900 tid=11 pid=10\n"
              "FORK timestamp=1.000000500 pid=12 ppid=10\n"
              "DLOP timestamp=1.5 tid=10 sid=aa base=7f0000000000 libname=\"/lib/x.so\"\n"
              "SESS timestamp=2.000000000 pid=12 sid=bb exename=\"/bin/other\"\n");
    pack_text(to, "sid-aa.map",
              "555500000000-555500010000 r-xp 00000000 00:00 0   /bin/prog build-id:0102\n"
              "7ffc00000000-7ffc00010000 rw-p 00000000 00:00 0   [stack]\n");
    pack_text(to, "sid-bb.map", "555500000000-555500010000 r-xp 00000000 00:00 0   /bin/other\n");
    pack_text(to, "prog.sym",
              "# path name: /bin/prog\n# build-id: 0102\n0000000000001000 T main\n"
              "0000000000001100 t f\n0000000000001200 T g1\n0000000000001280 00000020 T h\n"
              "0000000000001300 ? end\n");
    pack_text(to, "prog.dbg", "# path name: /bin/prog\nF: 1280 h\nL: 12 /src/h.c\nA: @arg1/p\n");
    pack_text(to, "other.sym", "# path name: /bin/other\n0000000000001000 00000010 T other_main\n");
    pack_text(to, "events.txt", "EVENT: 1000000 provider:event\n");
}

static void seed_uftrace(void)
{
    const uint64_t base = 0x555500000000, s = 1000000000;
    static const char arguments[] = "\x06\0hello\0\xf9\xff\xff\xff\0\0\0\x3f"
                                    "c\0\0\0abc\0\0\0\0";
    struct fuzz_bytes all = {0}, one = {0}, two = {0}, three = {0};
    fuzz_put_number(&all, 3, FUZZ_FOLDER_MAX == 24 ? 4 : 0);
    pack_tables(&all);
    put_record(&one, s + 10, 0, 0, base + 0x1004, 0);
    put_record(&one, s + 20, 0, 1, base + 0x1104, 1);
    fuzz_put(&one, arguments, 24);
    put_record(&one, s + 30, 3, 0, 100002, 1);
    fuzz_put(&one, "\x10\0\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    put_record(&one, s + 40, 1, 1, base + 0x1104, 1);
    fuzz_put(&one, "\xfd\xff\0\0\0\0\0\0", 8);
    put_record(&one, s + 50, 2, 0, 12345, 0);
    put_record(&one, s + 60, 0, 1, base + 0x1280, 1);
    fuzz_put(&one, "\1\2\3\4\5\6\7\10\1\2\3\4\5\6\7\10", 16);
    put_record(&one, s + 70, 1, 1, base + 0x1280, 0);
    put_record(&one, s + 80, 1, 0, base + 0x1004, 0);
    put_record(&two, s + 900, 0, 0, base + 0x9000, 0);
    put_record(&two, s + 901, 1, 0, base + 0x9000, 0);
    put_record(&three, s + 500, 0, 3, base + 0x1104, 0);
    put_record(&three, 2 * s + 5, 0, 0, base + 0x1004, 0);
    put_record(&three, 2 * s + 6, 1, 0, base + 0x1004, 0);
    fuzz_folder_pack(&all, "10.dat", one.data, one.size);
    fuzz_folder_pack(&all, "11.dat", two.data, two.size);
    fuzz_folder_pack(&all, "12.dat", three.data, three.size);
    fuzz_seed("convert_uftrace", "all", &all);
    struct fuzz_bytes few = {0};
    fuzz_put_number(&few, 0, 4);
    struct fuzz_bytes info = info_file("exename:a\n");
    fuzz_folder_pack(&few, "info", info.data, info.size);
    fuzz_folder_pack(&few, "10.dat", two.data, two.size);
    fuzz_seed("convert_uftrace", "few", &few);
}

static void seed_bytes(const char *corpus, const char *name, const void *data, size_t size)
{
    struct fuzz_bytes bytes = fuzz_copy(data, size);
    fuzz_seed(corpus, name, &bytes);
}

static void seed_names(void)
{
    static const char *const names[] = {
        "void app::fill<int>(std::vector<int, std::allocator<int> >&, int)",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
        "basic_string(char const*) [clone .cold]",
        "f(int)::{lambda(auto:1)#2}::operator()<int>(int) const",
        "void (*A::pick<int>(int) const)(char)",
        "bool operator< <int>(A<int> const&, (anonymous namespace)::B[abi:v1])",
        "A::operator int (*)(int)() const",
        "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
        "decltype (((a)->(b))>(c)) g<&A::operator->>(int)",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        seed_bytes("simple_name", NULL, names[i], strlen(names[i]));
}

static void seed_filters(void)
{
    static const char *const filters[] = {
        "parse_*; !below log_*, 'operator<'; time 1.5ms; depth 3; size 64",
        "read(fd=3, count >= 0x10) = -1\nopen*(path=\"/etc/*\", flags & 0x40) = ENOENT",
        "to /^json_(get|put)\\/x$/@libjson*.so.*; !free@/usr/lib/libc.so.6",
        "std::vector<int, std::allocator<int> >::push_back(arg1 != -2.5) > 5us",
        "parse(n>3) > 5ms times 3 do checkpoint, finish; end f@lib*.so do off\nsignal USR1 do on; "
        "after 1.5s do off",
        "below [!a-z]?*\\*(x==GREEN,y<=NULL); below = 3; depth; time(x=1)",
        "depth 2 below f(n > 1), g@x; time 0ns below /a/; depth 1",
        "after 0s do off; end f times 2 do on",
        "exit != 0 do keep; exit > 5ms do keep; exit&128 do keep\nf > 5ms do keep, off",
        "end f times 2 do depth 9, time 0ns; after 1s do time 1.5ms, depth 1",
    };
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
        seed_bytes("filter", NULL, filters[i], strlen(filters[i]));
}

/* What target_rollup.c makes files of: "a" of module "b", in partitions 0 to 2 of a trace "n". */
#define ROLLUP_NAMES                                                                               \
    "\0\1a\0\1b"                                                                                   \
    "\1\0\2\0\5\0\x10"
#define ROLLUP_TRACE "0123456789abcdef\1n\0\1\0\3\3\5\2"
static void seed_rollups(void)
{
    static const char plain[] = "\0\0\2\1\1\1" ROLLUP_NAMES "\0\0" ROLLUP_TRACE "\x33\2\2\2\4";
    static const char sizes[] =
        "\1\0\2\1\1\1" ROLLUP_NAMES "\0\0" ROLLUP_TRACE "\x33\2\2\2\4\1\0\2\2\1\0\1";
    static const char longest[] =
        "\0\2\2\1\1\1" ROLLUP_NAMES "\0\0" ROLLUP_TRACE "\x33\2\2\2\4\2\4\0\0\2\2\0\0\4";
    static const char callers[] =
        "\x18\0\2\1\2\1" ROLLUP_NAMES "\0\0\0\2" ROLLUP_TRACE "\x33\2\2\2\4\x33\2\2\2\4";
    seed_bytes("rollup", "plain", plain, sizeof plain - 1);
    seed_bytes("rollup", "sizes", sizes, sizeof sizes - 1);
    seed_bytes("rollup", "longest", longest, sizeof longest - 1);
    seed_bytes("rollup", "callers", callers, sizeof callers - 1);
}

/* What target_dictionary.c makes a file of: kind, four modules, entries, of which each is around
 * the next one, or around all. */
static void seed_dictionary(void)
{
    uint8_t bytes[200] = {8};
    for (size_t i = 1; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 11 < 4 ? 3 : i / 9);
    seed_bytes("dictionary", "chain", (const char *)bytes, sizeof bytes);
    for (size_t i = 40; i < sizeof bytes; i += 3)
        bytes[i] = 2;
    seed_bytes("dictionary", "more", (const char *)bytes, sizeof bytes - 1);
}

/* The first byte says whether the file was moved. */
static void seed_marks(void)
{
    static const char notes[] = "\x80\x08\0\0\0\x37\0\0\0\x03\0\0\0stapsdt\0"
                                "\0\x11\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\4\x30\0\0\0\0\0\0"
                                "a\0bc\0-4@8(%rax,%r9,2) 8f@%xmm1\0\0"
                                "\x08\0\0\0\x3c\0\0\0\x03\0\0\0stapsdt\0"
                                "\0\x12\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                "a\0d\0-1@%ah 8@$-5 4@name+4(%rip) 2@x\0";
    seed_bytes("marks", "two", notes, sizeof notes - 1);
}

static void seed_ci(void)
{
    static const char whole[] =
        "graph: { title: \"a.c\"\nnode: { title: \"a.c:two\" label: \"two\\na.c:5:39\" }\n"
        "node: { title: \"ext\" label: \"ext\\na.c:3:6\" shape : ellipse }\n"
        "edge: { sourcename: \"a.c:two\" targetname: \"ext\" label: \"a.c:5:51\" }\n"
        "edge: { sourcename: \"main\" targetname: \"__indirect_call\" }\n}\n";
    seed_bytes("ci", "whole", whole, sizeof whole - 1);
    seed_bytes("ci", "cut", whole, sizeof whole / 2);
    seed_bytes("ci", "braces", "a:{edge:{edge:{sourcename:\"\\\"\"targetname:\"b\"}}}}", 45);
}

/* What target_core.c makes memory of, word by word: settings, a thread, its page, its stacks, of
 * which one has two frames. */
static void seed_core(void)
{
    enum { NUMBER = 0x8000 }; /* else the word's own number, which it leads to */
    static const uint16_t settings[] = {NUMBER | 1, NUMBER, NUMBER, NUMBER | 1, NUMBER, NUMBER};
    static const uint16_t thread[] = {46, 12, 16, NUMBER};
    static const uint16_t page[] = {NUMBER | 1, NUMBER},
                          stacks[] = {NUMBER | 1, 24, NUMBER, NUMBER};
    static const uint16_t stack[] = {40, 46, 60, 80, NUMBER};
    uint16_t words[100] = {0};
    struct fuzz_bytes bytes = {0};
    memcpy(words, settings, sizeof settings);
    memcpy(words + 6, thread, sizeof thread);
    memcpy(words + 12, page, sizeof page);
    memcpy(words + 16, stacks, sizeof stacks);
    memcpy(words + 24, stack, sizeof stack);
    for (uint16_t i = 40; i < 100; i++)
        words[i] = i < 60 ? (uint16_t)(i * 3) : (uint16_t)(NUMBER | i);
    fuzz_put_number(&bytes, 0x020505FF, 4);
    for (uint32_t i = 0; i < 120; i++)
        fuzz_put_number(&bytes, i % 10 == 9 ? 0 : i % 10 < 2 ? '/' : 'a', 1);
    fuzz_put_number(&bytes, 0xFFFF, 3);
    for (uint32_t i = 0; i < 100; i++)
        fuzz_put_number(&bytes, words[i], 2);
    fuzz_seed("core", "stacks", &bytes);
    fuzz_put_number(&bytes, 0, 1);
    fuzz_seed("core", "stacks_json", &bytes);
}

/* The string's size, the string, the text. */
static void seed_texts_of_logs(void)
{
    static const char *const pairs[][2] = {
        {"Hello %lu mars\n", "[0xFFFF5652] Hello 1 mars"},
        {"usage: %s [-x]\n  %-*s|%5.2f %%\n", "12:00 ab   |12.50 %"},
        {"{} of {0:>{1}} {{done}}", "7 of    12 {done}"},
        {"%1 of %2%, %d%d%c%p", "three of four, 12x0xff"},
        {"a line that is longer, %s, than the text", "longer, than"},
        {"the text is cut here", "12:00 the text is c"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct fuzz_bytes seed = {0};
        char name[] = {'p', 'a', 'i', 'r', (char)('0' + i), 0};
        fuzz_put_number(&seed, strlen(pairs[i][0]), 2);
        fuzz_put(&seed, pairs[i][0], strlen(pairs[i][0]));
        fuzz_put(&seed, pairs[i][1], strlen(pairs[i][1]));
        fuzz_seed("text", name, &seed);
    }
}

void fuzz_seed_texts(void)
{
    static const char nested[] = "\xa3\x61"
                                 "a\x82\x20\xf6\x61"
                                 "b\xbf\x61x\x5f\x41\0\x41\1\xff\xff\x7f\x61"
                                 "c\x61"
                                 "d\xff\xc1\xfb\x3f\xf0\0\0\0\0\0\0";
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct fuzz_bytes seed = {0};
        char name[] = {'t', 'e', 'x', 't', (char)('0' + i), 0};
        fuzz_put_number(&seed, i, 4);
        fuzz_put(&seed, texts[i], strlen(texts[i]));
        fuzz_seed("convert_text", name, &seed);
    }
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        char name[] = {'a', 's', 'k', (char)('0' + i), 0};
        seed_bytes("view", name, questions[i], strlen(questions[i]));
    }
    seed_uftrace();
    seed_bytes("metadata", "nested", nested, sizeof nested - 1);
    seed_bytes("metadata", "giant", "\xba\xff\xff\xff\xff", 5);
    seed_bytes("canary", "near", "BUG?", 4);
    seed_names();
    seed_filters();
    seed_texts_of_logs();
    seed_dictionary();
    seed_rollups();
    seed_core();
    seed_ci();
    seed_marks();
}
