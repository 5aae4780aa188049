/* An overview's content: what reads, writes, and reads the same. */
#include <string.h>

#include "format/container/measures/listed.h"
#include "format/container/measures/outlines.h"
#include "format/levels/merged.h"
#include "fuzz_codec.h"

enum { MOST_ROWS = 20000 };

static uint64_t counted(const struct ttp_overview_calls *calls)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TTP_OVERVIEW_BUCKETS; i++)
        sum += calls->counts[i];
    return sum;
}

static void try_calls(const struct ttp_overview *o, const struct ttp_measure *rows, uint32_t count)
{
    ttape_error err = {0};
    struct ttp_overview_calls *calls = fuzz_take(count * sizeof *calls), *same;
    if (o->fields[TTP_OVERVIEW_CALLS].data == NULL)
        return;
    ttape_status status = ttp_overview_calls_read(o, rows, count, calls, &err);
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, o->fields[TTP_OVERVIEW_CALLS].size_bytes);
        return;
    }
    uint64_t full = UINT64_MAX >> (TTP_OVERVIEW_PARTITIONS - o->partition_count);
    bool timed = o->resolution_ns != 0;
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE((calls[i].mask & ~full) == 0);
        FUZZ_REQUIRE(counted(&calls[i]) == (timed ? rows[i].exit_count : 0));
    }
    size_t bound = ttp_overview_calls_bound(count);
    uint8_t *out = fuzz_take(bound);
    struct ttp_overview again = *o;
    again.fields[TTP_OVERVIEW_CALLS].data = out;
    again.fields[TTP_OVERVIEW_CALLS].size_bytes =
        ttp_overview_calls_write(calls, rows, count, o->partition_count, timed, out, bound);
    same = fuzz_take(count * sizeof *same);
    FUZZ_REQUIRE(ttp_overview_calls_read(&again, rows, count, same, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(count == 0 || memcmp(calls, same, count * sizeof *same) == 0);
}

static void try_leaves(const struct ttp_overview *o)
{
    ttape_error err = {0};
    uint32_t count;
    ttape_status status = ttp_overview_leaf_count(o, &count, &err);
    if (status == TTAPE_OK && count > MOST_ROWS)
        return; /* the reader's limit on memory */
    struct ttp_overview_leaf *leaves = NULL, *same;
    if (status == TTAPE_OK) {
        leaves = fuzz_take(count * sizeof *leaves);
        status = ttp_overview_leaves_read(o, count, leaves, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, o->fields[TTP_OVERVIEW_LEAVES].size_bytes);
        return;
    }
    size_t bound = ttp_overview_leaves_bound(count);
    uint8_t *out = fuzz_take(bound);
    struct ttp_overview again = *o;
    again.fields[TTP_OVERVIEW_LEAVES].data = out;
    again.fields[TTP_OVERVIEW_LEAVES].size_bytes =
        ttp_overview_leaves_write(leaves, count, o->partition_count, out, bound);
    same = fuzz_take(count * sizeof *same);
    uint32_t found;
    FUZZ_REQUIRE(ttp_overview_leaf_count(&again, &found, NULL) == TTAPE_OK && found == count);
    FUZZ_REQUIRE(ttp_overview_leaves_read(&again, count, same, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(count == 0 || memcmp(leaves, same, count * sizeof *same) == 0);
}

/* All that is read of a list, in the order of its fields: structs have holes. */
static void require_same(const struct ttp_listed *a, const struct ttp_listed *b)
{
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct ttp_listed_node *x = &a->nodes[i], *y = &b->nodes[i];
        FUZZ_REQUIRE(x->below == y->below && x->argument == y->argument && x->depth == y->depth &&
                     x->event_class == y->event_class);
    }
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct ttp_listed_call *x = &a->calls[i], *y = &b->calls[i];
        FUZZ_REQUIRE(x->duration_ticks == y->duration_ticks && x->partition == y->partition &&
                     x->segment == y->segment && x->is_known == y->is_known &&
                     x->is_unwound == y->is_unwound && x->self_ticks == y->self_ticks &&
                     x->enter_tick == y->enter_tick && x->enter_event == y->enter_event &&
                     x->end_event == y->end_event && x->stack == y->stack && x->path == y->path);
    }
}

static void take_listed(struct ttp_listed *l)
{
    l->counts = fuzz_take(l->row_count);
    l->calls = fuzz_take(l->call_count * sizeof *l->calls);
    l->nodes = fuzz_take(l->node_count * sizeof *l->nodes);
}

static void try_listed(const struct ttp_overview *o, const struct ttp_measure *rows, uint32_t count)
{
    ttape_error err = {0};
    struct ttp_listed l = {.rows = rows, .row_count = count};
    size_t size = o->fields[TTP_OVERVIEW_LISTED].size_bytes;
    if (o->fields[TTP_OVERVIEW_LISTED].data == NULL)
        return;
    for (uint32_t i = 0; i < o->partition_count; i++)
        l.first_ticks[i] = 1000ll * i;
    ttape_status status = ttp_listed_count(o, &l, &err);
    if (status == TTAPE_OK && (l.call_count > MOST_ROWS || l.node_count > MOST_ROWS))
        return;
    if (status == TTAPE_OK) {
        take_listed(&l);
        status = ttp_listed_read(o, &l, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, size);
        return;
    }
    struct ttp_listed same = l;
    struct ttp_overview again = *o;
    size_t bound = ttp_listed_bound(&l);
    uint8_t *out = fuzz_take(bound);
    again.fields[TTP_OVERVIEW_LISTED].data = out;
    again.fields[TTP_OVERVIEW_LISTED].size_bytes = ttp_listed_write(&l, out, bound);
    take_listed(&same);
    FUZZ_REQUIRE(ttp_listed_read(&again, &same, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(count == 0 || memcmp(l.counts, same.counts, count) == 0);
    require_same(&l, &same);
}

static void try_rows(const struct ttp_overview *o)
{
    ttape_error err = {0};
    uint32_t count;
    const uint8_t *data = o->fields[TTP_OVERVIEW_SUMMARY].data;
    size_t size = o->fields[TTP_OVERVIEW_SUMMARY].size_bytes;
    ttape_status status = ttp_summary_count(data, size, &count, &err);
    if (status == TTAPE_OK && count > MOST_ROWS)
        return;
    struct ttp_measure *rows = NULL;
    if (status == TTAPE_OK) {
        rows = fuzz_take(count * sizeof *rows);
        status = ttp_summary_read(data, size, o->resolution_ns != 0, rows, count, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, size);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].exit_count > UINT32_MAX)
            return; /* as the reader does (F-OVR-04) */
    try_calls(o, rows, count);
    try_listed(o, rows, count);
}

/* The index says which segments there are: here two in each partition, of the same streams. */
static void try_outlines(const struct ttp_overview *in)
{
    ttape_error err = {0};
    uint32_t parts = in->partition_count;
    struct ttp_outlines o = {.partition_count = parts, .segment_count = 2 * parts};
    if (in->fields[TTP_OVERVIEW_OUTLINES].data == NULL)
        return;
    ttape_status status = ttp_outlines_count(in, &o, &err);
    if (status == TTAPE_OK && (o.start_frame_count > MOST_ROWS || o.end_frame_count > MOST_ROWS ||
                               o.row_count > MOST_ROWS))
        return;
    if (status == TTAPE_OK) {
        struct ttp_outline_origin *before = fuzz_take(o.segment_count * sizeof *before);
        o.each = fuzz_take(parts * sizeof *o.each);
        o.segments = fuzz_take(o.segment_count * sizeof *o.segments);
        memset(o.each, 0, parts * sizeof *o.each);
        memset(o.segments, 0, o.segment_count * sizeof *o.segments);
        for (uint32_t i = 0; i < parts; i++) {
            o.each[i].segments.segments = o.segments + 2 * i;
            o.each[i].segments.segment_count = 2;
            for (uint32_t s = 0; s < 2; s++)
                before[2 * i + s] = (struct ttp_outline_origin){i - 1, s}; /* first: none */
        }
        o.before = before;
        o.start_frames = fuzz_take(o.start_frame_count * sizeof *o.start_frames);
        o.end_frames = fuzz_take(o.end_frame_count * sizeof *o.end_frames);
        o.rows = fuzz_take(o.row_count * sizeof *o.rows);
        o.timed = in->resolution_ns != 0;
        status = ttp_outlines_read(in, &o, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in->fields[TTP_OVERVIEW_OUTLINES].size_bytes);
        return;
    }
    size_t bound = ttp_outlines_bound(&o);
    uint8_t *out = fuzz_take(bound), *twice = fuzz_take(bound);
    struct ttp_overview again = *in;
    again.fields[TTP_OVERVIEW_OUTLINES].data = out;
    again.fields[TTP_OVERVIEW_OUTLINES].size_bytes = ttp_outlines_write(&o, out, bound);
    FUZZ_REQUIRE(ttp_outlines_read(&again, &o, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttp_outlines_write(&o, twice, bound) ==
                 again.fields[TTP_OVERVIEW_OUTLINES].size_bytes);
    FUZZ_REQUIRE(memcmp(out, twice, again.fields[TTP_OVERVIEW_OUTLINES].size_bytes) == 0);
}

/* Of the same segments; ticks are what they are. */
static void try_merged(const struct ttp_overview *in)
{
    ttape_error err = {0};
    int64_t first_ticks[TTP_OVERVIEW_PARTITIONS];
    uint32_t parts = in->partition_count, count = 2 * parts, instants = 0, frames = 0;
    struct ttp_merged_ref *refs = fuzz_take(count * sizeof *refs);
    if (in->fields[TTP_OVERVIEW_INSTANTS].data == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        refs[i] = (struct ttp_merged_ref){i / parts, i % parts, i / parts};
    for (uint32_t i = 0; i < parts; i++)
        first_ticks[i] = in->span_ticks;
    struct ttp_merged m = {
        .series = fuzz_take(2 * sizeof *m.series),
        .series_count = ttp_merged_list(refs, count, NULL),
        .in = {.instants = fuzz_take(TTP_INSTANTS_MOST * sizeof *m.in.instants),
               .frames = fuzz_take(TTP_INSTANT_FRAMES_MOST * sizeof *m.in.frames)}};
    struct ttp_symbol *stack = fuzz_take(TTP_INSTANT_FRAMES_MOST * sizeof *stack);
    FUZZ_REQUIRE(ttp_merged_list(refs, count, m.series) == 2 && m.series[1].first_ref == parts);
    ttape_status status = ttp_merged_read(in->fields[TTP_OVERVIEW_INSTANTS].data,
                                          in->fields[TTP_OVERVIEW_INSTANTS].size_bytes, refs, count,
                                          first_ticks, stack, &m, &err);
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in->fields[TTP_OVERVIEW_INSTANTS].size_bytes);
        return;
    }
    for (uint32_t r = 0; r < 2; r++) {
        const struct ttp_merged_series *run = &m.series[r];
        uint32_t height = run->start_frame_count;
        FUZZ_REQUIRE(run->segment_count <= parts);
        FUZZ_REQUIRE((run->segment_count == 0) == (run->in.exponent == TTP_INSTANTS_UNKNOWN));
        frames += height;
        for (uint32_t i = 0; i < run->in.count; i++) {
            const struct ttp_instant *at = &m.in.instants[instants++];
            FUZZ_REQUIRE(at->kept <= height && at->first == frames);
            frames += at->added;
            height = at->kept + at->added;
        }
        FUZZ_REQUIRE(run->in.kept <= height && run->end_frame_count >= run->in.kept);
    }
    FUZZ_REQUIRE(instants == m.in.instant_count && frames == m.in.frame_count);
    FUZZ_REQUIRE(instants <= TTP_INSTANTS_MOST && frames <= TTP_INSTANT_FRAMES_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ttape_error err = {0};
    struct ttp_overview o;
    ttape_status status = ttp_overview_open(data, size, &o, &err);
    if (status == TTAPE_OK) {
        uint8_t head[TTP_OVERVIEW_HEAD_BOUND];
        size_t bytes = ttp_overview_head_write(&o, head);
        FUZZ_REQUIRE(bytes <= size && memcmp(head, data, bytes) == 0);
        try_rows(&o);
        try_leaves(&o);
        try_outlines(&o);
        try_merged(&o);
    } else {
        fuzz_require_error(status, &err, size);
    }
    fuzz_release_all();
    return 0;
}
