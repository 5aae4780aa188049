/* A recording from the start of the command to what is said at the end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/recover.h>
#include <tracetape/session.h>

#include "tools/command/memory_limit.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"
#include "tools/record/output/record_output.h"
#include "tools/record/record_elsewhere.h"
#include "tools/record/record_end.h"
#include "tools/record/record_unrecorded.h"
#include "tools/record/session/record_functions.h"
#include "tools/record/session/record_level.h"
#include "tools/record/session/record_rounds.h"
#include "tools/record/session/record_session.h"

#define NOTE_BYTES 64u /* of a change, around its text */

static void say_result(const struct tool_record_session *session, const ttape_recording *recording)
{
    ttape_recording_status s;
    const struct tool_record_outcome outcome = {.tried = tool_record_patch_tries(&session->patch),
                                                .shown = session->shown,
                                                .calls_given = session->calls.given};
    ttape_recording_get_status(recording, &s);
    if (!session->joins && (!session->quiet || s.event_count == 0)) /* it may be the reason */
        tool_record_patch_say((struct tool_record_patch *)&session->patch, recording);
    tool_record_say_unrecorded(recording, &outcome);
    if (s.event_count != 0)
        tool_record_say_events(session->output, session->shown, session->keep.given, &s);
}

/* The metadata that only we know; the session has said how the command ended. */
static void keep_choices(struct tool_record_session *session, ttape_recording *recording)
{
    if (session->note != NULL)
        (void)ttape_recording_set_text(recording, "note", session->note, NULL);
    tool_record_keep_choice(recording, &session->calls);
    if (session->function_changes != NULL)
        (void)ttape_recording_set_text(recording, "function_changes", session->function_changes,
                                       NULL);
    if (session->joins)
        return;
    tool_record_patch_keep(&session->patch, recording);
}

/* What is said of a trace that is complete. */
static void say_all(struct tool_record_session *session, const ttape_recording *recording,
                    const ttape_session_result *result, uint32_t pid)
{
    bool has_events = result->recording.event_count != 0;
    if (tool_record_is_cut())
        tool_message("somebody truncated the memory that is shared with the command: recording "
                     "ended there");
    if (session->joins && !session->quiet)
        tool_record_join_say(&session->join, result, pid);
    if (!session->quiet || !has_events) /* without a file, the reason */
        say_result(session, recording);
    if (session->quiet || !has_events)
        return;
    tool_record_names_say(&session->rules.names);
    tool_record_triggers_say(&session->rules);
    if (session->patch.values.hand_count != 0 && tool_record_patch_tries(&session->patch))
        tool_record_values_say_unused(&session->patch.values);
    tool_record_values_say_uncalled(&session->patch.values);
    tool_record_say_trace(session->output, !session->no_blocks);
    tool_record_say_elsewhere(&session->patch, session->output);
    if (!result->has_status || session->send.is_asked)
        return;
    char *first = tool_record_first_file(session->shown, session->files ? pid : 0,
                                         session->files || session->rotate != 0);
    tool_record_say_end(first, result->exit_code, result->signal_number);
    free(first);
}

/* Where a trigger keeps traces, and none has kept this one. */
static void say_not_kept(struct tool_record_session *session)
{
    if (session->quiet)
        return;
    tool_record_triggers_say(&session->rules);
    tool_message("no trace: nothing came for which --on '... do keep' keeps it");
}

/* Programs find that file by its name. Those that have it do not notice. */
static void say_removed(const struct tool_record_session *session, const ttape_recording *recording)
{
    bool finds_it = session->attach == 0 && !session->calls.by_ptrace;
    if (finds_it && tool_record_is_removed(recording))
        tool_message("somebody removed '%s', the memory that is shared with programs: those that "
                     "began after that are not recorded",
                     ttape_recording_arena(recording));
}

