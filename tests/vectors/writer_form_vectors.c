/* Traces by our writer: times, levels, and what options change. */
#include "vectors.h"
#include "writer/writer_internal.h"

static struct ttest_trace *begin_one(const char *name, const char *notes,
                                     const ttape_writer_options *options)
{
    struct ttest_trace *t = ttest_begin(name, notes, options);
    ttest_stream(t, ttest_process(t, 7, TTAPE_NONE, "program"), 7, "main");
    return t;
}

/* A loop with an inner call that differs now and then; `calls` times. */
static void put_loop(struct ttest_trace *t, uint64_t time, uint32_t calls)
{
    static const char *const names[] = {"main", "loop", "even", "odd", "rare"};
    uint32_t sites[5], random = 12345;
    for (uint32_t i = 0; i < 5; i++)
        sites[i] = ttest_site(t, 0x401000 + 48 * i, TTAPE_SITE_FUNCTION, names[i]);
    ttest_enter(t, 0, time, sites[0]);
    for (uint32_t i = 0; i < calls; i++) {
        random = random * 1103515245 + 12345;
        uint32_t jitter = random >> 16 & 63, inner = sites[i % 17 == 16 ? 4 : 2 + i % 2];
        ttest_enter(t, 0, time += 20 + jitter, sites[1]);
        ttest_enter(t, 0, time += 5 + (jitter & 7), inner);
        ttest_exit(t, 0, time += 100 + 3 * jitter, inner);
        ttest_exit(t, 0, time += 4, sites[1]);
    }
    ttest_exit(t, 0, time + 9, sites[0]);
}

/* Calls whose times modulo 20 are 0, 4 or 13. */
static void put_phases(struct ttest_trace *t, uint32_t calls)
{
    static const uint64_t phases[] = {0, 4, 13};
    uint32_t site = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "loop"), random = 12345;
    uint64_t time = 1000;
    for (uint32_t i = 0; i < 2 * calls; i++) {
        random = random * 1103515245 + 12345;
        time += 40 + (random >> 16) % 60;
        time += phases[(random >> 24) % 3] - time % 20;
        if (i % 2 == 0)
            ttest_enter(t, 0, time, site);
        else
            ttest_exit(t, 0, time, site);
    }
}

static void make_levels(const struct ttest_output *out)
{
    ttape_writer_options literal = {.literal = true}, best = {.level = TTAPE_LEVEL_MAX};
    ttape_writer_options lowest = {.level = 1}, chains = {.literal = true, .chain_threshold = 40};
    struct ttest_trace *t = begin_one("level-0", "the literal form of order, raw times", &literal);
    put_loop(t, 1000, 100);
    ttest_emit_trace(out, t);
    t = begin_one("level-0-threshold", "the literal form with a high threshold for chains",
                  &chains);
    put_loop(t, 1000, 100);
    ttest_emit_trace(out, t);
    t = begin_one("level-1", "raw order and raw times, compressed fast", &lowest);
    put_loop(t, 1000, 100);
    ttest_emit_trace(out, t);
    t = begin_one("level-3", "the full form, default level: static times", NULL);
    put_loop(t, 1000, 100);
    ttest_emit_trace(out, t);
    t = begin_one("level-9", "the full form, highest level: mixed times", &best);
    put_loop(t, 1000, 100);
    ttest_emit_trace(out, t);
    t = begin_one("level-9-phases", "the highest level: mixed times with phases", &best);
    put_phases(t, 1100);
    ttest_emit_trace(out, t);
}

/* Model chunks are of full forms only: partitions of level 1 neither make nor take one. */
static void make_mixed_levels(const struct ttest_output *out)
{
    static const int32_t levels[] = {1, 3, 1, 3, 9, 1, 2};
    ttape_writer_options options = {.model_period = 4};
    ttape_error err = {0};
    struct ttest_trace *t =
        begin_one("levels-mixed", "seven partitions of the levels 1, 3, 1, 3, 9, 1, 2", &options);
    for (uint32_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        ttest_require(ttape_writer_set_level(t->writer, levels[i], &err) == TTAPE_OK, "level");
        put_loop(t, 1000 + 100000 * i, 60);
        ttest_flush(t);
    }
    ttest_emit_trace(out, t);
}

