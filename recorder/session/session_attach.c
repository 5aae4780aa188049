/* Functions of a process that runs: patched at the start, put back at the end. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "recorder/session/session_internal.h"

#define PATH_BYTES  4096u
#define LOOK_ROUNDS 8u /* between two looks at the process */

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

ttape_status ttp_session_attach(ttape_session *session, ttape_error *err)
{
    const ttape_session_options *o = &session->options;
    char link[64], path[PATH_BYTES];
    const void *chosen = NULL;
    (void)snprintf(link, sizeof link, "/proc/%u/exe", o->pid);
    ssize_t size = readlink(link, path, sizeof path - 1);
    session->state.pid = o->pid;
    path[size < 0 ? 0 : size] = '\0';
    const void *plan = o->patch(o->context, path, &chosen);
    if (plan == NULL)
        return ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                              "cannot attach to process %u: nothing of '%.120s' can be patched",
                              o->pid, path);
    const struct ttp_attach_options options = {.pid = o->pid,
                                               .arena = ttape_recording_arena(session->recording),
                                               .module = path,
                                               .plan = plan,
                                               .chosen = chosen,
                                               .rows = o->plan,
                                               .context = o->context};
    TTP_TRY(ttp_attach_begin(&session->attached, &options, &session->attach_counts, err));
    if (session->attach_ns != 0)
        session->attach_until_ns = now_ns() + session->attach_ns;
    return TTAPE_OK;
}

bool ttp_session_is_attach_over(ttape_session *session, const ttape_recording_status *now)
{
    bool is_late = session->attach_until_ns != 0 && now_ns() >= session->attach_until_ns;
    if (now->stopped || session->is_left || is_late)
        return true;
    return session->attach_round++ % LOOK_ROUNDS == 0 && ttp_attach_is_over(session->attached);
}

void ttp_session_detach(ttape_session *session)
{
    ttape_error err = {0};
    if (session->attached == NULL)
        return;
    struct ttp_attach *attached = session->attached;
    session->attached = NULL;
    ttape_status status = ttp_attach_end(attached, &session->attach_counts, &err);
    session->attach_counts.is_left |= status != TTAPE_OK;
}
