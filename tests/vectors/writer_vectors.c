/* Traces by our writer: what events can be. */
#include <string.h>

#include "vectors.h"
#include "writer/writer_internal.h"

/* One process with one stream. */
static struct ttest_trace *begin_one(const char *name, const char *notes,
                                     const ttape_writer_options *options)
{
    struct ttest_trace *t = ttest_begin(name, notes, options);
    ttest_stream(t, ttest_process(t, 100, TTAPE_NONE, "program"), 100, "main");
    return t;
}

static void make_empty(const struct ttest_output *out)
{
    ttest_emit_trace(
        out, ttest_begin("empty", "no stream, no event: header, metadata, index, footer", NULL));
    struct ttest_trace *t = begin_one("one-event", "one enter that stays open", NULL);
    ttest_enter(t, 0, 1000, ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "main"));
    ttest_emit_trace(out, t);
    t = begin_one("no-events", "a stream that is defined and has no events", NULL);
    ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "main");
    ttest_emit_trace(out, t);
}

static void make_all_kinds(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one("all-kinds", "every event kind and every site kind", NULL);
    static const char *const names[] = {"outer", "block", "branch", "write", "mark"};
    for (uint32_t kind = 0; kind < 5; kind++)
        ttest_site(t, 0x401000 + 16 * kind, kind, names[kind]);
    uint32_t inner = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "inner");
    ttape_event open = {.time_ns = 5, .kind = TTAPE_EVENT_OPEN, .site = 0, .depth = TTEST_AUTO};
    ttest_event(t, 0, &open);
    ttest_enter(t, 0, 10, inner);
    for (uint32_t kind = 1; kind < 5; kind++)
        ttest_leaf(t, 0, 10 + kind, kind);
    ttest_special(t, 0, 20, TTAPE_EVENT_SIGNAL_BEGIN, 11);
    ttest_enter(t, 0, 21, inner);
    ttest_exit(t, 0, 22, inner);
    ttest_special(t, 0, 23, TTAPE_EVENT_SIGNAL_END, 11);
    ttape_event unseen = {
        .time_ns = 24, .kind = TTAPE_EVENT_EXIT_UNSEEN, .site = 3, .depth = TTEST_AUTO};
    ttest_event(t, 0, &unseen);
    ttest_enter(t, 0, 30, inner);
    ttest_special(t, 0, 31, TTAPE_EVENT_UNWIND, 1);
    ttest_enter(t, 0, 32, inner);
    ttest_special(t, 0, 33, TTAPE_EVENT_EXIT_ACROSS, 1);
    ttest_special(t, 0, 34, TTAPE_EVENT_SWITCH, 1);
    ttest_enter(t, 0, 35, inner);
    ttest_special(t, 0, 36, TTAPE_EVENT_SWITCH, 0);
    ttest_gap(t, 0, 37, TTAPE_GAP_REASON_OVERFLOW, 12);
    ttest_exit(t, 0, 40, 0);
    ttest_emit_trace(out, t);
}

/* A path of the frames of these sites, which all are new or all known. */
static uint32_t put_path(struct ttest_trace *t, const uint32_t *frames, uint32_t count)
{
    ttape_error err = {0};
    uint32_t path = 0;
    for (uint32_t i = 0; i < count; i++) {
        ttape_path step = {.parent = path, .site = frames[i]};
        ttest_require(ttape_writer_add_path(t->writer, &step, &path, &err) == TTAPE_OK,
                      err.message);
    }
    return path;
}

static uint32_t put_call(struct ttest_trace *t, uint64_t number, const char *name, uint32_t path)
{
    ttape_site call = {.address = number,
                       .module = TTAPE_NONE,
                       .kind = TTAPE_SITE_SYSCALL,
                       .symbol = ttest_string(name),
                       .path = path};
    return ttest_add_site(t, &call);
}

