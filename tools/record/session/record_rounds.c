#include "tools/record/session/record_rounds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/command/progress.h"
#include "tools/command/tool.h"

#define ENDS_ASKED 2           /* signals, the last of them after the command has ended */
#define SILENCE_NS 1000000000u /* from its end until what runs on is named */

/* Set by signals, read by the rounds. */
static volatile sig_atomic_t wanted_mode = -1, ended_by, end_count;

static void on_mode(int number) { wanted_mode = number == SIGUSR1; }

static ttape_recording *shared; /* for on_bus: programs may cut off its memory */
static volatile sig_atomic_t is_cut;

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code > 0 && ttape_recording_mend(shared, info->si_addr)) {
        is_cut = 1;
        return;
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void on_end(int number)
{
    ended_by = number;
    end_count++;
}

/* The terminal sends it to the command as well. */
static void on_interrupt(int number)
{
    (void)number;
    end_count++;
}

void tool_record_block_signals(sigset_t *before)
{
    static const int blocked[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        (void)sigaddset(&set, blocked[i]);
    (void)sigprocmask(SIG_BLOCK, &set, before);
}

void tool_record_catch(ttape_recording *recording)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, mode = {.sa_handler = on_mode},
                     end = {.sa_handler = on_end},
                     interrupt = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART},
                     bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    shared = recording;
    (void)sigaction(SIGINT, &interrupt, NULL);
    (void)sigaction(SIGQUIT, &ignore, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGBUS, &bus, NULL);
    (void)sigaction(SIGUSR1, &mode, NULL);
    (void)sigaction(SIGUSR2, &mode, NULL);
    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGHUP, &end, NULL);
}

/* What signals have asked for since the last round. The first that asks for the end is the
 * command's; the second one, after that has ended, is ours. */
static void obey(ttape_session *session, const ttape_session_state *state, bool is_attached,
                 sig_atomic_t *asked)
{
    if (wanted_mode >= 0) {
        ttape_recording_set_mode(ttape_session_recording(session), wanted_mode != 0);
        wanted_mode = -1;
    }
    if (is_attached) {
        if (end_count != 0)
            ttape_session_leave(session);
        return;
    }
    if (ended_by != 0 && !state->has_command_ended)
        (void)kill((pid_t)state->pid, ended_by);
    ended_by = 0;
    if (!state->has_command_ended)
        *asked = end_count;
    else if (end_count != *asked && end_count >= ENDS_ASKED)
        ttape_session_leave(session);
}

/* What fails in a round is tried again; what stays wrong, the end says. But a copy that was not
 * written is said at once. */
static void make_round(ttape_session *session, uint32_t *failures)
{
    ttape_error err = {0};
    ttape_recording_status now;
    (void)ttape_session_round(session, &err);
    ttape_recording_get_status(ttape_session_recording(session), &now);
    if (now.snapshot_failures != *failures)
        tool_message("%s", err.message);
    *failures = now.snapshot_failures;
}

static void say_waiting(ttape_session *session)
{
    ttape_recording_status now;
    char path[32], name[32] = "?";
    ttape_recording_get_status(ttape_session_recording(session), &now);
    if (now.live_pid == 0)
        return;
    (void)snprintf(path, sizeof path, "/proc/%u/comm", now.live_pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(name, sizeof name, file) != NULL)
        name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        (void)fclose(file);
    tool_message("the command has ended; '%s' (process %u), which it started, runs on and is "
                 "recorded: Ctrl-C twice ends the recording, --no-children leaves it out",
                 name, now.live_pid);
}

/* What cannot be sent has a limit: recording is off while more waits. */
static void obey_sending(ttape_session *session, const struct tool_record_send *send)
{
    ttape_recording_hold(ttape_session_recording(session), tool_record_send_is_full(send));
}

void tool_record_rounds(ttape_session *session, bool is_attached, bool is_quiet,
                        const struct tool_record_send *send)
{
    uint64_t ended_ns = 0;
    bool is_said = is_quiet || is_attached;
    ttape_session_state state;
    sig_atomic_t asked = 0;
    uint32_t failures = 0;
    ttape_session_get_state(session, &state);
    while (!state.has_ended) {
        obey(session, &state, is_attached, &asked);
        obey_sending(session, send);
        make_round(session, &failures);
        ttape_session_get_state(session, &state);
        if (state.has_command_ended && ended_ns == 0)
            ended_ns = tool_now_ns();
        if (!is_said && ended_ns != 0 && tool_now_ns() - ended_ns > SILENCE_NS) {
            say_waiting(session);
            is_said = true;
        }
        struct timespec pause = {0, (long)state.pause_ns};
        if (!state.has_ended)
            (void)nanosleep(&pause, NULL);
    }
}

bool tool_record_is_interrupted(void) { return end_count >= ENDS_ASKED; }

bool tool_record_is_cut(void) { return is_cut != 0; }

bool tool_record_is_removed(const ttape_recording *recording)
{
    const char *path = ttape_recording_arena(recording);
    return path != NULL && access(path, F_OK) != 0 && errno == ENOENT;
}
