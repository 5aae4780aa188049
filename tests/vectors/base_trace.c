/* The base trace. Written in the literal form, which vector_file.c turns into the raw one. */
#include "base_trace.h"

#include "writer/writer_internal.h"

static void put_depth(struct ttest_trace *t, uint64_t time_ns, uint32_t kind, uint32_t site,
                      uint32_t depth)
{
    ttape_event e = {.time_ns = time_ns, .kind = kind, .site = site, .depth = depth};
    ttest_event(t, 0, &e);
}

static void define(struct ttest_trace *t)
{
    static const char *const names[TTEST_BASE_SITES] = {"main", "work", "block"};
    ttape_error err = {0};
    uint32_t module, process = ttest_process(t, 9, TTAPE_NONE, "base");
    ttape_module m = {.start = 0x1000,
                      .end = 0x2000,
                      .process = process,
                      .path = ttest_string("/bin/base"),
                      .build_id = ttest_string("\x0b\x1d")};
    ttest_require(ttape_writer_add_module(t->writer, &m, &module, &err) == TTAPE_OK, err.message);
    ttest_stream(t, process, 100, "first");
    ttest_stream(t, process, 101, "second");
    for (uint32_t i = 0; i < TTEST_BASE_SITES; i++) {
        ttape_site site = {.address = 0x1000 + 16 * i,
                           .module = module,
                           .line = 3 + i,
                           .kind = i == TTEST_BASE_BLOCK ? TTAPE_SITE_BLOCK : TTAPE_SITE_FUNCTION,
                           .symbol = ttest_string(names[i]),
                           .file = ttest_string("base.c")};
        ttest_add_site(t, &site);
    }
    ttest_require(ttape_writer_set_text(t->writer, "clock", ttest_string("monotonic"), &err) ==
                      TTAPE_OK,
                  err.message);
}

enum extra { PLAIN, OVERVIEW, CPU_TIMES, INSTANTS };

static void tell_switches(struct ttest_trace *t, enum extra extra)
{
    static const ttape_off_span spans[] = {
        {.event = 1, .start_ns = 2, .length_ns = 3, .kind = TTAPE_OFF_BLOCKED},
        {.event = 3, .start_ns = 1, .length_ns = 2, .kind = TTAPE_OFF_PREEMPTED}};
    if (extra != CPU_TIMES)
        return;
    ttest_add_off(t, 0, spans, 2);
    ttest_add_off(t, 1, NULL, 0);
}

static struct ttest_file *make(uint64_t resolution_ns, bool raw, enum extra extra, const char *name,
                               const char *group, const char *notes,
                               struct ttest_expectation *expectation)
{
    /* One that is drawn would change with what zstd makes of the first partition. */
    static const uint8_t trace_id[16] = {0xa2, 0x06, 0xfe, 0x87, 0xbb, 0xde, 0x26, 0x31,
                                         0x01, 0xf9, 0x36, 0x0e, 0x2b, 0x66, 0x08, 0x33};
    ttape_writer_options options = {.literal = true,
                                    .resolution_ns = resolution_ns,
                                    .has_trace_id = true,
                                    .overview_period = extra == PLAIN ? UINT64_MAX : 2};
    memcpy(options.trace_id, trace_id, sizeof trace_id);
    struct ttest_trace *t = ttest_begin(name, notes, &options);
    if (extra == INSTANTS) {
        t->writer->instants_share = 0;
        t->writer->instant_events = 1;
    }
    define(t);
    tell_switches(t, extra);
    ttest_enter(t, 0, 1000, TTEST_BASE_MAIN);
    ttest_enter(t, 0, 1010, TTEST_BASE_WORK);
    ttest_leaf(t, 0, 1015, TTEST_BASE_BLOCK);
    ttest_enter(t, 1, 1016, TTEST_BASE_WORK);
    ttest_flush(t);
    ttape_value values[] = {{.type = TTAPE_VALUE_UNSIGNED, .number = 7},
                            {.type = TTAPE_VALUE_STRING, .bytes = ttest_string("hi")}};
    ttest_exit(t, 0, 1020, TTEST_BASE_WORK);
    ttest_attach(t, 0, values, 2);
    ttest_gap(t, 0, 1025, TTAPE_GAP_REASON_OVERFLOW, 5);
    put_depth(t, 1030, TTAPE_EVENT_LEAF, TTEST_BASE_BLOCK, 9);
    put_depth(t, 1035, TTAPE_EVENT_LEAF, TTEST_BASE_BLOCK, 1);
    ttest_enter(t, 0, 1040, TTEST_BASE_WORK);
    ttest_special(t, 0, 1045, TTAPE_EVENT_UNWIND, 1);
    ttest_exit(t, 1, 1050, TTEST_BASE_WORK);
    ttest_enter(t, 1, 1060, TTEST_BASE_MAIN);
    struct ttest_bytes bytes = ttest_finish(t);
    *expectation = t->expectation;
    expectation->group = group;
    struct ttest_file *file = ttest_file_parse(&bytes, raw);
    if (raw)
        ttest_partition_of(file, 1)->lost_count = 5;
    return file;
}

struct ttest_file *ttest_base(const char *name, const char *group, const char *notes,
                              struct ttest_expectation *expectation)
{
    return make(0, true, PLAIN, name, group, notes, expectation);
}

struct ttest_file *ttest_base_untimed(const char *name, const char *group, const char *notes,
                                      struct ttest_expectation *expectation)
{
    return make(TTAPE_TIME_NONE, true, PLAIN, name, group, notes, expectation);
}

struct ttest_file *ttest_base_literal(const char *name, const char *group, const char *notes,
                                      struct ttest_expectation *expectation)
{
    return make(0, false, PLAIN, name, group, notes, expectation);
}

struct ttest_file *ttest_base_overview(bool cpu_times, const char *name, const char *group,
                                       const char *notes, struct ttest_expectation *expectation)
{
    return make(0, true, cpu_times ? CPU_TIMES : OVERVIEW, name, group, notes, expectation);
}

struct ttest_file *ttest_base_instants(const char *name, const char *group, const char *notes,
                                       struct ttest_expectation *expectation)
{
    return make(0, true, INSTANTS, name, group, notes, expectation);
}
