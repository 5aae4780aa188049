/* record: its options; tools/record/session/ does the rest. */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/record/output/output_pattern.h"
#include "tools/record/session/record_session.h"
#include "tools/record/start/record_kernel.h"

/* Its options are a recording's. */
#undef TOOL_AT
#define TOOL_AT(field) offsetof(struct tool_record_session, field)

static const struct tool_option table[] = {
    TOOL_GROUP("The trace"),
    {"output", 'o', "FILE", "the trace (default: COMMAND.ttape); -: to stdout; tcp://HOST:PORT",
     NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE; else a trace becomes FILE.old, and other files stay", NULL,
     TOOL_AT(force)},
    {"note", 0, "TEXT", "kept with the trace, for tracetape info", NULL, TOOL_AT(note)},
    {"clock", 'c', "CLOCK", "auto (default), tsc, monotonic, coarse, none", NULL, TOOL_AT(clock)},
    {"resolution", 0, "HOW", "of times: exact (default), none, or a resolution such as 64ns, 1us",
     tool_parse_resolution, TOOL_AT(resolution_ns)},
    {"level", 'l', "N", "0 (literal form), 1 (fast) .. 9 (small); default 3", tool_parse_level,
     TOOL_AT(level)},
    {"then-level", 0, "N", "when it is complete, bring the trace to this level, at low priority",
     tool_parse_level, TOOL_AT(then_level)},
    {"threshold", 0, "N", "of level 0: as for convert", tool_parse_u32, TOOL_AT(threshold)},
    {"partition-events", 'p', "N", "events in a partition (default 1000000)", tool_parse_u32,
     TOOL_AT(partition_events)},
    {"call-numbers", 0, NULL, "for SQL, as for convert", NULL, TOOL_AT(call_numbers)},
    {"jobs", 'j', "N", "threads that encode (default 2); never changes the bytes", tool_parse_u32,
     TOOL_AT(jobs)},
    {"buffer", 0, "SIZE", "memory shared with the program, as a limit (default: as needed)",
     tool_parse_size, TOOL_AT(buffer)},
    {"spill", 0, "SIZE", "what may wait on disk to be encoded or sent (default 4G)",
     tool_parse_size, TOOL_AT(spill)},
    {"block", 0, NULL, "when that is full the program waits, however long", NULL,
     TOOL_AT(blocking)},
    {"drop", 0, NULL, "when that is full events are lost, and nothing waits", NULL,
     TOOL_AT(dropping)},
    TOOL_GROUP("Which functions and calls"),
    {"function", 'F', "REGEX", "only functions whose name matches (any of those given)",
     tool_parse_pattern, TOOL_AT(rules.function)},
    {"no-function", 'N', "REGEX", "no functions whose name matches", tool_parse_pattern,
     TOOL_AT(rules.no_function)},
    {"module", 0, "REGEX", "only executables and libraries whose path matches; --patch: of these",
     tool_parse_pattern, TOOL_AT(rules.module)},
    {"no-module", 0, "REGEX", "none whose path matches", tool_parse_pattern,
     TOOL_AT(rules.no_module)},
    {"source", 0, "REGEX", "only functions whose source file matches", tool_parse_pattern,
     TOOL_AT(rules.source)},
    {"no-source", 0, "REGEX", "none whose source file matches", tool_parse_pattern,
     TOOL_AT(rules.no_source)},
    {"below", 'B', "REGEX", "only calls of matching functions and what they call",
     tool_parse_pattern, TOOL_AT(rules.below)},
    {"no-below", 0, "REGEX", "no calls of matching functions, nor what they call",
     tool_parse_filter_not_below, TOOL_AT(rules.said)},
    {"filter", 0, "FILTER", "only these calls: see tracetape-filters(7)", tool_parse_filter,
     TOOL_AT(rules.said)},
    {"depth", 'd', "N", "no more than N calls in one another", tool_parse_u32, TOOL_AT(depth)},
    {"min-time", 'm', "TIME", "leave out calls that take less and hold none that takes more",
     tool_parse_time, TOOL_AT(min_time)},
    {"cull-hot", 0, NULL, "leave out functions that are called very often and do little", NULL,
     TOOL_AT(cull_hot)},
    TOOL_GROUP("System calls, and values of all calls"),
    {"syscalls", 0, "[=CHOICE]", "system calls, too: read,write  %file  /^epoll_/  !futex",
     tool_parse_record_calls, TOOL_AT(calls)},
    {"args", 0, "[=REGEX]", "with what calls are given and return, of all or of these functions",
     tool_parse_values, TOOL_AT(patch.values)},
    {"retval", 0, "[=REGEX]", "with what functions return, of all or of these", tool_parse_results,
     TOOL_AT(patch.values)},
    {"args-exclude", 0, "REGEX", "of these functions neither", tool_parse_values_excluded,
     TOOL_AT(patch.values)},
    {"call-sites", 0, "[=REGEX]", "with where each call was made, of all functions or of these",
     tool_parse_call_sites, TOOL_AT(patch.values)},
    {"failed", 0, NULL, "only system calls that fail", NULL, TOOL_AT(calls.failed)},
    {"path", 0, "PATH", "only system calls that are given this path, or one below it", NULL,
     TOOL_AT(calls.path)},
    {"fd", 0, "N", "only system calls that are given this descriptor", tool_parse_id,
     TOOL_AT(calls.descriptor)},
    {"log-fd", 0, "N[,N]", "hash what is written to these", tool_parse_log_fd, TOOL_AT(calls)},
    {"data", 0, "[=N]", "and with the first N bytes (32) of buffers that they read and write",
     tool_parse_data, TOOL_AT(calls.data_bytes)},
    {"stacks", 0, "[=WHAT]", "with each system call, the stack that led to it: whole, application",
     tool_parse_stacks, TOOL_AT(calls)},
    {"own", 0, "REGEX", "modules that are the application, not the system's libraries",
     tool_parse_pattern, TOOL_AT(rules.own)},
    {"stack-every", 0, "N", "stacks of one in N system calls of a thread only", tool_parse_u32,
     TOOL_AT(calls.stack_every)},
    {"stack-rate", 0, "N/s", "stacks of about N system calls in a second of a thread only",
     tool_parse_stack_rate, TOOL_AT(calls.stack_rate)},
    TOOL_GROUP("Functions without hooks, and of libraries"),
    {"patch", 0, "REGEX", "functions without hooks whose name matches, too",
     tool_parse_record_patch, TOOL_AT(patch)},
    {"libcalls", 0, "[=REGEX]", "calls of the executable into libraries, of all or of these names",
     tool_parse_libcalls, TOOL_AT(patch)},
    {"nest-libcalls", 0, NULL, "and those of libraries into one another, what they lead to as well",
     tool_parse_nest_libcalls, TOOL_AT(patch)},
    {"no-patch", 0, NULL, "only what has hooks, and no library calls that were not asked for", NULL,
     TOOL_AT(no_patch)},
    {"inlined", 0, NULL, "with --patch: copies of inlined functions, too, but not their ends", NULL,
     TOOL_AT(patch.inlined)},
    {"marks", 0, "[=REGEX]", "static probes (SDT) of the program and its libraries, as markers",
     tool_parse_marks, TOOL_AT(patch.marks)},
    {"plan", 0, NULL, "print what --patch would do to the command, and do not run it", NULL,
     TOOL_AT(plan)},
    {"json", 0, NULL, "print that as JSON", NULL, TOOL_AT(json)},
    {"complete", 0, NULL, "system calls before the program begins, and of static programs, too",
     NULL, TOOL_AT(calls.complete)},
    {"measure", 0, "COUNTER[=REGEX]", "what each system call costs of it; =: at both ends of these",
     tool_parse_record_measure, TOOL_AT(patch)},
    {"kernel", 0, NULL, "says why the kernel's functions are not recorded, and what to do", NULL,
     TOOL_AT(kernel)},
    {"engine", 0, "HOW", "of system calls: in-process, ptrace (sees all), auto (default)",
     tool_parse_record_engine, TOOL_AT(engine)},
    {"attach", 0, "PID", "system calls of a process that runs, until it ends or Ctrl-C",
     tool_parse_u32, TOOL_AT(attach)},
    TOOL_GROUP("When, how much, and of which processes"),
    {"off", 0, NULL, "start switched off; see tracetape control, or send SIGUSR1", NULL,
     TOOL_AT(off)},
    {"max-size", 0, "SIZE", "stop recording when the trace is so large", tool_parse_size,
     TOOL_AT(max_size)},
    {"max-time", 0, "TIME", "stop recording after so long", tool_parse_time, TOOL_AT(max_time)},
    {"rotate", 0, "SIZE", "go on in a new file when one is so large: run.0001.ttape, ...",
     tool_parse_size, TOOL_AT(rotate)},
    {"keep-last", 'k', "SIZE|TIME", "keep only the last of it: a flight recorder", tool_parse_keep,
     TOOL_AT(keep)},
    {"checkpoint", 0, "REGEX", "copy the trace so far when a function that matches is entered",
     tool_parse_pattern, TOOL_AT(rules.checkpoint)},
    {"checkpoint-every", 0, "TIME", "copy the trace so far, so often: FILE.snapshot-1, ...",
     tool_parse_time, TOOL_AT(checkpoint_every)},
    {"on", 0, "TRIGGER", "'EVENT do ACTION': see tracetape-filters(7)", tool_parse_filter,
     TOOL_AT(rules.on)},
    {"live", 0, NULL, "FILE grows while the command runs: see tracetape dump --follow", NULL,
     TOOL_AT(live)},
    {"files", 0, NULL, "a file for each process: run.PID-N.ttape", NULL, TOOL_AT(files)},
    {"no-children", 0, NULL, "the command itself, not the processes that it starts", NULL,
     TOOL_AT(no_children)},
    TOOL_GROUP("Names, and what else is left out"),
    {"no-symbols", 0, NULL, "no names: see tracetape symbolize", NULL, TOOL_AT(no_symbols)},
    {"no-lines", 0, NULL, "names, but no source files and lines", NULL, TOOL_AT(no_lines)},
    TOOL_DEBUG_OPTIONS,
    {"no-switches", 0, NULL, "do not ask the kernel when threads do not run", NULL,
     TOOL_AT(no_switches)},
    {"no-blocks", 0, NULL, "calls, but no basic blocks of what is built for them", NULL,
     TOOL_AT(no_blocks)},
    {"quiet", 'q', NULL, "say nothing at the end", NULL, TOOL_AT(quiet)},
    {0}};

