#include "tools/record/session/record_session.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/record/engines/record_attach.h"
#include "tools/record/engines/record_plan.h"
#include "tools/record/output/record_output.h"

/* Programs that are attached to never wait. */
#define JOIN_BUFFER_BYTES (UINT64_C(32) << 20)

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

static void fill_options(const struct tool_record_session *session, ttape_recording_options *o)
{
    *o = (ttape_recording_options){.size = sizeof *o,
                                   .replace = session->force,
                                   .keep_old = true,
                                   .drop_empty = true,
                                   .when_full = session->blocking ? TTAPE_FULL_BLOCK
                                                : session->dropping || session->joins
                                                    ? TTAPE_FULL_DROP
                                                    : TTAPE_FULL_WAIT,
                                   .start_off = session->off,
                                   .live = session->live,
                                   .separate_files = session->files,
                                   .only_first = session->no_children,
                                   .buffer_bytes = session->buffer,
                                   .spill_bytes = session->spill,
                                   .max_bytes = session->max_size,
                                   .max_ns = session->max_time.value_ns,
                                   .rotate_bytes = session->rotate,
                                   .keep_bytes = session->keep.size_bytes,
                                   .keep_ns = session->keep.time_ns};
    o->writer = (ttape_writer_options){.size = sizeof o->writer,
                                       .resolution_ns = session->resolution_ns,
                                       .partition_events = session->partition_events,
                                       .level = session->level,
                                       .literal = session->level == TTAPE_LEVEL_LITERAL,
                                       .jobs = session->jobs == 0 ? 2 : session->jobs,
                                       .chain_threshold = session->threshold,
                                       .call_numbers = session->call_numbers};
    o->no_blocks = session->no_blocks;
    o->follows =
        !session->no_switches && !session->joins && session->resolution_ns != TTAPE_TIME_NONE;
    o->rules.max_depth = session->depth;
    o->rules.min_ns = session->min_time.value_ns;
    o->rules.cull_hot = session->cull_hot;
    o->checkpoint_ns = session->checkpoint_every.value_ns;
    if (session->rules.checkpoint.count != 0)
        o->is_checkpoint = tool_record_is_checkpoint;
}

/* What does not go together. */
static int check_options(struct tool_record_session *session, ttape_recording_options *o, int count)
{
    if (!take_clock(session->clock, &o->clock))
        return tool_usage(session->verb, "unknown clock '%s'", session->clock);
    if (session->blocking && session->dropping)
        return tool_usage(session->verb, "--block does not go with --drop");
    if (session->keep.given && (session->rotate != 0 || session->live || session->files))
        return tool_usage(session->verb, "--keep-last goes with none of --rotate, --live, --files");
    if (session->rules.checkpoint.count != 0 && session->no_symbols)
        return tool_usage(session->verb,
                          "--checkpoint needs names: it does not go with --no-symbols");
    bool sends = session->output != NULL && tool_send_is_url(session->output);
    session->rules.is_sent = sends;
    int filtered = tool_record_filter_open(&session->rules, session->verb, !session->no_symbols);
    if (filtered != TOOL_OK)
        return filtered;
    if (o->clock == TTAPE_CLOCK_NONE && tool_record_filter_has_times(&session->rules))
        return tool_usage(session->verb, "--filter or --on asks for times: --clock none has none");
    if (session->then_level >= 0 && (session->rotate != 0 || session->files))
        return tool_usage(session->verb,
                          "--then-level is of one file: not of --rotate and --files");
    if (session->output != NULL && strcmp(session->output, "-") == 0 &&
        (session->live || session->files || session->rotate != 0))
        return tool_usage(session->verb, "-o - goes with none of --live, --files, --rotate");
    if (sends && strcmp(session->verb, "syscalls") == 0)
        return tool_usage(session->verb, "-o tcp://... is of record and attach: the table is made "
                                         "of a trace that is here");
    if (sends &&
        (session->files || session->rotate != 0 || session->keep.given || session->then_level >= 0))
        return tool_usage(session->verb, "-o tcp://... goes with none of --files, --rotate, "
                                         "--keep-last, --then-level: one file is sent as it grows");
    if (session->live && session->files)
        return tool_usage(session->verb, "--live and --files exclude each other");
    if (session->calls.stack_rate != 0 &&
        (session->calls.stack_every != 0 || o->clock == TTAPE_CLOCK_NONE))
        return tool_usage(session->verb,
                          "--stack-rate goes with neither --stack-every nor --clock none");
    if (session->patch.inlined &&
        (!tool_record_patch_is_given(&session->patch) || session->no_symbols || session->no_lines))
        return tool_usage(session->verb,
                          "--inlined goes with --patch, and with neither --no-symbols nor "
                          "--no-lines: debug information says where copies are");
    if (session->patch.values.has_more_hands)
        return tool_usage(session->verb,
                          "more than %u times NAME@...: one REGEX may stand for several functions",
                          TOOL_VALUES_HANDS_MOST);
    if ((count == 0) != (session->attach != 0))
        return tool_usage(session->verb, "%s needs a command, or --attach and a process id",
                          session->verb);
    return tool_debug_files_check(&session->debug, session->verb);
}

