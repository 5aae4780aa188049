/* What a query asks of one file or several, and who reads what: threads take units (a partition, a
 * stream, or a file) one after the other, file by file, and make rows of them. A file is open while
 * somebody reads it. */
#ifndef TTAPE_DUCK_QUERY_H
#define TTAPE_DUCK_QUERY_H

#include <pthread.h>

#include <tracetape/tracetape.h>

#include "duckdb/duck_rows.h"

struct duck_scan;

/* What threads take. */
enum duck_unit { DUCK_BY_FILE, DUCK_BY_PARTITION, DUCK_BY_STREAM };

struct duck_table {
    const char *name;
    const struct duck_column *columns;
    unsigned column_count;
    enum duck_unit unit;
    uint32_t by_stream;     /* where one of these columns (bits) is asked for, units are streams */
    uint32_t name_columns;  /* that need sites' names, */
    uint32_t key_columns;   /* functions' keys, */
    uint32_t place_columns; /* and, where units are streams, where segments are */
    bool only_syscalls;     /* of sites, these are chosen only */
    bool has_origins;       /* those columns can be known otherwise: duck_file.origins; */
    uint32_t whole_columns; /* but for these of them */
    bool has_function, has_thread, has_time, has_damaged; /* named parameters */
    /* A unit begins; TTAPE_END: nothing of it is asked for. */
    ttape_status (*begin)(struct duck_scan *scan, ttape_error *err);
    /* The next items, scan->count of them, 1 to DUCK_ROWS; TTAPE_END: the unit has no more. After a
     * failure it is called again where damage is skipped. */
    ttape_status (*next)(struct duck_scan *scan, ttape_error *err);
    /* A column's cells of these items. */
    ttape_status (*put)(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err);
    uint64_t (*estimate)(const ttape_info *info); /* of rows */
};

/* Rows of every table begin so. */
enum { DUCK_TRACE, DUCK_FILE, DUCK_FIRST_OWN };
#define DUCK_FIRST_COLUMNS                                                                         \
    {"trace", DUCK_TEXT, NULL}, { "filename", DUCK_TEXT, NULL }

/* What is asked, the same for each execution of a statement. */
struct duck_question {
    const struct duck_table *table;
    char **paths;
    uint32_t path_count;
    uint64_t *tids;
    uint32_t tid_count;
    bool has_tids;
    ttape_selection_time from, to;
    char *function; /* a regular expression, or NULL */
    bool skips_damage;
    uint64_t estimated_rows, unit_count;
};

void duck_question_free(struct duck_question *question);
/* Whether a pattern has a part of two stars: folders of any depth. */
bool duck_folders_any_depth(const char *pattern);
/* Files that such a pattern means, sorted; to be freed, each of them, too. A number of errno, with
 * what was found until then. */
int duck_folders_find(const char *pattern, char ***found, size_t *count);
/* Adds what a path or pattern means. False: *err says why. */
bool duck_question_add(struct duck_question *question, const char *path, ttape_error *err);
/* "1s..2s", as --time of the command. */
bool duck_question_set_time(struct duck_question *question, const char *text);
/* Looks into the files: counts units and rows, and refuses what cannot be asked. */
bool duck_question_check(struct duck_question *question, ttape_error *err);

/* A file of a query. */
struct duck_file {
    const char *path;
    ttape_reader *reader; /* while users > 0 */
    uint32_t users;
    ttape_info info;
    uint32_t unit_count;
    enum duck_unit unit; /* the query's, or partitions where these say what calls began them */
    ttape_call_origins *origins; /* then; as long as the reader */
    bool has_times;
    uint8_t *streams; /* by stream: 1, chosen; NULL: all are */
    bool has_range;
    uint64_t from_ns, to_ns;
    uint8_t *sites; /* by site: 1, chosen; NULL: all are */
    bool is_known;  /* what follows was made, and stays until the query ends */
    char trace[33];
    char *path_text;
    struct duck_text trace_cell, path_cell;
    struct duck_text *names; /* by site; NULL: nobody asked */
    char *name_bytes;
    uint64_t *keys;            /* the same, of functions */
    struct duck_place *places; /* the same: segments, stream by stream, in the order of events */
    uint64_t *first_place;     /* by stream, and one more */
    uint64_t place_count;
};

struct duck_place {
    uint64_t end_event; /* number behind its last event */
    uint32_t partition;
};

/* One execution. */
struct duck_query {
    const struct duck_question *question;
    struct duck_file *files;
    uint32_t columns; /* that are asked for: bits */
    enum duck_unit unit;
    pthread_mutex_t mutex; /* of what follows, and of files' readers and users */
    uint32_t next_file, next_unit;
};

struct duck_query *duck_query_open(const struct duck_question *question, uint32_t columns);
void duck_query_close(struct duck_query *query);

struct duck_bytes {
    char *data;
    size_t count, room;
};

