/* Traces with an overview behind each few partitions, and reading them. */
#ifndef TTEST_OVERVIEW_FIXTURE_H
#define TTEST_OVERVIEW_FIXTURE_H

#include "reader/reader_internal.h"
#include "tests/unit/test_reader_fixture.h"

enum { PERIOD = 5 };

static const struct ttest_plan plans[] = {
    {.partition_events = 50, .streams = 1, .events = 3000},
    {.partition_events = 70, .streams = 3, .events = 3000, .plain = true},
    {.partition_events = 60, .streams = 4, .events = 2600, .resolution_ns = 64},
    {.partition_events = 50, .streams = 2, .events = 2000, .resolution_ns = TTAPE_TIME_NONE}};

#define PLANS ((int)(sizeof plans / sizeof plans[0]))

static inline struct ttest_file make(int plan, bool measured, uint64_t period)
{
    struct ttest_plan p = plans[plan];
    p.overview_period = period;
    return ttest_write_with(&p, measured);
}

/* Bytes that were read through it. */
struct counted {
    ttape_source memory;
    uint64_t bytes;
};

static inline ttape_status counted_read(void *context, uint64_t offset, void *buffer,
                                        size_t size_bytes, size_t *got_bytes, ttape_error *err)
{
    struct counted *c = context;
    c->bytes += size_bytes;
    return c->memory.read_at(c->memory.context, offset, buffer, size_bytes, got_bytes, err);
}

static inline ttape_reader *open_file(const struct ttest_file *file, struct counted *counted)
{
    ttape_reader *r;
    ttape_error err = {0};
    *counted = (struct counted){.memory = ttape_source_memory(file->data, file->size_bytes)};
    ttape_source source = {counted, counted_read, file->size_bytes};
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

static inline uint32_t overviews_of(const struct ttest_file *file)
{
    struct counted counted;
    ttape_reader *r = open_file(file, &counted);
    uint32_t count = r->overview_count;
    ttape_reader_close(r);
    return count;
}

/* The n-th overview's content. */
static inline uint8_t *content_of(const struct ttest_file *file, uint32_t n)
{
    struct counted counted;
    ttape_reader *r = open_file(file, &counted);
    uint8_t *at = file->data + r->overviews[n].offset + TTP_CHUNK_HEADER_BYTES;
    ttape_reader_close(r);
    return at;
}

#endif