static bool name_values(void *context, const ttape_site *site, const ttape_module *module,
                        ttape_site_values *values)
{
    struct tool_record_session *session = context;
    uint64_t elf_address;
    return tool_record_elf_address(&session->rules.names, site, module, &elf_address) &&
           tool_record_values_name(&session->patch.values, module->build_id, elf_address, values);
}

/* What else fails was said. A command runs without plans; a process that runs is left alone. */
static int fail_plans(struct tool_record_session *session)
{
    if (!session->plans.has_failed)
        return TOOL_CANNOT;
    const char *why = tool_record_no_plans(&session->plans);
    if (session->attach != 0)
        return tool_fail("cannot attach to process %u: no place for plans: %s; TMPDIR may name one",
                         session->attach, why);
    return tool_record_bare_choose(&session->bare, why);
}

/* Conditions of a filter are on values that are recorded. */
static void ask_values(struct tool_record_session *session)
{
    for (uint32_t i = 0; i < tool_record_rule_count(&session->rules); i++) {
        struct tool_record_wants wants = tool_record_filter_wants(&session->rules, i);
        session->calls.arguments |= wants.arguments;
        if (wants.arguments)
            (void)tool_parse_values(wants.function, &session->patch.values);
        else if (wants.results)
            (void)tool_parse_results(wants.function, &session->patch.values);
    }
}

static void name_all_values(struct tool_record_session *session, ttape_recording_options *o)
{
    if (!session->patch.values.given || session->no_symbols)
        return;
    o->name_values = name_values;
    o->values_context = session;
}

/* A process that runs is patched by plans that are made before it is touched. */
static int choose_joined(struct tool_record_session *session, ttape_recording_options *o)
{
    name_all_values(session, o);
    session->join.has_calls = session->calls.given;
    session->calls.arguments |= session->patch.values.all_arguments;
    if (!tool_record_calls_open(&session->calls, o))
        return fail_plans(session);
    int status = tool_record_join_open(&session->join, &session->patch, session->attach);
    session->rules.names.copies = &session->patch.copies;
    if (status == TOOL_OK && !session->quiet)
        tool_record_join_say_values(&session->join);
    return status;
}

