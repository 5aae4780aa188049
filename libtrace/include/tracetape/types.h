/* The values that writer and reader share: sites, events, streams, processes, values.
 *
 * All times are nanoseconds of the trace's clock (unsigned 64 bits, no epoch implied; metadata
 * "clock" names it). Ids are dense 32-bit numbers from 0 within a scope; a file that was not merged
 * has one scope. Strings are UTF-8 by convention, borrowed unless said otherwise, with an explicit
 * length: a name from a file may hold any byte, so escape it before you print it.
 *
 * Structs may end in `reserved` words, where later versions put what they add: the library fills
 * them with 0, and a caller who fills such a struct leaves them 0 (TTAPE_E_ARGUMENT otherwise). */
#ifndef TRACETAPE_TYPES_H
#define TRACETAPE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TTAPE_API __attribute__((visibility("default")))
#else
#define TTAPE_API
#endif

#define TTAPE_NONE UINT32_MAX /* "no such id" wherever an id may be missing */

/* An unsigned number of 128 bits. */
typedef struct ttape_wide {
    uint64_t low, high;
} ttape_wide;

/* Bytes with a length; data may be NULL when size_bytes is 0. */
typedef struct ttape_string {
    const char *data;
    size_t size_bytes;
} ttape_string;

/* What a site is. Numbers are on disk. */
typedef enum ttape_site_kind {
    TTAPE_SITE_FUNCTION = 0,
    TTAPE_SITE_BLOCK = 1,
    TTAPE_SITE_BRANCH = 2,
    TTAPE_SITE_SYSCALL = 3,
    TTAPE_SITE_MARKER = 4,
    TTAPE_SITE_FRAME = 5,  /* of a path: never entered, has no events */
    TTAPE_SITE_TARGET = 6, /* of pointers among values (F-SIT-13): the same */
    TTAPE_SITE_CALL = 7    /* of a call, where its caller made it (F-SIT-14): the same */
} ttape_site_kind;

/* A place in the program that can emit events, or a frame of a path. A system call that was reached
 * by two paths is two sites of one symbol. */
typedef struct ttape_site {
    uint64_t address; /* as recorded; of a system call its number, of a frame where it
                         goes on (F-SIT-11) */
    uint32_t module;  /* a module id of the same scope, or TTAPE_NONE */
    uint32_t line;    /* 1.., or 0 when unknown */
    ttape_site_kind kind;
    ttape_string symbol; /* "" when unknown */
    ttape_string file;   /* "" when unknown */
    uint32_t path;       /* that led to it, of the same scope (1..), or 0: none is known */
    uint32_t reserved_path;
    uint64_t reserved[1];
} ttape_site;

/* A path: a stack of frames that was seen, not entered. It is its outer frames, which are a path
 * too, and one frame more. Ids begin at 1. */
typedef struct ttape_path {
    uint32_t parent;   /* the path of the frames outside of this one, 0: this is the outermost */
    uint32_t site;     /* the frame's; TTAPE_NONE: frames further out are not known (no parent) */
    uint32_t depth;    /* frames of the path, this one counted; filled by readers */
    uint32_t reserved; /* 0 */
} ttape_path;

#define TTAPE_PATH_MAX_DEPTH 65535u

/* A mapped executable or library. Its range starts with the page (of 4,096 bytes) of the file's
 * lowest loaded segment and ends behind its highest: an address that the file's symbols know as
 * `v` is start + v - that page (F-SIT-10). */
typedef struct ttape_module {
    uint64_t start, end; /* address range [start, end), 0,0 when unknown */
    uint32_t process;    /* whose mapping this is, or TTAPE_NONE */
    ttape_string path;
    ttape_string build_id; /* bytes, not hex */
    uint64_t reserved[2];
} ttape_module;

typedef struct ttape_process {
    uint64_t pid;
    uint32_t parent; /* process id in this scope (not a pid), or TTAPE_NONE */
    uint64_t start_time_ns;
    ttape_string name; /* executable or comm */
    uint64_t reserved[2];
} ttape_process;

/* One thread's ordered events. */
typedef struct ttape_stream {
    uint32_t process; /* process id in this scope */
    uint64_t tid;
    uint64_t start_time_ns;
    ttape_string name;
    uint64_t reserved[2];
} ttape_stream;