/* One thread's part of it. */
struct duck_scan {
    struct duck_query *query;
    const struct duck_table *table;
    struct duck_file *file; /* whose user it is, or NULL */
    bool is_on;             /* in a unit */
    uint32_t unit;
    uint32_t partition; /* by partition: the unit */
    uint32_t segment, segment_count;
    uint32_t stream;
    uint64_t tid;
    uint64_t number, left; /* of the segment's next event; events that are left of it */
    ttape_cursor *events;
    ttape_call_cursor *calls;
    char said[1100];                /* why duck_scan_next failed, and where */
    ttape_error failure;            /* that comes behind these items; TTAPE_OK: none */
    size_t count;                   /* items */
    uint64_t first_item, next_item; /* of numbered things: their first, and that of the next step */
    void *room;                     /* the table's own, from malloc */
    ttape_call_origin *origins;     /* of the calls that a segment begins with */
    uint32_t origin_room;
    struct duck_bytes bytes; /* texts that belong to items, one behind the other, */
    uint64_t *text_ends;     /* and where they end */
    uint32_t text_count, text_room;
    struct duck_bytes stack; /* the path that led to a site, and which site it is */
    uint32_t stack_site;
    bool is_counted; /* the partition was read whole, and has these: */
    uint64_t gaps, lost;
};

struct duck_scan *duck_scan_open(struct duck_query *query);
void duck_scan_close(struct duck_scan *scan);
/* Fills rows; none: the query has no more. False: *err has what failed, and scan->said where. */
bool duck_scan_next(struct duck_scan *scan, struct duck_rows *rows, ttape_error *err);

/* ---- for tables ---- */

/* Tables of numbered things: the next of `all`. */
ttape_status duck_next_numbered(struct duck_scan *scan, uint64_t all);
ttape_status duck_begin_nothing(struct duck_scan *scan, ttape_error *err);
/* The partition's next segment of a chosen stream: sets stream, tid, number and left; *out is as
 * the reader gives it. */
ttape_status duck_next_segment(struct duck_scan *scan, ttape_segment_info *out, ttape_error *err);
/* TTAPE_OK, or TTAPE_END: no chosen function has a call in the partition, as its summary says. */
ttape_status duck_has_function(struct duck_scan *scan, ttape_error *err);
/* Of a file whose places are known; TTAPE_NONE: no partition has the event. */
uint32_t duck_partition_of(const struct duck_file *file, uint32_t stream, uint64_t event);
bool duck_has_stream(const struct duck_file *file, uint32_t stream);
bool duck_has_site(const struct duck_file *file, uint32_t site);
static inline bool duck_has_time(const struct duck_file *file, uint64_t time_ns)
{
    return !file->has_range || (time_ns >= file->from_ns && time_ns < file->to_ns);
}
/* What a site is called, of a file whose names are known. */
static inline void duck_put_name(struct duck_rows *rows, unsigned place, size_t row,
                                 const struct duck_file *file, uint32_t site)
{
    if (site < file->info.site_count)
        duck_put_lasting(rows, place, row, file->names[site]);
    else
        duck_none(rows, place, row);
}
/* Nanoseconds; none in a file without times. */
static inline void duck_put_time(struct duck_rows *rows, unsigned place, size_t row,
                                 const struct duck_file *file, int64_t time_ns)
{
    duck_put_i64(rows, place, row, time_ns);
    if (!file->has_times)
        duck_none(rows, place, row);
}

/* The event that a call's end belongs to. */
static inline uint64_t duck_last_event(const ttape_call *call)
{
    bool is_left = call->end == TTAPE_CALL_LEFT || call->end == TTAPE_CALL_LOST;
    return call->end_number - (is_left && call->end_number > 0);
}
/* ---- duck_kept.c: texts that items keep. False: no memory. ---- */
void duck_drop_texts(struct duck_scan *scan);
bool duck_keep_text(struct duck_scan *scan, ttape_string text);
bool duck_keep_value(struct duck_scan *scan, const ttape_value *value); /* as a text */
/* Functions of these calls, as duck_put_stack has them. */
bool duck_keep_stack(struct duck_scan *scan, const ttape_call *calls, uint32_t count);
ttape_string duck_kept_text(const struct duck_scan *scan, uint32_t number);
/* The list of a row. */
bool duck_put_texts(const struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                    size_t row, uint32_t first, uint32_t count);
/* Functions on the path that led to a site, outermost first, with semicolons between. */
ttape_status duck_put_stack(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                            size_t row, uint32_t site, ttape_error *err);

/* What is at a site: where a call was made, or the symbol; TTAPE_NONE: not known. */
ttape_status duck_put_place(struct duck_rows *rows, unsigned place, size_t row,
                            const ttape_reader *reader, uint32_t site, ttape_error *err);
/* A text; "" is not known. */
ttape_status duck_put_known(struct duck_rows *rows, unsigned place, size_t row, ttape_string text,
                            ttape_error *err);
ttape_status duck_no_memory(ttape_error *err);
/* Puts a file's path before what is said. */
void duck_say_file(ttape_error *err, const char *path);

extern const struct duck_table duck_events, duck_calls, duck_syscalls, duck_values, duck_summary,
    duck_sites, duck_streams, duck_partitions;

#endif