static void make_paths(const struct ttest_output *out)
{
    struct ttest_trace *t =
        begin_one("paths",
                  "system calls, a call in a call, one that fails, a path that is cut, "
                  "paths of a partition that use those of the one before",
                  NULL);
    static const char *const names[] = {"main", "load", "read_all", "save"};
    ttape_value value = {.type = TTAPE_VALUE_UNSIGNED, .number = 3};
    uint32_t frame[4], write_frame;
    for (uint32_t i = 0; i < 4; i++)
        frame[i] = ttest_site(t, 0x401000 + 16 * i, TTAPE_SITE_FRAME, names[i]);
    uint32_t read = put_call(t, 0, "read", put_path(t, frame, 3));
    for (uint32_t i = 0; i < 2; i++) {
        ttest_enter(t, 0, 10 + 10 * i, read);
        ttest_attach(t, 0, &value, 1);
        ttest_exit(t, 0, 15 + 10 * i, read);
        ttest_attach(t, 0, &(ttape_value){.type = TTAPE_VALUE_SIGNED, .number = 0 - 11ull}, 1);
    }
    ttest_flush(t);
    write_frame = ttest_site(t, 1, TTAPE_SITE_FRAME, "write");
    uint32_t cut[] = {TTAPE_NONE, frame[3], write_frame};
    uint32_t close = put_call(t, 3, "close", put_path(t, frame, 1));
    uint32_t write = put_call(t, 1, "write", put_path(t, cut, 2));
    uint32_t poll = put_call(t, 7, "poll", put_path(t, cut, 3));
    uint32_t alone = put_call(t, 39, "getpid", 0);
    ttest_enter(t, 0, 40, close);
    ttest_exit(t, 0, 41, close);
    ttest_enter(t, 0, 50, write);
    ttest_enter(t, 0, 51, poll);
    ttest_exit(t, 0, 53, poll);
    ttest_exit(t, 0, 58, write);
    ttest_enter(t, 0, 60, alone);
    ttest_exit(t, 0, 61, alone);
    ttest_enter(t, 0, 70, read);
    ttest_emit_trace(out, t);
}

static void put_fact(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site,
                     uint32_t second_type, uint64_t first, uint64_t second)
{
    ttape_value values[] = {{.type = TTAPE_VALUE_UNSIGNED, .number = first},
                            {.type = second_type, .number = second}};
    ttest_leaf(t, stream, time_ns, site);
    ttest_attach(t, stream, values, 2);
}

static void make_facts(const struct ttest_output *out)
{
    static const char *const names[] = {"tracetape:thread_create", "tracetape:thread_create_failed",
                                        "tracetape:thread_start", "tracetape:process_create"};
    struct ttest_trace *t = begin_one(
        "facts", "a thread and a process that are started, one that cannot be (facts.md)", NULL);
    ttest_stream(t, 0, 101, "thread");
    ttest_stream(t, ttest_process(t, 102, 0, "child"), 102, "child");
    for (uint32_t i = 0; i < 4; i++)
        ttest_site(t, 0x401000 + 16 * i, TTAPE_SITE_MARKER, names[i]);
    uint32_t run = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "run");
    ttest_enter(t, 0, 10, run);
    put_fact(t, 0, 11, 0, TTAPE_VALUE_POINTER, 1, 0x402010);
    put_fact(t, 0, 13, 0, TTAPE_VALUE_POINTER, 2, 0x402020);
    put_fact(t, 0, 14, 1, TTAPE_VALUE_UNSIGNED, 2, 11);
    put_fact(t, 0, 15, 3, TTAPE_VALUE_POINTER, 102, 0x402030);
    ttest_exit(t, 0, 20, run);
    put_fact(t, 1, 12, 2, TTAPE_VALUE_UNSIGNED, 1, 100);
    for (uint32_t stream = 1; stream < 3; stream++) {
        ttest_enter(t, stream, 16, run);
        ttest_exit(t, stream, 17, run);
    }
    ttest_emit_trace(out, t);
}

