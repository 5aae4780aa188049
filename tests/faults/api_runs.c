/* The runs of the library. Nothing in here asserts: a fault may strike anywhere, and what a run
 * then returns is what the tests look at. */
#include "api_runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/copy.h>
#include <tracetape/recover.h>
#include <tracetape/report.h>
#include <tracetape/tree.h>

#include "../unit/test_reader_fixture.h"
#include "tests/unit/every.h"

#define EVENTS 400u

void ttest_api_path(const char *folder, const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", folder, name);
}

void ttest_api_mix(struct ttest_run *run, const void *data, size_t size_bytes)
{
    uint64_t pair[2] = {run->digest, ttp_checksum(data, size_bytes)};
    run->digest = ttp_checksum(pair, sizeof pair);
}

static void mix_item(struct ttest_run *run, const ttape_event_item *item)
{
    struct ttest_sum sum = {0};
    ttest_mix_item(&sum, item);
    ttest_api_mix(run, &sum.hash, sizeof sum.hash);
}

/* ---- writing ---- */

struct plan {
    uint32_t jobs, partition_events;
    bool literal, syncs, resumes;
};

static ttape_string text(const char *s) { return (ttape_string){s, strlen(s)}; }

static ttape_status define(ttape_writer *w, struct ttest_run *run)
{
    uint32_t id, process, module;
    ttape_process p = {.pid = 7, .parent = TTAPE_NONE, .name = text("main")};
    ttape_module m = {
        .start = 4096, .end = 8192, .path = text("/bin/prog"), .build_id = text("ab")};
    TTP_TRY(ttape_writer_set_text(w, "command", text("prog"), &run->err));
    TTP_TRY(ttape_writer_add_process(w, &p, &process, &run->err));
    TTP_TRY(ttape_writer_add_module(w, &m, &module, &run->err));
    for (uint64_t i = 0; i < 2; i++) {
        ttape_stream stream = {.process = process, .tid = 100 + i, .name = text("thread")};
        TTP_TRY(ttape_writer_add_stream(w, &stream, &id, &run->err));
    }
    for (uint32_t i = 0; i < TTEST_SITES; i++) {
        char name[] = {'f', (char)('a' + i), 0};
        ttape_site site = {.address = 4096 + 16 * i,
                           .module = module,
                           .kind = i % 5 == 4 ? TTAPE_SITE_MARKER : TTAPE_SITE_FUNCTION,
                           .symbol = text(name),
                           .file = text("a.c")};
        TTP_TRY(ttape_writer_add_site(w, &site, &id, &run->err));
    }
    return TTAPE_OK;
}

/* A stream that goes on with frames that are open, within a partition and behind one. */
static ttape_status resume_all(ttape_writer *w, struct ttest_run *run)
{
    const ttape_open_frame frames[] = {{.kind = TTAPE_EVENT_ENTER, .site = 1, .enter_time_ns = 900},
                                       {.kind = TTAPE_EVENT_SIGNAL_BEGIN,
                                        .site = TTAPE_NONE,
                                        .argument = 11,
                                        .enter_time_ns = 950},
                                       {.kind = TTAPE_EVENT_OPEN, .site = 2, .stack = 3}};
    ttape_edge edge = {.event_number = 1000,
                       .time_ns = 90000,
                       .unknown_depth = 2,
                       .depth_offset = -1,
                       .frame_count = 3,
                       .frames = frames};
    ttape_event e = {.site = 1, .depth = TTAPE_DEPTH_AUTO};
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t stream = i / 20 % 2;
        if (i % 10 == 0) {
            edge.event_number += 1000;
            edge.time_ns += 10000;
            edge.frame_count = i / 10 % 4;
            TTP_TRY(ttape_writer_resume(w, stream, &edge, &run->err));
        }
        e.kind = i % 2 == 0 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT;
        e.time_ns = edge.time_ns + i * 30;
        TTP_TRY(ttape_writer_append(w, stream, &e, 1, &run->err));
        if (i % 15 == 14)
            TTP_TRY(ttape_writer_seal(w, &run->err));
    }
    return TTAPE_OK;
}

