/* The code of modules is changed while their process stands still, in as many stops as it takes
 * until nobody is inside. Those that came first are changed when calls that are open have been
 * told of. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_handle.h"

#define PAUSE_NS 1000000

static const char no_answers[] =
    "its C library cannot tell unwinders of what its system calls go through (glibc from 2.35 on "
    "can): tracetape syscalls --attach records them by ptrace";

const char *ttp_attach_put(struct ttp_attach *a,
                           const char *(*put)(struct ttp_attach *a, int memory))
{
    int memory = ttp_memory_open(a->options.pid, O_RDWR);
    const char *why = memory < 0 ? "its memory cannot be written to" : put(a, memory);
    if (memory >= 0)
        (void)close(memory);
    return why;
}

static const char *put_stubs(struct ttp_attach *a, int memory)
{
    return ttp_targets_fill(a->now, &a->segment, a->shared, memory);
}

/* What is open, before the first jump is there: the agent is told of all threads anew. */
static bool tell_open_calls(struct ttp_attach *a, struct ttp_stop *stop)
{
    struct ttp_agent_shared *shared = a->shared;
    const struct ttp_open_calls open = {.targets = &a->targets,
                                        .modules = &a->modules,
                                        .stop = stop,
                                        .outside = &a->outside,
                                        .image = shared->image};
    uint64_t known_at = ttp_segment_shared(&a->segment, offsetof(struct ttp_agent_shared, known));
    uint64_t count_at =
        ttp_segment_shared(&a->segment, offsetof(struct ttp_agent_shared, known_count));
    struct ttp_agent_call *calls = calloc(TTP_AGENT_CALLS, sizeof *calls);
    if (calls == NULL)
        return false;
    if (shared->memory_at != 0) /* no stack may be read that is another one by now */
        (void)ttp_attach_look_at_maps(a);
    ttp_attach_note_threads(a, stop);
    a->counts->open_calls = ttp_open_calls_tell(&open, shared->known, shared->known_count, calls);
    bool is_told =
        ttp_memory_write(stop->memory, a->segment.at + a->segment.calls, calls,
                         a->counts->open_calls * sizeof *calls) &&
        ttp_memory_write(stop->memory, known_at, shared->known,
                         shared->known_count * sizeof *shared->known) &&
        ttp_memory_write(stop->memory, count_at, &shared->known_count, sizeof shared->known_count);
    free(calls);
    return is_told;
}

static const char *change_code(struct ttp_attach *a, struct ttp_stop *stop, bool is_first)
{
    struct ttp_points points = {.targets = a->now};
    ttp_calls_move(a->now, stop);
    bool is_known = ttp_points_find(&points, stop, &a->maps);
    if (!is_known) /* a stack that is new */
        is_known = ttp_attach_look_at_maps(a) && ttp_points_find(&points, stop, &a->maps);
    if (is_known)
        ttp_targets_mark(a->now, &points, &a->busy);
    ttp_points_free(&points);
    if (!is_known)
        return "a thread's stack cannot be read";
    ttp_calls_settle(stop);
    if (is_first && !tell_open_calls(a, stop))
        return "its memory cannot be written to";
    return ttp_calls_go(stop) && ttp_targets_change(a->now, stop->memory)
               ? NULL
               : "its code cannot be written to, or has just changed";
}

/* It stops again for those that somebody was inside. */
static ttape_status stop_for_jumps(struct ttp_attach *a, ttape_error *err)
{
    const struct timespec pause = {0, PAUSE_NS};
    bool is_first = a->now == &a->targets;
    if (is_first) /* threads are noted then */
        a->name_count = ttp_threads_names(a->names, a->options.pid);
    a->busy = 1;
    for (uint32_t round = 0; round < TTP_ATTACH_ROUNDS && a->busy != 0; round++) {
        struct ttp_stop stop;
        if (round != 0)
            (void)nanosleep(&pause, NULL);
        TTP_TRY(ttp_stop_all(&stop, a->options.pid, &a->counts->stood, err));
        const char *why = change_code(a, &stop, is_first && round == 0);
        ttp_stop_end(&stop, &a->counts->stood);
        if (why != NULL)
            return ttp_attach_refuse_it(a, why, err);
    }
    return TTAPE_OK;
}

static void count_sites(struct ttp_attach *a, const struct ttp_attach_counts *before)
{
    if (a->targets.chosen_calls == NULL)
        return;
    a->outside.head->seen_sites += a->counts->sites - before->sites;
    a->outside.head->unseen_sites += a->counts->sites_left - before->sites_left;
}

ttape_status ttp_attach_change(struct ttp_attach *a, ttape_error *err)
{
    const struct ttp_attach_counts before = *a->counts;
    const char *why = ttp_attach_put(a, put_stubs);
    if (why != NULL)
        return ttp_attach_refuse_it(a, why, err);
    TTP_TRY(stop_for_jumps(a, err));
    ttp_targets_count(a->now, a->busy, a->counts);
    if (ttp_targets_lack_answers(a->now))
        return ttp_attach_refuse_it(a, no_answers, err);
    count_sites(a, &before);
    return TTAPE_OK;
}