static void make_ends(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "ends", "a signal kills a process with two threads, frames are open (facts.md)", NULL);
    ttape_value how = {.type = TTAPE_VALUE_UNSIGNED, .number = 2};
    ttest_stream(t, 0, 101, "ended");
    ttest_stream(t, 0, 102, "killed");
    uint32_t process_end = ttest_site(t, 2, TTAPE_SITE_MARKER, "tracetape:process_end");
    uint32_t thread_end = ttest_site(t, 1, TTAPE_SITE_MARKER, "tracetape:thread_end");
    uint32_t run = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "run");
    for (uint32_t stream = 0; stream < 3; stream++)
        ttest_enter(t, stream, 10 + stream, run);
    ttest_exit(t, 1, 20, run);
    put_fact(t, 0, 2000, process_end, TTAPE_VALUE_UNSIGNED, 3, 11);
    ttest_leaf(t, 2, 2000, thread_end);
    ttest_attach(t, 2, &how, 1);
    how.number = 1;
    ttest_leaf(t, 1, 20, thread_end);
    ttest_attach(t, 1, &how, 1);
    ttest_emit_trace(out, t);
}

static void make_values(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one("values", "values of every type, also none-like ones", NULL);
    uint32_t site = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "call");
    static const char raw[] = {0, 1, (char)0xff, '\n'};
    double third = 1.0 / 3.0;
    uint64_t bits;
    memcpy(&bits, &third, sizeof bits);
    ttape_value all[] = {
        {.type = TTAPE_VALUE_UNSIGNED, .number = 0},
        {.type = TTAPE_VALUE_UNSIGNED, .number = UINT64_MAX},
        {.type = TTAPE_VALUE_SIGNED, .number = (uint64_t)-1},
        {.type = TTAPE_VALUE_SIGNED, .number = (uint64_t)INT64_MIN},
        {.type = TTAPE_VALUE_POINTER, .number = 0x7ffc12345678},
        {.type = TTAPE_VALUE_FLOAT, .number = bits},
        {.type = TTAPE_VALUE_BYTES, .bytes = {raw, sizeof raw}},
        {.type = TTAPE_VALUE_STRING, .bytes = ttest_string("h\xc3\xa9llo, \"world\"")},
        {.type = TTAPE_VALUE_STRING, .bytes = {NULL, 0}},
        {.type = TTAPE_VALUE_NULL}};
    ttest_enter(t, 0, 10, site);
    ttest_attach(t, 0, all, sizeof all / sizeof all[0]);
    ttest_exit(t, 0, 20, site);
    ttest_enter(t, 0, 30, site);
    ttest_exit(t, 0, 40, site);
    ttest_attach(t, 0, all, 1);
    ttest_emit_trace(out, t);
}

static void put_depth(struct ttest_trace *t, uint64_t time_ns, uint32_t kind, uint32_t site,
                      uint32_t depth)
{
    ttape_event e = {.time_ns = time_ns, .kind = kind, .site = site, .depth = depth};
    ttest_event(t, 0, &e);
}

static void make_depths(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one("depths",
                                      "recorded depths that contradict the frames, there "
                                      "and back, also at the edge of a partition",
                                      NULL);
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint32_t g = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "g");
    put_depth(t, 10, TTAPE_EVENT_ENTER, f, 3);
    put_depth(t, 20, TTAPE_EVENT_ENTER, g, 4);
    put_depth(t, 30, TTAPE_EVENT_EXIT, g, 2);
    put_depth(t, 40, TTAPE_EVENT_ENTER, g, 700);
    ttest_flush(t);
    ttest_exit(t, 0, 50, g);
    put_depth(t, 60, TTAPE_EVENT_EXIT, f, 3);
    put_depth(t, 70, TTAPE_EVENT_EXIT, f, 2);
    ttest_exit(t, 0, 80, f);
    ttest_exit(t, 0, 90, f);
    ttest_emit_trace(out, t);
}