static ttape_status append(ttape_writer *w, const struct plan *how, struct ttest_run *run)
{
    struct ttest_thread threads[2];
    struct ttest_plan plan = {.streams = 2};
    uint64_t seed = 5, time = 1000;
    memset(threads, 0, sizeof threads);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t stream = i / 7 % 2;
        ttape_event e = ttest_event(&threads[stream], &plan, &seed);
        e.time_ns = time += 20 + ttest_random(&seed, 60);
        ttape_off_span span = {.start_ns = i % 20, .length_ns = 10, .kind = i % 2};
        if (how->syncs || how->resumes)
            TTP_TRY(ttape_writer_add_off(w, stream, &span, i % 3 == 0, &run->err));
        TTP_TRY(ttape_writer_append(w, stream, &e, 1, &run->err));
        ttape_value value = {.type = TTAPE_VALUE_STRING, .bytes = text("some text")};
        if (e.kind == TTAPE_EVENT_ENTER && i % 9 == 0)
            TTP_TRY(ttape_writer_attach(w, stream, &value, 1, &run->err));
        if (how->syncs && i % 90 == 89)
            TTP_TRY(ttape_writer_flush(w, true, &run->err));
    }
    if (how->resumes)
        TTP_TRY(resume_all(w, run));
    TTP_TRY(ttape_writer_set_number(w, "exit_status", 3, &run->err));
    return ttape_writer_finish(w, &run->err);
}

/* The first failure is permanent: every later call returns it. */
static ttape_status still_failed(ttape_writer *w, ttape_status status)
{
    ttape_error err = {0};
    ttape_event e = {.kind = TTAPE_EVENT_GAP, .site = TTAPE_NONE, .depth = TTAPE_DEPTH_AUTO};
    ttape_edge edge = {.event_number = 5000};
    if (ttape_writer_append(w, 0, &e, 1, &err) != status || err.status != status ||
        ttape_writer_resume(w, 0, &edge, &err) != status || ttape_writer_seal(w, &err) != status ||
        ttape_writer_add_off(w, 0, NULL, 0, &err) != status ||
        ttape_writer_finish(w, &err) != status)
        return TTAPE_E_STATE;
    return status;
}

static ttape_status write_to(const ttape_sink *sink, const struct plan *how, struct ttest_run *run)
{
    ttape_writer *w;
    ttape_writer_options o = {.size = sizeof o,
                              .partition_events = how->partition_events,
                              .literal = how->literal,
                              .jobs = how->jobs,
                              .model_period = 3,
                              .index_period = 2,
                              .has_trace_id = true,
                              .trace_id = {1},
                              .allocator = &run->allocator};
    TTP_TRY(ttape_writer_open(&w, sink, &o, &run->err));
    ttape_status status = define(w, run);
    if (status == TTAPE_OK)
        status = append(w, how, run);
    if (status != TTAPE_OK)
        status = still_failed(w, status);
    ttape_writer_close(w);
    return status;
}

/* Into a plain descriptor: what a failure leaves is there to be recovered. */
static ttape_status write_plain(struct ttest_run *run, const struct plan *how)
{
    char path[256];
    ttest_api_path(run->folder, "out.ttape", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        run->err = (ttape_error){.status = TTAPE_E_IO, .message = "opening failed"};
        return TTAPE_E_IO;
    }
    run->is_unfinished = true;
    ttape_sink sink = ttape_sink_fd(fd);
    ttape_status status = write_to(&sink, how, run);
    (void)close(fd);
    return status;
}

static ttape_status write_alone(struct ttest_run *run)
{
    return write_plain(run, &(struct plan){.partition_events = 40, .syncs = true});
}

static ttape_status write_jobs(struct ttest_run *run)
{
    return write_plain(run, &(struct plan){.partition_events = 40, .jobs = 3});
}

static ttape_status write_literal(struct ttest_run *run)
{
    return write_plain(run, &(struct plan){.partition_events = 150, .literal = true});
}

static ttape_status write_resumed(struct ttest_run *run)
{
    return write_plain(run, &(struct plan){.partition_events = 200, .resumes = true});
}

static ttape_status write_resumed_jobs(struct ttest_run *run)
{
    return write_plain(run, &(struct plan){.partition_events = 200, .resumes = true, .jobs = 3});
}

static ttape_status write_memory(struct ttest_run *run)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_status status = write_to(&sink, &(struct plan){.partition_events = 200}, run);
    ttest_api_mix(run, memory.data, memory.size_bytes);
    ttape_memory_sink_close(&memory);
    return status;
}

/* Under a name that is there when all is. */
ttape_status ttest_api_with_file(struct ttest_run *run,
                                 ttape_status (*fill)(struct ttest_run *, const ttape_sink *))
{
    char path[256];
    ttape_file_sink *file;
    ttest_api_path(run->folder, "out.ttape", path);
    TTP_TRY(ttape_file_sink_open(&file, path, false, &run->err));
    ttape_sink sink = ttape_file_sink_sink(file);
    ttape_status status = fill(run, &sink);
    if (status == TTAPE_OK)
        status = ttape_file_sink_commit(file, &run->err);
    ttape_file_sink_close(file);
    return status;
}

