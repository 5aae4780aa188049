/* Between the parts of the converter for logs of LLVM's XRay:
 *
 *   convert_xray.c   the head; records in the order of time --> the writer
 *   xray_bytes.c     the log as a file that can be read anywhere
 *   xray_basic.c     basic mode: records of 32 bytes --> records
 *   xray_flight.c    flight data recorder: buffers, in the order of their times --> records
 *   xray_program.c   a function's number --> its address and name, by the program's own table */
#ifndef TOOL_CONVERT_XRAY_H
#define TOOL_CONVERT_XRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_map.h"
#include "tools/calls/name_table.h"
#include "tools/convert/convert.h"
#include "tools/io/sort_runs.h"

#define TOOL_XRAY_HEAD_BYTES   32u
#define TOOL_XRAY_WINDOW_BYTES 65536u

/* The numbers of both modes. */
enum tool_xray_kind {
    TOOL_XRAY_ENTER = 0,
    TOOL_XRAY_EXIT = 1,
    TOOL_XRAY_TAIL_EXIT = 2, /* it ends with a jump into another function */
    TOOL_XRAY_ENTER_ARGUMENT = 3,
    TOOL_XRAY_CUSTOM = 4, /* and below: of ours */
    TOOL_XRAY_TYPED = 5
};

struct tool_xray_record {
    uint64_t order_ns; /* never steps back in a thread */
    uint64_t time_ns, sequence;
    uint64_t value;      /* an argument; of events, where their bytes are in the log */
    uint32_t thread;     /* index */
    uint32_t kind;       /* tool_xray_kind */
    uint32_t function;   /* its number; of typed events their type */
    uint32_t size_bytes; /* of events; otherwise whether there is an argument */
};

struct tool_xray_thread {
    uint64_t pid, tid, order_ns;
    uint32_t stream; /* TTAPE_NONE: not written yet */
};

/* A part of the log that is in memory. */
struct tool_xray_window {
    uint64_t offset;
    size_t size_bytes;
    uint8_t bytes[TOOL_XRAY_WINDOW_BYTES];
};

struct tool_xray_program;

struct tool_xray {
    struct tool_conversion *conversion;
    int fd; /* may be another one than the conversion's */
    int failed_errno;
    uint64_t size_bytes;
    struct tool_xray_window *window;
    uint32_t version;
    uint64_t frequency; /* of the clock, in Hz */
    struct tool_names thread_of, process_of;
    struct ttp_key_map site_of; /* by kind and number */
    struct tool_xray_thread *threads;
    size_t thread_count, thread_capacity;
    struct tool_sorter *records;
    uint64_t record_count, late_count;
    struct tool_xray_program *program; /* NULL: nobody said which it was */
    uint64_t nameless_count;           /* functions that are not in it */
    bool failed;                       /* reported */
    ttape_error err;
};

/* Its value is little-endian, as all that XRay records on is. */
static inline uint64_t tool_xray_load(const uint8_t *at, size_t size_bytes)
{
    uint64_t value = 0;
    for (size_t i = size_bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* xray_bytes.c. False: it cannot be read, which was reported. */
bool tool_xray_open_bytes(struct tool_xray *xray);
void tool_xray_close_bytes(struct tool_xray *xray);
/* Bytes of the log, at most TOOL_XRAY_WINDOW_BYTES; they live until the next call. NULL: it ends
 * before, or cannot be read. */
const uint8_t *tool_xray_bytes(struct tool_xray *xray, uint64_t offset, size_t size_bytes);

/* convert_xray.c: the index of a thread, and one more record of it. */
uint32_t tool_xray_thread_of(struct tool_xray *xray, uint64_t pid, uint64_t tid);
void tool_xray_add(struct tool_xray *xray, uint64_t ticks, struct tool_xray_record record);

/* They add all records. What makes no sense is left out with a warning. */
void tool_xray_read_basic(struct tool_xray *xray);
void tool_xray_read_flight(struct tool_xray *xray);

/* xray_program.c. NULL: it cannot be used, which was reported. */
struct tool_xray_program *tool_xray_program_open(const char *path);
void tool_xray_program_close(struct tool_xray_program *program);
/* Adds its module. False: the writer failed. */
bool tool_xray_program_add(struct tool_xray_program *program, ttape_writer *writer,
                           uint32_t process, ttape_error *err);
/* Fills a site of a function; its texts live until the next call. False: it has no such function.
 */
bool tool_xray_program_find(struct tool_xray_program *program, uint32_t function, ttape_site *site);

#endif
