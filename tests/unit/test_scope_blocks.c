/* A scope whose definitions stand in several places of the file, with those of another one between:
 * numbers of its own become numbers of the file block by block, and back when it is copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>
#include <tracetape/reader.h>
#include <tracetape/writer.h>

#include "tests/asserts.h"

#define BLOCKS   5u
#define PER_TURN 4u

static ttape_error err;
#define OK(call) ck_assert_msg((call) == TTAPE_OK, "%s: %s %s", #call, err.rule, err.message)

static ttape_writer *open_writer(ttape_memory_sink *memory, uint8_t id)
{
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options options = {.size = sizeof options, .has_trace_id = true, .trace_id = {id}};
    ttape_writer *w;
    OK(ttape_writer_open(&w, &sink, &options, &err));
    return w;
}

static uint32_t add_thread(ttape_writer *w, uint32_t pid)
{
    ttape_process process = {.pid = pid, .parent = TTAPE_NONE};
    ttape_stream stream = {.tid = pid};
    uint32_t id;
    OK(ttape_writer_add_process(w, &process, &stream.process, &err));
    OK(ttape_writer_add_stream(w, &stream, &id, &err));
    return id;
}

/* Some functions more, called from a new thread each time. */
static void one_turn(ttape_writer *w, char prefix, uint32_t turn)
{
    uint32_t stream = add_thread(w, 100 + turn);
    for (uint32_t i = 0; i < PER_TURN; i++) {
        char name[16];
        uint32_t id;
        (void)snprintf(name, sizeof name, "%c%u", prefix, turn * PER_TURN + i);
        ttape_site site = {.module = TTAPE_NONE, .symbol = {name, strlen(name)}};
        OK(ttape_writer_add_site(w, &site, &id, &err));
        ttape_event events[] = {{.time_ns = turn * 100 + 10 * i,
                                 .kind = TTAPE_EVENT_ENTER,
                                 .site = id,
                                 .depth = TTAPE_DEPTH_AUTO},
                                {.time_ns = turn * 100 + 10 * i + 5,
                                 .kind = TTAPE_EVENT_EXIT,
                                 .site = id,
                                 .depth = TTAPE_DEPTH_AUTO}};
        OK(ttape_writer_append(w, stream, events, 2, &err));
    }
}

static ttape_reader *open_reader(const ttape_memory_sink *memory)
{
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    ttape_reader *r;
    OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

/* Copies all of a trace into a writer. */
static void copy(ttape_writer *w, ttape_reader *r)
{
    ttape_copier *copier;
    ttape_info info;
    OK(ttape_copier_open(&copier, w, r, &err));
    ttape_reader_get_info(r, &info);
    for (uint32_t i = 0; i < info.partition_count; i++)
        OK(ttape_copier_partition(copier, i, &err));
    ttape_copier_close(copier);
}

/* Every function of the writer's own is called once by name, from the right thread; the others'
 * are there as often as they were copied. */
static void check(ttape_reader *r)
{
    ttape_info info;
    uint32_t seen[BLOCKS * PER_TURN] = {0}, others = 0;
    ttape_reader_get_info(r, &info);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ttape_stream_info about;
        OK(ttape_reader_get_stream(r, s, &about));
        OK(ttape_cursor_open(&cursor, r, s, &err));
        while (ttape_cursor_next(cursor, &item, &err) == TTAPE_OK) {
            ttape_site site;
            if (item.event.kind != TTAPE_EVENT_ENTER)
                continue;
            OK(ttape_reader_get_site(r, item.event.site, &site));
            char name[16]; // what stands behind a string need not be a zero
            (void)snprintf(name, sizeof name, "%.*s", (int)site.symbol.size_bytes,
                           site.symbol.data);
            unsigned number = (unsigned)strtoul(name + 1, NULL, 10);
            if (name[0] == 'x') {
                others++;
                continue;
            }
            ck_assert_uint_lt(number, BLOCKS * PER_TURN);
            ck_assert_uint_eq(about.pid, 100 + number / PER_TURN);
            seen[number]++;
        }
        ttape_cursor_close(cursor);
    }
    for (uint32_t i = 0; i < BLOCKS * PER_TURN; i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert_uint_eq(others, (BLOCKS - 1) * PER_TURN);
}

static void verify(const ttape_memory_sink *memory)
{
    uint64_t findings = 0;
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
}

START_TEST(blocks_in_turns)
{
    ttape_memory_sink mixed = {0}, again = {0}, foreign[BLOCKS];
    memset(foreign, 0, sizeof foreign);
    ttape_writer *w = open_writer(&mixed, 1);
    for (uint32_t turn = 0; turn < BLOCKS; turn++) {
        one_turn(w, 'f', turn);
        if (turn + 1 == BLOCKS)
            break;
        ttape_writer *other = open_writer(&foreign[turn], (uint8_t)(20 + turn));
        one_turn(other, 'x', turn);
        OK(ttape_writer_finish(other, &err));
        ttape_writer_close(other);
        ttape_reader *r = open_reader(&foreign[turn]);
        copy(w, r);
        ttape_reader_close(r);
    }
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    verify(&mixed);
    ttape_reader *r = open_reader(&mixed);
    check(r);
    w = open_writer(&again, 2);
    copy(w, r);
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_reader_close(r);
    verify(&again);
    r = open_reader(&again);
    check(r);
    ttape_reader_close(r);
    for (uint32_t i = 0; i < BLOCKS; i++)
        ttape_memory_sink_close(&foreign[i]);
    ttape_memory_sink_close(&mixed);
    ttape_memory_sink_close(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scope_blocks");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, blocks_in_turns);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
