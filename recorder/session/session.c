/* A session's handle: opening, the engines, the end. */
#define _GNU_SOURCE /* stpcpy, strdup */
#include <tracetape/session.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/sized.h"
#include "recorder/session/session_internal.h"
#include "recorder/state/chosen_calls.h"
#include "recorder/state/function_change.h"

#define THREADS_MOST 64u   /* by number */
#define LINE_BYTES   4096u /* of a command line */

ttape_status ttp_session_fail(ttape_error *err, int os_errno, const char *what)
{
    ttape_status status =
        ttp_fail_plain(err, ttp_status_of(os_errno), "cannot %s: %s", what, strerror(os_errno));
    if (err != NULL)
        err->os_errno = os_errno;
    return status;
}

/* ---- steps of engines ---- */

static ttape_status open_tracer(ttape_session *session, ttape_error *err)
{
    return ttp_tracer_open(&session->tracer, &session->options,
                           &session->recording_options.syscalls,
                           session->engine->loads ? session->runtime : NULL, err);
}

/* Its threads are followed from their first moment on. That the kernel refuses ends nothing. */
static ttape_status hold_switches(ttape_session *session, ttape_error *err)
{
    (void)err;
    if (session->recording_options.follows)
        (void)ttape_recording_follow(session->recording, session->state.pid, &session->switches);
    return TTAPE_OK;
}

static ttape_status hold_by_tracer(ttape_session *session, ttape_error *err)
{
    (void)hold_switches(session, err);
    return ttp_tracer_hold(&session->tracer, ttape_recording_arena(session->recording),
                           (pid_t)session->state.pid, false, err);
}

static ttape_status name_process(ttape_session *session, ttape_error *err)
{
    (void)err;
    session->state.pid = session->options.pid;
    return TTAPE_OK;
}

static ttape_status hold_running(ttape_session *session, ttape_error *err)
{
    return ttp_tracer_hold(&session->tracer, ttape_recording_arena(session->recording),
                           (pid_t)session->state.pid, true, err);
}

static ttape_status attach_session(ttape_session *session, ttape_error *err)
{
    TTP_TRY(name_process(session, err));
    return session->engine->held(session, err);
}

static void end_tracer(ttape_session *session)
{
    ttp_tracer_close(&session->tracer, &session->traced);
}

static const struct ttp_engine in_process = {.loads = true,
                                             .records = true,
                                             .start = ttp_session_start_command,
                                             .held = hold_switches,
                                             .is_over = ttp_session_is_command_over},
                               by_ptrace = {.records = true,
                                            .open = open_tracer,
                                            .start = ttp_session_start_command,
                                            .held = hold_by_tracer,
                                            .is_over = ttp_session_is_command_over,
                                            .end = end_tracer},
                               complete = {.loads = true,
                                           .records = true,
                                           .open = open_tracer,
                                           .start = ttp_session_start_command,
                                           .held = hold_by_tracer,
                                           .is_over = ttp_session_is_command_over,
                                           .end = end_tracer},
                               attached = {.records = true,
                                           .open = open_tracer,
                                           .start = attach_session,
                                           .held = hold_running,
                                           .is_over = ttp_session_has_let_go,
                                           .end = end_tracer},
                               patched = {.records = true,
                                          .start = ttp_session_attach,
                                          .is_over = ttp_session_is_attach_over,
                                          .end = ttp_session_detach},
                               bare = {.start = ttp_session_start_command,
                                       .is_over = ttp_session_has_bare_ended};

static const struct ttp_engine *find_engine(const ttape_session_options *o)
{
    if (o->pid != 0)
        return o->engine == TTAPE_ENGINE_PTRACE                           ? &attached
               : o->engine == TTAPE_ENGINE_IN_PROCESS && o->patch != NULL ? &patched
                                                                          : NULL;
    switch (o->engine) {
    case TTAPE_ENGINE_IN_PROCESS: return &in_process;
    case TTAPE_ENGINE_PTRACE: return &by_ptrace;
    case TTAPE_ENGINE_COMPLETE: return &complete;
    case TTAPE_ENGINE_BARE: return &bare;
    default: return NULL;
    }
}

/* ---- opening ---- */

static ttape_status check_options(const ttape_session *session, ttape_error *err)
{
    const ttape_session_options *o = &session->options;
    bool has_command = o->argv != NULL && o->argv[0] != NULL;
    if (has_command == (o->pid != 0))
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT,
                              "a session needs a command or a process, and not both");
    if (o->pid == (uint32_t)getpid())
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "a session cannot attach to its own process");
    if (o->thread_count > THREADS_MOST || (o->thread_count != 0 && o->patch == NULL))
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "a session has at most %u threads by number",
                              THREADS_MOST);
    if (session->engine == NULL)
        return o->engine > TTAPE_ENGINE_BARE
                   ? ttp_fail_plain(err, TTAPE_E_ARGUMENT, "there is no engine %d", (int)o->engine)
                   : ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                                    "this engine cannot attach to a process that runs");
    if (session->engine->records != (o->output != NULL))
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT,
                              o->output == NULL ? "a session needs a path for its trace"
                                                : "nothing is recorded: no trace can be written");
    if (o->measure != NULL && session->engine->open == NULL)
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "'%s' is measured by engines that trace only",
                              o->measure);
    return TTAPE_OK;
}

