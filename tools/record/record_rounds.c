#include "tools/record/record_rounds.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "tools/command/tool.h"

#define POLL_BUSY_NS  300000
#define POLL_SHORT_NS 1000000
#define POLL_QUIET_NS 2000000
#define POLL_LONG_NS  4000000
#define BUSY_SHARE    16u /* of the arena: more than that in a round is much */
#define USERS_ROUNDS  10  /* of 4 ms */
#define GRACE_ROUNDS  50
#define QUIET_ROUNDS  8u
#define IDLE_ROUNDS   200u
#define ENDS_ASKED    2 /* signals, the last of them after the command has ended */

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

/* No process holds a block. Whether one that is alive may still take one is looked at in each
 * USERS_ROUNDS-th round only; processes that were just started get GRACE_ROUNDS to begin. */
static bool is_over(const ttape_recording *recording, uint32_t *round)
{
    uint32_t users, starting;
    if ((*round)++ % USERS_ROUNDS != 0)
        return false;
    ttape_recording_find_users(recording, &users, &starting);
    if (users != 0)
        *round = 1;
    return users == 0 && (starting == 0 || *round > GRACE_ROUNDS);
}

/* What rounds remember of those before. */
struct rounds {
    ttape_recording *recording;
    ttape_recording_status now;
    uint64_t drained; /* in the last one */
    uint32_t failures, idle;
};

/* A round costs ten microseconds and more, for its sleep. Where little came in the last one, as
 * where other processes have the cores, the next may be later: blocks for several times as much are
 * free. */
static void rest(struct rounds *r)
{
    struct timespec pause = {0, POLL_BUSY_NS};
    r->idle = r->drained != 0 ? 0 : r->idle + 1;
    if (r->idle >= IDLE_ROUNDS)
        pause.tv_nsec = POLL_LONG_NS;
    else if (r->idle >= QUIET_ROUNDS)
        pause.tv_nsec = POLL_QUIET_NS;
    else if (r->drained < r->now.buffer_bytes / BUSY_SHARE)
        pause.tv_nsec = POLL_SHORT_NS;
    (void)nanosleep(&pause, NULL);
}

static void make_round(struct rounds *r)
{
    ttape_error err = {0};
    if (wanted_mode >= 0) {
        ttape_recording_set_mode(r->recording, wanted_mode != 0);
        wanted_mode = -1;
    }
    /* What else fails here is tried again; what stays wrong, finish says. */
    (void)ttape_recording_poll(r->recording, &r->drained, &err);
    ttape_recording_get_status(r->recording, &r->now);
    if (r->now.snapshot_failures != r->failures)
        tool_message("%s", err.message);
    r->failures = r->now.snapshot_failures;
}

/* Rounds until the process that was attached to has ended, or was let go, as asked for: what it has
 * recorded is then there, and finish takes it. */
void tool_record_rounds_attached(ttape_recording *recording, const struct tool_record_trace *trace)
{
    struct rounds r = {.recording = recording};
    bool has_asked = false;
    while (!tool_trace_has_ended(trace)) {
        if (!has_asked && (end_count != 0 || r.now.stopped)) {
            tool_trace_leave(trace);
            has_asked = true;
        }
        make_round(&r);
        rest(&r);
    }
}

void tool_record_rounds(ttape_recording *recording, pid_t child, int *status)
{
    struct rounds r = {.recording = recording};
    bool ended = false;
    sig_atomic_t asked = 0;
    uint32_t users_round = 0;
    for (;;) {
        bool was_ended = ended;
        if (!ended)
            ended = waitpid(child, status, WNOHANG) == child;
        if (ended && !was_ended)
            ttape_recording_note_ended(recording, (uint32_t)child, *status);
        if (ended_by != 0 && !ended)
            (void)kill(child, ended_by);
        ended_by = 0;
        if (!ended)
            asked = end_count;
        make_round(&r);
        if (was_ended && (r.now.stopped || (end_count != asked && end_count >= ENDS_ASKED)))
            return;
        if (was_ended && r.drained == 0 && r.now.live_count == 0 &&
            is_over(recording, &users_round))
            return;
        rest(&r);
    }
}

bool tool_record_is_cut(void) { return is_cut != 0; }
