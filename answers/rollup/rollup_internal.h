/* The inside of a rollup (tracetape/rollup.h).
 *
 *   rollup_add.c     a report of a trace  --+
 *   rollup_read.c    bytes -----------------+--> rollup_table.c: strings, functions, rows
 *   rollup_traces.c  what is covered               |
 *   rollup_counts.c  durations, longest calls      +--> rollup_order.c --> rollup_write.c
 *                                                  +--> rollup_fold.c, rollup.c (rows for callers)
 *
 * Strings and functions are numbered as they come. Their order in a file is that of what they say.
 */
#ifndef TTP_ANSWERS_ROLLUP_INTERNAL_H
#define TTP_ANSWERS_ROLLUP_INTERNAL_H

#include <tracetape/rollup.h>

#include "base/region.h"
#include "format/rollup/rollup_layout.h"
#include "format/rollup/rollup_sums.h"

/* What a function is. Strings are numbers; 0 is "". */
struct ttp_rollup_function {
    uint32_t symbol, build, file, line, kind;
    uint32_t path; /* without a build id it counts; with one the least of those that were said */
    uint64_t offset;
    uint32_t next; /* function of the same hash, or TTAPE_NONE */
    uint32_t rank; /* in the order of a file */
};

struct ttp_rollup_string {
    const char *data;
    uint32_t size, next, rank;
};

/* How many durations of one size there are. A key is unit << 16 | class, units by number; unit 0:
 * classes of 1/128. */
struct ttp_rollup_count {
    uint32_t key;
    uint64_t count;
};

struct ttp_rollup_row {
    uint32_t function, caller; /* caller: TTP_ROLLUP_CALLER_*, or a function + CALLER_FIRST */
    size_t count_count, count_capacity;
    struct ttp_rollup_count *counts; /* ascending */
    ttape_rollup_call *longest;      /* TTP_ROLLUP_LONGEST_MAX of room, or NULL; in no order */
    uint32_t longest_count;
    struct ttp_rollup_sums sums;
};

struct ttp_rollup_trace {
    uint8_t id[TTP_ROLLUP_ID_BYTES];
    ttape_string name, host; /* taken */
    ttape_rollup_range *ranges;
    size_t range_count, range_capacity;
    struct ttp_rollup_sums sums;
    uint32_t next; /* trace of the same hash, or TTAPE_NONE */
};

/* An earlier file's strings, functions and rows. */
struct ttp_rollup_names {
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t *rows; /* by the file's row: one here */
    size_t row_capacity;
    uint32_t head[3]; /* strings, functions, rows */
};

#define TTP_ROLLUP_NAMES 16u

/* The last file's bytes, and names of earlier ones: most files are of few builds of a program. */
struct ttp_rollup_known {
    uint8_t *bytes;
    size_t size, capacity;
    struct ttp_rollup_names names[TTP_ROLLUP_NAMES];
    uint32_t name_count, next;         /* next: where the next one goes */
    const struct ttp_rollup_names *at; /* those of the last file */
    struct ttp_rollup_number *numbers; /* of all rows, one behind the other */
    size_t number_capacity;
    uint64_t *masks;
    size_t mask_capacity;
};

struct ttape_rollup {
    struct ttp_region region;
    ttape_rollup_options options;
    uint32_t flags;                         /* of the file */
    bool has_failed, is_partial, is_folded; /* partial: not what it says that it covers */
    bool is_settled;                        /* the orders are those of what is there */
    bool is_begun;                          /* what rows are of is settled */
    struct ttp_key_map string_map, function_map, row_map, trace_map;
    struct ttp_rollup_string *strings;
    struct ttp_rollup_function *functions;
    struct ttp_rollup_row *rows;
    struct ttp_rollup_trace *traces;
    uint64_t units[TTP_ROLLUP_UNITS_MAX]; /* of histograms, by number; the first is 0 */
    uint32_t unit_count;
    size_t string_count, string_capacity, function_count, function_capacity;
    size_t row_count, row_capacity, trace_count, trace_capacity;
    struct ttp_rollup_known known;
    /* once is_settled */
    uint32_t *string_order, *function_order, *row_order, *trace_order;
    ttape_rollup_function *shown_functions;
    ttape_rollup_row *shown_rows;
    ttape_rollup_trace *shown_traces;
};

/* Memory was short, or a sum did not fit: nothing more is done with it. */
ttape_status ttp_rollup_fail_short(ttape_rollup *r, ttape_error *err);
ttape_status ttp_rollup_fail_sum(ttape_rollup *r, ttape_error *err);

/* ---- rollup_table.c: numbers of what is there, made if need be; TTAPE_NONE without memory ---- */

uint32_t ttp_rollup_take_string(ttape_rollup *r, ttape_string text);
/* next and rank are not looked at. */
uint32_t ttp_rollup_take_function(ttape_rollup *r, const struct ttp_rollup_function *like);
uint32_t ttp_rollup_take_row(ttape_rollup *r, uint32_t function, uint32_t caller);
uint32_t ttp_rollup_take_unit(ttape_rollup *r, uint64_t unit_ns);
int ttp_rollup_compare_texts(const ttape_rollup *r, uint32_t a, uint32_t b);
static inline ttape_string ttp_rollup_text(const ttape_rollup *r, uint32_t string)
{
    return (ttape_string){r->strings[string].data, r->strings[string].size};
}

/* ---- rollup_counts.c ---- */

ttape_status ttp_rollup_add_count(ttape_rollup *r, struct ttp_rollup_row *row, uint32_t key,
                                  uint64_t count, ttape_error *err);
/* False: no memory. */
bool ttp_rollup_add_call(ttape_rollup *r, struct ttp_rollup_row *row,
                         const ttape_rollup_call *call);

/* ---- rollup_traces.c ---- */

/* Whether partitions of a trace are there already; says which. */
ttape_status ttp_rollup_check_trace(const ttape_rollup *r, const struct ttp_rollup_trace *trace,
                                    ttape_error *err);
/* Adds what was checked; ranges and texts are copied. *number: of the trace. */
ttape_status ttp_rollup_add_trace(ttape_rollup *r, const struct ttp_rollup_trace *trace,
                                  uint32_t *number, ttape_error *err);

/* ---- rollup_longest.c ---- */

/* Adds the longest calls that end in a part of a trace, which was added. */
ttape_status ttp_rollup_add_longest(ttape_rollup *r, ttape_reader *reader,
                                    const ttape_rollup_selection *selection, uint32_t trace,
                                    ttape_error *err);

/* ---- rollup_add.c ---- */

/* A function's row, by a site; TTAPE_NONE without memory. */
uint32_t ttp_rollup_row_of_site(ttape_rollup *r, const ttape_reader *reader, uint32_t site);

/* ---- rollup_order.c ---- */

/* Puts everything in the order of a file. False: no memory. */
bool ttp_rollup_settle(ttape_rollup *r);

#endif
