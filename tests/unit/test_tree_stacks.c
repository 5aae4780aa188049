/* What the tree knows of frames on several stacks at the edges of a partition. */
#include "answers/tree/tree_scan.h"
#include "tests/unit/test_reader_fixture.h"

#define FRAMES 3u

/* Without times, which frames stay is found by heights; frames behind the segment's own, on the
 * same stack too, are not touched. */
START_TEST(heights_end_with_the_segment)
{
    struct ttp_tree_frame frames[FRAMES] = {{.stack = 5}, {.stack = 5}, {.stack = 5}};
    struct ttp_tree_segment seg = {.start_count = FRAMES - 1, .event_count = 1};
    struct ttp_outline o = {
        .segment_count = 1, .frame_count = FRAMES, .segments = &seg, .frames = frames};
    struct ttp_frame start_frames[FRAMES - 1] = {{.stack = 5}, {.stack = 5}};
    struct ttp_segment segment = {.event_count = 1, .start = {.stack = 5, .frame_count = 2}};
    uint32_t segment_start[] = {0, 1}, codes[] = {1};
    struct ttp_code_view views[2] = {{.after = 1}, {.before = -1}};
    struct ttp_loaded p = {.segments = {.segments = &segment,
                                        .start_frames = start_frames,
                                        .segment_count = 1,
                                        .start_frame_count = FRAMES - 1},
                           .segment_start = segment_start,
                           .codes = codes,
                           .views = views};
    frames[FRAMES - 1].stays = true;
    ttp_tree_find_stays(&o, &p);
    ck_assert(frames[0].stays);
    ck_assert(!frames[1].stays); /* it is the one that exits */
    ck_assert(frames[2].stays);
}
END_TEST

static void append(ttape_writer *w, uint64_t time_ns, uint8_t kind, uint32_t argument)
{
    ttape_error err = {0};
    ttape_event e = {.time_ns = time_ns,
                     .kind = kind,
                     .site = kind == TTAPE_EVENT_SWITCH ? TTAPE_NONE : 0,
                     .argument = argument,
                     .depth = TTAPE_DEPTH_AUTO};
    TTEST_OK(ttape_writer_append(w, 0, &e, 1, &err));
}

static ttape_writer *open_writer(ttape_memory_sink *memory, uint32_t partition_events)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {
        .size = sizeof o, .partition_events = partition_events, .resolution_ns = 1};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 1);
    return w;
}

/* One frame is left open on stack 5; everything after that happens on stack 7. */
static void write_stacks(ttape_memory_sink *memory)
{
    ttape_error err = {0};
    ttape_writer *w = open_writer(memory, 40);
    append(w, 100, TTAPE_EVENT_SWITCH, 5);
    append(w, 200, TTAPE_EVENT_ENTER, 0);
    append(w, 300, TTAPE_EVENT_SWITCH, 7);
    for (uint64_t i = 4; i < 118; i++)
        append(w, 100 * i, i % 2 == 0 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT, 0);
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
}

/* A partition that starts on another stack than its outermost frame: both are its stacks. */
START_TEST(a_frame_on_another_stack)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_segment_info info;
    uint32_t stack;
    write_stacks(&memory);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    TTEST_OK(ttp_lease_begin(&tree->lease, &err));
    for (uint32_t partition = 1; partition < 3; partition++) {
        TTEST_OK(ttape_reader_get_segment(r, partition, 0, &info, &err));
        ck_assert_uint_ge(info.start.frame_count, 1);
        ck_assert_uint_eq(info.start.stack, 7);
        TTEST_OK(ttp_scan_next_stack(tree, partition, 0, 0, &stack, &err));
        ck_assert_uint_eq(stack, 5);
        TTEST_OK(ttp_scan_next_stack(tree, partition, 0, 6, &stack, &err));
        ck_assert_uint_eq(stack, 7);
        TTEST_OK(ttp_scan_next_stack(tree, partition, 0, 8, &stack, &err));
        ck_assert_uint_eq(stack, TTAPE_NONE);
    }
    ttp_lease_end(&tree->lease);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Frames that stay open: 10,000 in each of four partitions, and in those behind it. */
static void write_deep(ttape_memory_sink *memory, uint32_t stack)
{
    ttape_error err = {0};
    ttape_writer *w = open_writer(memory, 10000);
    append(w, 0, TTAPE_EVENT_SWITCH, stack);
    for (uint64_t i = 1; i < 40000; i++)
        append(w, i, TTAPE_EVENT_ENTER, 0);
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
}

/* The largest record and the one that is used fit at the same time (4.0 MB of 5.5), all of them
 * would not (5.6 MB), whatever is read ahead. */
START_TEST(records_go_before_others_come)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_node node;
    ttape_node_id first = {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_END, .place = 17};
    write_deep(&memory, 5);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    ttape_reader_options options = {.size = sizeof options, .limits.memory_bytes = 11000000};
    ttape_tree_options small = {.size = sizeof small, .cache_bytes = 1};
    TTEST_OK(ttape_reader_open(&r, &source, &options, &err));
    TTEST_OK(ttape_tree_open(&tree, r, &small, &err));
    for (uint32_t again = 0; again < 3; again++) {
        TTEST_OK(ttape_tree_get_node(tree, &first, TTAPE_TREE_PRUNED, &node, &err));
        ck_assert_uint_eq(node.last_partition, 3);
        ck_assert_uint_eq(node.end, TTAPE_NODE_OPEN);
    }
    ttape_tree_close(tree);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Frames that wait below others cost nothing in the partitions that they wait in: where a cache has
 * room for one partition's frames, going through levels reads no partition again. */
START_TEST(waiting_frames_are_not_read_again)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_reader *r;
    ttape_tree *tree;
    ttape_node node;
    ttape_node_id id = {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_END};
    write_deep(&memory, 0);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    ttape_tree_options small = {.size = sizeof small, .cache_bytes = 1 << 20};
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_tree_open(&tree, r, &small, &err));
    for (id.place = 0; id.place < 500; id.place++) {
        TTEST_OK(ttape_tree_get_node(tree, &id, TTAPE_TREE_PRUNED, &node, &err));
        ck_assert_uint_eq(node.enter_ns, id.place + 1);
        ck_assert_uint_eq(node.last_partition, 3);
        ck_assert_int_eq(node.self_ns, 1);
    }
    ck_assert_uint_le(tree->made_count, 12);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree_stacks");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, heights_end_with_the_segment);
    tcase_add_test(tests, a_frame_on_another_stack);
    tcase_add_test(tests, records_go_before_others_come);
    tcase_add_test(tests, waiting_frames_are_not_read_again);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
