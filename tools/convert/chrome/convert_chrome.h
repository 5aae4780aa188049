/* Between the parts of the converter for Chrome trace JSON:
 *
 *   convert_chrome.c        the file: arrays, objects, what is around them
 *   convert_chrome_event.c  an object --> records of B, E and points; items of X
 *   convert_chrome_pair.c   records in the order of time --> items: calls with begin and end
 *   convert_chrome_feed.c   items in the order of their begin --> nested frames
 *   convert_chrome_out.c    frames --> the writer's events, with their values */
#ifndef TOOL_CONVERT_CHROME_H
#define TOOL_CONVERT_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/calls/name_table.h"
#include "tools/convert/chrome/json_stream.h"
#include "tools/convert/convert.h"
#include "tools/io/scratch_file.h"
#include "tools/io/sort_runs.h"

/* Times may be below 0 until the least one is known: all are this much later. */
#define TOOL_CHROME_BIAS (UINT64_C(1) << 61)
#define TOOL_CHROME_OPEN UINT64_MAX /* in the place of an end */
/* Records of one thread at one time are taken together, up to so many. */
#define TOOL_CHROME_GROUP_MAX 65536u

/* What has no end of its own yet. Phase: 'B', 'E', 'i', and 'z' for an X of length 0. */
struct tool_chrome_record {
    uint64_t time;     /* biased ns */
    uint64_t sequence; /* in the file */
    uint64_t values;   /* offset + 1 in the scratch file, 0: none */
    uint32_t thread;   /* index */
    uint32_t site;     /* TTAPE_NONE: an E without a name */
    uint32_t phase;
};

enum tool_chrome_kind {
    TOOL_CHROME_PAIR, /* a call of B and E */
    TOOL_CHROME_X,
    TOOL_CHROME_POINT,
    TOOL_CHROME_UNSEEN /* an E without a B */
};

/* A call, or a point. */
struct tool_chrome_item {
    uint64_t begin, end; /* biased ns; TOOL_CHROME_OPEN: it has none */
    uint64_t sequence;   /* in the file, of where it begins */
    uint64_t order;      /* of the begin, among what B and E of its thread say; of no X with a
                          * length */
    uint64_t end_order;
    uint64_t values, end_values;
    uint32_t thread, site;
    uint16_t kind;
    bool is_left; /* it has no E, and ends with what is around it, at `end` */
};

struct tool_chrome_process {
    uint64_t pid;
    uint32_t id; /* of the writer */
    char *name;  /* NULL: not named */
    size_t name_bytes;
};

struct tool_chrome_thread {
    uint64_t tid;
    uint32_t process, stream; /* index; of the writer */
    char *name;
    size_t name_bytes;
    uint64_t last,
        last_end; /* biased time of its last event in the file, 0: none; of the last end */
    uint64_t x_begin, x_end; /* of its last X in the file */
    bool is_by_end;          /* each X is written when it ends: twins stand inside out */
};

#define TOOL_CHROME_PHASES 128u

/* What the file has in the place of JSON or of a number, and what became of it. */
enum tool_chrome_oddity {
    TOOL_CHROME_ODD_VALUE,     /* NaN, Infinity: kept as texts */
    TOOL_CHROME_ODD_CHARACTER, /* control characters: kept */
    TOOL_CHROME_ODD_BYTES,     /* no UTF-8, no character: U+FFFD */
    TOOL_CHROME_ODD_KEY,       /* twice in an object: the last counts */
    TOOL_CHROME_ODD_SIZE,      /* too long or too deep: null */
    TOOL_CHROME_ODD_LENGTH,    /* 'dur' is no length: the call stays open */
    TOOL_CHROME_ODD_TIME,      /* 'ts' is no time: that of the event before it in its thread */
    TOOL_CHROME_ODDITIES
};

struct tool_chrome {
    struct tool_conversion *conversion;
    struct tool_names process_of, thread_of, site_of; /* pid; pid and tid; kind and name */
    struct tool_names number_of;                      /* of pids and tids that are texts */
    uint32_t next_number;
    struct tool_chrome_process *processes;
    size_t process_count, process_capacity;
    struct tool_chrome_thread *threads;
    size_t thread_count, thread_capacity;
    uint64_t name_bytes; /* of all sites */
    char *key;           /* of a site that is looked up */
    size_t key_capacity;
    char *mended; /* text of an object that is no JSON */
    size_t mended_capacity;
    struct tool_sorter *records, *items;
    struct tool_scratch values; /* fd -1: no event had any */
    uint64_t origin_ns;         /* added to every time */
    uint64_t least;             /* of all times, biased; TOOL_CHROME_OPEN: there is none */
    uint64_t event_count, left_out[TOOL_CHROME_PHASES];
    uint64_t oddities[TOOL_CHROME_ODDITIES], first_odd[TOOL_CHROME_ODDITIES]; /* byte */
    uint64_t unmatched_count; /* ends without a begin or a name */
    ttape_error err;
};

/* convert_chrome_time.c: a number of microseconds, in quotes or not, in picoseconds without
 * floating point. False: no number, or more than can be stored. */
struct tool_chrome_time {
    uint64_t ns; /* biased */
    uint32_t ps; /* what is left of it, below 1,000 */
};
bool tool_chrome_parse_time(const char *text, size_t size_bytes, struct tool_chrome_time *time);

/* json_mend.c: makes JSON of an object's text that is nearly JSON. Counts what it finds.
 * Returns the size of *into, which grows. */
size_t tool_json_mend(const char *text, size_t size_bytes, char **into, size_t *capacity,
                      uint64_t counts[TOOL_CHROME_ODDITIES]);

/* convert_chrome_event.c: takes an object. False: failed, which was reported. */
bool tool_chrome_take_object(struct tool_chrome *chrome, const struct tool_json_object *object);
/* What our own exporter says about its times, where it stands before them. */
void tool_chrome_take_origin(struct tool_chrome *chrome, const struct tool_json_object *object);
void tool_chrome_use_memory(void); /* once, before the first object */
void tool_chrome_count_odd(struct tool_chrome *chrome, enum tool_chrome_oddity what, uint64_t count,
                           uint64_t offset);

/* convert_chrome_pair.c: all records become items. False: failed, which was reported. */
bool tool_chrome_pair(struct tool_chrome *chrome);

/* convert_chrome_feed.c: defines processes and threads, feeds the items. Returns a tool_exit. */
int tool_chrome_feed(struct tool_chrome *chrome);

/* convert_chrome_out.c. Once the status is bad nothing more is written. */
struct tool_chrome_out;
struct tool_chrome_out *tool_chrome_out_open(struct tool_chrome *chrome);
/* An event at a biased time, with the values at an offset + 1 (0: none). */
void tool_chrome_out_add(struct tool_chrome_out *out, uint32_t thread, ttape_event event,
                         uint64_t values);
ttape_status tool_chrome_out_close(struct tool_chrome_out *out);

#endif
