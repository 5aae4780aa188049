/* The code of modules is changed while their process stands still: a few pages in each stop, and
 * again for functions that somebody was inside. In the last of the first stops calls that are open
 * are told of, and hooks begin to record. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_handle.h"

#define PAUSE_NS      UINT64_C(1000000)
#define PAUSE_MOST_NS UINT64_C(50000000)
#define PAUSES        10u  /* times as long as it stood */
#define TRIES         100u /* for a stop in which nobody is in a hook */

static const char no_answers[] =
    "its C library cannot tell unwinders of what its system calls go through (glibc from 2.35 on "
    "can): tracetape syscalls --attach records them by ptrace";

static const char is_another[] =
    "meanwhile it has ended, executed another program, got a handler of faults or a debugger";

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
    uint64_t begun_at =
        ttp_segment_shared(&a->segment, offsetof(struct ttp_agent_shared, has_begun));
    uint64_t known_at = ttp_segment_shared(&a->segment, offsetof(struct ttp_agent_shared, known));
    uint64_t count_at =
        ttp_segment_shared(&a->segment, offsetof(struct ttp_agent_shared, known_count));
    struct ttp_agent_call *calls = calloc(TTP_AGENT_CALLS, sizeof *calls);
    if (calls == NULL)
        return false;
    shared->has_begun = 1;
    if (shared->memory_at != 0) /* no stack may be read that is another one by now */
        (void)ttp_attach_look_at_maps(a);
    ttp_attach_note_threads(a, stop);
    a->counts->open_calls = ttp_open_calls_tell(&open, shared->known, shared->known_count, calls);
    bool is_told =
        ttp_memory_write(stop->memory, a->segment.at + a->segment.calls, calls,
                         a->counts->open_calls * sizeof *calls) &&
        ttp_memory_write(stop->memory, known_at, shared->known,
                         shared->known_count * sizeof *shared->known) &&
        ttp_memory_write(stop->memory, count_at, &shared->known_count,
                         sizeof shared->known_count) &&
        ttp_memory_write(stop->memory, begun_at, &shared->has_begun, sizeof shared->has_begun);
    free(calls);
    return is_told;
}

void ttp_attach_pause(uint64_t stood_ns)
{
    uint64_t wait = PAUSE_NS + PAUSES * stood_ns;
    const struct timespec pause = {0, (long)(wait < PAUSE_MOST_NS ? wait : PAUSE_MOST_NS)};
    (void)nanosleep(&pause, NULL);
}

/* Stacks are walked in the last turn, where somebody may be in a hook by then. */
static bool lead_out(const struct ttp_attach *a, struct ttp_stop *stop)
{
    ttp_calls_move(a->now, stop);
    const struct ttp_targets *t = a->now;
    struct ttp_agent_range code[TTP_AGENT_AREAS];
    size_t count = 1;
    code[0] = (struct ttp_agent_range){a->segment.at, a->segment.at + a->segment.bytes};
    for (uint32_t i = 1; i < t->cluster_count; i++) /* the first one is in the segment */
        if (t->areas[i].bytes != 0)
            code[count++] =
                (struct ttp_agent_range){t->areas[i].at, t->areas[i].at + t->areas[i].bytes};
    return ttp_stop_lead_out(stop, code, count);
}

static const char *change_code(struct ttp_attach *a, struct ttp_stop *stop, bool tells)
{
    struct ttp_points points = {.targets = a->now};
    if (!ttp_segment_is_there(&a->segment, stop->memory))
        return "it has executed another program";
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
    if (tells && !tell_open_calls(a, stop))
        return "its memory cannot be written to";
    return ttp_calls_go(stop) && ttp_targets_change(a->now, stop->memory)
               ? NULL
               : "its code cannot be written to, or has just changed";
}

/* Changes of many pages take many stops, each of which is about as short as an empty one; between
 * them the program runs for ten times as long. Hooks begin to record in the last one of all. */
static ttape_status change_all(struct ttp_attach *a, bool tells, ttape_error *err)
{
    bool is_last = false;
    uint64_t stood = 0;
    a->busy = 0;
    ttp_targets_order(a->now);
    for (uint32_t turn = 0, tries = TRIES; !is_last; turn++) {
        struct ttp_stop stop;
        const char *why = NULL;
        if (turn != 0)
            ttp_attach_pause(stood);
        if (turn != 0 && ttp_attach_is_over(a))
            return ttp_attach_refuse_it(a, is_another, err);
        if (tells) /* threads are noted then */
            a->name_count = ttp_threads_names(a->names, a->options.pid);
        TTP_TRY(ttp_stop_all(&stop, a->options.pid, &a->counts->stood, err));
        is_last = ttp_targets_limit(a->now, ttp_stop_pages(&stop));
        if (is_last && tells && turn != 0 && !lead_out(a, &stop) && tries-- != 0)
            is_last = false;
        else
            why = change_code(a, &stop, tells && is_last);
        stood = ttp_attach_now_ns() - stop.began_ns;
        ttp_stop_end(&stop, &a->counts->stood);
        if (why != NULL)
            return ttp_attach_refuse_it(a, why, err);
    }
    return TTAPE_OK;
}

/* It stops again for those that somebody was inside. */
static ttape_status stop_for_jumps(struct ttp_attach *a, ttape_error *err)
{
    bool is_first = a->now == &a->targets;
    a->busy = 1;
    for (uint32_t round = 0; round < TTP_ATTACH_ROUNDS && a->busy != 0; round++) {
        if (round != 0)
            ttp_attach_pause(0);
        TTP_TRY(change_all(a, is_first && round == 0, err));
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
