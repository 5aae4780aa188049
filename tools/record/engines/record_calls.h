/* Recording system calls: which, and where the plans of modules lie that the runtime needs. */
#ifndef TOOL_RECORD_CALLS_H
#define TOOL_RECORD_CALLS_H

#include <stdbool.h>

#include <tracetape/recording.h>

#include "program/binary/plans/plan_cache.h"
#include "tools/command/options.h"
#include "tools/kernel/kernel_choice.h"

struct tool_record_calls {
    bool given, by_ptrace, complete, stacks, application, arguments;
    bool failed;                      /* only those that fail, */
    const char *path;                 /* are given this path, or one below it, */
    struct tool_id descriptor;        /* are given this descriptor */
    uint32_t data_bytes;              /* of buffers; 0: none */
    uint64_t lines;                   /* bits of descriptors that a log is written to, */
    bool only_lines;                  /* and no other calls */
    uint32_t stack_every, stack_rate; /* as of ttape_syscall_options */
    struct tool_call_choice choice;   /* nothing in it: all */
    const char *measure;              /* a counter's name; NULL: none */
    struct tool_plan_cache *cache;    /* of plans */
};

bool tool_parse_record_calls(const char *text, void *into); /* tool_record_calls; NULL: all */
bool tool_parse_log_fd(const char *text, void *into);       /* tool_record_calls */
bool tool_parse_stacks(const char *text, void *into);       /* tool_record_calls; NULL: whole */
bool tool_parse_data(const char *text, void *into);         /* uint32_t; NULL: 32 */
/* Whether what is measured is what a thread cannot ask for itself: by ptrace. */
bool tool_record_counts_outside(const struct tool_record_calls *calls);
bool tool_parse_measure(const char *text, void *into);    /* const char *, of a counter */
bool tool_parse_stack_rate(const char *text, void *into); /* uint32_t */

/* Says where something was asked for that is of system calls, and none are recorded. */
void tool_record_calls_warn(const struct tool_record_calls *calls, bool is_attached);

/* The folder of plans, opened once; where it is not the one that was asked for, with a message. */
bool tool_record_plans_open(struct tool_plan_cache *cache);
/* Where there is none. */
const char *tool_record_no_plans(const struct tool_plan_cache *cache);

/* For ttape_syscall_options.plan: into that folder (tool_plan_cache). */
void tool_record_calls_plan(void *context, const char *module_path);
void tool_record_calls_begin(struct tool_record_calls *calls); /* all options were read */
/* False: there is no folder of plans; or with a message: it cannot be. `calls` stays as long as it
 * is recorded. */
bool tool_record_calls_open(struct tool_record_calls *calls, ttape_recording_options *options);
void tool_record_calls_close(struct tool_record_calls *calls);

#endif
