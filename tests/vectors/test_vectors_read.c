/* Reads every vector by the library, out of memory, and compares what it finds with the vector's
 * expectation: the findings of verify, whether it opens, every event. One process and no other
 * programs, so that emulated machines can do it too (test_other_machines_slow.py). */
#include <stdio.h>
#include <string.h>

#include <tracetape/reader.h>

#include "vectors.h"

struct run {
    const struct ttest_expectation *expected;
    uint32_t vectors, differences;
    uint64_t events;
    bool found; /* the finding that is expected */
};

static void report(struct run *run, const char *what, const char *detail)
{
    run->differences++;
    (void)printf("%s: %s%s\n", run->expected->name, what, detail);
}

static bool take_finding(void *context, const ttape_finding *finding)
{
    struct run *run = context;
    const struct ttest_expectation *e = run->expected;
    if (e->status == TTAPE_OK)
        report(run, "verify finds ", finding->error.message);
    run->found = run->found ||
                 (finding->error.status == e->status && strcmp(finding->error.rule, e->rule) == 0);
    return true;
}

static void check_verify(struct run *run, const ttape_source *source)
{
    ttape_error err = {0};
    uint64_t count;
    run->found = run->expected->status == TTAPE_OK;
    if (ttape_verify(source, NULL, take_finding, NULL, run, &count, &err) != TTAPE_OK)
        report(run, "verify fails: ", err.message);
    else if (!run->found)
        report(run, "verify does not find ", run->expected->rule);
}

static bool same_text(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static bool same_row(const ttape_reader *reader, uint64_t tid, bool timed,
                     const struct ttest_row *row, const ttape_event *event)
{
    ttape_site site = {.kind = TTAPE_SITE_FUNCTION};
    bool has_site =
        event->site != TTAPE_NONE && ttape_reader_get_site(reader, event->site, &site) == TTAPE_OK;
    return row->tid == tid && (!timed || row->time_ns == event->time_ns) &&
           row->depth == event->depth && row->has_site == has_site &&
           strcmp(row->kind, ttape_event_kind_name(event->kind, site.kind)) == 0 &&
           (!has_site || (row->address == site.address && same_text(row->symbol, site.symbol)));
}

/* The stream's next row that can be read, from *at on. */
static const struct ttest_row *next_row(const struct ttest_expectation *e, uint32_t stream,
                                        uint32_t *at)
{
    while (*at < e->row_count) {
        const struct ttest_row *row = &e->rows[(*at)++];
        if (row->stream == stream && row->partition != e->lost_partition)
            return row;
    }
    return NULL;
}

/* A damaged partition fails once, and reading goes on behind it. */
static void check_stream(struct run *run, ttape_reader *reader, uint32_t stream, uint64_t tid)
{
    const struct ttest_expectation *e = run->expected;
    ttape_cursor *cursor;
    ttape_error err = {0};
    ttape_event_item item;
    ttape_status status;
    uint32_t at = 0, failures = 0, others = 0;
    if (ttape_cursor_open(&cursor, reader, stream, &err) != TTAPE_OK) {
        report(run, "a stream does not open: ", err.message);
        return;
    }
    while ((status = ttape_cursor_next(cursor, &item, &err)) != TTAPE_END && failures < 100) {
        if (status != TTAPE_OK) {
            failures++;
            continue;
        }
        run->events++;
        const struct ttest_row *row = e->changed ? NULL : next_row(e, stream, &at);
        others += row == NULL || !same_row(reader, tid, e->timed, row, &item.event);
    }
    if (!e->changed && (others != 0 || next_row(e, stream, &at) != NULL))
        report(run, "events are not those that went in", "");
    if (e->valid && failures != 0)
        report(run, "a valid file cannot be read: ", err.message);
    ttape_cursor_close(cursor);
}

static void check_events(struct run *run, const ttape_source *source)
{
    const struct ttest_expectation *e = run->expected;
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_info info;
    bool opens = ttape_reader_open(&reader, source, NULL, &err) == TTAPE_OK;
    if (opens != e->opens)
        report(run, opens ? "opens" : "does not open: ", opens ? "" : err.message);
    if (!opens)
        return;
    ttape_reader_get_info(reader, &info);
    uint64_t before = run->events;
    for (uint32_t stream = 0; stream < info.stream_count; stream++) {
        ttape_stream_info of = {0};
        (void)ttape_reader_get_stream(reader, stream, &of);
        check_stream(run, reader, stream, of.stream.tid);
    }
    if (run->events - before != ttest_event_count(e))
        report(run, "another number of events can be read", "");
    if (e->valid &&
        (info.stream_count != e->stream_count || info.partition_count != e->partition_count ||
         info.event_count != ttest_event_count(e)))
        report(run, "other counts of streams, partitions or events", "");
    ttape_reader_close(reader);
}

static void take_vector(void *context, const struct ttest_expectation *expectation,
                        const struct ttest_bytes *file)
{
    struct run *run = context;
    ttape_source source = ttape_source_memory(file->data, file->size);
    run->vectors++;
    run->expected = expectation;
    check_verify(run, &source);
    check_events(run, &source);
}

int main(void)
{
    struct run run = {0};
    ttest_make_vectors(take_vector, &run);
    (void)printf("%u vectors, %llu events, %u differences\n", run.vectors,
                 (unsigned long long)run.events, run.differences);
    return run.differences != 0 || run.vectors == 0;
}
