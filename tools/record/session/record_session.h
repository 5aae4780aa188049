/* A recording as a verb asks for it: what its options have said, and then a session of the library
 * with names, plans and rules. `record` and `syscalls` fill it in. */
#ifndef TOOL_RECORD_SESSION_H
#define TOOL_RECORD_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <tracetape/session.h>

#include "tools/calls/stream_choice.h"
#include "tools/command/options.h"
#include "tools/io/debug_files.h"
#include "tools/record/bare/record_bare.h"
#include "tools/record/engines/record_calls.h"
#include "tools/record/engines/record_engine.h"
#include "tools/record/engines/record_join.h"
#include "tools/record/engines/record_patch.h"
#include "tools/record/output/record_send.h"
#include "tools/record/record_keep.h"
#include "tools/record/rules/record_rules.h"

struct tool_record_session {
    const char *verb; /* that asks, for messages */
    enum tool_record_engine engine;
    uint32_t attach; /* to this process; 0: a command is run */
    const char *output, *clock;
    const char *shown; /* what messages call the output */
    const char *note;  /* that is kept with the trace; or NULL */
    uint64_t resolution_ns, buffer, spill, max_size, rotate;
    struct tool_time max_time, min_time, checkpoint_every;
    struct tool_keep keep;
    uint32_t partition_events, depth, jobs, threshold;
    int32_t level, then_level; /* then_level -1: none */
    bool force, blocking, dropping, live, off, files, no_children, no_symbols, no_lines, cull_hot,
        no_switches, no_blocks, no_patch, quiet, plan, json, kernel, measures, call_numbers;
    struct tool_record_rules rules;
    struct tool_record_calls calls;
    struct tool_record_patch patch;
    bool joins;                  /* its functions are patched while it runs */
    struct tool_numbers threads; /* of these threads only; none: of all */
    struct tool_record_join join;
    char *function_changes; /* of these, for the trace; NULL: none */
    char *chosen_functions; /* the last one that was asked for */
    struct tool_debug_files debug;
    struct tool_plan_cache plans;
    struct tool_record_send send;
    struct tool_record_bare bare;
    struct tool_plan_cache traced_plans; /* in the process that traces */
    sigset_t mask;                       /* signals that were blocked before some were */
};

/* Defaults, which options then change. It stays where it is. */
void tool_record_session_open(struct tool_record_session *session, const char *verb);
/* Records a command, the first `count` of `argv`, or the process that it is attached to (`count` is
 * 0). The status is the command's; where that is 0, what became of the trace. What went wrong was
 * said. Signals are the recording's from then on. */
int tool_record_session_run(struct tool_record_session *session, int count, char **argv);
/* Prints what would be patched; nothing is run, and nothing is written. */
int tool_record_session_plan(struct tool_record_session *session, int count, char **argv);
/* Returns `status`; where nothing could record the command, this process becomes it. */
int tool_record_session_close(struct tool_record_session *session, int status);

/* record_run.c: with all that was chosen. */
int tool_record_run(struct tool_record_session *session, char **argv,
                    const ttape_recording_options *options);

#endif
