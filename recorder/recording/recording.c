/* The recording's handle: opening, the rounds, the encoding thread, the end. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recording/recording_options.h"
#include "recorder/state/journal.h"

#define ENCODING_NICE     10
#define DRAINING_NICE     (-20)
#define DRAINING_SLICE_NS 100000u
#define IDLE_WAIT_MS      100u
#define TIMES_MS          20u
#define PARTIAL_MS        1000u /* blocks that fill slowly are looked into so often */
#define LIVE_PARTIAL_MS   200u

/* The encoding thread */

static ttape_status encode_slot(struct ttp_encode *e, uint32_t number, struct ttp_slot *slot)
{
    TTP_TRY(ttp_spill_read(e->spill->fd, number, slot, &e->error));
    uint32_t *place = ttp_push(&e->allocator, &e->consumed, sizeof *place, &e->error);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = number;
    if (!ttp_slot_is_whole(slot))
        return ttp_fail_plain(&e->error, TTAPE_E_IO, "the spill file was changed by somebody else");
    return ttp_output_take(e, slot, &e->error);
}

/* Until the queue is empty: with a wait, until nothing more will come. */
static ttape_status encode_all(ttape_recording *r, struct ttp_slot *slot, uint32_t wait_ms)
{
    for (;;) {
        uint32_t number;
        bool timed_out;
        struct ttp_mark mark;
        bool got = ttp_spill_take(&r->spill, &number, wait_ms, &timed_out);
        if (!got && (!timed_out || wait_ms == 0))
            return TTAPE_OK;
        if (got && number == TTP_SLOT_MARK) {
            ttp_spill_take_mark(&r->spill, &mark);
            TTP_TRY(ttp_mark_serve(r, &mark, &r->encoder.error));
        } else if (got) {
            TTP_TRY(encode_slot(&r->encoder, number, slot));
        }
        TTP_TRY(ttp_output_due(&r->encoder, false, &r->encoder.error));
    }
}

static void end_failed(ttape_recording *r)
{
    r->shared.failed = true;
    ttp_shared_stop(&r->shared, TTAPE_STOP_FAILED);
}

/* Without the encoding thread, a flush, a snapshot or a program that waits for room in the spill
 * file would wait for its mark for ever. So the slots in front of the mark are encoded now. */
static void serve_marks(ttape_recording *r)
{
    if (!r->is_synchronous || r->shared.failed || !ttp_spill_has_mark(&r->spill))
        return;
    r->encoder.status = encode_all(r, r->drain.slot, 0);
    if (r->encoder.status != TTAPE_OK)
        end_failed(r);
}

/* At the end the rest of the arena is decoded where it lies: that needs no spill file, should its
 * disk be full. Blocks are not given back: if this process is killed now, recovery finds them. The
 * second turn gives a hole one more chance. */
static ttape_status drain_rest(ttape_recording *r)
{
    r->drain.direct = &r->encoder;
    for (int i = 0; i < 2; i++) {
        uint64_t before;
        do {
            before = r->drain.drained_bytes;
            TTP_TRY(ttp_drain_round(&r->drain, true, i != 0, &r->encoder.error));
        } while (r->drain.drained_bytes != before);
    }
    return TTAPE_OK;
}

/* Says how the beginning went; only then open returns. */
static void report_start(ttape_recording *r, ttape_status status)
{
    (void)pthread_mutex_lock(&r->spill.lock);
    r->encoder.status = status;
    r->has_started = true;
    (void)pthread_cond_signal(&r->started);
    (void)pthread_mutex_unlock(&r->spill.lock);
}

/* Encoding can wait, draining and the traced program cannot. The writer's own threads are started
 * from here, and inherit this. */
static void step_back(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), ENCODING_NICE);
}

/* Draining is short and must not wait: a small slice of time, soon. Kernels from 6.12 on take the
 * slice of an ordinary thread from here; a higher priority needs a right. */