/* Who sees what, and what that needs. */
static int choose_engine(struct tool_record_session *session, ttape_recording_options *o,
                         const char *command_name)
{
    ask_values(session);
    tool_record_rules_apply(&session->rules, &o->rules);
    tool_record_filter_judge(&session->rules, &o->conditions, &o->start_off);
    session->rules.lacks_times = o->clock == TTAPE_CLOCK_NONE;
    o->change = tool_record_change;
    o->change_context = &session->rules;
    if (session->joins && o->buffer_bytes == 0)
        o->buffer_bytes = JOIN_BUFFER_BYTES;
    if (session->joins)
        return choose_joined(session, o);
    if (session->calls.application)
        o->rules.is_application = tool_record_is_application;
    if (session->patch.measure != NULL)
        session->calls.measure = session->patch.measure;
    tool_record_calls_begin(&session->calls);
    session->calls.by_ptrace = session->attach != 0 || session->engine == TOOL_ENGINE_PTRACE ||
                               (session->engine == TOOL_ENGINE_AUTO && session->calls.given &&
                                tool_record_needs_ptrace(command_name));
    bool is_outside = tool_record_counts_outside(&session->calls);
    if (is_outside && session->engine == TOOL_ENGINE_IN_PROCESS)
        return tool_usage(session->verb, "--measure %s needs --engine ptrace",
                          session->calls.measure);
    session->calls.by_ptrace |= is_outside;
    if (session->calls.by_ptrace && tool_record_patch_is_given(&session->patch)) {
        if (session->attach != 0 || session->engine != TOOL_ENGINE_AUTO || is_outside)
            return tool_usage(session->verb, "--patch is not for what is recorded by ptrace");
        tool_record_patch_leave(&session->patch, command_name);
    }
    if (session->calls.by_ptrace && session->patch.values.has_counters)
        return tool_usage(session->verb, "--measure COUNTER=REGEX is of functions: by ptrace "
                                         "there are only system calls");
    tool_record_calls_warn(&session->calls, session->attach != 0);
    session->calls.arguments |= session->patch.values.all_arguments;
    if (!tool_record_calls_open(&session->calls, o))
        return fail_plans(session);
    session->patch.arguments = session->calls.arguments || session->patch.values.given;
    session->patch.minds_lines = session->calls.lines != 0;
    if (!session->no_patch && !session->calls.by_ptrace)
        tool_record_patch_by_itself(&session->patch, command_name);
    session->rules.has_calls_of_all = tool_record_patch_calls_all(&session->patch);
    bool is_patched = tool_record_patch_is_given(&session->patch);
    o->hook_sites = tool_record_values_have_sites(&session->patch.values) &&
                    (!is_patched || tool_record_has_hooks(command_name));
    if (o->hook_sites && !session->patch.values.all_called) {
        session->rules.call_sites = &session->patch.values.called;
        o->has_call_site = tool_record_has_call_site;
        if (session->no_symbols && !is_patched && !session->calls.given)
            return tool_usage(session->verb, "--call-sites=REGEX goes with --no-symbols where "
                                             "functions are patched: hooks tell no names");
    }
    if (tool_record_values_are_given(&session->patch.values) && !session->calls.given &&
        (session->patch.only_called || !is_patched) && tool_record_has_hooks(command_name))
        tool_message("hooks do not tell what functions are given: --args and --retval are of those "
                     "that are patched, of --libcalls and --syscalls");
    if (!tool_record_patch_open(&session->patch, o))
        return fail_plans(session);
    session->rules.has_called = session->patch.values.has_called;
    if (session->patch.inlined)
        session->rules.names.copies = &session->patch.copies;
    name_all_values(session, o);
    tool_record_patch_ahead(&session->patch, command_name);
    o->syscalls.is_attached = session->attach != 0;
    return TOOL_OK;
}

/* Of a library that the command starts with: something of it will be in the trace. */
static bool wants_names(const void *context, const char *path)
{
    const struct tool_record_session *session = context;
    return session->calls.stacks ||
           (session->patch.module->count != 0 && tool_record_patch_covers(&session->patch, path));
}

/* While this process is small. */
static void open_names(struct tool_record_session *session, const char *command_name)
{
    struct tool_symbols_options symbols = {.no_lines = session->no_lines,
                                           .no_demangle = tool_record_is_mangled(&session->rules)};
    if (session->no_symbols)
        return;
    tool_debug_files_apply(&session->debug, &symbols);
    session->rules.names.asks_servers = session->debug.debuginfod;
    session->rules.names.symbols = tool_symbols_make(&symbols);
    session->rules.names.has_warned = session->quiet;
    (void)tool_symbols_start(session->rules.names.symbols);
    session->debug.debuginfod &=
        tool_record_names_ahead(&session->rules.names, command_name, wants_names, session);
}

