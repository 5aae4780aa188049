/* Small traces with every kind of event, written through the public API, and a way to read one as a
 * whole: what two ways of reading must agree on is compared as one hash. */
#ifndef TTEST_READER_FIXTURE_H
#define TTEST_READER_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/reader.h>
#include <tracetape/writer.h>

#include "format/base/checksum.h"
#include "format/container/chunk.h"
#include "tests/asserts.h"
#include "writer/writer_internal.h"

struct ttest_file {
    uint8_t *data;
    size_t size_bytes;
};

struct ttest_plan {
    uint64_t resolution_ns;
    uint32_t partition_events;
    int32_t level;
    bool literal;
    uint32_t streams, events, model_period;
    bool plain; /* only calls: no signals, stacks, values, recorded depths */
    uint64_t overview_period;
};

static inline ttape_string ttest_string(const char *text)
{
    return (ttape_string){text, strlen(text)};
}

#define TTEST_OK(call) ck_assert_msg((call) == TTAPE_OK, "%s: %s %s", #call, err.rule, err.message)

static inline uint32_t ttest_random(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

#define TTEST_SITES 20u

static inline void ttest_define(ttape_writer *w, uint32_t streams)
{
    ttape_error err = {0};
    uint32_t id, process, module;
    ttape_process p = {.pid = 7, .parent = TTAPE_NONE, .name = ttest_string("main")};
    TTEST_OK(ttape_writer_set_text(w, "command", ttest_string("prog --flag"), &err));
    TTEST_OK(ttape_writer_set_number(w, "exit_status", 3, &err));
    TTEST_OK(ttape_writer_add_process(w, &p, &process, &err));
    ttape_module m = {.start = 4096,
                      .end = 8192,
                      .process = process,
                      .path = ttest_string("/bin/prog"),
                      .build_id = {"\0\1\2", 3}};
    TTEST_OK(ttape_writer_add_module(w, &m, &module, &err));
    for (uint32_t s = 0; s < streams; s++) {
        ttape_stream stream = {.process = process, .tid = 100 + s, .name = ttest_string("thread")};
        TTEST_OK(ttape_writer_add_stream(w, &stream, &id, &err));
    }
    for (uint32_t i = 0; i < TTEST_SITES; i++) {
        char name[] = {'f', (char)('a' + i), 0};
        ttape_site site = {.address = 4096 + 16 * i,
                           .module = module,
                           .line = i,
                           .kind = i % 5 == 4 ? TTAPE_SITE_MARKER : TTAPE_SITE_FUNCTION,
                           .symbol = ttest_string(name),
                           .file = ttest_string("a.c")};
        TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
    }
}

/* One stream's state while events are made up: it only says what is allowed next. */
struct ttest_thread {
    uint32_t depth[3], sites[3][64], current, count;
};

static inline ttape_event ttest_event(struct ttest_thread *t, const struct ttest_plan *plan,
                                      uint64_t *seed)
{
    ttape_event e = {.site = TTAPE_NONE, .depth = TTAPE_DEPTH_AUTO};
    uint32_t *depth = &t->depth[t->current], *sites = t->sites[t->current];
    uint32_t r = ttest_random(seed, 100);
    if (!plan->plain && t->count < 3) { /* frames that were open stand at the start */
        e.kind = TTAPE_EVENT_OPEN;
        sites[(*depth)++] = e.site = t->count;
    } else if (!plan->plain && r == 0) {
        e.kind = TTAPE_EVENT_SWITCH;
        e.argument = t->current = ttest_random(seed, 3);
    } else if (!plan->plain && r == 1) {
        e.kind = TTAPE_EVENT_GAP;
        e.argument = TTAPE_GAP_REASON_OVERFLOW;
        e.lost_count = ttest_random(seed, 3);
    } else if (!plan->plain && r == 2 && *depth > 2) {
        e.kind = TTAPE_EVENT_UNWIND;
        e.argument = 2;
        *depth -= 2;
    } else if (!plan->plain && r == 3 && *depth > 2 && sites[*depth - 2] != TTAPE_NONE &&
               sites[*depth - 1] != sites[*depth - 2]) {
        e.kind = TTAPE_EVENT_EXIT_ACROSS;
        e.argument = 1;
        e.site = sites[*depth - 2];
        *depth -= 2;
    } else if (!plan->plain && r == 4 && *depth < 60) {
        e.kind = TTAPE_EVENT_SIGNAL_BEGIN;
        e.argument = 11;
        sites[(*depth)++] = TTAPE_NONE;
    } else if (!plan->plain && r == 5) {
        e.kind = TTAPE_EVENT_EXIT_UNSEEN;
        e.site = 19;
    } else if (r < 20) {
        e.kind = TTAPE_EVENT_LEAF;
        e.site = 4;
    } else if (*depth > 0 && (*depth >= 60 || r % 2)) {
        e.site = sites[--*depth];
        e.kind = e.site == TTAPE_NONE ? TTAPE_EVENT_SIGNAL_END : TTAPE_EVENT_EXIT;
        e.argument = e.site == TTAPE_NONE ? 11 : 0;
    } else {
        e.kind = TTAPE_EVENT_ENTER;
        e.site = (*depth == 0 ? 0 : (sites[*depth - 1] * 3 + r % 2)) % TTEST_SITES;
        e.site = e.site % 5 == 4 ? 0 : e.site;
        sites[(*depth)++] = e.site;
    }
    t->count++;
    return e;
}

static inline void ttest_attach(ttape_writer *w, uint32_t stream, uint64_t *seed)
{
    ttape_error err = {0};
    ttape_value values[] = {
        {.type = TTAPE_VALUE_SIGNED, .number = (uint64_t) - (int64_t)ttest_random(seed, 1000)},
        {.type = TTAPE_VALUE_STRING, .bytes = ttest_string("text")},
        {.type = TTAPE_VALUE_NULL}};
    TTEST_OK(ttape_writer_attach(w, stream, values, 1 + ttest_random(seed, 3), &err));
}

/* A copy of exactly the size, so that ASan sees one byte over; the sink is closed. */
static inline struct ttest_file ttest_take(ttape_memory_sink *memory)
{
    struct ttest_file file = {malloc(memory->size_bytes), memory->size_bytes};
    memcpy(file.data, memory->data, memory->size_bytes);
    ttape_memory_sink_close(memory);
    return file;
}

static inline ttape_reader *ttest_open(const struct ttest_file *file)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

/* A file, and a reader of it. */
struct ttest_trace {
    struct ttest_file file;
    ttape_reader *reader;
};

static inline struct ttest_trace ttest_open_trace(struct ttest_file file)
{
    return (struct ttest_trace){file, ttest_open(&file)};
}

static inline void ttest_close_trace(struct ttest_trace *t)
{
    ttape_reader_close(t->reader);
    free(t->file.data);
}

/* True where an answer was refused for want of memory; then there is none at `answer`, which is
 * where the pointer to it stands. */
static inline bool ttest_is_short(ttape_status status, const void *answer)
{
    const void *made;
    if (status == TTAPE_OK)
        return false;
    memcpy(&made, answer, sizeof made);
    ck_assert_int_eq(status, TTAPE_E_LIMIT);
    ck_assert_ptr_null(made);
    return true;
}

/* When threads did not run before the event that comes: mostly nothing is told. */
static inline void ttest_tell_off(ttape_writer *w, uint32_t stream, uint64_t *seed)
{
    ttape_error err = {0};
    ttape_off_span spans[2];
    uint32_t count = ttest_random(seed, 6) == 0 ? 1 + ttest_random(seed, 2) : 0;
    for (uint32_t i = 0; i < count; i++)
        spans[i] = (ttape_off_span){.start_ns = 40 * (int64_t)i + ttest_random(seed, 60) - 20,
                                    .length_ns = ttest_random(seed, 60),
                                    .kind = (ttape_off_kind)(ttest_random(seed, 80) == 0
                                                                 ? TTAPE_OFF_UNKNOWN
                                                                 : ttest_random(seed, 4))};
    TTEST_OK(ttape_writer_add_off(w, stream, spans, count, &err));
}

/* measured: with switches of all streams, and with own times in small partitions too. */
static inline struct ttest_file ttest_write_with(const struct ttest_plan *plan, bool measured)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o,
                              .resolution_ns = plan->resolution_ns,
                              .partition_events = plan->partition_events,
                              .level = plan->level,

                              .literal = plan->literal,
                              .model_period = plan->model_period,
                              .overview_period = plan->overview_period,
                              .has_trace_id = true,
                              .trace_id = {1, 2, 3}};
    ttape_writer *w;
    uint64_t seed = 5, off_seed = 7, time = 1000;
    struct ttest_thread *threads = calloc(plan->streams, sizeof *threads);
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    w->own_times_share = measured ? 0 : w->own_times_share;
    ttest_define(w, plan->streams);
    for (uint32_t i = 0; i < plan->events; i++) {
        uint32_t stream = i / 7 % plan->streams;
        ttape_event e = ttest_event(&threads[stream], plan, &seed);
        time += 20 + ttest_random(&seed, 60);
        time -= !plan->plain && ttest_random(&seed, 50) == 0 ? 300 : 0;
        e.time_ns = time;
        if (measured && plan->resolution_ns != TTAPE_TIME_NONE)
            ttest_tell_off(w, stream, &off_seed);
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
        if (!plan->plain && e.kind == TTAPE_EVENT_ENTER && ttest_random(&seed, 10) == 0)
            ttest_attach(w, stream, &seed);
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    free(threads);
    return ttest_take(&memory);
}