static ttape_status fill_whole(struct ttest_run *run, const ttape_sink *sink)
{
    return write_to(sink, &(struct plan){.partition_events = 100}, run);
}

static ttape_status write_file(struct ttest_run *run)
{
    return ttest_api_with_file(run, fill_whole);
}

/* ---- reading ---- */

typedef ttape_status reading(struct ttest_run *run, ttape_reader *reader);

static ttape_status with_reader(struct ttest_run *run, const char *name, uint32_t jobs, bool scan,
                                reading *read)
{
    char path[256];
    ttape_source source;
    ttape_reader *reader;
    ttape_reader_options o = {
        .size = sizeof o, .jobs = jobs, .ignore_index = scan, .allocator = &run->allocator};
    ttest_api_path(run->folder, name, path);
    TTP_TRY(ttape_source_file_open(&source, path, &run->err));
    ttape_status status = ttape_reader_open(&reader, &source, &o, &run->err);
    if (status == TTAPE_OK)
        status = read(run, reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return status;
}

static ttape_status walk(struct ttest_run *run, ttape_cursor *cursor, uint32_t stream)
{
    ttape_event_item item;
    ttape_edge edge;
    ttape_status status;
    while ((status = ttape_cursor_next(cursor, &item, &run->err)) == TTAPE_OK)
        mix_item(run, &item);
    if (status != TTAPE_END || stream == TTAPE_ALL_STREAMS)
        return status == TTAPE_END ? TTAPE_OK : status;
    for (uint32_t i = 0; i < 100; i++) {
        TTP_TRY(ttape_cursor_previous(cursor, &item, &run->err));
        mix_item(run, &item);
    }
    TTP_TRY(ttape_cursor_seek_event(cursor, 60, &run->err));
    TTP_TRY(ttape_cursor_get_edge(cursor, &edge, &run->err));
    for (uint32_t i = 0; i < edge.frame_count; i++)
        ttest_api_mix(run, &edge.frames[i].enter_time_ns, sizeof edge.frames[i].enter_time_ns);
    TTP_TRY(ttape_cursor_seek_time(cursor, item.event.time_ns, &run->err));
    TTP_TRY(ttape_cursor_next(cursor, &item, &run->err));
    mix_item(run, &item);
    return TTAPE_OK;
}

static ttape_status read_all(struct ttest_run *run, ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    ttest_api_mix(run, &info.event_count, sizeof info.event_count);
    for (uint32_t s = 0; s <= info.stream_count; s++) {
        ttape_cursor *cursor;
        uint32_t stream = s < info.stream_count ? s : TTAPE_ALL_STREAMS;
        TTP_TRY(ttape_cursor_open(&cursor, reader, stream, &run->err));
        ttape_status status = walk(run, cursor, stream);
        ttape_cursor_close(cursor);
        TTP_TRY(status);
    }
    for (uint32_t p = 0; p < info.partition_count; p++) {
        ttape_segment_info segment;
        const ttape_summary_row *rows;
        uint32_t count;
        TTP_TRY(ttape_reader_get_segment(reader, p, 0, &segment, &run->err));
        TTP_TRY(ttape_reader_get_summary(reader, p, &rows, &count, &run->err));
        for (uint32_t i = 0; i < count; i++)
            ttest_api_mix(run, &rows[i].total_ns, sizeof rows[i].total_ns);
        TTP_TRY(ttest_read_off(run, reader, p));
    }
    return TTAPE_OK;
}

static ttape_status read_index(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, read_all);
}

static ttape_status read_scan(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, true, read_all);
}

static ttape_status read_jobs(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 3, false, read_all);
}

static bool take_finding(void *context, const ttape_finding *finding)
{
    ttest_api_mix(context, finding->error.rule, sizeof finding->error.rule);
    return true;
}

static ttape_status verify_name(struct ttest_run *run, const char *name)
{
    char path[256];
    ttape_source source;
    uint64_t count = 0;
    ttape_reader_options o = {.size = sizeof o, .allocator = &run->allocator};
    ttest_api_path(run->folder, name, path);
    TTP_TRY(ttape_source_file_open(&source, path, &run->err));
    ttape_status status = ttape_verify(&source, &o, take_finding, NULL, run, &count, &run->err);
    ttest_api_mix(run, &count, sizeof count);
    ttape_source_file_close(&source);
    return status;
}

static ttape_status verify_sound(struct ttest_run *run) { return verify_name(run, "a.ttape"); }
static ttape_status verify_damaged(struct ttest_run *run)
{
    return verify_name(run, "damaged.ttape");
}