static void make_resolutions(const struct ttest_output *out)
{
    ttape_writer_options coarse = {.resolution_ns = 64, .origin_ns = 1000};
    ttape_writer_options none = {.resolution_ns = TTAPE_TIME_NONE};
    ttape_writer_options none_literal = {.resolution_ns = TTAPE_TIME_NONE, .literal = true};
    struct ttest_trace *t = begin_one("resolution-64",
                                      "times in multiples of 64 ns from an origin of "
                                      "1,000, also before it; halves are rounded up",
                                      &coarse);
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    static const uint64_t times[] = {0,    936,  967,  968,  969,  999,  1000, 1031,
                                     1032, 1033, 1063, 1064, 1095, 1096, 1097, 90000};
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++)
        (i % 2 == 0 ? ttest_enter : ttest_exit)(t, 0, times[i], f);
    ttest_emit_trace(out, t);
    t = begin_one("no-times", "order only", &none);
    put_loop(t, 1000, 40);
    ttest_emit_trace(out, t);
    t = begin_one("no-times-level-0", "order only, the literal form, two partitions",
                  &none_literal);
    put_loop(t, 1000, 20);
    ttest_flush(t);
    ttest_exit(t, 0, 0, 0);
    ttest_emit_trace(out, t);
}

static void put_hard_times(struct ttest_trace *t)
{
    static const uint64_t times[] = {
        1000,       1010,       500,        501, 500,           500,
        4294968296, 8589935592, 8589935591, 0,   4294967294,    8589934589,
        UINT64_MAX, 0,          UINT64_MAX, 1,   INT64_MAX - 1, (uint64_t)INT64_MAX + 1};
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint32_t b = ttest_site(t, 0x401008, TTAPE_SITE_BLOCK, "");
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (i % 3 == 1)
            ttest_leaf(t, 0, times[i], b);
        else
            (i % 3 == 0 ? ttest_enter : ttest_exit)(t, 0, times[i], f);
        if (i == 11)
            ttest_flush(t);
    }
}

static void make_hard_times(const struct ttest_output *out)
{
    static const char *const names[] = {"wide-level-0", "wide-level-1", "wide-level-3",
                                        "wide-level-9"};
    static const int32_t levels[] = {0, 1, 3, 9};
    for (uint32_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        ttape_writer_options options = {.literal = levels[i] == 0, .level = levels[i]};
        struct ttest_trace *t = begin_one(names[i],
                                          "a clock that steps backwards, differences around "
                                          "2^32 and 2^63, times at both ends of 64 bits",
                                          &options);
        put_hard_times(t);
        ttest_emit_trace(out, t);
    }
    struct ttest_trace *t = ttest_begin("clock-steps",
                                        "two streams, one clock steps back by an hour: "
                                        "its events keep their order",
                                        NULL);
    uint32_t process = ttest_process(t, 7, TTAPE_NONE, "program");
    ttest_stream(t, process, 7, "steady");
    ttest_stream(t, process, 8, "stepping");
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "f");
    uint64_t hour = UINT64_C(3600000000000), start = 10 * hour;
    for (uint32_t i = 0; i < 6; i++) {
        ttest_enter(t, 0, start + 100 * i, f);
        ttest_enter(t, 1, start + 100 * i + 50 - (i >= 2 && i < 5 ? hour : 0), f);
        ttest_exit(t, 0, start + 100 * i + 60, f);
        ttest_exit(t, 1, start + 100 * i + 70 - (i >= 2 && i < 5 ? hour : 0), f);
    }
    ttest_emit_trace(out, t);
}

static void make_late_definitions(const struct ttest_output *out)
{
    struct ttest_trace *t = ttest_begin("late-definitions",
                                        "sites, streams, processes, modules and "
                                        "metadata that come between partitions, and after the last",
                                        NULL);
    ttape_error err = {0};
    uint32_t module;
    ttest_require(ttape_writer_set_text(t->writer, "clock", ttest_string("monotonic"), &err) ==
                      TTAPE_OK,
                  "metadata");
    for (uint32_t i = 0; i < 3; i++) {
        ttape_module m = {.start = 0x100000 * (i + 1),
                          .end = 0x100000 * (i + 2),
                          .process = i,
                          .path = ttest_string("/lib/libx.so"),
                          .build_id = ttest_string("\x12\x34")};
        uint32_t stream = ttest_stream(t, ttest_process(t, 50 + i, TTAPE_NONE, "p"), 50 + i, "t");
        ttest_require(ttape_writer_add_module(t->writer, &m, &module, &err) == TTAPE_OK, "module");
        ttape_site site = {.address = 0x100010 * (i + 1),
                           .module = module,
                           .line = 10 * i,
                           .symbol = ttest_string("late"),
                           .file = ttest_string("x.c")};
        uint32_t id = ttest_add_site(t, &site);
        ttest_enter(t, stream, 100 + 10 * i, id);
        ttest_enter(t, 0, 105 + 10 * i, 0);
        ttest_flush(t);
    }
    ttest_require(ttape_writer_set_number(t->writer, "exit_status", 3, &err) == TTAPE_OK &&
                      ttape_writer_set_text(t->writer, "clock", ttest_string("tsc"), &err) ==
                          TTAPE_OK,
                  "metadata");
    ttest_site(t, 0x999, TTAPE_SITE_MARKER, "never");
    ttest_emit_trace(out, t);
}

