/* Reports and trees: bounded in memory and time, the same for any number of threads, whatever the
 * trace says; and where the trace says nothing wrong, by summaries as by events. */
#include <string.h>

#include <tracetape/report.h>
#include <tracetape/tree.h>

#include "fuzz_trace.h"

#define MEMORY_BYTES (24u << 20) /* of a report, and of a tree besides its reader's */
#define NODES_MOST   300u
#define DEPTH_MOST   40u

static void skip_damage(void *context, uint32_t partition, const ttape_error *error)
{
    uint64_t *count = context;
    FUZZ_REQUIRE(error->status >= TTAPE_E_TRUNCATED && partition != TTAPE_NONE);
    ++*count;
}

static uint32_t group_of(void *context, uint32_t site)
{
    (void)context;
    return site % 3 == 2 ? TTAPE_NONE : 0;
}

static bool in_focus(void *context, uint32_t site)
{
    (void)context;
    return site % 2 == 0;
}

/* What the report says, as a hash; 0: it cannot be made. */
static uint64_t hash_report(ttape_reader *reader, ttape_report_options how, uint32_t jobs)
{
    uint64_t damage = 0, hash = 1;
    uint32_t count;
    ttape_report *report;
    ttape_report_info info;
    how.size = sizeof how;
    how.jobs = jobs;
    how.memory_bytes = MEMORY_BYTES;
    how.damage = skip_damage;
    how.context = &damage;
    how.group = group_of;
    if (ttape_report_make(&report, reader, &how, NULL) != TTAPE_OK)
        return 0;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ttape_report_get_info(report, &info);
    FUZZ_REQUIRE(info.damaged_count == damage && info.row_count == count);
    FUZZ_REQUIRE(info.decoded_count <= info.partition_count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t half = 0;
        const uint64_t fields[] = {rows[i].site,
                                   rows[i].caller,
                                   rows[i].call_count,
                                   rows[i].exit_count,
                                   (uint64_t)rows[i].self_ns,
                                   (uint64_t)rows[i].total_ns,
                                   (uint64_t)rows[i].min_ns,
                                   (uint64_t)rows[i].max_ns,
                                   rows[i].squares_low,
                                   rows[i].squares_high};
        hash = fuzz_hash(hash, fields, sizeof fields);
        if (ttape_report_get_percentile(report, i, 0.5, &half) == TTAPE_OK)
            FUZZ_REQUIRE(half >= rows[i].min_ns && half <= rows[i].max_ns);
    }
    ttape_report_close(report);
    return damage != 0 ? 0 : hash;
}

static void make_reports(ttape_reader *reader, struct fuzz_input *in, bool sound)
{
    uint32_t stream = fuzz_number(in, 1), from = fuzz_number(in, 2), length = fuzz_number(in, 2);
    ttape_report_options how = {.by = fuzz_number(in, 1) % TTAPE_REPORT_BY_COUNT};
    ttape_report_options exact = {.exact = true};
    uint64_t summaries = hash_report(reader, (ttape_report_options){0}, 1);
    uint64_t events = hash_report(reader, exact, 2);
    FUZZ_REQUIRE(!sound || summaries == 0 || events == 0 || summaries == events);
    how.percentiles = fuzz_number(in, 1) % 2 != 0;
    how.has_range = fuzz_number(in, 1) % 2 != 0;
    how.from_ns = from;
    how.to_ns = from + length;
    how.streams = stream < 4 ? &stream : NULL;
    how.stream_count = how.streams != NULL;
    how.focus = from % 2 != 0 ? in_focus : NULL;
    uint64_t one = hash_report(reader, how, 1), three = hash_report(reader, how, 3);
    FUZZ_REQUIRE(one == three || one == 0 || three == 0); /* threads share the memory there is */
}

struct walking {
    ttape_tree *tree;
    uint32_t mode, left;
    uint64_t hash;
};

static void walk(struct walking *w, const ttape_node_id *id, uint32_t depth)
{
    ttape_tree_walk *children;
    ttape_node node;
    uint32_t errors = 0;
    if (depth == 0 || ttape_tree_walk_open(&children, w->tree, id, w->mode, NULL) != TTAPE_OK)
        return;
    while (w->left > 0 && errors < 50) {
        ttape_status status = ttape_tree_walk_next(children, &node, NULL);
        if (status == TTAPE_END)
            break;
        w->left--;
        errors += status != TTAPE_OK;
        if (status != TTAPE_OK)
            continue;
        FUZZ_REQUIRE(node.id.kind != TTAPE_NODE_TRACE);
        w->hash = fuzz_hash(w->hash, &node.id, sizeof node.id);
        w->hash = fuzz_hash(w->hash, &node.time_ns, sizeof node.time_ns);
        walk(w, &node.id, depth - 1);
    }
    ttape_tree_walk_close(children);
}

static uint64_t walk_all(ttape_reader *reader, uint32_t mode, uint32_t jobs, uint64_t cache_bytes)
{
    const ttape_tree_options options = {
        .size = sizeof options, .cache_bytes = cache_bytes, .jobs = jobs};
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    struct walking w = {.mode = mode, .left = NODES_MOST};
    if (ttape_tree_open(&w.tree, reader, &options, NULL) != TTAPE_OK)
        return 0;
    walk(&w, &trace, DEPTH_MOST);
    ttape_tree_close(w.tree);
    return w.hash;
}

static void look_up(ttape_reader *reader, struct fuzz_input *in)
{
    ttape_node_id ids[8] = {{0}};
    ttape_tree *tree;
    ttape_node node;
    size_t count;
    if (ttape_tree_open(&tree, reader, NULL, NULL) != TTAPE_OK)
        return;
    ids[0] = (ttape_node_id){.kind = fuzz_number(in, 1) % 5,
                             .by = fuzz_number(in, 1) % 5,
                             .stream = fuzz_number(in, 1) % 4,
                             .partition = fuzz_number(in, 1) % 8,
                             .place = fuzz_number(in, 1)};
    (void)ttape_tree_get_node(tree, &ids[0], fuzz_number(in, 1) % 3, &node, NULL);
    if (ttape_tree_find_time(tree, ids[0].stream, fuzz_number(in, 2), ids, 8, &count, NULL) ==
        TTAPE_OK)
        for (size_t i = 0; i < count && i < 8; i++)
            (void)ttape_tree_get_node(tree, &ids[i], TTAPE_TREE_OPENED, &node, NULL);
    ttape_tree_close(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    trace.memory.limit_bytes += 2ull * MEMORY_BYTES + trace.options.limits.memory_bytes;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        bool sound = fuzz_trace_verify(&trace.source, &trace.options) == 0;
        make_reports(reader, &trace.parameters, sound);
        for (uint32_t mode = 0; mode < TTAPE_TREE_MODE_COUNT; mode++) /* in one of them, no cache */
            (void)walk_all(reader, mode, 1, data[1] % TTAPE_TREE_MODE_COUNT == mode);
        FUZZ_REQUIRE(walk_all(reader, TTAPE_TREE_PRUNED, 1, 0) ==
                     walk_all(reader, TTAPE_TREE_PRUNED, 3, 0));
        look_up(reader, &trace.parameters);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}