static void step_forward(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .nice = DRAINING_NICE, .runtime = DRAINING_SLICE_NS};
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0)
        return;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void encode_to_end(ttape_recording *r, struct ttp_slot *slot)
{
    if (!r->shared.failed)
        r->encoder.status = encode_all(r, slot, IDLE_WAIT_MS);
    if (r->encoder.status == TTAPE_OK && !r->shared.is_discarded)
        r->encoder.status = drain_rest(r);
    ttp_unrecorded_settle(&r->drain.unrecorded, &r->drain.allocator, &r->encoder,
                          r->drain.arena.head);
    if (r->encoder.status == TTAPE_OK && !r->shared.is_discarded)
        r->encoder.status = ttp_outputs_finish(&r->encoder, &r->encoder.error);
    ttp_snapshots_end(r);
    if (r->encoder.status != TTAPE_OK)
        end_failed(r);
}

/* A word in the arena that has this thread's id while it lives: the kernel marks it when the thread
 * ends, whatever ends it, so that no program waits for a recorder that is gone. The list has one
 * lock, which is no lock but that word. */
static void announce_life(ttape_recording *r)
{
    struct robust_list_head *list = &r->life;
    r->life_node.next = &list->list;
    list->list.next = &r->life_node;
    list->futex_offset =
        (long)((uintptr_t)&r->drain.arena.head->recorder_alive - (uintptr_t)&r->life_node);
    __atomic_store_n(&r->drain.arena.head->recorder_alive, (uint32_t)syscall(SYS_gettid),
                     __ATOMIC_RELEASE);
    (void)syscall(SYS_set_robust_list, list, sizeof *list);
}

static void *encode(void *context)
{
    ttape_recording *r = context;
    step_back();
    announce_life(r);
    struct ttp_slot *slot = malloc(sizeof *slot);
    ttape_status started = slot == NULL ? ttp_fail_memory(&r->encoder.error) : TTAPE_OK;
    if (started == TTAPE_OK && !r->encoder.options.separate_files)
        started = ttp_output_begin(&r->encoder, 0, &r->encoder.current, &r->encoder.error);
    report_start(r, started);
    if (started == TTAPE_OK)
        encode_to_end(r, slot);
    free(slot);
    return NULL;
}

/* Signals are the caller's business: none is delivered to this thread, but for SIGBUS where the
 * caller takes that itself: it comes from touching an arena that was cut off. */
void ttp_signals_of_thread(sigset_t *blocked)
{
    sigset_t now;
    (void)sigfillset(blocked);
    if (pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGBUS) == 0)
        (void)sigdelset(blocked, SIGBUS);
}

