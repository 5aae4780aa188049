/* record: runs a command with the runtime preloaded, and turns its arena into a trace meanwhile.
 *   open the recording --> start the command --> rounds until it and its children are gone
 *     --> finish --> say what was recorded --> exit as the command did */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <tracetape/recording.h>
#include <tracetape/recover.h>

#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/record/bare/record_bare.h"
#include "tools/record/engines/record_attach.h"
#include "tools/record/engines/record_calls.h"
#include "tools/record/engines/record_engine.h"
#include "tools/record/engines/record_patch.h"
#include "tools/record/engines/record_plan.h"
#include "tools/record/output_pattern.h"
#include "tools/record/record_elsewhere.h"
#include "tools/record/record_end.h"
#include "tools/record/record_keep.h"
#include "tools/record/record_output.h"
#include "tools/record/record_rounds.h"
#include "tools/record/record_rules.h"
#include "tools/record/record_unrecorded.h"
#include "tools/record/start/record_start.h"

enum { STATUS_NO_EXEC = 126, STATUS_ABSENT = 127 }; /* as shells have it */

struct options {
    enum tool_record_engine engine;
    uint32_t attach; /* to this process; 0: a command is run */
    const char *output, *clock;
    const char *shown; /* what messages call the output */
    uint64_t resolution_ns, buffer, spill, max_size, rotate;
    struct tool_time max_time, min_time, checkpoint_every;
    struct tool_keep keep;
    uint32_t partition_events, depth, jobs, threshold;
    int32_t level, then_level; /* then_level -1: none */
    bool force, blocking, dropping, live, off, files, no_children, no_symbols, no_lines, cull_hot,
        no_switches, no_blocks, no_patch, quiet, plan, json;
    struct tool_record_rules rules;
    struct tool_record_calls calls;
    struct tool_record_patch patch;
    struct tool_debug_files debug;
    struct tool_plan_cache plans;
    struct tool_record_bare bare;
};