/* What happened. `site` and `argument` mean: */
typedef enum ttape_event_kind {
    TTAPE_EVENT_ENTER = 0, /* site */
    TTAPE_EVENT_EXIT = 1,  /* site: of the frame that it closes, the innermost one */
    TTAPE_EVENT_LEAF = 2,  /* site: a block, branch, system call or marker was passed */
    TTAPE_EVENT_OPEN =
        3, /* site: this frame was already open when the stream began (outermost first) */
    TTAPE_EVENT_SIGNAL_BEGIN = 4, /* argument: signal number; what follows runs in its handler */
    TTAPE_EVENT_SIGNAL_END = 5,   /* argument: signal number */
    TTAPE_EVENT_EXIT_UNSEEN =
        6, /* site: exit of a frame whose enter is not in the stream; closes nothing */
    TTAPE_EVENT_UNWIND =
        7, /* argument: n >= 1 innermost frames were left by unwinding (exception, longjmp) */
    TTAPE_EVENT_EXIT_ACROSS =
        8, /* site; argument: n >= 1 frames were left by unwinding, then site's frame exits */
    TTAPE_EVENT_SWITCH = 9, /* argument: the stack (0..) on which the stream goes on */
    TTAPE_EVENT_GAP = 10    /* argument: ttape_gap_reason; lost_count */
} ttape_event_kind;

#define TTAPE_EVENT_KIND_COUNT 11

typedef enum ttape_gap_reason {
    TTAPE_GAP_REASON_UNKNOWN = 0,
    TTAPE_GAP_REASON_OVERFLOW = 1, /* the recorder's buffers were full */
    TTAPE_GAP_REASON_DAMAGE = 2,   /* lost in a damaged file; written by recover */
    TTAPE_GAP_REASON_FILTER = 3,   /* left out on purpose */
    TTAPE_GAP_REASON_CUT = 4,      /* cut away */
    TTAPE_GAP_REASON_SANDBOX = 5,  /* the program forbade itself what recording takes */
    TTAPE_GAP_REASON_STOPPED = 6   /* recording was off, or ended before the program did */
} ttape_gap_reason;

/* What is known of the ends of frames that an unwind, or an exit across, left. */
typedef enum ttape_unwind_kind {
    TTAPE_UNWIND_LEFT = 0,   /* an exception or a longjmp left them then */
    TTAPE_UNWIND_UNSEEN = 1, /* their ends were not seen, as they jumped to what is not recorded:
                              * they ended then at the earliest */
    TTAPE_UNWIND_LOST = 2,   /* they ended where events are missing */
    TTAPE_UNWIND_LATE = 3    /* their exits were not seen, as they cannot be patched: they ended
                              * then at the latest */
} ttape_unwind_kind;

#define TTAPE_DEPTH_AUTO UINT32_MAX /* writer: derive the depth from the frames */

typedef struct ttape_event {
    uint64_t time_ns; /* 0 in a file without times */
    /* TTAPE_EVENT_GAP: events lost here, 0 when unknown. TTAPE_EVENT_UNWIND and _EXIT_ACROSS:
     * ttape_unwind_kind. Otherwise 0 */
    uint64_t lost_count;
    ttape_event_kind kind;
    uint32_t site;     /* or TTAPE_NONE */
    uint32_t argument; /* or 0 */
    uint32_t
        depth; /* frames below this event: 0 for an outermost enter and for its exit, as recorded */
} ttape_event;

/* Values that an event carries: arguments, return values, marker payloads. */
typedef enum ttape_value_type {
    TTAPE_VALUE_UNSIGNED = 0,
    TTAPE_VALUE_SIGNED = 1,
    TTAPE_VALUE_POINTER = 2, /* unsigned, printed in hex */
    TTAPE_VALUE_FLOAT = 3,   /* bits of an IEEE 754 double in `number` */
    TTAPE_VALUE_BYTES = 4,   /* raw bytes */
    TTAPE_VALUE_STRING = 5,  /* text, at most TTAPE_VALUE_MAX_BYTES */
    TTAPE_VALUE_NULL = 6     /* a NULL string pointer */
} ttape_value_type;

#define TTAPE_VALUE_MAX_BYTES  65535u
#define TTAPE_EVENT_MAX_VALUES 255u

typedef struct ttape_value {
    ttape_value_type type;
    uint64_t number;    /* integers (two's complement when signed), float bits */
    ttape_string bytes; /* TTAPE_VALUE_BYTES and _STRING */
} ttape_value;

/* A constant of an enumeration. */
typedef struct ttape_value_constant {
    int64_t value;
    ttape_string name;
} ttape_value_constant;

#define TTAPE_ENUMERATION_MAX_CONSTANTS 65535u

/* What a value is called: its name and type as the source has them ("flags", "const char *",
 * "enum color"), "" where not known; of an enumeration its constants, in the source's order. */
typedef struct ttape_value_name {
    ttape_string name, type;
    const ttape_value_constant *constants; /* or NULL */
    uint32_t constant_count;
    uint32_t reserved_count;
    ttape_string enumeration; /* its name, "" where it has none */
    uint64_t reserved[2];
} ttape_value_name;

/* The values of a site's events, in their order (F-VNM-10): of its enter (or leaf), and of its
 * exit. */
typedef struct ttape_site_values {
    const ttape_value_name *enter, *exit;
    uint32_t enter_count, exit_count; /* at most TTAPE_EVENT_MAX_VALUES each */
    uint64_t reserved[2];
} ttape_site_values;