static const struct tool_command command = {
    .verb = "record",
    .usage = "[OPTION]... [--] COMMAND [ARGUMENT]...\n[OPTION]... --attach PID",
    .about =
        "Runs COMMAND and records the calls of its functions, and of what it starts. Its exit\n"
        "status is COMMAND's. SIGUSR1 and SIGUSR2 to the recorder turn recording on and off.",
    .options = table,
    .examples = "  tracetape record ./program\n"
                "  tracetape record -o run.ttape --min-time 1us -- ./program --its-option\n"
                "  tracetape record --keep-last 64M -o last.ttape -- ./server\n",
    .statuses = "  COMMAND's own (128 + N when signal N ended it), and where that is 0:\n"
                "  3    recorded, with events lost\n"
                "  4    not recorded, or nothing to record: there is no file\n"
                "  126  COMMAND cannot be executed\n"
                "  127  there is no COMMAND\n",
    .operands_min = 0,
    .operands_max = INT_MAX,
    .runs_command = true,
};

int tool_verb_record(int argc, char **argv)
{
    int count, status;
    struct tool_record_session session;
    tool_record_session_open(&session, "record");
    char *filled = NULL;
    if (tool_options_parse(&command, argc, argv, &session, &count, &status) == TOOL_PARSED_GO) {
        bool is_named = session.output != NULL;
        session.output = filled = is_named ? tool_record_fill_pattern(session.output) : NULL;
        if (is_named && filled == NULL)
            status = TOOL_USAGE;
        else if (session.kernel)
            status = tool_record_kernel_refuse();
        else
            status = session.plan || session.json ? tool_record_session_plan(&session, count, argv)
                                                  : tool_record_session_run(&session, count, argv);
    }
    free(filled);
    return tool_record_session_close(&session, status);
}
