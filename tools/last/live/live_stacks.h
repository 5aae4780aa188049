/* The stacks of a process as it runs, unwound from outside. Each thread is stopped for as long as
 * its own stack takes, by ptrace, and goes on; nothing is written into the process. What reads its
 * memory and its files is a process of its own, which ends in time. */
#ifndef TOOL_LIVE_STACKS_H
#define TOOL_LIVE_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TOOL_LIVE_FRAMES_MOST  50000u /* of a thread */
#define TOOL_LIVE_THREADS_MOST 10000u

enum tool_live_kind {
    TOOL_LIVE_END,    /* no more comes */
    TOOL_LIVE_FAILED, /* of all: why, in name */
    TOOL_LIVE_THREAD, /* its frames follow, innermost first */
    TOOL_LIVE_FRAME,
    TOOL_LIVE_CUT /* the frames of this thread are not all: why, in name */
};

struct tool_live_record {
    enum tool_live_kind kind;
    uint64_t tid;
    uint64_t address; /* frame: of code; thread: of the mutex that it waits for, or 0 */
    uint64_t offset;  /* frame: of code, in its module */
    uint64_t owner;   /* thread: the one that holds the mutex; 0: not known */
    uint32_t line;    /* 0: not known */
    bool is_inlined;  /* frame: the compiler put it into the next one that is not */
    char name[512];   /* of a function, a thread; "": not known */
    char module[128]; /* last part of the file's path */
    char file[256];   /* of the source; thread: the mutex's name */
};

/* Calls take(context, record) with each thread and its frames, in order. Returns NULL, or why it
 * did not work, in text. */
const char *tool_live_stacks(pid_t pid, void (*take)(void *, const struct tool_live_record *),
                             void *context, char text[512]);

#endif
