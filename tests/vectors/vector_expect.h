/* What a vector's reader must find: events as CSV rows, counts, or a broken rule; and the JSON that
 * says so. */
#ifndef TTEST_VECTOR_EXPECT_H
#define TTEST_VECTOR_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "vector_bytes.h"

/* One event as a row. */
struct ttest_row {
    uint32_t stream, partition;
    uint32_t rank; /* of the stream by (process, thread): its place in the CSV */
    uint64_t tid, time_ns;
    const char *kind;
    uint32_t depth;
    bool has_site;
    uint64_t address;
    ttape_string symbol;
};

struct ttest_expectation {
    const char *name, *group, *notes;
    bool valid;
    bool timed;
    ttape_status status; /* of the finding that verify must have; TTAPE_OK when there is none */
    const char *rule;    /* its rule, "" when there is none */
    bool opens;          /* a reader opens the file all the same */
    const struct ttest_row *rows;
    uint32_t row_count;
    bool changed;            /* what is read is not what went in: only counted */
    uint32_t lost_partition; /* rows of this partition cannot be read; TTAPE_NONE: all can */
    uint32_t stream_count, partition_count;
};

/* A status as the expectation files spell it: "TTAPE_E_CORRUPT". */
const char *ttest_status_name(ttape_status status);
/* Events that can be read. */
uint32_t ttest_event_count(const struct ttest_expectation *e);
struct ttest_bytes ttest_csv(const struct ttest_expectation *e);
struct ttest_bytes ttest_json(const struct ttest_expectation *e);

/* Takes one finished vector: its bytes and expectation. */
typedef void (*ttest_vector_sink)(void *context, const struct ttest_expectation *expectation,
                                  const struct ttest_bytes *file);

#endif