/* *is_complete: there is a trace. */
static int finish_recording(struct tool_record_session *session, ttape_session *recorded,
                            bool *is_complete)
{
    ttape_error err = {0};
    ttape_session_result result;
    ttape_session_state state;
    ttape_recording *recording = ttape_session_recording(recorded);
    ttape_session_get_state(recorded, &state);
    keep_choices(session, recording);
    say_removed(session, recording);
    ttape_status ended = ttape_session_end(recorded, &result, &err);
    int status = tool_record_exit(result.exit_code, result.signal_number);
    bool has_events = result.recording.event_count != 0;
    *is_complete = false;
    if (ended != TTAPE_OK) {
        (void)tool_fail_error(session->output, &err);
        tool_message("what was recorded is in '%s.recording': see tracetape recover",
                     session->output);
        return status != 0 ? status : TOOL_CANNOT;
    }
    bool is_kept = ttape_recording_file(recording, 0) != NULL;
    if (has_events && !is_kept) {
        say_not_kept(session);
        return status;
    }
    if (session->keep.given && has_events &&
        tool_keep_merge(recording, session->output, session->force) != TOOL_OK)
        return status != 0 ? status : TOOL_CANNOT;
    say_all(session, recording, &result, (uint32_t)state.pid);
    *is_complete = has_events;
    if (status == 0 && !has_events)
        return TOOL_CANNOT;
    bool is_whole = result.recording.lost_count == 0 && !result.is_segment_left;
    return status != 0 ? status : is_whole ? TOOL_OK : TOOL_LOSS;
}

/* The library's message names the file already. */
static int fail_open(struct tool_record_session *session, const ttape_error *err)
{
    bool is_file = err->status == TTAPE_E_EXISTS && tool_record_is_file(session->output);
    if (err->status == TTAPE_E_EXISTS && tool_record_is_left(session->output))
        return TOOL_CANNOT;
    if (session->attach == 0 && tool_record_lacks_room(err->status, err->os_errno))
        return tool_record_bare_choose(&session->bare, err->message);
    return tool_fail("%s%s", err->message,
                     is_file && !session->force ? "; --force replaces it" : "");
}

/* The exit status of the command: where no process could be made, it runs as it does alone; where
 * it could, but not the command of it, the status is a shell's. */
static int fail_start(struct tool_record_session *session, const ttape_session_state *state,
                      const ttape_error *err)
{
    if (session->attach == 0 && state->pid == 0 &&
        tool_record_lacks_room(err->status, err->os_errno))
        return tool_record_bare_choose(&session->bare,
                                       strerror(err->os_errno != 0 ? err->os_errno : ENOMEM));
    (void)tool_fail("%s", err->message);
    if (session->attach != 0 || state->pid == 0)
        return TOOL_CANNOT;
    return err->status == TTAPE_E_NOT_FOUND ? TOOL_RECORD_ABSENT : TOOL_RECORD_NO_EXEC;
}

static void say_left(void *context, bool is_loss, const char *line)
{
    const struct tool_record_session *session = context;
    if (!session->quiet || is_loss)
        tool_message("%s", line);
}

/* Prepares the command's process: what the recorder has changed for itself is as it was. */
static void give_back(void *context)
{
    const struct tool_record_session *session = context;
    tool_record_bare_give_back(&session->bare);
    (void)sigprocmask(SIG_SETMASK, &session->mask, NULL);
}

/* Makes plans, in the process that traces, where the folder has none; they stay. */
static const void *find_plan(void *context, const char *module_path, size_t *size_bytes)
{
    struct tool_record_session *session = context;
    struct tool_plan_cache *cache = &session->traced_plans;
    const struct tool_plan_wish wish = {.path = module_path, .cache = cache};
    struct tool_plan_given given;
    if (module_path == NULL) {
        tool_plan_cache_close(cache);
        return NULL;
    }
    if (cache->path == NULL && !cache->has_failed)
        (void)tool_plan_cache_open(cache);
    if (tool_plan_give(&wish, &given) != NULL) {
        tool_plan_given_close(&given);
        return NULL;
    }
    *size_bytes = given.size_bytes;
    return given.bytes;
}

/* Plans of a process that runs were made ahead, but for what is loaded later. */
static const void *give_patch(void *context, const char *module_path, const void **chosen)
{
    struct tool_record_session *session = context;
    tool_record_join_later(&session->join, &session->patch, module_path);
    return tool_record_join_plan(&session->join, module_path, chosen);
}

static ttape_status choose_functions(void *context, const char *functions, ttape_error *err)
{
    struct tool_record_session *session = context;
    if (functions != NULL) {
        free(session->chosen_functions);
        session->chosen_functions = tool_copy_text(functions, strlen(functions));
    }
    return tool_record_join_change(&session->join, &session->patch, functions, err);
}

/* The trace says what was chosen, and behind which event. */
static void note_functions(struct tool_record_session *session)
{
    ttape_recording_status now;
    const char *before = session->function_changes, *text = session->chosen_functions;
    ttape_recording_get_status(ttape_session_recording(session->bare.session), &now);
    size_t room = (before == NULL ? 0 : strlen(before)) + strlen(text) + NOTE_BYTES;
    char *all = tool_allocate(room, 1);
    (void)snprintf(all, room, "%s%sbehind %" PRIu64 " events: '%s'", before == NULL ? "" : before,
                   before == NULL ? "" : "; ", now.event_count, text);
    free(session->function_changes);
    session->function_changes = all;
}

