/* Snapshots: the trace as it is now, in a file that opens alone, while recording goes on.
 *
 * The encoding thread only seals, and opens the files: descriptors keep what rotation removes or
 * renames meanwhile. Copying takes a thread of its own, so that a large trace does not hold up
 * encoding. The copy is made in the recording's directory and gets its name when it is complete. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "recorder/state/recording_internal.h"
#include "recorder/state/rule_change.h"
#include "writer/output/sync_file.h"
#include "writer/writer_threads.h"

#define NUMBER_MAX  1000000u
#define MADE        "snapshot" /* what is being made, in the recording's directory */
#define LATE_MS     500u       /* hooks under way are waited for before a flush is answered */
#define REST_FACTOR 9u         /* checkpoints take a tenth of the time at most */
#define CUT_MS      1000u      /* a snapshot is better with what there is than not at all */

static void forget_copies(ttape_recording *r)
{
    const struct ttp_piece *pieces = r->snapshots.pieces.data;
    const struct ttp_copy *copies = r->snapshots.copies.data;
    for (size_t i = 0; i < r->snapshots.pieces.count; i++)
        (void)close(pieces[i].fd);
    for (size_t i = 0; i < r->snapshots.copies.count; i++)
        free(copies[i].base);
    ttp_grown_free(&r->encoder.allocator, &r->snapshots.pieces);
    ttp_grown_free(&r->encoder.allocator, &r->snapshots.copies);
    ttp_grown_free(&r->encoder.allocator, &r->snapshots.numbers);
}

/* Links MADE under its name; where the file system has no links, an empty file keeps the name for
 * it. */
