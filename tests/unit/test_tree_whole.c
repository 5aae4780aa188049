/* The node of a whole trace: exact where it is asked for, and what its streams and a report say. */
#include <tracetape/report.h>
#include <tracetape/tree.h>

#include "tests/unit/analysis_fixture.h"

static uint64_t count_calls(ttape_reader *r)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    uint64_t calls = 0;
    TTEST_OK(ttape_cursor_open(&cursor, r, TTAPE_ALL_STREAMS, &err));
    while (ttape_cursor_next(cursor, &item, &err) == TTAPE_OK)
        calls += item.event.kind == TTAPE_EVENT_ENTER;
    ttape_cursor_close(cursor);
    return calls;
}

START_TEST(a_trace_is_its_streams)
{
    const struct ttest_plan plan = {.streams = 3,
                                    .events = 9000,
                                    .partition_events = _i == 0 ? 20000 : 700,
                                    .plain = true,
                                    .resolution_ns = 1};
    struct ttest_file file = ttest_write(&plan);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_info info;
    ttape_node whole, stream;
    ttape_node_id id = {.kind = TTAPE_NODE_TRACE};
    uint64_t events = 0, calls = 0;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    ttape_reader_get_info(r, &info);
    TTEST_OK(ttape_tree_get_node(tree, &id, TTAPE_TREE_FULL, &whole, &err));
    ck_assert_int_eq(ttape_tree_get_node(tree, &id, TTAPE_TREE_FULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_get_node(tree, NULL, TTAPE_TREE_FULL, &whole, &err),
                     TTAPE_E_ARGUMENT);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_node_id name = {.kind = TTAPE_NODE_STREAM, .stream = s};
        TTEST_OK(ttape_tree_get_node(tree, &name, TTAPE_TREE_FULL, &stream, &err));
        ck_assert(stream.counts_exact);
        ck_assert_uint_ge(stream.start_ns, whole.start_ns);
        ck_assert_uint_le(stream.end_ns, whole.end_ns);
        events += stream.event_count;
        calls += stream.call_count;
    }
    ck_assert(whole.counts_exact);
    ck_assert_uint_eq(whole.event_count, info.event_count);
    ck_assert_uint_eq(events, info.event_count);
    ck_assert_uint_eq(whole.call_count, calls);
    ck_assert_uint_eq(calls, count_calls(r));
    ck_assert_uint_eq(whole.start_ns, info.time_first_ns);
    ck_assert_uint_eq(whole.end_ns, info.time_last_ns);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Children of a frame, or of a part of it, stand one level above it; by name they are the same. */
static void walk(ttape_tree *tree, const ttape_node *parent, uint32_t level, uint32_t mode,
                 uint32_t *frames, uint32_t *parts)
{
    ttape_error err = {0};
    ttape_tree_walk *children;
    ttape_node child, again;
    TTEST_OK(ttape_tree_walk_open(&children, tree, &parent->id, mode, &err));
    while (ttape_tree_walk_next(children, &child, &err) == TTAPE_OK) {
        uint32_t next = level;
        if (child.id.kind == TTAPE_NODE_FRAME) {
            ck_assert_uint_eq(child.level, level);
            TTEST_OK(ttape_tree_get_node(tree, &child.id, mode, &again, &err));
            ck_assert(again.level == level && again.site == child.site);
            next = level + 1;
            ++*frames;
        }
        *parts += child.id.kind == TTAPE_NODE_PART;
        if (*frames < 4000)
            walk(tree, &child, next, mode, frames, parts);
    }
    ttape_tree_walk_close(children);
}

START_TEST(levels_go_up)
{
    const struct ttest_plan plan = {
        .streams = 2, .events = 6000, .partition_events = 400, .plain = true, .resolution_ns = 1};
    struct ttest_file file = ttest_write(&plan);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_node whole;
    ttape_node_id id = {.kind = TTAPE_NODE_TRACE};
    uint32_t frames = 0, parts = 0;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    TTEST_OK(ttape_tree_get_node(tree, &id, TTAPE_TREE_PRUNED, &whole, &err));
    walk(tree, &whole, 0, (uint32_t)_i, &frames, &parts);
    ck_assert_uint_gt(frames, 1000);
    ck_assert(_i == TTAPE_TREE_PRUNED ? parts > 20 : _i != TTAPE_TREE_FULL || parts == 0);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Nodes with how many levels they are below the one that was asked for. */
struct listed {
    ttape_node *nodes;
    uint32_t *depths;
    size_t count, capacity;
};

static void list_node(struct listed *list, const ttape_node *node, uint32_t depth)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity * 2 + 64;
        list->nodes = realloc(list->nodes, list->capacity * sizeof *list->nodes);
        list->depths = realloc(list->depths, list->capacity * sizeof *list->depths);
    }
    list->nodes[list->count] = *node;
    list->depths[list->count++] = depth;
}

