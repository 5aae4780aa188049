/* A rollup file while it is read: rollup_read.c (header, names),
 * rollup_measures.c (traces, sums). */
#ifndef TTP_ANSWERS_ROLLUP_FILE_H
#define TTP_ANSWERS_ROLLUP_FILE_H

#include "answers/rollup/rollup_internal.h"

struct ttp_rollup_pair {
    uint32_t function, caller;
};

struct ttp_rollup_file {
    struct ttp_region region;        /* of what lives no longer than the file */
    struct ttp_reader_cursor cursor; /* behind the header */
    uint32_t by, flags, longest;
    uint32_t string_count, function_count, row_count, trace_count;
    ttape_string *strings; /* by number, the first is "" */
    struct ttp_rollup_function *functions;
    struct ttp_rollup_pair *rows;
    size_t name_bytes; /* of the three together */
    uint32_t *numbers; /* of functions, here */
    struct ttp_rollup_trace *traces;
    uint32_t *trace_numbers;
    uint8_t const *measures; /* where counts and calls are read a second time */
    size_t number_count;
};

/* rollup_read.c: what the bytes at the cursor break; and a file that is too large. */
ttape_status ttp_rollup_corrupt(const struct ttp_rollup_file *f, const char *rule, const char *what,
                                ttape_error *err);
ttape_status ttp_rollup_no_room(ttape_error *err);

ttape_status ttp_rollup_read_traces(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err);
/* Reads all measures; their numbers are kept for the next call. */
ttape_status ttp_rollup_check_measures(ttape_rollup *r, struct ttp_rollup_file *f,
                                       ttape_error *err);
ttape_status ttp_rollup_take_measures(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err);

#endif