static int choose_and_run(struct tool_record_session *session, char **argv,
                          ttape_recording_options *options)
{
    open_names(session, argv[0]);
    int status = choose_engine(session, options, argv[0]);
    return status == TOOL_OK ? tool_record_run(session, argv, options) : status;
}

/* `argv` begins with the command's words, and ends with NULL. */
static int run_session(struct tool_record_session *session, char **argv,
                       ttape_recording_options *options)
{
    struct tool_record_stdout standard = {.fd = -1};
    bool to_stdout = session->output != NULL && strcmp(session->output, "-") == 0;
    int status = to_stdout ? tool_record_stdout_open(&standard) : TOOL_OK;
    if (status != TOOL_OK)
        return status;
    status = tool_record_send_open(&session->send, session->verb, session->output, argv[0]);
    if (status != TOOL_OK)
        return status;
    char *made = session->output == NULL ? tool_record_default_output(argv[0]) : NULL;
    session->shown = session->send.is_asked    ? session->send.shown
                     : session->output == NULL ? made
                                               : session->output;
    session->output = to_stdout                ? standard.path
                      : session->send.is_asked ? session->send.local
                                               : session->shown;
    options->keep_old = !session->send.is_asked; /* what is here only until it is sent moves none */
    status = choose_and_run(session, argv, options);
    if (to_stdout)
        status = tool_record_stdout_close(&standard, status);
    free(made);
    return status;
}

int tool_record_session_run(struct tool_record_session *session, int count, char **argv)
{
    ttape_recording_options options;
    char **attached = NULL;
    fill_options(session, &options);
    int status = check_options(session, &options, count);
    if (status != TOOL_OK)
        return status;
    if (session->attach != 0 && (argv = attached = tool_attach_words(session->attach)) == NULL)
        return TOOL_CANNOT;
    if (session->attach == 0)
        argv[count] = NULL;
    tool_record_bare_prepare(&session->bare, session->attach == 0 ? argv : NULL);
    status = run_session(session, argv, &options);
    if (attached != NULL)
        free(attached[0]);
    free(attached);
    return status;
}

int tool_record_session_plan(struct tool_record_session *session, int count, char **argv)
{
    ttape_recording_options options;
    fill_options(session, &options);
    int status = check_options(session, &options, count);
    if (status != TOOL_OK)
        return status;
    if (!session->plan)
        return tool_usage(session->verb, "--json is of --plan");
    if (session->attach != 0)
        return tool_usage(session->verb, "--plan is of a command: it does not go with --attach");
    if (!session->no_patch)
        tool_record_patch_by_itself(&session->patch, argv[0]);
    if (!tool_record_patch_is_given(&session->patch))
        return tool_usage(session->verb, "nothing of '%s' is patched without --patch", argv[0]);
    return tool_record_patch_open(&session->patch, &options)
               ? tool_record_plan(&session->patch, argv[0], session->json)
               : tool_fail("%s", tool_record_no_plans(&session->plans));
}

static bool patches(const void *patch, const char *path)
{
    return tool_record_patch_covers(patch, path);
}

void tool_record_session_open(struct tool_record_session *session, const char *verb)
{
    *session = (struct tool_record_session){.verb = verb,
                                            .level = TTAPE_LEVEL_DEFAULT,
                                            .then_level = -1,
                                            .plans = {.fd = -1},
                                            .traced_plans = {.fd = -1}};
    tool_record_patch_rules(&session->patch, &session->rules);
    session->patch.cache = session->calls.cache = &session->plans;
    session->patch.debug = &session->debug;
    session->rules.called = &session->patch.called;
    session->rules.patches = patches;
    session->rules.patch = &session->patch;
}

int tool_record_session_close(struct tool_record_session *session, int status)
{
    tool_record_join_close(&session->join);
    free(session->function_changes);
    free(session->chosen_functions);
    free(session->threads.numbers);
    tool_record_rules_close(&session->rules);
    tool_record_calls_close(&session->calls);
    tool_record_patch_close(&session->patch);
    tool_plan_cache_close(&session->plans);
    tool_record_send_close(&session->send);
    return session->bare.why[0] != '\0' ? tool_record_bare_run(&session->bare) : status;
}