static ttape_status read_forward(struct ttest_run *run)
{
    char path[256];
    ttape_forward *forward;
    ttape_reader *reader;
    ttape_reader_options o = {.size = sizeof o, .allocator = &run->allocator};
    ttest_api_path(run->folder, "a.ttape", path);
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        run->err = (ttape_error){.status = TTAPE_E_IO, .message = "opening failed"};
        return TTAPE_E_IO;
    }
    ttape_input input = ttape_input_fd(fd);
    ttape_status status = ttape_forward_open(&forward, &input, &o, &run->err);
    while (status == TTAPE_OK &&
           (status = ttape_forward_next(forward, &reader, &run->err)) == TTAPE_OK) {
        ttape_cursor *cursor;
        ttape_event_item item;
        status = ttape_cursor_open(&cursor, reader, 0, &run->err);
        if (status != TTAPE_OK)
            break;
        while ((status = ttape_cursor_next(cursor, &item, &run->err)) == TTAPE_OK)
            mix_item(run, &item);
        ttape_cursor_close(cursor);
        status = status == TTAPE_END ? TTAPE_OK : status;
    }
    ttape_forward_close(forward);
    (void)close(fd);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_status make_reports(struct ttest_run *run, ttape_reader *reader)
{
    for (uint32_t by = 0; by < TTAPE_REPORT_BY_COUNT; by++) {
        if (by == TTAPE_REPORT_BY_GROUP)
            continue;
        ttape_report *report;
        uint32_t count;
        ttape_report_options o = {
            .size = sizeof o, .by = by, .percentiles = by % 2 == 0, .exact = by == 2, .jobs = 2};
        TTP_TRY(ttape_report_make(&report, reader, &o, &run->err));
        const ttape_report_row *rows = ttape_report_get_rows(report, &count);
        for (uint32_t i = 0; i < count; i++)
            ttest_api_mix(run, &rows[i].total_ns, sizeof rows[i].total_ns);
        ttape_report_close(report);
    }
    return TTAPE_OK;
}

static ttape_status longest(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, ttest_find_longest);
}

static ttape_status reach(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, ttest_find_paths);
}

static ttape_status graph(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, ttest_make_graph);
}

static ttape_status report(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, make_reports);
}

