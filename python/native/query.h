/* What is asked of one file or several, and the tables that answer. Nothing here knows Python, so
 * batches are made without the interpreter's lock. */
#ifndef TTAPE_PYTHON_QUERY_H
#define TTAPE_PYTHON_QUERY_H

#include "python/native/batch.h"

#define BATCH_ROWS 65536u

/* A file that is open, for as long as somebody asks it. */
struct file {
    atomic_uint owners;
    ttape_reader *reader;
    atomic_ullong damaged; /* partitions that were left out */
};

struct file *file_open(const char *path, uint64_t memory_bytes, uint32_t jobs, ttape_error *err);
struct file *file_keep(struct file *file);
void file_drop(struct file *file);

/* One file's part of a question. */
struct part {
    struct file *file;
    uint32_t number;         /* of the file */
    const uint32_t *streams; /* NULL: all */
    uint32_t stream_count;
    bool has_range;
    uint64_t from_ns, to_ns;
    const uint8_t *sites; /* by site, 0: left out; NULL: all */
    uint32_t site_count;
};

enum table { TABLE_EVENTS, TABLE_CALLS, TABLE_REPORT, TABLE_SLOW, TABLE_SITES, TABLE_STREAMS };

struct query {
    enum table table;
    struct part *parts;
    uint32_t part_count;
    bool skips_damage;
    bool has_more; /* columns that are there where they are asked for: calls have parents, events
                    * and rows of reports places */
    bool exact;    /* report */
    uint32_t by;   /* report: ttape_report_by; slow: ttape_longest_by */
    uint32_t limit, jobs;
    uint64_t memory_bytes;
};

/* Owns `query`, its parts and what they point to (each from malloc) from then on, also where it
 * fails: false, no memory. */
bool query_start(struct source *source, struct query *query);
void query_free(struct query *query);
/* Columns of a table. */
const struct column *query_columns(const struct query *query, unsigned *count);

/* ---- answers.c: tables that are made at once, for one part ---- */
ttape_status answer_make(const struct query *query, const struct part *part,
                         const ttape_watch *watch, struct batch **out, ttape_error *err);

/* Where calls were made; "": it was not recorded. False: no memory. */
bool put_place(struct batch *batch, unsigned column, const struct part *part, uint32_t site);

extern const struct column report_columns[], slow_columns[], site_columns[], stream_columns[];
extern const unsigned report_column_count, slow_column_count, site_column_count,
    stream_column_count;
extern const char *const ending_words[];

/* Fills *err; returns its status. */
ttape_status say_no_memory(ttape_error *err);

#endif