static inline struct ttest_file ttest_write(const struct ttest_plan *plan)
{
    return ttest_write_with(plan, false);
}

/* ---- reading as a whole ---- */

struct ttest_sum {
    uint64_t hash, events, errors;
};

static inline void ttest_mix(struct ttest_sum *sum, const void *data, size_t size_bytes)
{
    uint64_t pair[2] = {sum->hash, ttp_checksum(data, size_bytes)};
    sum->hash = ttp_checksum(pair, sizeof pair);
}

static inline void ttest_mix_item(struct ttest_sum *sum, const ttape_event_item *item)
{
    uint64_t fields[] = {item->event.time_ns, item->event.lost_count, item->event.kind,
                         item->event.site,    item->event.argument,   item->event.depth,
                         item->stream,        item->number,           item->value_count};
    ttest_mix(sum, fields, sizeof fields);
    for (uint32_t i = 0; i < item->value_count; i++) {
        const ttape_value *v = &item->values[i];
        uint64_t value[] = {v->type, v->number, v->bytes.size_bytes};
        ttest_mix(sum, value, sizeof value);
        ttest_mix(sum, v->bytes.data != NULL ? v->bytes.data : "", v->bytes.size_bytes);
    }
    sum->events++;
}

static inline struct ttest_sum ttest_read_stream(ttape_reader *r, uint32_t stream)
{
    struct ttest_sum sum = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_status status = ttape_cursor_open(&cursor, r, stream, NULL);
    if (status != TTAPE_OK)
        return (struct ttest_sum){.errors = 1};
    while ((status = ttape_cursor_next(cursor, &item, NULL)) != TTAPE_END)
        if (status == TTAPE_OK)
            ttest_mix_item(&sum, &item);
        else
            sum.errors++;
    ttape_cursor_close(cursor);
    return sum;
}