static ttape_status climb(struct ttest_run *run, ttape_tree *tree, const ttape_node_id *id,
                          uint32_t mode, int levels)
{
    ttape_tree_walk *children;
    ttape_node node;
    TTP_TRY(ttape_tree_walk_open(&children, tree, id, mode, &run->err));
    ttape_status status;
    while ((status = ttape_tree_walk_next(children, &node, &run->err)) == TTAPE_OK) {
        ttest_api_mix(run, &node.time_ns, sizeof node.time_ns);
        if (levels > 0)
            status = climb(run, tree, &node.id, mode, levels - 1);
        if (status != TTAPE_OK)
            break;
    }
    ttape_tree_walk_close(children);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_status climb_all(struct ttest_run *run, ttape_reader *reader)
{
    ttape_tree *tree;
    ttape_tree_options o = {.size = sizeof o, .jobs = 2};
    ttape_node_id top = {.kind = TTAPE_NODE_TRACE}, found[8];
    size_t count;
    TTP_TRY(ttape_tree_open(&tree, reader, &o, &run->err));
    ttape_status status = climb(run, tree, &top, TTAPE_TREE_PRUNED, 4);
    if (status == TTAPE_OK)
        status = climb(run, tree, &top, TTAPE_TREE_FULL, 3);
    if (status == TTAPE_OK)
        status = ttape_tree_find_time(tree, 0, 9000, found, 8, &count, &run->err);
    ttape_tree_close(tree);
    return status;
}

static ttape_status tree(struct ttest_run *run)
{
    return with_reader(run, "a.ttape", 1, false, climb_all);
}

/* ---- copying, recovering ---- */

struct copying {
    struct ttest_run *run;
    ttape_writer *writer;
};

static struct copying copying;

static ttape_status copy_part(struct ttest_run *run, ttape_reader *reader)
{
    ttape_copier *copier;
    ttape_info info;
    uint64_t from[4] = {30, 30, 30, 30}, to[4] = {60, 60, 60, 60};
    ttape_reader_get_info(reader, &info);
    TTP_TRY(ttape_copier_open(&copier, copying.writer, reader, &run->err));
    ttape_status status = ttape_copier_part(copier, 0, from, to, &run->err);
    for (uint32_t p = 1; p < info.partition_count && status == TTAPE_OK; p++)
        status = ttape_copier_partition(copier, p, &run->err);
    ttape_copier_close(copier);
    return status;
}

static ttape_status fill_copy(struct ttest_run *run, const ttape_sink *sink)
{
    ttape_writer_options o = {
        .size = sizeof o, .model_period = UINT32_MAX, .allocator = &run->allocator};
    TTP_TRY(ttape_writer_open(&copying.writer, sink, &o, &run->err));
    ttape_status status = with_reader(run, "a.ttape", 1, false, copy_part);
    if (status == TTAPE_OK)
        status = with_reader(run, "b.ttape", 1, false, copy_part);
    if (status == TTAPE_OK)
        status = ttape_writer_finish(copying.writer, &run->err);
    ttape_writer_close(copying.writer);
    return status;
}

static ttape_status copy(struct ttest_run *run) { return ttest_api_with_file(run, fill_copy); }

static ttape_status fill_recovered(struct ttest_run *run, const ttape_sink *sink)
{
    char path[256];
    ttape_source source;
    ttape_recover_report report = {0};
    ttape_recover_options o = {.size = sizeof o, .allocator = &run->allocator};
    ttest_api_path(run->folder, "damaged.ttape", path);
    TTP_TRY(ttape_source_file_open(&source, path, &run->err));
    ttape_status status = ttape_recover_trace(&source, sink, &o, &report, &run->err);
    ttest_api_mix(run, &report.loss_count, sizeof report.loss_count);
    ttape_source_file_close(&source);
    return status;
}

static ttape_status recover(struct ttest_run *run)
{
    return ttest_api_with_file(run, fill_recovered);
}

#if TTEST_SANITIZED
#define RECORD_MOST 6u
#else
#define RECORD_MOST 12u
#endif
#define RECORDS(what, function)                                                                    \
    {                                                                                              \
        .name = (what), .run = (function), .begin = ttest_record_begin,                            \
        .reset = ttest_record_reset, .check = ttest_record_check, .end = ttest_record_end,         \
        .most = RECORD_MOST, .varies = true                                                        \
    }

const struct ttest_api_run ttest_api_runs[] = {
    {.name = "write", .run = write_alone},
    {.name = "write, jobs", .run = write_jobs},
    {.name = "write, literal", .run = write_literal},
    {.name = "write, resumed", .run = write_resumed},
    {.name = "write, resumed, jobs", .run = write_resumed_jobs},
    {.name = "write to memory", .run = write_memory},
    {.name = "write a file", .run = write_file},
    {.name = "read", .run = read_index},
    {.name = "read, scan", .run = read_scan},
    {.name = "read, jobs", .run = read_jobs},
    {.name = "forward", .run = read_forward},
    {.name = "verify", .run = verify_sound},
    {.name = "verify, damaged", .run = verify_damaged},
    {.name = "report", .run = report},
    {.name = "longest", .run = longest},
    {.name = "reach", .run = reach},
    {.name = "graph", .run = graph},
    {.name = "tree", .run = tree},
    {.name = "copy", .run = copy},
    {.name = "recover", .run = recover},
    {.name = "recover a recording",
     .run = ttest_recover_left,
     .begin = ttest_left_begin,
     .check = ttest_recover_left_check,
     .end = ttest_left_end},
    {.name = "remove a recording",
     .run = ttest_remove_left,
     .begin = ttest_left_begin,
     .reset = ttest_left_reset,
     .check = ttest_remove_left_check,
     .end = ttest_left_end,
     .removes = true},
    RECORDS("record", ttest_record),
    RECORDS("record live", ttest_record_live),
    RECORDS("record files", ttest_record_files),
    RECORDS("record processes", ttest_record_processes),
    {.name = "control", .run = ttest_control}};
const int ttest_api_run_count = sizeof ttest_api_runs / sizeof ttest_api_runs[0];

void ttest_api_prepare(const char *folder)
{
    const struct ttest_plan plans[2] = {
        {.partition_events = 60,
         .streams = 2,
         .events = 500,
         .resolution_ns = 1,
         .model_period = 3},
        {.partition_events = 90, .streams = 2, .events = 300, .resolution_ns = 1, .plain = true}};
    const char *const names[] = {"a.ttape", "b.ttape", "damaged.ttape"};
    for (int i = 0; i < 3; i++) {
        char path[256];
        struct ttest_file file = ttest_write(&plans[i % 2]);
        if (i == 2)
            file.data[file.size_bytes / 2] ^= 1;
        ttest_api_path(folder, names[i], path);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, file.data, file.size_bytes), (ssize_t)file.size_bytes);
        (void)close(fd);
        free(file.data);
    }
}