static bool is_local(const ttape_node *node)
{
    return node->id.kind == TTAPE_NODE_FRAME && node->id.by == TTAPE_NODE_BY_EVENT;
}

static void list_one_by_one(ttape_tree *tree, const ttape_node_id *id, uint32_t mode,
                            uint32_t depth, uint32_t depth_most, struct listed *list)
{
    ttape_error err = {0};
    ttape_tree_walk *children;
    ttape_node child;
    TTEST_OK(ttape_tree_walk_open(&children, tree, id, mode, &err));
    while (ttape_tree_walk_next(children, &child, &err) == TTAPE_OK) {
        if (is_local(&child) && depth < depth_most)
            list_one_by_one(tree, &child.id, mode, depth + 1, depth_most, list);
        list_node(list, &child, depth);
    }
    ttape_tree_walk_close(children);
}

static void list_at_once(ttape_tree *tree, const ttape_node_id *id, uint32_t mode,
                         uint32_t depth_most, size_t capacity, struct listed *list)
{
    ttape_error err = {0};
    ttape_tree_walk *children;
    ttape_node nodes[64];
    uint32_t depths[64];
    size_t count;
    TTEST_OK(ttape_tree_walk_open(&children, tree, id, mode, &err));
    while (ttape_tree_walk_next_nodes(children, depth_most, nodes, depths, capacity, &count,
                                      &err) == TTAPE_OK) {
        ck_assert(count > 0 && count <= capacity);
        for (size_t i = 0; i < count; i++)
            list_node(list, &nodes[i], depths[i]);
    }
    ck_assert_int_eq(ttape_tree_walk_next_nodes(children, 0, nodes, depths, 1, &count, &err),
                     TTAPE_E_ARGUMENT);
    ttape_tree_walk_close(children);
}

static void compare_nodes(const ttape_node *a, const ttape_node *b)
{
    ck_assert_int_eq(memcmp(&a->id, &b->id, sizeof a->id), 0);
    ck_assert(a->site == b->site && a->argument == b->argument && a->stack == b->stack);
    ck_assert(a->frame_kind == b->frame_kind && a->level == b->level && a->end == b->end);
    ck_assert(a->enter_ns == b->enter_ns && a->start_ns == b->start_ns);
    ck_assert(a->end_ns == b->end_ns && a->end_most_ns == b->end_most_ns);
    ck_assert(a->time_ns == b->time_ns && a->self_ns == b->self_ns && a->rest_ns == b->rest_ns);
    ck_assert(a->event_count == b->event_count && a->call_count == b->call_count);
    ck_assert(a->self_exact == b->self_exact && a->counts_exact == b->counts_exact);
    ck_assert(a->is_spanning == b->is_spanning && a->last_partition == b->last_partition);
}

/* Returns how many local nodes it met. */
static size_t compare_walks(ttape_tree *tree, const ttape_node_id *id, uint32_t mode,
                            uint32_t depth_most, size_t capacity)
{
    struct listed one = {0}, all = {0};
    size_t local = 0;
    list_one_by_one(tree, id, mode, 1, depth_most, &one);
    list_at_once(tree, id, mode, depth_most, capacity, &all);
    ck_assert_uint_eq(one.count, all.count);
    for (size_t i = 0; i < one.count; i++) {
        ck_assert_uint_eq(one.depths[i], all.depths[i]);
        compare_nodes(&one.nodes[i], &all.nodes[i]);
        local += is_local(&one.nodes[i]) && one.depths[i] > 1;
    }
    for (size_t i = 0; i < one.count; i++)
        if (!is_local(&one.nodes[i]))
            local += compare_walks(tree, &one.nodes[i].id, mode, depth_most, capacity);
    free(one.nodes);
    free(one.depths);
    free(all.nodes);
    free(all.depths);
    return local;
}