/* All streams one after the other, then merged, with segments and summaries. */
static inline struct ttest_sum ttest_read_all(ttape_reader *r)
{
    ttape_info info;
    struct ttest_sum sum = {0};
    ttape_reader_get_info(r, &info);
    for (uint32_t s = 0; s <= info.stream_count; s++) {
        struct ttest_sum one = ttest_read_stream(r, s < info.stream_count ? s : TTAPE_ALL_STREAMS);
        ttest_mix(&sum, &one.hash, sizeof one.hash);
        sum.events += one.events;
        sum.errors += one.errors;
    }
    for (uint32_t p = 0; p < info.partition_count; p++) {
        ttape_segment_info segment;
        const ttape_summary_row *rows;
        uint32_t count;
        for (uint32_t s = 0; ttape_reader_get_segment(r, p, s, &segment, NULL) == TTAPE_OK; s++) {
            uint64_t fields[] = {segment.stream,         segment.event_count,
                                 segment.min_depth,      segment.start.event_number,
                                 segment.end.time_ns,    segment.start.frame_count,
                                 segment.end.frame_count};
            ttest_mix(&sum, fields, sizeof fields);
        }
        if (ttape_reader_get_summary(r, p, &rows, &count, NULL) != TTAPE_OK)
            sum.errors++;
        for (uint32_t i = 0; i < count; i++)
            ttest_mix(&sum, &rows[i].self_ns, sizeof rows[i].self_ns);
    }
    return sum;
}

static inline bool ttest_print_finding(void *context, const ttape_finding *f)
{
    (void)context;
    printf("  finding: %s at %llu: %s\n", f->error.rule, (unsigned long long)f->error.offset,
           f->error.message);
    return true;
}

#endif
