/* When a round is the last one, and when the next should come.
 *
 *   the command ends --> nothing came in a round, no process holds a block
 *     --> no process that could still take one is there --> over */
#include <errno.h>
#include <sys/wait.h>

#include "recorder/session/session_internal.h"

#define PAUSE_BUSY_NS  300000u
#define PAUSE_SHORT_NS 1000000u
#define PAUSE_QUIET_NS 2000000u
#define PAUSE_LONG_NS  4000000u
#define BUSY_SHARE     16u /* of the arena: more than that in a round is much */
#define USERS_ROUNDS   10u /* of 4 ms */
#define GRACE_ROUNDS   50u
#define QUIET_ROUNDS   8u
#define IDLE_ROUNDS    200u

/* A round costs ten microseconds and more, for its pause. Where little came in the last one, as
 * where other processes have the cores, the next may be later: blocks for several times as much are
 * free. */
static void choose_pause(ttape_session *session, const ttape_recording_status *now)
{
    ttape_session_state *state = &session->state;
    session->idle_rounds = state->drained_bytes != 0 ? 0 : session->idle_rounds + 1;
    state->pause_ns = session->idle_rounds >= IDLE_ROUNDS                     ? PAUSE_LONG_NS
                      : session->idle_rounds >= QUIET_ROUNDS                  ? PAUSE_QUIET_NS
                      : state->drained_bytes < now->buffer_bytes / BUSY_SHARE ? PAUSE_SHORT_NS
                                                                              : PAUSE_BUSY_NS;
}

/* Looks whether the command has ended. Somebody else may have waited for it: then its status is not
 * known. */
static void look_for_end(ttape_session *session)
{
    ttape_session_state *state = &session->state;
    int status;
    session->was_ended = state->has_command_ended;
    if (state->has_command_ended || session->options.argv == NULL)
        return;
    pid_t got = wait4((pid_t)state->pid, &status, WNOHANG, &session->usage);
    if (got == 0 || (got < 0 && errno != ECHILD))
        return;
    state->has_command_ended = true;
    state->has_status = got > 0;
    if (got < 0)
        return;
    session->has_usage = true;
    state->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    state->signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (session->recording != NULL)
        ttape_recording_note_ended(session->recording, state->pid, status);
}

/* No process holds a block. Whether one that is alive may still take one is looked at in each
 * USERS_ROUNDS-th round only; processes that were just started get GRACE_ROUNDS to begin. */
static bool has_no_users(ttape_session *session)
{
    uint32_t users, starting;
    if (session->users_round++ % USERS_ROUNDS != 0)
        return false;
    ttape_recording_find_users(session->recording, &users, &starting);
    if (users != 0)
        session->users_round = 1;
    return users == 0 && (starting == 0 || session->users_round > GRACE_ROUNDS);
}

bool ttp_session_is_command_over(ttape_session *session, const ttape_recording_status *now)
{
    if (!session->was_ended)
        return false;
    return now->stopped || session->is_left ||
           (session->state.drained_bytes == 0 && now->live_count == 0 && has_no_users(session));
}

/* What it has recorded until then is there, and the end takes it. */
bool ttp_session_has_let_go(ttape_session *session, const ttape_recording_status *now)
{
    if (ttp_tracer_has_ended(&session->tracer))
        return true;
    if (!session->has_asked && (session->is_left || now->stopped)) {
        ttp_tracer_leave(&session->tracer);
        session->has_asked = true;
    }
    return false;
}

bool ttp_session_has_bare_ended(ttape_session *session, const ttape_recording_status *now)
{
    (void)now;
    return session->state.has_command_ended;
}

ttape_status ttape_session_round(ttape_session *session, ttape_error *err)
{
    ttape_recording_status now = {0};
    if (session->stage == TTP_SESSION_OVER)
        return TTAPE_END;
    if (session->stage != TTP_SESSION_RUNNING)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the session was not started, or has ended");
    ttape_status status = TTAPE_OK;
    look_for_end(session);
    if (session->recording != NULL) {
        status = ttape_recording_poll(session->recording, &session->state.drained_bytes, err);
        ttape_recording_get_status(session->recording, &now);
    }
    if (session->engine->is_over(session, &now)) {
        session->stage = TTP_SESSION_OVER;
        session->state.has_ended = true;
    }
    choose_pause(session, &now);
    if (status != TTAPE_OK)
        return status;
    return session->stage == TTP_SESSION_OVER ? TTAPE_END : TTAPE_OK;
}