/* The words of the command with spaces between; NULL: no memory. */
static char *join_words(char *const *argv)
{
    size_t size = 1;
    for (char *const *at = argv; *at != NULL; at++)
        size += strlen(*at) + 1;
    char *text = malloc(size), *end = text;
    for (char *const *at = argv; text != NULL && *at != NULL; at++)
        end = stpcpy(stpcpy(end, at == argv ? "" : " "), *at);
    return text;
}

/* The words of a process that runs, or its name where it has none (a thread of the kernel's, or it
 * erased them); NULL: neither is known. Of a long line its beginning. */
static char *read_line(uint32_t pid)
{
    static const char *const names[] = {"cmdline", "comm"};
    char *line = malloc(LINE_BYTES + 1), path[64];
    size_t size = 0;
    for (size_t i = 0; line != NULL && size == 0 && i < 2; i++) {
        (void)snprintf(path, sizeof path, "/proc/%u/%s", pid, names[i]);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = file < 0 ? 0 : read(file, line, LINE_BYTES);
        size = got < 0 ? 0 : (size_t)got;
        if (file >= 0)
            (void)close(file);
    }
    while (size > 0 && (line[size - 1] == '\0' || line[size - 1] == '\n'))
        size--;
    for (size_t i = 0; i < size; i++)
        line[i] = (char)(line[i] == '\0' ? ' ' : line[i]);
    if (size == 0) {
        free(line);
        return NULL;
    }
    line[size] = '\0';
    return line;
}

static ttape_status take_recording_options(ttape_session *session, ttape_error *err)
{
    ttape_recording_options *o = &session->recording_options;
    const ttape_session_options *given = &session->options;
    *o = (ttape_recording_options){.size = sizeof *o, .follows = given->recording == NULL};
    if (given->recording != NULL)
        TTP_TRY(ttp_take_sized(o, sizeof *o, given->recording, "recording", err));
    o->size = sizeof *o;
    o->syscalls.is_attached |= given->pid != 0 && given->engine == TTAPE_ENGINE_PTRACE;
    if (session->engine == &patched) { /* from when it is attached to */
        session->attach_ns = o->max_ns;
        o->max_ns = 0;
    }
    o->syscalls.traced = given->engine == TTAPE_ENGINE_COMPLETE && o->syscalls.plan_folder != NULL;
    if (session->engine->open != NULL && !ttp_calls_are_chosen(&o->syscalls))
        memset(o->syscalls.chosen, 0xff, sizeof o->syscalls.chosen);
    if (o->command == NULL)
        o->command = session->line =
            given->argv != NULL ? join_words(given->argv) : read_line(given->pid);
    return o->command != NULL || given->argv == NULL ? TTAPE_OK : ttp_fail_memory(err);
}

static ttape_status take_runtime(ttape_session *session, ttape_error *err)
{
    const char *named = session->options.runtime;
    if (!session->engine->loads)
        return TTAPE_OK;
    session->runtime = named != NULL ? strdup(named) : ttp_session_find_runtime();
    if (session->runtime == NULL)
        return named != NULL ? ttp_fail_memory(err)
                             : ttp_fail_plain(err, TTAPE_E_NOT_FOUND,
                                              "cannot find 'libtracetape-rt.so.0' beside the "
                                              "command (TRACETAPE_RUNTIME names it)");
    if (access(session->runtime, R_OK) == 0)
        return TTAPE_OK;
    return ttp_fail_plain(err, TTAPE_E_NOT_FOUND, "cannot load '%.120s' into a command: %s",
                          session->runtime, strerror(errno));
}

static ttape_status set_up(ttape_session *session, ttape_error *err)
{
    session->engine = find_engine(&session->options);
    TTP_TRY(check_options(session, err));
    if (!session->engine->records)
        return TTAPE_OK;
    TTP_TRY(take_recording_options(session, err));
    TTP_TRY(take_runtime(session, err));
    if (session->engine->open != NULL)
        TTP_TRY(session->engine->open(session, err));
    TTP_TRY(ttape_recording_open(&session->recording, session->options.output,
                                 &session->recording_options, err));
    bool takes_functions = session->options.choose != NULL && session->options.changed != NULL;
    if (session->engine == &patched && takes_functions) /* who asks already is answered later */
        ttp_functions_take(session->recording);
    return TTAPE_OK;
}

ttape_status ttape_session_open(ttape_session **out, const ttape_session_options *options,
                                ttape_error *err)
{
    *out = NULL;
    ttape_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return ttp_fail_memory(err);
    ttape_status status =
        options == NULL
            ? ttp_fail_plain(err, TTAPE_E_ARGUMENT, "a session needs options")
            : ttp_take_sized(&session->options, sizeof session->options, options, "session", err);
    if (status == TTAPE_OK)
        status = set_up(session, err);
    if (status != TTAPE_OK) {
        ttape_session_close(session);
        return status;
    }
    *out = session;
    return TTAPE_OK;
}

