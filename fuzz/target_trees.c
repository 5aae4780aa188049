/* Trees: bounded in memory, the same for any number of threads and with or without a cache,
 * whatever the trace says; nodes by ids that nobody gave. */
#include "fuzz_tree.h"

#define MEMORY_BYTES (24u << 20) /* of a tree besides its reader's */

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
    trace.memory.limit_bytes += MEMORY_BYTES + trace.options.limits.memory_bytes;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        uint32_t how = fuzz_number(&trace.parameters, 1), mode = how % TTAPE_TREE_MODE_COUNT;
        uint32_t jobs = how & 128 ? 3 : 1, cache_bytes = how & 64 ? 1 : 0;
        FUZZ_REQUIRE(fuzz_tree_hash(reader, mode, 1, 0) ==
                     fuzz_tree_hash(reader, mode, jobs, cache_bytes));
        look_up(reader, &trace.parameters);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}