static ttape_status start_thread(ttape_recording *r, ttape_error *err)
{
    sigset_t all, before;
    ttp_signals_of_thread(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = ttp_thread_create(&r->thread, encode, r);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->has_thread = code == 0;
    if (code != 0) { /* everything spills, and is encoded at the end or for a mark */
        r->is_synchronous = true;
        if (r->encoder.options.separate_files)
            return TTAPE_OK;
        return ttp_output_begin(&r->encoder, 0, &r->encoder.current, err);
    }
    (void)pthread_mutex_lock(&r->spill.lock);
    while (!r->has_started)
        (void)pthread_cond_wait(&r->started, &r->spill.lock);
    ttape_status status = r->encoder.status;
    (void)pthread_mutex_unlock(&r->spill.lock);
    if (status != TTAPE_OK) {
        (void)pthread_join(r->thread, NULL);
        r->has_thread = false;
        if (err != NULL)
            *err = r->encoder.error;
    }
    return status;
}

/* Opening */

static void set_clock(ttape_recording *r)
{
    struct ttp_encode *e = &r->encoder;
    ttp_clock_choose(&e->options.clock, &e->rate);
    ttp_clock_begin(&e->clock, &e->rate);
    ttp_clock_track(&r->drain.tracker, &e->rate);
    r->drain.clock = e->options.clock;
}

static ttape_status set_up(ttape_recording *r, const char *output,
                           const ttape_recording_options *options, ttape_error *err)
{
    struct ttp_encode *e = &r->encoder;
    ttape_recording_options *o = &e->options;
    TTP_TRY(ttp_recording_options_take(o, options, err));
    e->allocator = r->drain.allocator = r->spill.allocator =
        ttp_allocator_or_default(o->writer.allocator);
    ttp_follower_init(&r->switches, &e->allocator);
    e->switches = &r->switches;
    e->directory = &r->directory;
    e->spill = r->drain.spill = &r->spill;
    e->shared = r->drain.shared = &r->shared;
    r->drain.unrecorded.counts = r->shared.unrecorded;
    r->drain.unrecorded.only_first = o->only_first;
    r->drain.slot = malloc(sizeof *r->drain.slot);
    if (r->drain.slot == NULL)
        return ttp_fail_memory(err);
    r->directory.replaces_output = o->replace;
    r->directory.keeps_old = o->keep_old && !o->replace;
    r->drain.unrecorded.options = o;
    r->drain.unrecorded.unseen = r->shared.unseen;
    TTP_TRY(ttp_directory_make(&r->directory, output, err));
    TTP_TRY(ttp_directory_link(&r->directory, TTP_PLAN_FOLDER, o->syscalls.plan_folder, err));
    if (o->follows)
        ttp_follower_prepare(&r->switches);
    set_clock(r);
    TTP_TRY(ttp_trace_id_draw(&o->writer, err));
    TTP_TRY(ttp_spill_open(&r->spill, &r->directory, o->spill_bytes, err));
    r->has_spill = true;
    TTP_TRY(ttp_clock_sample(&r->drain, false, err));
    (void)pthread_cond_init(&r->started, NULL);
    TTP_TRY(ttp_arena_make(r, err));
    e->verdicts = r->drain.arena.verdicts;
    TTP_TRY(ttp_journal_open(e, r->drain.arena.path, err));
    r->shared.checkpoint_ms = e->sealed_ms = r->drain.partial_ms = ttp_now_ms();
    return start_thread(r, err);
}

/* Closes what belongs to the draining thread, but for the arena. */
static void close_drain(struct ttp_drain *d)
{
    const struct ttp_pid_seen *pids = d->pids.data;
    for (size_t i = 0; i < d->pids.count; i++)
        if (pids[i].fd >= 0)
            (void)close(pids[i].fd);
    ttp_grown_free(&d->allocator, &d->pids);
    ttp_grown_free(&d->allocator, &d->candidates);
    ttp_grown_free(&d->allocator, &d->blockless);
    ttp_map_free(&d->allocator, &d->known);
    ttp_map_free(&d->allocator, &d->taken);
    ttp_unrecorded_close(&d->unrecorded, &d->allocator);
    ttp_thread_times_close(&d->times, &d->allocator);
    free(d->slot);
}

static void free_all(ttape_recording *r)
{
    struct ttp_encode *e = &r->encoder;
    bool remove = r->is_finished || !r->is_opened; /* else recovery finds the rest in them */
    ttp_arena_close(&r->drain.arena, &r->drain.allocator, remove);
    ttp_outputs_close(e, !r->is_opened || (r->shared.is_discarded && r->is_finished));
    ttp_directory_close(&r->directory, remove, e->next_file);
    ttp_images_close(e);
    if (r->has_spill) {
        (void)pthread_cond_destroy(&r->started);
        ttp_spill_close(&r->spill);
    }
    close_drain(&r->drain);
    if (r->encoder.switches != NULL)
        ttp_follower_close(&r->switches);
    if (e->journal_fd >= 0)
        (void)close(e->journal_fd);
    for (size_t i = 0; i < e->files.count; i++)
        free(((char **)e->files.data)[i]);
    struct ttp_growing *lists[] = {&e->consumed, &e->journal, &e->touched,    &e->values,
                                   &e->files,    &e->numbers, &e->clock.lines};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ttp_grown_free(&e->allocator, lists[i]);
    free(r);
}

ttape_status ttp_recording_open(ttape_recording **out, const char *output,
                                const ttape_recording_options *options, ttp_joiner join,
                                ttape_error *err)
{
    *out = NULL;
    ttape_recording *r = calloc(1, sizeof *r);
    if (r == NULL)
        return ttp_fail_memory(err);
    r->encoder.journal_fd = r->spill.fd = r->drain.arena.fd = r->directory.parent_fd =
        r->directory.fd = -1;
    r->snapshots.join = join;
    ttape_status status = set_up(r, output, options, err);
    if (status != TTAPE_OK) {
        free_all(r);
        return status;
    }
    r->is_opened = true;
    *out = r;
    return TTAPE_OK;
}

const char *ttape_recording_arena(const ttape_recording *r) { return r->drain.arena.path; }

/* Rounds */

static void stop(ttape_recording *r)
{
    ttp_arena_set_mode(&r->drain.arena, TTP_MODE_STOPPED, ttp_clock_now(r->drain.clock));
}

/* In a file that was cut off it is gone, and what was known last is kept. */
static void read_lost(ttape_recording *r)
{
    const struct ttp_arena_head *head = r->drain.arena.head;
    uint64_t lost = __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
    uint64_t sandboxed = __atomic_load_n(&head->lost_sandboxed, __ATOMIC_RELAXED);
    uint64_t waited = __atomic_load_n(&head->waited_ticks, __ATOMIC_RELAXED);
    uint64_t stalls = __atomic_load_n(&head->stalls, __ATOMIC_RELAXED);
    if (r->shared.is_arena_cut)
        return;
    r->shared.arena_lost = lost;
    r->shared.arena_sandboxed = sandboxed < lost ? sandboxed : lost;
    r->shared.waited_ticks = waited;
    r->shared.wait_count = stalls;
}

static bool has_changed(const uint32_t *counter, uint32_t *seen)
{
    uint32_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
    bool changed = now != *seen;
    *seen = now;
    return changed;
}

static void read_times(struct ttp_drain *d, uint64_t now_ms)
{
    const struct ttp_pid_seen *pids = d->pids.data;
    if (!d->times.is_on || now_ms - d->times.read_ms < TIMES_MS)
        return;
    d->times.read_ms = now_ms;
    for (size_t i = 0; i < d->pids.count; i++)
        ttp_thread_times_read(&d->times, &d->allocator, pids[i].pid);
}

/* What was read of them. Without a reading nothing is said. */
static void tell_times(ttape_recording *r)
{
    struct ttp_thread_sums sums = ttp_thread_times_sum(&r->drain.times);
    if (sums.thread_count == 0)
        return;
    (void)ttape_recording_set_number(r, "on_cpu_ns", sums.on_cpu_ns, NULL);
    (void)ttape_recording_set_number(r, "waiting_for_cpu_ns", sums.waiting_ns, NULL);
    (void)ttape_recording_set_number(r, "cpu_threads", sums.thread_count, NULL);
}

ttape_status ttape_recording_poll(ttape_recording *r, uint64_t *drained, ttape_error *err)
{
    struct ttp_drain *d = &r->drain;
    struct ttp_arena_head *head = d->arena.head;
    const ttape_recording_options *o = &r->encoder.options;
    uint64_t before = d->drained_bytes, now = ttp_now_ms();
    uint32_t partial_ms = o->live ? LIVE_PARTIAL_MS : PARTIAL_MS;
    bool flush = has_changed(&head->flush_requests, &d->flushes_seen);
    bool snapshot = has_changed(&head->snapshot_requests, &d->snapshots_seen);
    *drained = 0;
    if (d->round == 0)
        step_forward();
    if (r->shared.failed) {
        stop(r);
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recording has failed: its end says why");
    }
    snapshot |= atomic_exchange(&r->shared.wants_snapshot, false);
    snapshot = ttp_checkpoint_due(r, now, snapshot);
    if (has_changed(&head->stop_requests, &d->stops_seen))
        ttp_shared_stop(&r->shared, TTAPE_STOP_ASKED);
    if (ttp_limits_late(&r->encoder, head, now))
        ttp_shared_stop(&r->shared, TTAPE_STOP_TIME);
    if (r->shared.is_arena_cut)
        ttp_shared_stop(&r->shared, TTAPE_STOP_FAILED);
    if (r->shared.stopped)
        stop(r);
    bool is_due = now - d->partial_ms >= partial_ms;
    if (is_due)
        d->partial_ms = now;
    bool everything = ttp_snapshots_asked(d, flush, snapshot, is_due);
    read_lost(r);
    ttp_unrecorded_take(&d->unrecorded, &d->allocator, head);
    ttape_status status = ttp_drain_round(d, everything, false, err);
    ttp_follower_read(&r->switches);
    read_times(d, now);
    *drained = d->drained_bytes - before;
    __atomic_store_n(&head->event_count, r->encoder.appended + r->encoder.ends, __ATOMIC_RELAXED);
    __atomic_store_n(&head->lost_count,
                     r->shared.block_lost + r->encoder.lost + r->encoder.uncounted,
                     __ATOMIC_RELAXED);
    if (status == TTAPE_OK)
        status = ttp_snapshots_mark(d, err);
    serve_marks(r);
    if (status != TTAPE_OK)
        return status;
    status = ttp_snapshots_tell(r, err);
    d->snapshot_failures += status != TTAPE_OK;
    return status;
}

void ttape_recording_set_mode(ttape_recording *r, bool on)
{
    if (on)
        ttp_arena_set_mode(&r->drain.arena, TTP_MODE_ON, 0);
    else
        ttp_arena_ask_off(r->drain.arena.head, ttp_clock_now(r->drain.clock));
}

/* Who asks for it to be off meanwhile does not change the mode: the count says so, also of those
 * who have just done so when it goes on. */
void ttape_recording_hold(ttape_recording *r, bool holds)
{
    struct ttp_arena_file *arena = &r->drain.arena;
    const struct ttp_arena_head *head = arena->head;
    uint32_t asked = __atomic_load_n(&head->off_requests, __ATOMIC_ACQUIRE);
    bool is_on = __atomic_load_n(&head->mode, __ATOMIC_ACQUIRE) == TTP_MODE_ON;
    if (holds && is_on) {
        r->held_requests = asked;
        ttp_arena_set_mode(arena, TTP_MODE_OFF, ttp_clock_now(r->drain.clock));
    } else if (!holds && r->is_held && !is_on && asked == r->held_requests) {
        ttp_arena_set_mode(arena, TTP_MODE_ON, 0);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (__atomic_load_n(&head->off_requests, __ATOMIC_ACQUIRE) != asked)
            ttp_arena_set_mode(arena, TTP_MODE_OFF, ttp_clock_now(r->drain.clock));
    }
    r->is_held = holds && (is_on || r->is_held);
}

void ttape_recording_request_snapshot(ttape_recording *r) { r->shared.wants_snapshot = true; }

void ttape_recording_get_status(const ttape_recording *r, ttape_recording_status *status)
{
    const struct ttp_encode *e = &r->encoder;
    uint64_t unplaced = ttp_arena_lost(&r->shared);
    *status = (ttape_recording_status){
        .event_count = e->appended,
        .lost_count = unplaced + e->lost + e->uncounted,
        .unplaced_count = unplaced - r->shared.arena_sandboxed,
        .culled_count = e->culled,
        .written_bytes = e->written,
        .spill_bytes = (uint64_t)r->spill.in_use * TTP_SLOT_BYTES,
        .spill_peak_bytes = (uint64_t)r->spill.in_use_peak * TTP_SLOT_BYTES,
        .process_count = e->process_count,
        .thread_count = e->thread_count,
        .live_count = r->drain.live_count,
        .live_pid = r->drain.live_pid,
        .file_count = e->file_count,
        .snapshot_failures = r->drain.snapshot_failures,
        .waited_ns = ttp_clock_scaled(&r->encoder.rate, r->shared.waited_ticks),
        .wait_count = r->shared.wait_count,
        .buffer_bytes = (uint64_t)r->drain.arena.ready * TTP_BLOCK_BYTES,
        .buffer_peak_bytes = (uint64_t)r->drain.arena.peak * TTP_BLOCK_BYTES,
        .snapshot_count = r->drain.arena.head->snapshots_written,
        .snapshot_failed_count = r->drain.arena.head->snapshots_failed,
        .hit_count = r->shared.hits.count,
        .hit_copy_count = r->shared.hits.copied,
        .stopped = r->shared.stopped,
        .failed = r->shared.failed,
        .end_count = e->ends,
        .late_plan_count = r->shared.unseen[TTP_LATE_PLANS]};
}

ttape_status ttape_recording_finish(ttape_recording *r, ttape_error *err)
{
    if (!r->has_thread && !r->is_synchronous)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recording was finished before");
    stop(r);
    read_lost(r);
    tell_times(r);
    ttp_unrecorded_take(&r->drain.unrecorded, &r->drain.allocator, r->drain.arena.head);
    ttp_spill_end(&r->spill);
    if (r->has_thread)
        (void)pthread_join(r->thread, NULL);
    else
        encode_to_end(r, r->drain.slot);
    r->has_thread = r->is_synchronous = false;
    if (r->encoder.status != TTAPE_OK && err != NULL)
        *err = r->encoder.error;
    r->is_finished = r->encoder.status == TTAPE_OK;
    return r->encoder.status;
}

/* Without finish, what is not in the trace stays in the directory, arena and all. */
void ttape_recording_close(ttape_recording *r)
{
    if (r == NULL)
        return;
    if (r->has_thread) {
        stop(r);
        r->shared.is_discarded = true; /* or left as it is: not finished in any case */
        ttp_spill_end(&r->spill);
        (void)pthread_join(r->thread, NULL);
    }
    free_all(r);
}

void ttape_recording_discard(ttape_recording *r)
{
    if (r == NULL)
        return;
    r->shared.is_discarded = r->is_finished = true;
    ttape_recording_close(r);
}

const char *ttape_recording_file(const ttape_recording *r, uint32_t index)
{
    const struct ttp_growing *files = &r->encoder.files;
    return index < files->count ? ((char *const *)files->data)[index] : NULL;
}

void ttape_recording_note_started(ttape_recording *r, uint32_t pid, const char *command)
{
    ttp_unrecorded_started(&r->drain.unrecorded, &r->drain.allocator, pid, command);
}

ttape_status ttape_recording_follow(ttape_recording *r, uint32_t pid, ttape_error *err)
{
    if (r->encoder.options.clock == TTAPE_CLOCK_NONE ||
        r->encoder.options.writer.resolution_ns == TTAPE_TIME_NONE)
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "without times there are no switches");
    if (r->switches.is_open)
        return ttp_fail_plain(err, TTAPE_E_STATE, "a process is followed already");
    int code = ttp_follower_open(&r->switches, pid);
    r->drain.times.is_on = code != 0;
    return code == 0
               ? TTAPE_OK
               : ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                                "the kernel does not tell when threads run (%s)", strerror(code));
}

void ttape_recording_note_ended(ttape_recording *r, uint32_t pid, int wait_status)
{
    ttp_unrecorded_ended(&r->drain.unrecorded, pid, wait_status);
    ttp_pid_ended(&r->drain, pid, wait_status);
}

uint64_t ttape_recording_get_unrecorded(const ttape_recording *r, ttape_unrecorded reason,
                                        const char **example)
{
    bool is_known = (uint32_t)reason < TTAPE_UNRECORDED_COUNT;
    *example = is_known ? r->drain.unrecorded.examples[reason] : NULL;
    return is_known ? r->shared.unrecorded[reason] : 0;
}