/* ---- running ---- */

ttape_status ttape_session_start(ttape_session *session, ttape_error *err)
{
    if (session->stage != TTP_SESSION_OPENED)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the session was started before");
    ttp_machine_read(&session->machine);
    ttape_status status = session->engine->start(session, err);
    session->stage = status == TTAPE_OK ? TTP_SESSION_RUNNING : TTP_SESSION_FAILED;
    return status;
}

void ttape_session_run(ttape_session *session)
{
    while (session->stage == TTP_SESSION_RUNNING) {
        (void)ttape_session_round(session, NULL);
        struct timespec pause = {0, (long)session->state.pause_ns};
        if (session->stage == TTP_SESSION_RUNNING)
            (void)nanosleep(&pause, NULL);
    }
}

void ttape_session_leave(ttape_session *session) { session->is_left = true; }

/* ---- the end ---- */

static void keep_end(ttape_session *session)
{
    const ttape_session_state *state = &session->state;
    bool is_exit = state->signal_number == 0;
    if (state->has_status)
        (void)ttape_recording_set_number(
            session->recording, is_exit ? "exit_code" : "signal",
            (uint64_t)(is_exit ? state->exit_code : state->signal_number), NULL);
    ttp_machine_put(&session->machine, session->recording);
    if (session->has_usage)
        ttp_usage_put(&session->usage, session->recording);
}

static void fill_attached(const ttape_session *session, ttape_session_result *result)
{
    const struct ttp_attach_counts *counts = &session->attach_counts;
    if (session->engine != &patched)
        return;
    result->patched = (ttape_patch_counts){.functions = counts->functions,
                                           .exits = counts->exits,
                                           .functions_left = counts->functions_left,
                                           .exits_left = counts->exits_left,
                                           .times = 1};
    result->stop_count = counts->stood.stops;
    result->longest_stop_ns = counts->stood.longest_ns;
    result->total_stop_ns = counts->stood.total_ns;
    result->child_count = counts->children;
    result->busy_count = counts->busy;
    result->loaded_count = counts->loaded;
    result->followed_count = counts->followed;
    result->left_module_count = counts->modules_left;
    result->is_segment_left = counts->is_left;
    result->can_unwind = counts->can_unwind;
    result->was_debugged = counts->was_debugged;
}

static void fill_result(const ttape_session *session, ttape_session_result *result)
{
    const char *example;
    const ttape_recording *recording = session->recording;
    *result = (ttape_session_result){.has_status = session->state.has_status,
                                     .exit_code = session->state.exit_code,
                                     .signal_number = session->state.signal_number,
                                     .was_traced = session->engine->open != NULL,
                                     .traced = session->traced};
    if (recording == NULL)
        return;
    ttape_recording_get_status(recording, &result->recording);
    ttape_recording_get_patched(recording, &result->patched);
    fill_attached(session, result);
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        result->unrecorded[i] =
            ttape_recording_get_unrecorded(recording, (ttape_unrecorded)i, &example);
}

ttape_status ttape_session_end(ttape_session *session, ttape_session_result *result,
                               ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    if (session->stage != TTP_SESSION_OVER) {
        if (result != NULL)
            *result = (ttape_session_result){0};
        return ttp_fail_plain(err, TTAPE_E_STATE, "something is recorded still, or nothing was");
    }
    if (session->engine->end != NULL)
        session->engine->end(session);
    if (session->recording != NULL) {
        keep_end(session);
        status = ttape_recording_finish(session->recording, err);
    }
    session->stage = TTP_SESSION_ENDED;
    if (result != NULL)
        fill_result(session, result);
    return status;
}

void ttape_session_close(ttape_session *session)
{
    if (session == NULL)
        return;
    ttp_session_detach(session);
    if (session->stage == TTP_SESSION_OPENED || session->stage == TTP_SESSION_FAILED)
        ttape_recording_discard(session->recording);
    else
        ttape_recording_close(session->recording);
    if (session->stage == TTP_SESSION_RUNNING && session->tracer.pid > 0)
        ttp_tracer_leave(&session->tracer);
    ttp_tracer_close(&session->tracer, NULL);
    free(session->runtime);
    free(session->line);
    free(session);
}

ttape_status ttape_session_record(const ttape_session_options *options,
                                  ttape_session_result *result, ttape_error *err)
{
    ttape_session *session;
    if (result != NULL)
        *result = (ttape_session_result){0};
    TTP_TRY(ttape_session_open(&session, options, err));
    ttape_status status = ttape_session_start(session, err);
    if (status == TTAPE_OK) {
        ttape_session_run(session);
        status = ttape_session_end(session, result, err);
    }
    ttape_session_close(session);
    return status;
}

/* ---- what is known ---- */

void ttape_session_get_state(const ttape_session *session, ttape_session_state *state)
{
    *state = session->state;
}

ttape_recording *ttape_session_recording(ttape_session *session) { return session->recording; }

ttape_status ttape_session_get_switches(const ttape_session *session, ttape_error *err)
{
    if (session->switches.status != TTAPE_OK && err != NULL)
        *err = session->switches;
    return session->switches.status;
}
