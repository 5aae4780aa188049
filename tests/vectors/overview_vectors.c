/* Traces by our writer: overviews of few partitions. */
#include "base_trace.h"
#include "vectors.h"

#include "writer/writer_internal.h"

/* What a partition of the trace does: calls of calls, a leaf now and then, a call over the edge. */
static void put_round(struct ttest_trace *t, uint64_t start_ns, uint32_t round,
                      const uint32_t sites[4])
{
    ttest_enter(t, 0, start_ns, sites[0]);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t at = start_ns + 1000 * (i + 1);
        ttest_enter(t, 0, at, sites[1]);
        if (round % 2 == 0)
            ttest_leaf(t, 0, at, sites[3]);
        ttest_enter(t, 0, at + 10, sites[2]);
        ttest_exit(t, 0, at + 11 + i * round, sites[2]);
        ttest_exit(t, 0, at + 100 * (i + 1), sites[1]);
    }
    ttest_enter(t, 1, start_ns + 5000, sites[2]);
    ttest_exit(t, 1, start_ns + 5000 + (round << 20), sites[2]);
    ttest_flush(t);
    ttest_exit(t, 0, start_ns + 9000, sites[0]);
}

static struct ttest_trace *begin(const char *name, const char *notes, uint64_t resolution_ns,
                                 uint32_t sites[4])
{
    static const char *const names[] = {"outer", "inner", "least", "block"};
    ttape_writer_options options = {.resolution_ns = resolution_ns, .overview_period = 3};
    struct ttest_trace *t = ttest_begin(name, notes, &options);
    ttest_stream(t, ttest_process(t, 100, TTAPE_NONE, "program"), 100, "main");
    ttest_stream(t, 0, 101, "second");
    for (uint32_t s = 0; s < 4; s++)
        sites[s] = ttest_site(t, 0x401000 + 16 * s, s == 3 ? TTAPE_SITE_BLOCK : TTAPE_SITE_FUNCTION,
                              names[s]);
    return t;
}

static void put_rounds(struct ttest_trace *t, uint32_t count, const uint32_t sites[4])
{
    for (uint32_t round = 0; round < count; round++)
        put_round(t, 1000 + 100000000ull * round, round, sites);
}

struct ttest_file *ttest_base_rounds(const char *name, const char *group, const char *notes,
                                     struct ttest_expectation *expectation)
{
    uint32_t sites[4];
    struct ttest_trace *t = begin(name, notes, 0, sites);
    put_rounds(t, 3, sites);
    struct ttest_bytes bytes = ttest_finish(t);
    *expectation = t->expectation;
    expectation->group = group;
    return ttest_file_parse(&bytes, false);
}

void ttest_make_overview_vectors(const struct ttest_output *out)
{
    static const struct {
        const char *name, *notes;
        uint64_t resolution_ns;
        bool switches, instants;
    } all[] = {
        {"overviews", "overviews of three partitions each, and two at the end", 0, false, false},
        {"overviews-instants", "overviews with instants of their partitions", 0, false, true},
        {"overviews-coarse", "overviews of partitions with ticks of 64 ns", 64, false, false},
        {"overviews-untimed", "overviews of partitions without times", TTAPE_TIME_NONE, false,
         false},
        {"overviews-cpu", "overviews of partitions with CPU times", 0, true, false}};
    static const ttape_off_span spans[] = {
        {.event = 3, .start_ns = 1, .length_ns = 7, .kind = TTAPE_OFF_BLOCKED},
        {.event = 40, .start_ns = 5, .length_ns = 60, .kind = TTAPE_OFF_PREEMPTED}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint32_t sites[4];
        struct ttest_trace *t = begin(all[i].name, all[i].notes, all[i].resolution_ns, sites);
        if (all[i].instants) {
            t->writer->instants_share = 0;
            t->writer->instant_events = 1;
        }
        if (all[i].switches) {
            ttest_add_off(t, 0, spans, 2);
            ttest_add_off(t, 1, NULL, 0);
        }
        put_rounds(t, 7, sites);
        ttest_emit_trace(out, t);
    }
}