/* What is below local frames is the same at once as level by level: of any node, of any number of
 * stacks, for any room. */
START_TEST(levels_at_once_are_those_of_walks)
{
    struct ttest_file file = ttest_write(&ttest_plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_tree *tree;
    const ttape_node_id id = {.kind = TTAPE_NODE_TRACE};
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    for (uint32_t mode = 0; mode < TTAPE_TREE_MODE_COUNT; mode++) {
        size_t local = compare_walks(tree, &id, mode, 100000, 64);
        ck_assert(_i > 1 || mode != TTAPE_TREE_FULL || local > 10);
        compare_walks(tree, &id, mode, 3, 2);
    }
    ttape_tree_close(tree);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Two threads, one after the other: each is in the partitions of its own time only. */
START_TEST(parts_that_are_not_there)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 40};
    ttape_writer *w;
    ttape_reader *r;
    ttape_tree *tree;
    ttape_node node;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 2);
    for (uint64_t i = 0; i < 160; i++) {
        ttape_event e = {.time_ns = 100 * i,
                         .kind = i % 2 ? TTAPE_EVENT_EXIT : TTAPE_EVENT_ENTER,
                         .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, i / 80 != 0, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    for (uint32_t stream = 0; stream < 2; stream++)
        for (uint32_t partition = 0; partition < 5; partition++) {
            ttape_node_id id = {.kind = TTAPE_NODE_PART, .stream = stream, .partition = partition};
            ttape_status wanted = partition / 2 == stream ? TTAPE_OK : TTAPE_E_NOT_FOUND;
            ck_assert_int_eq(ttape_tree_get_node(tree, &id, TTAPE_TREE_PRUNED, &node, &err),
                             wanted);
        }
    ttape_tree_close(tree);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

static uint64_t used, most;

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    used += size_bytes;
    most = used > most ? used : most;
    return malloc(size_bytes);
}

static void release(void *context, void *block, size_t size_bytes)
{
    (void)context;
    used -= block != NULL ? size_bytes : 0;
    free(block);
}

/* Names every frame of the whole trace; the most memory that it took. */
static uint64_t memory_of(const struct ttest_file *file, uint64_t cache_bytes)
{
    ttape_allocator counted = {NULL, allocate, release};
    ttape_reader_options how = {.size = sizeof how, .cache_bytes = 1, .allocator = &counted};
    ttape_tree_options options = {.size = sizeof options, .cache_bytes = cache_bytes, .jobs = 1};
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_node whole;
    ttape_node_id id = {.kind = TTAPE_NODE_TRACE};
    used = most = 0;
    TTEST_OK(ttape_reader_open(&r, &source, &how, &err));
    uint64_t before = used;
    most = used;
    TTEST_OK(ttape_tree_open(&tree, r, &options, &err));
    TTEST_OK(ttape_tree_get_node(tree, &id, TTAPE_TREE_FULL, &whole, &err));
    ttape_tree_close(tree);
    ttape_reader_close(r);
    ck_assert_uint_eq(used, 0);
    return most - before;
}

/* Records of partitions stay within the option, and are kept where there is room. */
START_TEST(a_small_cache_is_small)
{
    const struct ttest_plan plan = {
        .streams = 2, .events = 12000, .partition_events = 100, .plain = true, .resolution_ns = 1};
    struct ttest_file file = ttest_write(&plan);
    uint64_t small = memory_of(&file, 20000), large = memory_of(&file, 0);
    ck_assert_uint_gt(large, small + 100000);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree_whole");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_trace_is_its_streams, 0, 2);
    tcase_add_loop_test(tests, levels_go_up, 0, TTAPE_TREE_MODE_COUNT);
    tcase_add_loop_test(tests, levels_at_once_are_those_of_walks, 0, TTEST_PLANS);
    tcase_add_test(tests, parts_that_are_not_there);
    tcase_add_test(tests, a_small_cache_is_small);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
