/* Between the two halves of the converter for Chrome trace JSON: what is read becomes records in a
 * sorter, what is sorted becomes frames. */
#ifndef TOOL_CONVERT_CHROME_H
#define TOOL_CONVERT_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/calls/name_table.h"
#include "tools/convert/convert.h"
#include "tools/io/scratch_file.h"
#include "tools/io/sort_runs.h"

/* One event that can become one or two of a trace. */
struct tool_chrome_record {
    uint64_t time_ns, duration_ns; /* duration: of phase X */
    uint64_t sequence;             /* in the file */
    uint64_t values;               /* offset + 1 in the scratch file, 0: none */
    uint32_t thread;               /* index */
    uint32_t site;                 /* TTAPE_NONE: an E without a name */
    uint32_t phase;                /* 'B', 'E', 'X', 'i' */
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
};

#define TOOL_CHROME_PHASES 128u

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
    struct tool_sorter *sorter;
    struct tool_scratch values; /* fd -1: no event had any */
    uint64_t origin_ns;         /* added to every time */
    uint64_t event_count, left_out[TOOL_CHROME_PHASES];
    ttape_error err;
};

/* convert_chrome_time.c: microseconds as text, in quotes or not, rounded half up. False: no number,
 * below 0 or too large. */
bool tool_chrome_parse_time(const char *text, size_t size_bytes, uint64_t *time_ns);

/* convert_chrome_feed.c: defines processes and threads, feeds the sorted records. Returns a
 * tool_exit. */
int tool_chrome_feed(struct tool_chrome *chrome);

#endif