static bool say_functions(void *context, const ttape_functions_changed *changed, char *said,
                          size_t room)
{
    struct tool_record_session *session = context;
    note_functions(session);
    tool_record_change_functions(&session->rules, session->patch.rules.function.text);
    tool_record_join_say_changed(&session->join, &session->patch, changed, said, room);
    return session->rules.triggers.rule_count != 0;
}

static void say_switches(const struct tool_record_session *session, const ttape_session *recorded)
{
    ttape_error err = {0};
    if (ttape_session_get_switches(recorded, &err) != TTAPE_OK && !session->quiet)
        tool_message("%s: time off the CPU is not known", err.message);
}

/* Signals wait while the command begins. */
static ttape_status start_recording(struct tool_record_session *session, ttape_session *recorded,
                                    ttape_session_state *state, ttape_error *err)
{
    tool_record_block_signals(&session->mask);
    tool_signals_set_words(NULL);
    ttape_status status = ttape_session_start(recorded, err);
    ttape_session_get_state(recorded, state);
    bool goes_on = status == TTAPE_OK || state->pid != 0 ||
                   !tool_record_lacks_room(err->status, err->os_errno);
    if (goes_on) /* else this process becomes the command */
        tool_record_catch(ttape_session_recording(recorded));
    (void)sigprocmask(SIG_SETMASK, &session->mask, NULL);
    return status;
}

static enum ttape_engine engine_of(const struct tool_record_calls *calls)
{
    return calls->by_ptrace  ? TTAPE_ENGINE_PTRACE
           : calls->complete ? TTAPE_ENGINE_COMPLETE
                             : TTAPE_ENGINE_IN_PROCESS;
}

/* *is_complete: there is a trace. */
static int record(struct tool_record_session *session, ttape_session *recorded, bool *is_complete)
{
    ttape_error err = {0};
    ttape_session_state state;
    *is_complete = false;
    if (start_recording(session, recorded, &state, &err) != TTAPE_OK)
        return fail_start(session, &state, &err);
    say_switches(session, recorded);
    session->bare.session = recorded;
    tool_record_rounds(recorded, session->attach != 0, session->quiet, &session->send);
    return finish_recording(session, recorded, is_complete);
}

int tool_record_run(struct tool_record_session *session, char **argv,
                    const ttape_recording_options *options)
{
    ttape_error err = {0};
    ttape_session *recorded;
    bool is_complete;
    if (session->attach == 0 && tool_record_is_command(session->output, argv[0]))
        return tool_fail("cannot record into '%s': it is the command", session->output);
    tool_memory_give_back(); /* partitions want blocks of other sizes, one after another */
    ttape_recover_left(say_left, session);
    uint32_t *threads = tool_allocate(session->threads.count + 1, sizeof *threads);
    for (size_t i = 0; i < session->threads.count; i++)
        threads[i] = (uint32_t)session->threads.numbers[i];
    bool is_traced = session->calls.by_ptrace || session->calls.complete;
    const ttape_session_options how = {.size = sizeof how,
                                       .engine = engine_of(&session->calls),
                                       .output = session->output,
                                       .argv = session->attach != 0 ? NULL : argv,
                                       .pid = session->attach,
                                       .measure = is_traced ? session->calls.measure : NULL,
                                       .recording = options,
                                       .prepare = give_back,
                                       .plan = session->calls.stacks || session->joins ? find_plan
                                                                                       : NULL,
                                       .patch = session->joins ? give_patch : NULL,
                                       .threads = threads,
                                       .thread_count = session->threads.count,
                                       .choose = session->joins ? choose_functions : NULL,
                                       .changed = session->joins ? say_functions : NULL,
                                       .context = session};
    ttape_status opened = ttape_session_open(&recorded, &how, &err);
    if (opened != TTAPE_OK) {
        free(threads);
        return fail_open(session, &err);
    }
    tool_record_send_begin(&session->send, session->output, session->live, session->spill,
                           tool_record_is_interrupted);
    int status = record(session, recorded, &is_complete);
    ttape_session_close(recorded);
    free(threads);
    tool_memory_on_failure(NULL, NULL);
    status =
        tool_record_send_end(&session->send, session->output, is_complete, session->quiet, status);
    if (is_complete && session->then_level >= 0)
        tool_record_then_level(session->output, session->shown, session->then_level,
                               session->quiet);
    return status;
}
