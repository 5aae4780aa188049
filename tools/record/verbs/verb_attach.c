/* attach: its options are a recording's; tools/record/session/ does the rest. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/command/options.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"
#include "tools/record/output/output_pattern.h"
#include "tools/record/session/record_session.h"

/* Its options are a recording's. */
#undef TOOL_AT
#define TOOL_AT(field) offsetof(struct tool_record_session, field)

/* Of names that match, functions are patched, and recorded. */
static bool parse_function(const char *text, void *into)
{
    struct tool_record_session *session = into;
    return tool_parse_pattern(text, &session->rules.function) &&
           tool_parse_record_patch(text, &session->patch);
}

/* Whatever counter it is: decision 0132. */
static bool parse_measure(const char *text, void *into)
{
    (void)text;
    *(bool *)into = true;
    return true;
}

static int refuse_measure(void)
{
    return tool_fail("attach reads no counters: for each a system call is made, which could end a "
                     "program that forbids itself calls; record --measure has them from the "
                     "program's start, and perf stat -p of all functions together");
}

static const struct tool_option table[] = {
    TOOL_GROUP("How long, and what"),
    {"duration", 0, "TIME", "let go after so long; else at Ctrl-C, or when the process ends",
     tool_parse_time, TOOL_AT(max_time)},
    {"plan", 0, NULL, "print which functions would be patched, and leave the process alone", NULL,
     TOOL_AT(plan)},
    {"json", 0, NULL, "print that as JSON", NULL, TOOL_AT(json)},
    {"function", 'F', "REGEX", "only functions whose name matches (any of those given)",
     parse_function, 0},
    {"no-function", 'N', "REGEX", "no functions whose name matches", tool_parse_pattern,
     TOOL_AT(rules.no_function)},
    {"module", 0, "REGEX", "functions of executables and libraries whose path matches",
     tool_parse_pattern, TOOL_AT(rules.module)},
    {"no-module", 0, "REGEX", "none whose path matches", tool_parse_pattern,
     TOOL_AT(rules.no_module)},
    {"libcalls", 0, "[=REGEX]", "with functions: calls of theirs into libraries, of these names",
     tool_parse_libcalls, TOOL_AT(patch)},
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
    {"measure", 0, "COUNTER=REGEX", "says why no counters are read, and what to do", parse_measure,
     TOOL_AT(measures)},
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
    {"thread", 'T', "TID,...", "only these threads, by the kernel's numbers, 64 at most",
     tool_parse_numbers, TOOL_AT(threads)},
    {"depth", 'd', "N", "no more than N calls in one another", tool_parse_u32, TOOL_AT(depth)},
    {"min-time", 'm', "TIME", "leave out calls that take less and hold none that takes more",
     tool_parse_time, TOOL_AT(min_time)},
    TOOL_GROUP("The trace"),
    {"output", 'o', "FILE", "the trace (default: the program's name with .ttape; -: to stdout)",
     NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE; else a trace becomes FILE.old, and other files stay", NULL,
     TOOL_AT(force)},
    {"resolution", 0, "HOW", "of times: exact (default), none, or a resolution such as 64ns, 1us",
     tool_parse_resolution, TOOL_AT(resolution_ns)},
    {"level", 'l', "N", "0 (literal form), 1 (fast) .. 9 (small); default 3", tool_parse_level,
     TOOL_AT(level)},
    {"buffer", 0, "SIZE", "memory shared with the program (default: as needed)", tool_parse_size,
     TOOL_AT(buffer)},
    {"max-size", 0, "SIZE", "let go when the trace is so large", tool_parse_size,
     TOOL_AT(max_size)},
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
    {"live", 0, NULL, "FILE grows meanwhile: see tracetape dump --follow", NULL, TOOL_AT(live)},
    {"no-symbols", 0, NULL, "no names: see tracetape symbolize", NULL, TOOL_AT(no_symbols)},
    {"no-lines", 0, NULL, "names, but no source files and lines", NULL, TOOL_AT(no_lines)},
    TOOL_DEBUG_OPTIONS,
    {"quiet", 'q', NULL, "say nothing at the end", NULL, TOOL_AT(quiet)},
    {0}};

static const struct tool_command command = {
    .verb = "attach",
    .usage = "[OPTION]... PID|NAME",
    .about =
        "Records the calls of a program that runs already, lets go of it, and leaves it as it\n"
        "was. PID or NAME is the process. SIGUSR1 and SIGUSR2 turn recording on and off.",
    .options = table,
    .examples = "  tracetape attach --duration 2s -o slow.ttape $PID\n"
                "  tracetape attach --duration 2s -F '^parse_' -o few.ttape $PID\n"
                "  tracetape attach --plan $PID\n",
    .statuses = "  0    recorded; the process runs on as it was\n"
                "  3    recorded, with events lost, or memory of the recorder stays in it\n"
                "  4    not attached to, and nothing changed; or nothing was called\n",
    .operands_min = 1,
    .operands_max = 1,
};

static int attach_process(struct tool_record_session *session, const char *word)
{
    uint32_t pid = tool_record_join_find(word);
    if (pid == 0)
        return TOOL_CANNOT;
    session->joins = true;
    session->rules.is_attached = true;
    if (session->plan || session->json) {
        char *words[] = {tool_record_join_image(pid), NULL};
        if (words[0] == NULL)
            return TOOL_CANNOT;
        tool_record_join_plan_of(&session->patch, pid, words[0]);
        int status = tool_record_session_plan(session, 1, words);
        free(words[0]);
        return status;
    }
    session->attach = pid;
    char *none[] = {NULL}, line[96]; /* of a signal before signals wait: nothing is changed yet */
    (void)snprintf(line, sizeof line,
                   "tracetape: interrupted: process %" PRIu32 " was not attached to\n", pid);
    tool_signals_set_words(line);
    int status = tool_record_session_run(session, 0, none);
    tool_signals_set_words(NULL);
    return status;
}

int tool_verb_attach(int argc, char **argv)
{
    int count, status;
    struct tool_record_session session;
    tool_record_session_open(&session, "attach");
    char *filled = NULL;
    if (tool_options_parse(&command, argc, argv, &session, &count, &status) == TOOL_PARSED_GO) {
        bool is_named = session.output != NULL;
        session.output = filled = is_named ? tool_record_fill_pattern(session.output) : NULL;
        status = session.measures             ? refuse_measure()
                 : is_named && filled == NULL ? TOOL_USAGE
                                              : attach_process(&session, argv[0]);
    }
    free(filled);
    return tool_record_session_close(&session, status);
}