static void make_unseen(const struct ttest_output *out)
{
    struct ttest_trace *t = ttest_begin("forked-unseen",
                                        "forked children that exit frames which only "
                                        "their parent entered",
                                        NULL);
    uint32_t site[4];
    static const char *const names[] = {"main", "fork_all", "child", "work"};
    for (uint32_t i = 0; i < 4; i++)
        site[i] = ttest_site(t, 0x401000 + 64 * i, TTAPE_SITE_FUNCTION, names[i]);
    uint32_t parent = ttest_process(t, 10, TTAPE_NONE, "server");
    ttest_stream(t, parent, 10, "server");
    ttest_enter(t, 0, 100, site[0]);
    ttest_enter(t, 0, 110, site[1]);
    for (uint32_t i = 1; i <= 3; i++) {
        uint32_t child =
            ttest_stream(t, ttest_process(t, 10 + i, parent, "server"), 10 + i, "server");
        ttape_event first = {
            .time_ns = 120 + i, .kind = TTAPE_EVENT_ENTER, .site = site[2], .depth = 2};
        ttest_event(t, child, &first);
        ttest_enter(t, child, 130 + i, site[3]);
        ttest_exit(t, child, 140 + i, site[3]);
        ttest_exit(t, child, 150 + i, site[2]);
        ttest_exit(t, child, 160 + i, site[1]);
        ttest_exit(t, child, 170 + i, site[0]);
    }
    uint32_t late = ttest_stream(t, ttest_process(t, 20, parent, "server"), 20, "server");
    ttape_event first = {.time_ns = 180, .kind = TTAPE_EVENT_EXIT, .site = site[1], .depth = 1};
    ttest_event(t, late, &first);
    ttest_exit(t, late, 190, site[0]);
    ttest_exit(t, 0, 200, site[1]);
    ttest_exit(t, 0, 210, site[0]);
    ttest_emit_trace(out, t);
}

static void make_many_streams(const struct ttest_output *out)
{
    struct ttest_trace *t = ttest_begin("many-streams",
                                        "nine streams of three processes, interleaved, "
                                        "in three partitions",
                                        NULL);
    uint32_t sites[3];
    static const char *const names[] = {"loop", "step", "store"};
    for (uint32_t i = 0; i < 3; i++)
        sites[i] = ttest_site(t, 0x500000 + i, TTAPE_SITE_FUNCTION, names[i]);
    for (uint32_t p = 0; p < 3; p++) {
        uint32_t process = ttest_process(t, 1000 + p, p == 0 ? TTAPE_NONE : p - 1, "worker");
        for (uint32_t i = 0; i < 3; i++)
            ttest_stream(t, process, 1000 + p + 10 * i, i == 0 ? "main" : "thread");
    }
    for (uint32_t i = 0; i < 9; i++)
        ttest_enter(t, 8 - i, 10 * i, sites[0]);
    for (uint32_t round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < 9; i += 1 + round % 2) {
            ttest_enter(t, i, 1000 * round + 7 * i + 100, sites[1 + (i + round) % 2]);
            ttest_exit(t, i, 1000 * round + 9 * i + 150, sites[1 + (i + round) % 2]);
        }
        if (round % 3 == 1)
            ttest_flush(t);
    }
    ttest_emit_trace(out, t);
}

static void put_edges(struct ttest_trace *t)
{
    uint32_t sites[8];
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (uint32_t i = 0; i < 8; i++)
        sites[i] = ttest_site(t, 0x401000 + 32 * i, TTAPE_SITE_FUNCTION, names[i]);
    uint64_t time = 5000;
    for (uint32_t i = 0; i < 8; i++)
        ttest_enter(t, 0, time += 3 + i, sites[i]);
    for (uint32_t i = 0; i < 9; i++) {
        ttest_exit(t, 0, time += 11, sites[7]);
        ttest_enter(t, 0, time += 5, sites[7]);
    }
    for (uint32_t i = 8; i-- > 0;)
        ttest_exit(t, 0, time += 2, sites[i]);
}

static void make_partitions(const struct ttest_output *out)
{
    ttape_writer_options options = {.partition_events = 5, .index_period = 2};
    struct ttest_trace *t = begin_one("open-frames",
                                      "seven partitions of five events with open frames "
                                      "at their edges, and early indexes after 2 and 4",
                                      &options);
    put_edges(t);
    ttest_emit_trace(out, t);
    ttape_writer_options models = {.partition_events = 5, .model_period = 3};
    t = begin_one("models", "the same with models, which partitions share three by three", &models);
    put_edges(t);
    ttest_emit_trace(out, t);
}