static const struct tool_option table[] = {
    TOOL_GROUP("The trace"),
    {"output", 'o', "FILE", "the trace (default: the command's name with .ttape; -: to stdout)",
     NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE; else a trace becomes FILE.old, and other files stay", NULL,
     TOOL_AT(force)},
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
    {"jobs", 'j', "N", "threads that encode (default 2); never changes the bytes", tool_parse_u32,
     TOOL_AT(jobs)},
    {"buffer", 0, "SIZE", "memory shared with the program, as a limit (default: as needed)",
     tool_parse_size, TOOL_AT(buffer)},
    {"spill", 0, "SIZE", "what may wait on disk to be encoded (default 4G)", tool_parse_size,
     TOOL_AT(spill)},
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
    {"plan", 0, NULL, "print what --patch would do to the command, and do not run it", NULL,
     TOOL_AT(plan)},
    {"json", 0, NULL, "print that as JSON", NULL, TOOL_AT(json)},
    {"complete", 0, NULL, "system calls before the program begins, and of static programs, too",
     NULL, TOOL_AT(calls.complete)},
    {"measure", 0, "COUNTER", "what each system call costs of it: instructions, cpu-time, ...",
     tool_parse_measure, TOOL_AT(calls.measure)},
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
        "Runs COMMAND and records every call of the functions that were compiled with\n"
        "-finstrument-functions, in it and in the processes that it starts. Its exit status is\n"
        "COMMAND's. SIGUSR1 and SIGUSR2 to the recorder turn recording on and off.",
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

static bool take_clock(const char *name, uint32_t *clock)
{
    static const char *const names[] = {"auto", "tsc", "monotonic", "coarse", "none"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name == NULL || strcmp(name, names[i]) == 0) {
            *clock = i;
            return true;
        }
    return false;
}

static void say(const struct options *options, const ttape_recording *recording)
{
    ttape_recording_status s;
    const struct tool_record_outcome outcome = {.tried = tool_record_patch_tries(&options->patch),
                                                .shown = options->shown,
                                                .calls_given = options->calls.given};
    ttape_recording_get_status(recording, &s);
    if (!options->quiet || s.event_count == 0) /* it may be the reason */
        tool_record_patch_say((struct tool_record_patch *)&options->patch, recording);
    tool_record_say_unrecorded(recording, &outcome);
    if (s.event_count != 0)
        tool_record_say_events(options->output, options->shown, options->keep.given, &s);
}

static int finish(const struct options *options, ttape_recording *recording, int status)
{
    ttape_error err = {0};
    ttape_recording_status s;
    int result = tool_record_exit(status);
    if (options->attach == 0)
        tool_record_keep_end(recording, status);
    tool_record_keep_choice(recording, &options->calls);
    tool_record_patch_keep((struct tool_record_patch *)&options->patch, recording);
    if (ttape_recording_finish(recording, &err) != TTAPE_OK) {
        (void)tool_fail_error(options->output, &err);
        tool_message("what was recorded is in '%s.recording': see tracetape recover",
                     options->output);
        return result != 0 ? result : TOOL_CANNOT;
    }
    ttape_recording_get_status(recording, &s);
    if (options->keep.given && s.event_count != 0 &&
        tool_keep_merge(recording, options->output, options->force) != TOOL_OK)
        return result != 0 ? result : TOOL_CANNOT;
    if (tool_record_is_cut())
        tool_message("somebody truncated the memory that is shared with the command: recording "
                     "ended there");
    if (!options->quiet || s.event_count == 0) /* without a file, the reason */
        say(options, recording);
    if (!options->quiet && s.event_count != 0) {
        tool_record_names_say(&options->rules.names);
        tool_record_say_trace(options->output, !options->no_blocks);
        tool_record_say_elsewhere(&options->patch, options->output);
        if (options->attach == 0)
            tool_record_say_end(options->shown, status);
    }
    if (options->then_level >= 0 && s.event_count != 0)
        tool_record_then_level(options->output, options->shown, options->then_level,
                               options->quiet);
    if (result == 0 && s.event_count == 0)
        return TOOL_CANNOT;
    return result != 0 ? result : s.lost_count != 0 ? TOOL_LOSS : TOOL_OK;
}

/* The library's message names the file already. */
static int fail_open(struct options *options, const ttape_error *err)
{
    bool is_file = err->status == TTAPE_E_EXISTS && tool_record_is_file(options->output);
    if (err->status == TTAPE_E_EXISTS && tool_record_is_left(options->output))
        return TOOL_CANNOT;
    if (options->attach == 0 && tool_record_lacks_room(err->status, err->os_errno))
        return tool_record_bare_choose(&options->bare, err->message);
    return tool_fail("%s%s", err->message,
                     is_file && !options->force ? "; --force replaces it" : "");
}

static void say_left(void *context, bool is_loss, const char *line)
{
    const struct options *options = context;
    if (!options->quiet || is_loss)
        tool_message("%s", line);
}

/* `runtime`: what is loaded into the command; NULL: nothing, it is recorded from outside. */
static int record_with(struct options *options, char **argv,
                       const ttape_recording_options *recording_options, const char *runtime)
{
    ttape_error err = {0};
    ttape_recording *recording;
    sigset_t mask;
    struct tool_record_trace trace = {0};
    struct tool_record_bare *bare = &options->bare;
    int code;
    tool_record_give_back_memory();
    ttape_recover_left(say_left, options);
    bool is_traced = options->calls.by_ptrace || options->calls.complete;
    const struct tool_trace_how traced = {.runtime = runtime, .measure = options->calls.measure};
    if (is_traced && !tool_trace_open(&trace, &recording_options->syscalls, &traced))
        return options->attach != 0 ? TOOL_CANNOT
                                    : tool_record_bare_choose(bare, "nobody could trace it");
    if (ttape_recording_open(&recording, options->output, recording_options, &err) != TTAPE_OK)
        return fail_open(options, &err);
    const struct tool_record_start how = {.runtime = runtime,
                                          .trace = is_traced ? &trace : NULL,
                                          .bare = bare,
                                          .mask = &mask,
                                          .follows = recording_options->follows,
                                          .is_quiet = options->quiet};
    tool_record_block_signals(&mask);
    pid_t child = -1;
    bool is_held = options->attach != 0 && tool_trace_hold(&trace, ttape_recording_arena(recording),
                                                           (pid_t)options->attach, true);
    if (options->attach == 0)
        child = tool_record_start(argv, recording, &how, &code);
    bool lacks_room = options->attach == 0 && child < 0 && tool_record_lacks_room(TTAPE_OK, code);
    if (!lacks_room)
        tool_record_catch(recording);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    if (options->attach != 0 && !is_held) {
        ttape_recording_discard(recording);
        return TOOL_CANNOT;
    }
    if (options->attach == 0 && (child < 0 || code != 0)) {
        if (child > 0)
            (void)waitpid(child, &bare->status, 0);
        ttape_recording_discard(recording);
        if (lacks_room)
            return tool_record_bare_choose(bare, strerror(code));
        if (code != ECANCELED) /* that was said */
            (void)tool_fail("cannot run '%s': %s", argv[0], strerror(code));
        return child < 0 ? TOOL_CANNOT : code == ENOENT ? STATUS_ABSENT : STATUS_NO_EXEC;
    }
    bare->recording = recording;
    bare->child = child;
    if (!options->calls.by_ptrace)
        ttape_recording_note_started(recording, (uint32_t)child, argv[0]);
    if (options->attach != 0)
        tool_record_rounds_attached(recording, &trace);
    else
        tool_record_rounds(recording, child, &bare->status);
    tool_trace_close(&trace);
    int result = finish(options, recording, bare->status);
    ttape_recording_close(recording);
    return result;
}

static int record(struct options *options, char **argv,
                  const ttape_recording_options *recording_options)
{
    if (options->attach == 0 && tool_record_is_command(options->output, argv[0]))
        return tool_fail("cannot record into '%s': it is the command", options->output);
    char *runtime = tool_record_find_runtime();
    if (runtime == NULL)
        return tool_fail("cannot find '" TOOL_RUNTIME_NAME "' beside the command (TRACETAPE_RUNTIME"
                         " names it)");
    int result =
        record_with(options, argv, recording_options, options->calls.by_ptrace ? NULL : runtime);
    free(runtime);
    return result;
}

static void fill_options(const struct options *options, ttape_recording_options *o)
{
    *o = (ttape_recording_options){.size = sizeof *o,
                                   .replace = options->force,
                                   .keep_old = true,
                                   .drop_empty = true,
                                   .when_full = options->blocking   ? TTAPE_FULL_BLOCK
                                                : options->dropping ? TTAPE_FULL_DROP
                                                                    : TTAPE_FULL_WAIT,
                                   .start_off = options->off,
                                   .live = options->live,
                                   .separate_files = options->files,
                                   .only_first = options->no_children,
                                   .buffer_bytes = options->buffer,
                                   .spill_bytes = options->spill,
                                   .max_bytes = options->max_size,
                                   .max_ns = options->max_time.value_ns,
                                   .rotate_bytes = options->rotate,
                                   .keep_bytes = options->keep.size_bytes,
                                   .keep_ns = options->keep.time_ns};
    o->writer = (ttape_writer_options){.size = sizeof o->writer,
                                       .resolution_ns = options->resolution_ns,
                                       .partition_events = options->partition_events,
                                       .level = options->level,
                                       .literal = options->level == TTAPE_LEVEL_LITERAL,
                                       .jobs = options->jobs == 0 ? 2 : options->jobs,
                                       .chain_threshold = options->threshold};
    o->no_blocks = options->no_blocks;
    o->follows = !options->no_switches && options->resolution_ns != TTAPE_TIME_NONE;
    o->rules.max_depth = options->depth;
    o->rules.min_ns = options->min_time.value_ns;
    o->rules.cull_hot = options->cull_hot;
    o->checkpoint_ns = options->checkpoint_every.value_ns;
    if (options->rules.checkpoint.count != 0)
        o->is_checkpoint = tool_record_is_checkpoint;
}

/* Nothing is run, and nothing is written. */
static int show_plan(struct options *options, const char *command_name)
{
    ttape_recording_options unused = {0};
    int status = TOOL_CANNOT;
    if (!options->plan)
        return tool_usage("record", "--json is of --plan");
    if (options->attach != 0)
        return tool_usage("record", "--plan is of a command: it does not go with --attach");
    if (!tool_record_patch_is_given(&options->patch))
        return tool_usage("record", "--plan says what --patch does: it needs one");
    if (tool_record_patch_open(&options->patch, &unused))
        status = tool_record_plan(&options->patch, command_name, options->json);
    else
        (void)tool_fail("%s", tool_record_no_plans(&options->plans));
    return status;
}

/* What does not go together. */
static int check_options(const struct options *options, ttape_recording_options *o, int count)
{
    if (!take_clock(options->clock, &o->clock))
        return tool_usage("record", "unknown clock '%s'", options->clock);
    if (options->blocking && options->dropping)
        return tool_usage("record", "--block does not go with --drop");
    if (options->keep.given && (options->rotate != 0 || options->live || options->files))
        return tool_usage("record", "--keep-last goes with none of --rotate, --live, --files");
    if (options->rules.checkpoint.count != 0 && options->no_symbols)
        return tool_usage("record", "--checkpoint needs names: it does not go with --no-symbols");
    if (options->then_level >= 0 && (options->rotate != 0 || options->files))
        return tool_usage("record", "--then-level is of one file: not of --rotate and --files");
    if (options->output != NULL && strcmp(options->output, "-") == 0 &&
        (options->live || options->files || options->rotate != 0))
        return tool_usage("record", "-o - goes with none of --live, --files, --rotate");
    if (options->live && options->files)
        return tool_usage("record", "--live and --files exclude each other");
    if (options->calls.stack_rate != 0 &&
        (options->calls.stack_every != 0 || o->clock == TTAPE_CLOCK_NONE))
        return tool_usage("record",
                          "--stack-rate goes with neither --stack-every nor --clock none");
    if (options->patch.inlined &&
        (!tool_record_patch_is_given(&options->patch) || options->no_symbols || options->no_lines))
        return tool_usage("record",
                          "--inlined goes with --patch, and with neither --no-symbols nor "
                          "--no-lines: debug information says where copies are");
    if ((count == 0) != (options->attach != 0))
        return tool_usage("record", "record needs a command, or --attach and a process id");
    return tool_debug_files_check(&options->debug, "record");
}

static bool name_values(void *context, const ttape_site *site, const ttape_module *module,
                        ttape_site_values *values)
{
    struct options *options = context;
    uint64_t elf_address;
    return tool_record_elf_address(&options->rules.names, site, module, &elf_address) &&
           tool_record_values_name(&options->patch.values, module->build_id, elf_address, values);
}

/* What else fails was said. */
static int fail_plans(struct options *options)
{
    return options->plans.has_failed
               ? tool_record_bare_choose(&options->bare, tool_record_no_plans(&options->plans))
               : TOOL_CANNOT;
}

/* Who sees what, and what that needs. */
static int choose_engine(struct options *options, ttape_recording_options *o,
                         const char *command_name)
{
    tool_record_rules_apply(&options->rules, &o->rules);
    if (options->calls.application)
        o->rules.is_application = tool_record_is_application;
    tool_record_calls_begin(&options->calls);
    options->calls.by_ptrace = options->attach != 0 || options->engine == TOOL_ENGINE_PTRACE ||
                               (options->engine == TOOL_ENGINE_AUTO && options->calls.given &&
                                tool_record_needs_ptrace(command_name));
    if (options->calls.measure != NULL && options->engine == TOOL_ENGINE_IN_PROCESS)
        return tool_usage("record", "--measure needs --engine ptrace");
    options->calls.by_ptrace |= options->calls.measure != NULL;
    if (options->calls.by_ptrace && tool_record_patch_is_given(&options->patch)) {
        if (options->attach != 0 || options->engine != TOOL_ENGINE_AUTO || options->calls.measure)
            return tool_usage("record", "--patch is not for what is recorded by ptrace");
        tool_record_patch_leave(&options->patch, command_name);
    }
    options->calls.arguments |= options->patch.values.all_arguments;
    if (!tool_record_calls_open(&options->calls, o))
        return fail_plans(options);
    options->patch.arguments = options->calls.arguments || options->patch.values.given;
    if (!options->no_patch && !options->calls.by_ptrace)
        tool_record_patch_by_itself(&options->patch, command_name);
    options->rules.has_calls_of_all = tool_record_patch_calls_all(&options->patch);
    if (options->patch.values.given && !options->calls.given &&
        (options->patch.only_called || !tool_record_patch_is_given(&options->patch)) &&
        tool_record_has_hooks(command_name))
        tool_message("hooks do not tell what functions are given: --args and --retval are of those "
                     "that are patched, of --libcalls and --syscalls");
    if (!tool_record_patch_open(&options->patch, o))
        return fail_plans(options);
    if (options->patch.inlined)
        options->rules.names.copies = &options->patch.copies;
    if (options->patch.values.given && !options->no_symbols) {
        o->name_values = name_values;
        o->values_context = options;
    }
    tool_record_patch_ahead(&options->patch, command_name);
    o->syscalls.is_attached = options->attach != 0;
    return TOOL_OK;
}

/* Of a library that the command starts with: something of it will be in the trace. */
static bool wants_names(const void *context, const char *path)
{
    const struct options *options = context;
    return options->calls.stacks ||
           (options->patch.module->count != 0 && tool_record_patch_covers(&options->patch, path));
}

/* While this process is small. */
static void open_names(struct options *options, const char *command_name)
{
    struct tool_symbols_options symbols = {.no_lines = options->no_lines};
    if (options->no_symbols)
        return;
    tool_debug_files_apply(&options->debug, &symbols);
    options->rules.names.asks_servers = options->debug.debuginfod;
    options->rules.names.symbols = tool_symbols_make(&symbols);
    options->rules.names.has_warned = options->quiet;
    (void)tool_symbols_start(options->rules.names.symbols);
    options->debug.debuginfod &=
        tool_record_names_ahead(&options->rules.names, command_name, wants_names, options);
}

/* `argv` begins with the command's words. */
static int run(struct options *options, int count, char **argv)
{
    ttape_recording_options recording_options;
    fill_options(options, &recording_options);
    options->patch.debug = &options->debug;
    int status = check_options(options, &recording_options, count);
    if (status != TOOL_OK)
        return status;
    if (options->plan || options->json)
        return show_plan(options, argv[0]);
    char **attached = NULL;
    if (options->attach != 0 && (argv = attached = tool_attach_words(options->attach)) == NULL)
        return TOOL_CANNOT;
    if (options->attach == 0)
        argv[count] = NULL;
    tool_record_bare_prepare(&options->bare, options->attach == 0 ? argv : NULL);
    struct tool_record_stdout standard = {.fd = -1};
    bool to_stdout = options->output != NULL && strcmp(options->output, "-") == 0;
    if (to_stdout && (status = tool_record_stdout_open(&standard)) != TOOL_OK)
        return status;
    char *made = options->output == NULL ? tool_record_default_output(argv[0]) : NULL;
    options->shown = options->output == NULL ? made : options->output;
    options->output = to_stdout ? standard.path : options->shown;
    open_names(options, argv[0]);
    status = choose_engine(options, &recording_options, argv[0]);
    char *line = tool_record_join(argv);
    recording_options.command = line;
    if (status == TOOL_OK)
        status = record(options, argv, &recording_options);
    if (to_stdout)
        status = tool_record_stdout_close(&standard, status);
    free(line);
    free(made);
    if (attached != NULL)
        free(attached[0]);
    free(attached);
    return status;
}

int tool_verb_record(int argc, char **argv)
{
    int count, status;
    struct options options = {.level = TTAPE_LEVEL_DEFAULT, .then_level = -1, .plans = {.fd = -1}};
    tool_record_patch_rules(&options.patch, &options.rules);
    options.patch.cache = options.calls.cache = &options.plans;
    options.rules.called = &options.patch.called;
    char *filled = NULL;
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) == TOOL_PARSED_GO) {
        bool is_named = options.output != NULL;
        options.output = filled = is_named ? tool_record_fill_pattern(options.output) : NULL;
        status = is_named && filled == NULL ? TOOL_USAGE : run(&options, count, argv);
    }
    tool_record_rules_close(&options.rules);
    tool_record_calls_close(&options.calls);
    tool_record_patch_close(&options.patch);
    tool_plan_cache_close(&options.plans);
    free(filled);
    return options.bare.why[0] != '\0' ? tool_record_bare_run(&options.bare) : status;
}