/* Why a thread did not run. Numbers are on disk (F-SWI-06). */
typedef enum ttape_off_kind {
    TTAPE_OFF_PREEMPTED = 0,      /* it could have run on */
    TTAPE_OFF_BLOCKED = 1,        /* it waited for something */
    TTAPE_OFF_PREEMPTED_NEAR = 2, /* in this interval or in one near it */
    TTAPE_OFF_BLOCKED_NEAR = 3,
    TTAPE_OFF_UNKNOWN = 4 /* nothing is known of the interval; start and length are 0 */
} ttape_off_kind;

/* A time in which a thread did not run, in the interval between two neighbouring events. */
typedef struct ttape_off_span {
    uint64_t event;     /* that ends the interval */
    int64_t start_ns;   /* since the interval's start */
    uint64_t length_ns; /* both below 2^62 */
    ttape_off_kind kind;
} ttape_off_span;

/* A frame that is open at an edge (the boundary between two partitions of a stream). */
typedef struct ttape_open_frame {
    ttape_event_kind kind; /* what opened it: TTAPE_EVENT_ENTER, _OPEN or _SIGNAL_BEGIN */
    uint32_t site;         /* or TTAPE_NONE (signals) */
    uint32_t argument;     /* signal number */
    uint32_t stack;        /* the stack that it is on */
    uint64_t enter_time_ns;
    int64_t self_ns; /* time on top of its stack so far */
} ttape_open_frame;

/* The state of a stream between two of its events. */
typedef struct ttape_edge {
    uint64_t event_number; /* events of the stream before the edge */
    uint64_t time_ns; /* of the last event before it (of the first after it where there is none) */
    uint32_t stack;   /* current stack */
    uint32_t unknown_depth; /* frames known by depth only (never entered in the stream) */
    int32_t depth_offset;   /* recorded depth minus the depth that the frames give */
    uint32_t frame_count;
    const ttape_open_frame *frames; /* outermost first within each stack */
    uint64_t reserved[2];
} ttape_edge;

/* Memory is asked for here; a NULL ttape_allocator means malloc and free. `size_bytes` is given
 * back on free. */
typedef struct ttape_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_bytes);
    void (*release)(void *context, void *memory, size_t size_bytes);
} ttape_allocator;

/* Library version, e.g. "0.1.0"; static. */
TTAPE_API const char *ttape_version_string(void);
/* Static names: "enter", "exit", "block", ...; never NULL. exit_unseen and exit_across read "exit":
 * they are exits. */
TTAPE_API const char *ttape_event_kind_name(uint32_t event_kind, uint32_t site_kind);
TTAPE_API const char *ttape_site_kind_name(uint32_t site_kind);
TTAPE_API const char *ttape_gap_reason_name(uint32_t reason);
/* "ok", "end", "not found", "checksum", "not a trace", ...; "unknown" for what is no status. */
TTAPE_API const char *ttape_status_name(ttape_status status);

/* How a thread ended: the value of a fact `tracetape:thread_end` (spec/facts.md). */
typedef enum ttape_thread_end {
    TTAPE_THREAD_END_UNKNOWN = 0,
    TTAPE_THREAD_END_ITSELF = 1,
    TTAPE_THREAD_END_PROCESS = 2,       /* its process ended */
    TTAPE_THREAD_END_EXEC = 3,          /* its process executed another program */
    TTAPE_THREAD_END_RECORDING = 4,     /* recording ended, and the thread went on */
    TTAPE_THREAD_END_RECORDER_DIED = 5, /* before it saw how the thread ended */
    TTAPE_THREAD_END_CALLED = 6         /* it called exit, or _exit, which ended its process */
} ttape_thread_end;

/* Why recording stopped: the value of a fact `tracetape:stopped`. */
typedef enum ttape_stop_reason {
    TTAPE_STOP_UNKNOWN = 0,
    TTAPE_STOP_OFF = 1,  /* it was switched off, and may go on */
    TTAPE_STOP_TIME = 2, /* it had gone on for as long as it was to, */
    TTAPE_STOP_SIZE = 3, /* the trace was as large as it was to be */
    TTAPE_STOP_ASKED = 4,
    TTAPE_STOP_ENDED = 5,  /* the recorder ended, or left the process alone */
    TTAPE_STOP_FAILED = 6, /* the recorder could not go on */
    TTAPE_STOP_COUNT = 7
} ttape_stop_reason;

/* How a process ended: the first value of a fact `tracetape:process_end`. */
typedef enum ttape_process_end {
    TTAPE_PROCESS_END_UNKNOWN = 0,
    TTAPE_PROCESS_END_EXIT = 1,       /* the second value is the exit code */
    TTAPE_PROCESS_END_QUICK_EXIT = 2, /* by _exit: no destructor ran; the exit code */
    TTAPE_PROCESS_END_SIGNAL = 3      /* its number */
} ttape_process_end;

#ifdef __cplusplus
}
#endif
#endif