static void make_odd_frames(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one("unwinding",
                                      "unwinding, exits across frames, and exits that the "
                                      "writer takes as such",
                                      NULL);
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint32_t g = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "g");
    uint32_t h = ttest_site(t, 0x403000, TTAPE_SITE_FUNCTION, "h");
    uint32_t three[] = {f, g, h};
    for (uint32_t i = 0; i < 6; i++)
        ttest_enter(t, 0, 10 + i, three[i % 3]);
    ttest_special(t, 0, 20, TTAPE_EVENT_UNWIND, 2);
    ttest_exit(t, 0, 30, f);
    ttest_exit(t, 0, 40, f);
    ttest_exit(t, 0, 50, g);
    ttest_enter(t, 0, 60, f);
    ttest_enter(t, 0, 61, g);
    ttest_enter(t, 0, 62, h);
    ttest_special(t, 0, 70, TTAPE_EVENT_EXIT_ACROSS, 2);
    ttest_enter(t, 0, 80, f);
    ttest_special(t, 0, 90, TTAPE_EVENT_UNWIND, 1);
    ttest_emit_trace(out, t);

    t = begin_one("coroutines",
                  "a stream that switches between three stacks over the edge of a "
                  "partition",
                  NULL);
    f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "resume");
    g = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "generate");
    uint64_t time = 100;
    ttest_enter(t, 0, time, f);
    for (uint32_t i = 0; i < 6; i++) {
        ttest_special(t, 0, time += 10, TTAPE_EVENT_SWITCH, i % 2 == 0 ? 7 : 1048575);
        if (i < 2)
            ttest_enter(t, 0, time += 1, g);
        ttest_enter(t, 0, time += 1, g);
        ttest_exit(t, 0, time += 4, g);
        ttest_special(t, 0, time += 10, TTAPE_EVENT_SWITCH, 0);
        if (i == 2)
            ttest_flush(t);
    }
    ttest_exit(t, 0, time += 5, f);
    ttest_emit_trace(out, t);
}

static void make_gaps(const struct ttest_output *out)
{
    struct ttest_trace *t =
        begin_one("gaps", "gaps of every reason, with and without counts", NULL);
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    ttest_enter(t, 0, 10, f);
    for (uint32_t reason = 0; reason <= TTAPE_GAP_REASON_CUT; reason++) {
        ttest_gap(t, 0, 20 + 10 * reason, reason, 0);
        ttest_gap(t, 0, 25 + 10 * reason, reason, reason == 1 ? UINT64_C(5000000000) : reason + 1);
    }
    ttest_exit(t, 0, 90, f);
    ttest_emit_trace(out, t);
}

static void make_names(const struct ttest_output *out)
{
    struct ttest_trace *t = ttest_begin("names",
                                        "names in UTF-8 and hostile ones: quotes, commas, "
                                        "markup, control bytes, bidi, invalid UTF-8, NUL",
                                        NULL);
    static const char with_nul[] = "nul\0nul";
    static const char *const names[] = {("gr\xc3\xbc\xc3\x9f"
                                         "e"),
                                        "\xe6\x97\xa5\xe6\x9c\xac",
                                        "a,b",
                                        "say \"hi\"",
                                        "=cmd|' /C'!A0",
                                        "</script><b>",
                                        "${HOME}",
                                        "esc\x1b[31m",
                                        "line\nbreak\r",
                                        "back\\slash",
                                        "\xff\xfe",
                                        "right\xe2\x80\xaeto left",
                                        "",
                                        "c1\xc2\x9b"};
    uint32_t count = sizeof names / sizeof names[0];
    ttape_module module = {.start = 0x400000,
                           .end = 0x500000,
                           .process = TTAPE_NONE,
                           .path = ttest_string("/opt/\xc3\xa9/../\x1b]0;x\x07"),
                           .build_id = {"\x01\x02\x00\xff", 4}};
    uint32_t id;
    ttest_require(ttape_writer_add_module(t->writer, &module, &id, NULL) == TTAPE_OK, "module");
    ttest_stream(t, ttest_process(t, 1, TTAPE_NONE, "p\n\x1b"), 1, "t,\"x\"");
    for (uint32_t i = 0; i <= count; i++) {
        ttape_site site = {.address = 0x401000 + i,
                           .module = 0,
                           .line = i,
                           .kind = TTAPE_SITE_FUNCTION,
                           .file = ttest_string("src/\xf0\x9f\x93\xbc.c")};
        site.symbol =
            i < count ? ttest_string(names[i]) : (ttape_string){with_nul, sizeof with_nul - 1};
        ttest_add_site(t, &site);
        ttest_leaf(t, 0, 100 + i, i);
    }
    ttape_error err;
    ttest_require(ttape_writer_set_text(t->writer, "command", ttest_string("./a \"b\" \x1b[0m\xff"),
                                        &err) == TTAPE_OK,
                  "metadata");
    ttest_emit_trace(out, t);
}