static void make_resumed(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one("deep", "two hundred frames that are open at an edge", NULL);
    uint32_t f = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "recurse");
    for (uint32_t i = 0; i < 200; i++)
        ttest_enter(t, 0, 10 * i, f);
    ttest_flush(t);
    for (uint32_t i = 0; i < 200; i++)
        ttest_exit(t, 0, 2000 + 7 * i, f);
    ttest_emit_trace(out, t);
}

/* Off for a time, and stopped for good (facts.md, F-FCT-13). */
static void make_stops(const struct ttest_output *out)
{
    struct ttest_trace *t = begin_one(
        "stops", "recording goes off and on, then stops; gaps of the newest reasons", NULL);
    ttape_value why = {.type = TTAPE_VALUE_UNSIGNED, .number = TTAPE_STOP_OFF};
    ttape_value how = {.type = TTAPE_VALUE_UNSIGNED, .number = TTAPE_THREAD_END_RECORDING};
    uint32_t run = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "run");
    uint32_t waits = ttest_site(t, 0x401100, TTAPE_SITE_FUNCTION, "waits");
    uint32_t stopped = ttest_site(t, 3, TTAPE_SITE_MARKER, "tracetape:stopped");
    uint32_t ended = ttest_site(t, 1, TTAPE_SITE_MARKER, "tracetape:thread_end");
    ttest_enter(t, 0, 10, run);
    ttest_enter(t, 0, 20, waits);
    ttest_leaf(t, 0, 30, stopped);
    ttest_attach(t, 0, &why, 1);
    ttest_gap(t, 0, 30, TTAPE_GAP_REASON_STOPPED, 0);
    ttest_special(t, 0, 30, TTAPE_EVENT_UNWIND, 2);
    ttest_event(t, 0, &(ttape_event){.time_ns = 900, .kind = TTAPE_EVENT_OPEN, .site = run});
    ttest_gap(t, 0, 910, TTAPE_GAP_REASON_SANDBOX, 4);
    ttest_gap(t, 0, 915, TTAPE_GAP_REASON_STOPPED + 1, 2); /* F-EVT-06: taken for unknown */
    ttest_enter(t, 0, 920, waits);
    ttest_leaf(t, 0, 1000, stopped);
    why.number = TTAPE_STOP_TIME;
    ttest_attach(t, 0, &why, 1);
    ttest_gap(t, 0, 1000, TTAPE_GAP_REASON_STOPPED, 7);
    ttest_leaf(t, 0, 1000, ended);
    ttest_attach(t, 0, &how, 1);
    ttest_emit_trace(out, t);
}

/* Frames of which is not known when they ended, and a partition that has them beside one that has
 * none, under an overview. */
static void make_unknown_ends(const struct ttest_output *out)
{
    const ttape_writer_options options = {.overview_period = 2};
    struct ttest_trace *t =
        begin_one("unknown-ends", "ends that nobody saw, or that were lost", &options);
    uint32_t run = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "run");
    uint32_t jumps = ttest_site(t, 0x401100, TTAPE_SITE_FUNCTION, "jumps");
    t->writer->overview_share = 0;
    ttest_event(
        t, 0,
        &(ttape_event){
            .time_ns = 10, .kind = TTAPE_EVENT_OPEN, .site = run, .depth = TTAPE_DEPTH_AUTO});
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t time = 100 * (i + 1);
        ttest_enter(t, 0, time, jumps);
        if (i % 4 == TTAPE_UNWIND_LOST)
            ttest_gap(t, 0, time + 5, TTAPE_GAP_REASON_OVERFLOW, 3);
        ttest_event(t, 0,
                    &(ttape_event){.time_ns = time + 5 + i,
                                   .lost_count = i % 4,
                                   .kind = TTAPE_EVENT_UNWIND,
                                   .site = TTAPE_NONE,
                                   .depth = TTAPE_DEPTH_AUTO,
                                   .argument = 1});
        if (i == 8)
            ttest_flush(t);
    }
    ttest_exit(t, 0, 2000, run);
    ttest_emit_trace(out, t);
}

void ttest_make_writer_form_vectors(const struct ttest_output *out)
{
    make_levels(out);
    make_mixed_levels(out);
    make_resolutions(out);
    make_hard_times(out);
    make_late_definitions(out);
    make_resumed(out);
    make_stops(out);
    make_unknown_ends(out);
}