static bool name_it(const ttape_recording *r, const char *name)
{
    if (linkat(r->directory.fd, MADE, r->directory.parent_fd, name, 0) == 0)
        return true;
    if (errno == EEXIST)
        return false;
    int fd = openat(r->directory.parent_fd, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    (void)close(fd);
    if (renameat(r->directory.fd, MADE, r->directory.parent_fd, name) == 0)
        return true;
    int code = errno;
    (void)unlinkat(r->directory.parent_fd, name, 0);
    errno = code;
    return false;
}

/* `control` tells its caller. The folder's path is asked for, as that one may be elsewhere. */
static void tell_name(ttape_recording *r, const char *name)
{
    struct ttp_arena_head *head = r->drain.arena.head;
    char link[32], folder[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", r->directory.parent_fd);
    ssize_t size = readlink(link, folder, sizeof folder);
    size_t used = r->snapshots.name_bytes;
    if (size < 0 || (size_t)size >= sizeof folder)
        return;
    size_t wanted = (size_t)size + 1 + strlen(name) + 1;
    if (wanted > sizeof head->snapshot_names - used)
        return;
    char *at = head->snapshot_names + used;
    memcpy(at, folder, (size_t)size);
    at[size] = '/';
    memcpy(at + size + 1, name, strlen(name) + 1);
    r->snapshots.name_bytes += wanted;
}

/* The next number that no file has: a snapshot never replaces anything. */
static ttape_status give_name(ttape_recording *r, const char *base, ttape_error *err)
{
    for (uint32_t *number = &r->snapshots.number; *number < NUMBER_MAX; ++*number) {
        char *name = NULL;
        if (asprintf(&name, "%s.snapshot-%u", base, *number) < 0)
            return ttp_fail_memory(err);
        bool done = name_it(r, ttp_directory_base(name));
        if (done)
            tell_name(r, ttp_directory_base(name));
        ttape_status status = TTAPE_OK;
        if (!done && errno != EEXIST)
            status = ttp_directory_fail(err, "creating", name);
        free(name);
        if (done || status != TTAPE_OK)
            return status;
    }
    return ttp_fail_plain(err, TTAPE_E_EXISTS, "too many snapshots of '%s'", base);
}

static bool keeps_last(const ttape_recording *r)
{
    return r->encoder.options.keep_bytes != 0 || r->encoder.options.keep_ns != 0;
}

/* Where a copy goes. */
struct target {
    ttape_sink file;
    const char *base;
    int folder_fd;
    uint64_t left_bytes; /* of what it is made from */
};

/* The recording goes on: what is left to write may take half of the disk's room at most. Others
 * write to it, too, so this is asked again each time. */
static ttape_status append_data(void *context, const void *data, size_t size_bytes,
                                ttape_error *err)
{
    struct target *t = context;
    struct statvfs room;
    ttape_error inner = {0};
    if (fstatvfs(t->folder_fd, &room) == 0 &&
        t->left_bytes > (uint64_t)room.f_bavail * room.f_frsize / 2)
        return ttp_fail_plain(err, TTAPE_E_IO,
                              "no snapshot of '%s': %llu bytes are more than half of the disk's "
                              "room",
                              t->base, (unsigned long long)t->left_bytes);
    if (t->file.append(t->file.context, data, size_bytes, &inner) != TTAPE_OK)
        return ttp_fail_plain(err, TTAPE_E_IO, "no snapshot of '%s': %s", t->base, inner.message);
    t->left_bytes -= size_bytes < t->left_bytes ? size_bytes : t->left_bytes;
    return TTAPE_OK;
}

static ttape_status write_file(const ttape_recording *r, const struct ttp_copy *copy, int fd,
                               ttape_error *err)
{
    const struct ttp_snapshots *s = &r->snapshots;
    struct target target = {ttape_sink_fd(fd), copy->base, r->directory.fd, 0};
    ttape_sink sink = {&target, append_data, NULL};
    ttape_writer_options options = r->encoder.options.writer;
    options.size = sizeof options;
    options.jobs = 1;
    options.allocator = &r->encoder.allocator;
    const struct ttp_piece *first = s->pieces.data;
    struct ttp_pieces pieces = {copy->count == 0 ? NULL : first + copy->first,
                                copy->count,
                                s->numbers.data,
                                s->numbers.count,
                                keeps_last(r),
                                s->until_ns};
    for (size_t i = 0; i < pieces.count; i++)
        target.left_bytes += pieces.items[i].size_bytes;
    TTP_TRY(s->join(&pieces, &options, &sink, err));
    if (!ttp_sync_file(fd))
        return ttp_directory_fail(err, "syncing a snapshot of", copy->base);
    return TTAPE_OK;
}

static ttape_status make_snapshot(ttape_recording *r, const struct ttp_copy *copy, ttape_error *err)
{
    int fd = ttp_directory_create(&r->directory, MADE, O_WRONLY);
    if (fd < 0)
        return ttp_directory_fail(err, "creating a snapshot in", r->directory.path);
    ttape_status status = write_file(r, copy, fd, err);
    (void)close(fd);
    if (status == TTAPE_OK)
        status = give_name(r, copy->base, err);
    (void)unlinkat(r->directory.fd, MADE, 0);
    return status;
}

static void answer(ttape_recording *r, ttape_status status)
{
    struct ttp_arena_head *head = r->drain.arena.head;
    bool failed = status != TTAPE_OK;
    if (failed && !r->snapshots.is_failing) {
        r->snapshots.untold = r->snapshots.error;
        r->snapshots.has_failed = true;
    }
    r->snapshots.is_failing = failed;
    uint64_t now = ttp_now_ms();
    if (r->shared.is_checkpointing)
        r->shared.rest_ms = now + (now - r->shared.checkpoint_ms) * REST_FACTOR;
    if (r->shared.is_checkpointing && !failed && r->snapshots.until_ns != 0)
        r->shared.hits.copied++;
    r->shared.is_checkpointing = false;
    (void)__atomic_add_fetch(failed ? &head->snapshots_failed : &head->snapshots_written, 1,
                             __ATOMIC_RELAXED);
    __atomic_store_n(&head->snapshots_done, r->snapshots.request, __ATOMIC_RELEASE);
}

static void *copy_all(void *context)
{
    ttape_recording *r = context;
    struct ttp_arena_head *head = r->drain.arena.head;
    ttape_status worst = TTAPE_OK;
    (void)__atomic_add_fetch(&head->snapshot_turn, 1, __ATOMIC_SEQ_CST);
    r->snapshots.name_bytes = 0;
    const struct ttp_copy *copies = r->snapshots.copies.data;
    for (size_t i = 0; i < r->snapshots.copies.count; i++) {
        ttape_status status = make_snapshot(r, &copies[i], &r->snapshots.error);
        worst = status != TTAPE_OK ? status : worst;
    }
    __atomic_store_n(&head->snapshot_names_bytes, (uint32_t)r->snapshots.name_bytes,
                     __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&head->snapshot_turn, 1, __ATOMIC_SEQ_CST);
    forget_copies(r);
    answer(r, worst);
    return NULL;
}

/* What is in the output now; nothing where it has nothing yet. */
static ttape_status add_output(ttape_recording *r, const struct ttp_output *o, ttape_error *err)
{
    ttape_writer_progress progress = {.written_bytes = o->written_bytes};
    if (o->writer != NULL)
        ttape_writer_get_progress(o->writer, &progress);
    if (o->path == NULL || progress.written_bytes == 0)
        return TTAPE_OK;
    bool has_final_name = o->final_path == NULL && !keeps_last(r);
    int fd = openat(has_final_name ? r->directory.parent_fd : r->directory.fd,
                    ttp_directory_base(o->path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return ttp_directory_fail(err, "opening", o->path);
    struct ttp_piece *piece =
        ttp_push(&r->encoder.allocator, &r->snapshots.pieces, sizeof *piece, err);
    if (piece == NULL) {
        (void)close(fd);
        return TTAPE_E_MEMORY;
    }
    *piece = (struct ttp_piece){fd, progress.written_bytes};
    return TTAPE_OK;
}

/* One copy: of a file; of the current one of a flight recorder, with all that it keeps. */
static ttape_status add_copy(ttape_recording *r, const struct ttp_output *of, const char *base,
                             ttape_error *err)
{
    struct ttp_output *const *outputs = r->encoder.outputs.data;
    struct ttp_copy *copy =
        ttp_push(&r->encoder.allocator, &r->snapshots.copies, sizeof *copy, err);
    if (copy == NULL)
        return TTAPE_E_MEMORY;
    copy->first = r->snapshots.pieces.count;
    copy->base = strdup(base);
    if (copy->base == NULL)
        return ttp_fail_memory(err);
    for (size_t i = 0; i < r->encoder.outputs.count; i++)
        if (outputs[i] == of || keeps_last(r))
            TTP_TRY(add_output(r, outputs[i], err));
    copy->count = r->snapshots.pieces.count - copy->first;
    return TTAPE_OK;
}

/* One for each file, where each process has its own. */
static ttape_status gather_copies(ttape_recording *r, ttape_error *err)
{
    struct ttp_output *const *outputs = r->encoder.outputs.data;
    if (r->encoder.current != NULL)
        return add_copy(r, r->encoder.current, r->directory.output, err);
    for (size_t i = 0; i < r->encoder.outputs.count; i++) {
        const struct ttp_output *o = outputs[i];
        TTP_TRY(add_copy(r, o, o->final_path != NULL ? o->final_path : o->path, err));
    }
    return TTAPE_OK;
}

static ttape_status start_copy(ttape_recording *r, ttape_error *err)
{
    sigset_t all, before;
    ttp_signals_of_thread(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = ttp_thread_create(&r->snapshots.thread, copy_all, r);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->snapshots.has_thread = code == 0;
    if (code != 0)
        return ttp_fail_plain(err, TTAPE_E_IO, "starting a thread failed: %s", strerror(code));
    return TTAPE_OK;
}

void ttp_hit_put(struct ttp_hits *hits, uint64_t time_ns)
{
    uint32_t put = hits->put, at = put % TTP_HITS_KEPT;
    uint64_t number = ++hits->count;
    if (put - hits->taken == TTP_HITS_KEPT)
        return;
    hits->times_ns[at] = time_ns;
    hits->numbers[at] = number;
    hits->put = put + 1;
}

static bool take_hit(struct ttp_hits *hits, struct ttp_asked *asked)
{
    uint32_t taken = hits->taken, at = taken % TTP_HITS_KEPT;
    if (taken == hits->put)
        return false;
    asked->until_ns = hits->times_ns[at] + 1;
    asked->hit = hits->numbers[at];
    hits->taken = taken + 1;
    return true;
}

bool ttp_checkpoint_due(ttape_recording *r, uint64_t now_ms, bool is_asked)
{
    struct ttp_shared *s = &r->shared;
    const ttape_recording_options *o = &r->encoder.options;
    if (is_asked)
        r->drain.asked.until_ns = r->drain.asked.hit = 0;
    if (is_asked || r->drain.asked.snapshot || s->is_checkpointing || now_ms < s->rest_ms)
        return is_asked;
    bool by_time =
        o->checkpoint_ns != 0 && (now_ms - s->checkpoint_ms) * 1000000u >= o->checkpoint_ns &&
        (r->encoder.appended != r->drain.checkpoint_events || ttp_drain_has_more(&r->drain));
    r->drain.asked.until_ns = r->drain.asked.hit = 0;
    if (!by_time && !take_hit(&s->hits, &r->drain.asked))
        return false;
    s->is_checkpointing = true;
    s->checkpoint_ms = now_ms;
    r->drain.checkpoint_events = r->encoder.appended;
    return true;
}

/* However many rounds it takes, what a block has so far is taken in one of them only: slots for a
 * few records each would use up the room. */
bool ttp_snapshots_asked(struct ttp_drain *d, bool flush, bool snapshot, bool everything)
{
    struct ttp_asked *asked = &d->asked;
    if (!asked->flush && !asked->snapshot)
        asked->since_ms = ttp_now_ms();
    asked->flush |= flush;
    asked->snapshot |= snapshot;
    asked->number += flush || snapshot || everything;
    return asked->flush || asked->snapshot || everything;
}

/* A flush is answered when a round left nothing behind. Where the spill file is full, a mark that
 * answers nothing gets room: slots are free only behind a checkpoint, which may be due much later.
 */
ttape_status ttp_snapshots_mark(struct ttp_drain *d, ttape_error *err)
{
    struct ttp_asked *asked = &d->asked;
    uint64_t waited_ms = d->polled_ms - asked->since_ms;
    bool is_complete = !d->is_cut && (!d->is_late || waited_ms >= LATE_MS);
    bool copies = asked->snapshot && (is_complete || waited_ms >= CUT_MS);
    bool answers = copies || (asked->flush && is_complete);
    bool makes_room = d->is_cut && asked->mark_count == d->spill->served_count;
    if (!answers && !makes_room)
        return TTAPE_OK;
    struct ttp_mark mark = {is_complete ? d->flushes_seen : asked->flushes, d->snapshots_seen,
                            copies, asked->until_ns, asked->hit};
    TTP_TRY(ttp_spill_mark(d->spill, &mark, err));
    asked->mark_count++;
    asked->flushes = mark.flush_requests;
    asked->flush &= !is_complete;
    asked->snapshot &= !copies;
    return TTAPE_OK;
}

/* The copy says when the entry was that it was made at, and which one of all. */
static ttape_status say_hit(ttape_recording *r, const struct ttp_mark *mark, ttape_error *err)
{
    const struct ttp_number said[] = {{"checkpoint_ns", "", mark->until_ns - 1},
                                      {"checkpoint_hit", "", mark->hit}};
    return ttp_push_items(&r->encoder.allocator, &r->snapshots.numbers, said,
                          sizeof said / sizeof *said, sizeof *said, err);
}

ttape_status ttp_mark_serve(ttape_recording *r, const struct ttp_mark *mark, ttape_error *err)
{
    TTP_TRY(ttp_outputs_flush(&r->encoder, err));
    TTP_TRY(ttp_rules_change(&r->encoder, err));
    r->spill.served_count++;
    __atomic_store_n(&r->drain.arena.head->flushes_done, mark->flush_requests, __ATOMIC_RELEASE);
    if (!mark->is_snapshot)
        return TTAPE_OK;
    ttp_snapshots_end(r);
    r->snapshots.request = mark->snapshot_requests;
    r->snapshots.until_ns = mark->until_ns;
    r->snapshots.number++;
    ttape_status status =
        ttp_output_numbers(&r->encoder, &r->snapshots.numbers, &r->snapshots.error);
    if (status == TTAPE_OK && mark->hit != 0)
        status = say_hit(r, mark, &r->snapshots.error);
    if (status == TTAPE_OK)
        status = gather_copies(r, &r->snapshots.error);
    if (status == TTAPE_OK)
        status = start_copy(r, &r->snapshots.error);
    if (status != TTAPE_OK) {
        forget_copies(r);
        answer(r, status);
    }
    return TTAPE_OK;
}

void ttp_snapshots_end(ttape_recording *r)
{
    if (r->snapshots.has_thread)
        (void)pthread_join(r->snapshots.thread, NULL);
    r->snapshots.has_thread = false;
}

ttape_status ttp_snapshots_tell(ttape_recording *r, ttape_error *err)
{
    if (!r->snapshots.has_failed)
        return TTAPE_OK;
    ttape_status status = r->snapshots.untold.status;
    if (err != NULL)
        *err = r->snapshots.untold;
    r->snapshots.has_failed = false;
    return status;
}