/* Of three streams one has spans of every kind, one none, and of one nothing is known. */
static void make_switches(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "switches", "when threads did not run: spans of every kind, over two partitions", NULL);
    static const ttape_off_span spans[] = {
        {.event = 1, .start_ns = 10, .length_ns = 50, .kind = TTAPE_OFF_PREEMPTED},
        {.event = 1, .start_ns = 70, .length_ns = 5, .kind = TTAPE_OFF_BLOCKED},
        {.event = 2, .start_ns = -3, .length_ns = 60, .kind = TTAPE_OFF_PREEMPTED_NEAR},
        {.event = 4, .start_ns = 95, .length_ns = 20, .kind = TTAPE_OFF_BLOCKED_NEAR},
        {.event = 5, .kind = TTAPE_OFF_UNKNOWN},
        {.event = 6, .start_ns = 0, .length_ns = 2000000000, .kind = TTAPE_OFF_BLOCKED}};
    ttest_stream(t, 0, 101, "runs");
    ttest_stream(t, 0, 102, "unknown");
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    ttest_add_off(t, 0, spans, sizeof spans / sizeof spans[0]);
    ttest_add_off(t, 1, NULL, 0);
    for (uint32_t stream = 0; stream < 3; stream++)
        for (uint32_t i = 0; i < 4; i++)
            (i % 2 == 0 ? ttest_enter : ttest_exit)(t, stream, 100 * (i + 1), f);
    ttest_flush(t);
    for (uint32_t stream = 0; stream < 3; stream++) {
        ttest_enter(t, stream, 500, f);
        ttest_exit(t, stream, 600, f);
    }
    ttest_enter(t, 0, 3000000000, f);
    ttest_exit(t, 0, 3000000100, f);
    ttest_emit_trace(out, t);
}

/* Two partitions, over the edge of which a call, a stack and a stream's second segment go. */
static void make_cpu_times(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "cpu-times",
        "CPU times: of calls in calls of the same function, on two stacks, from before", NULL);
    static const ttape_off_span spans[] = {
        {.event = 2, .start_ns = 10, .length_ns = 50, .kind = TTAPE_OFF_PREEMPTED},
        {.event = 4, .start_ns = 0, .length_ns = 900, .kind = TTAPE_OFF_BLOCKED},
        {.event = 6, .start_ns = 20, .length_ns = 30, .kind = TTAPE_OFF_BLOCKED},
        {.event = 9, .start_ns = 1, .length_ns = 7, .kind = TTAPE_OFF_BLOCKED_NEAR},
        {.event = 10, .start_ns = 5, .length_ns = 70, .kind = TTAPE_OFF_PREEMPTED},
        {.event = 12, .kind = TTAPE_OFF_UNKNOWN}};
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint32_t g = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "g");
    ttest_add_off(t, 0, spans, sizeof spans / sizeof spans[0]);
    ttest_enter(t, 0, 1000, f);
    ttest_enter(t, 0, 1100, g);
    ttest_enter(t, 0, 1200, f);
    ttest_exit(t, 0, 1300, f);
    ttest_exit(t, 0, 2300, g);
    ttest_special(t, 0, 2400, TTAPE_EVENT_SWITCH, 3);
    ttest_enter(t, 0, 2500, g);
    ttest_flush(t);
    ttest_special(t, 0, 2600, TTAPE_EVENT_SWITCH, 0);
    ttest_enter(t, 0, 2700, g);
    ttest_exit(t, 0, 2800, g);
    ttest_special(t, 0, 2900, TTAPE_EVENT_SWITCH, 3);
    ttest_exit(t, 0, 3000, g);
    ttest_special(t, 0, 3100, TTAPE_EVENT_SWITCH, 0);
    ttest_exit(t, 0, 3200, f);
    ttest_emit_trace(out, t);
}

/* Our writer leaves own times out of small partitions: of all other vectors. */
static void make_own_times(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "own-times",
        "own times: as long as the call, all that there is, a part of each, and from before", NULL);
    t->writer->own_times_share = 0;
    uint32_t outer = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "outer");
    uint32_t inner = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "inner");
    uint32_t leaf = ttest_site(t, 0x403000, TTAPE_SITE_FUNCTION, "leaf");
    ttest_enter(t, 0, 100, outer);
    ttest_enter(t, 0, 5000, inner);
    ttest_flush(t);
    for (uint32_t i = 0; i < 3; i++) {
        ttest_enter(t, 0, 6000 + 1000 * i, leaf);
        ttest_exit(t, 0, 6007 + 1000 * i, leaf);
        ttest_enter(t, 0, 6100 + 1000 * i, inner);
        ttest_enter(t, 0, 6150 + 1000 * i, leaf);
        ttest_exit(t, 0, 6160 + 1000 * i, leaf);
        ttest_exit(t, 0, 6200 + 1010 * i, inner);
    }
    ttest_exit(t, 0, 20000, inner);
    ttest_exit(t, 0, 20001, outer);
    ttest_emit_trace(out, t);
}

/* Our writer leaves instants out of small partitions, too. */
static void make_instants(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "instants", "instants: frames that stay, come and come again, a signal, gaps, waits", NULL);
    t->writer->instants_share = 0;
    t->writer->instant_events = 1;
    uint32_t other = ttest_stream(t, 0, 101, "other");
    uint32_t outer = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "outer");
    uint32_t inner = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "inner");
    uint32_t leaf = ttest_site(t, 0x403000, TTAPE_SITE_FUNCTION, "leaf");
    ttest_enter(t, 0, 100, outer);
    for (uint32_t i = 0; i < 5; i++) {
        ttest_enter(t, 0, 5000 + 1000 * i, inner);
        ttest_enter(t, 0, 5300 + 1000 * i, i % 2 == 0 ? leaf : inner);
        if (i == 2)
            ttest_gap(t, 0, 7500, TTAPE_GAP_REASON_OVERFLOW, 3);
        ttest_exit(t, 0, 5900 + 1000 * i, i % 2 == 0 ? leaf : inner);
        ttest_exit(t, 0, 5990 + 1000 * i, inner);
        ttest_enter(t, other, 5990 + 1000 * i, leaf);
    }
    ttest_flush(t);
    ttest_special(t, 0, 20000, TTAPE_EVENT_SIGNAL_BEGIN, 14);
    ttest_enter(t, 0, 30000, inner);
    ttest_exit(t, 0, 40000, inner);
    ttest_special(t, 0, 50000, TTAPE_EVENT_SIGNAL_END, 14);
    ttest_enter(t, 0, UINT64_C(10000000000), leaf);
    ttest_special(t, 0, UINT64_C(10000005000), TTAPE_EVENT_UNWIND, 2);
    ttest_enter(t, 0, UINT64_C(10000006000), inner);
    for (uint32_t i = 0; i < 5; i++)
        ttest_exit(t, other, 60000 + i, leaf);
    ttest_emit_trace(out, t);
}

void ttest_make_writer_vectors(const struct ttest_output *out)
{
    make_empty(out);
    make_all_kinds(out);
    make_values(out);
    make_facts(out);
    make_paths(out);
    ttest_make_value_names(out);
    make_ends(out);
    make_depths(out);
    make_switches(out);
    make_own_times(out);
    make_instants(out);
    ttest_make_enters(out);
    make_cpu_times(out);
    make_unseen(out);
    make_many_streams(out);
    make_partitions(out);
    make_odd_frames(out);
    make_gaps(out);
    make_names(out);
}
