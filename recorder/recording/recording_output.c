/* The trace files of a recording: beginning, appending, checkpoints, rotation, the end.
 *
 * A file is written in the recording's directory and gets its name when it is complete (with
 * `live`: it has it from the start). A checkpoint is a sealed partition at a place where everything
 * decoded so far is in it. */
#define _GNU_SOURCE /* asprintf */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "recorder/arena/record.h"
#include "recorder/state/journal.h"
#include "writer/events/stream_edge.h"
#include "writer/output/sync_file.h"

#define LIVE_SEAL_MS    500u
#define PRESSED_SEAL_MS 200u   /* programs wait for the slots of a partition for a second at most */
#define PRESSED_EVENTS  65536u /* smaller partitions are too long */
#define KERNEL_ERROR_NS 1000u  /* the kernel's own reading of the clock, and ours */

/* In a new file a stream goes on with the frames that it had. */
static ttape_status resume(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    thread->must_resume = false;
    thread->edge.frames = thread->frames.data;
    return ttape_writer_resume(ttp_output_of(e, thread)->writer, thread->stream, &thread->edge,
                               err);
}

/* Switches of which nothing is known any more. */
static ttape_status put_unknown(ttape_writer *writer, uint32_t stream, size_t count,
                                ttape_error *err)
{
    ttape_off_span span = {.kind = TTAPE_OFF_UNKNOWN};
    for (; span.event < count; span.event++)
        TTP_TRY(ttape_writer_add_off(writer, stream, &span, 1, err));
    return TTAPE_OK;
}

/* When the thread did not run, in the intervals that end with these events. */
static ttape_status put_switches(struct ttp_encode *e, struct ttp_thread *thread,
                                 ttape_writer *writer, const struct ttp_events *events,
                                 size_t count, ttape_error *err)
{
    const ttape_off_span *spans;
    size_t span_count;
    if (e->switches == NULL || !e->switches->is_open || count == 0)
        return TTAPE_OK; /* recovering: what the clock's error was is not known either */
    struct ttp_switch_place place = {.tid = thread->tid,
                                     .before_ns = thread->placed_ns,
                                     .has_before = thread->has_placed,
                                     .is_recorders = thread->is_told_of,
                                     .error_ns = ttp_clock_error_ns(e) + KERNEL_ERROR_NS};
    bool is_known = ttp_follower_place(e->switches, &place, events, count, &spans, &span_count);
    thread->placed_ns = ttp_event_time(events, count - 1);
    thread->has_placed = true;
    if (!is_known)
        return thread->is_followed ? put_unknown(writer, thread->stream, count, err) : TTAPE_OK;
    thread->is_followed = true;
    return ttape_writer_add_off(writer, thread->stream, spans, span_count, err);
}

ttape_status ttp_output_append(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_events events, size_t count, ttape_error *err)
{
    TTP_TRY(ttp_stream_ready(e, thread, err));
    if (thread->must_resume)
        TTP_TRY(resume(e, thread, err));
    struct ttp_output *o = ttp_output_of(e, thread);
    o->event_count += count;
    e->appended += count;
    TTP_TRY(put_switches(e, thread, o->writer, &events, count, err));
    return events.calls != NULL
               ? ttape_writer_append_calls(o->writer, thread->stream, events.calls, count, err)
               : ttape_writer_append(o->writer, thread->stream, events.events, count, err);
}

/* So many bytes are in its file, so far or in all. */
static uint64_t get_size(const struct ttp_output *o)
{
    ttape_writer_progress progress = {.written_bytes = o->written_bytes};
    if (o->writer != NULL)
        ttape_writer_get_progress(o->writer, &progress);
    return progress.written_bytes;
}

static void count_written(struct ttp_encode *e)
{
    uint64_t bytes = e->finished_bytes;
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++)
        if (outputs[i]->writer != NULL)
            bytes += get_size(outputs[i]);
    e->written = bytes;
}

/* Checkpoints whose partitions are all in the file: the journal says so, their slots are free. */
static ttape_status reap(struct ttp_encode *e, ttape_error *err)
{
    ttape_writer_progress progress = {0};
    if (e->current != NULL)
        ttape_writer_get_progress(e->current->writer, &progress);
    count_written(e);
    struct ttp_checkpoint *waiting = e->waiting.data;
    size_t done = 0;
    while (done < e->waiting.count &&
           (e->current == NULL || waiting[done].partitions <= progress.partition_count)) {
        struct ttp_checkpoint *c = &waiting[done];
        TTP_TRY(ttp_journal_write(e, &c->journal, err));
        ttp_spill_release(e->spill, c->slots.data, c->slots.count);
        ttp_grown_free(&e->allocator, &c->journal);
        ttp_grown_free(&e->allocator, &c->slots);
        done++;
    }
    if (done != 0) {
        memmove(waiting, waiting + done, (e->waiting.count - done) * sizeof *waiting);
        e->waiting.count -= done;
    }
    return TTAPE_OK;
}

static uint64_t rotation_bytes(const struct ttp_encode *e)
{
    if (e->options.rotate_bytes != 0)
        return e->options.rotate_bytes;
    return e->options.keep_bytes / 8;
}

/* How many events a partition has at most where sizes are kept to (an event is about a byte); 0:
 * any. */
static uint64_t events_wanted(const struct ttp_encode *e)
{
    uint64_t bytes = rotation_bytes(e), of_limit = e->options.max_bytes / 8;
    return bytes != 0 && (of_limit == 0 || bytes < of_limit) ? bytes : of_limit;
}

/* Partitions are small then, and written at once: how large the file is is known before the next.
 */
static bool is_small(const struct ttp_encode *e)
{
    uint64_t wanted = events_wanted(e);
    return wanted != 0 && wanted < e->options.writer.partition_events;
}

static ttape_status flush_output(const struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    TTP_TRY(ttape_writer_flush(o->writer, false, err));
    if (e->options.separate_files)
        return ttp_output_rest(e, o, err);
    return TTAPE_OK;
}

static ttape_status seal_all(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++) {
        if (outputs[i]->writer == NULL || outputs[i]->sealed_at == outputs[i]->event_count)
            continue;
        outputs[i]->sealed_at = outputs[i]->event_count;
        if (e->current != NULL && !e->options.live && !is_small(e))
            TTP_TRY(ttape_writer_seal(outputs[i]->writer, err));
        else
            TTP_TRY(flush_output(e, outputs[i], err));
    }
    return TTAPE_OK;
}

static ttape_status list_files(struct ttp_encode *e, struct ttp_growing *files,
                               uint64_t *partitions, ttape_error *err)
{
    struct ttp_output **outputs = e->outputs.data;
    *partitions = 0;
    for (size_t i = 0; i < e->outputs.count; i++) {
        ttape_writer_progress progress;
        if (outputs[i]->writer == NULL)
            continue;
        ttape_writer_get_progress(outputs[i]->writer, &progress);
        *partitions = progress.sealed_count;
        TTP_TRY(ttp_journal_file(e, files, outputs[i]->number, progress.sealed_count, err));
    }
    return TTAPE_OK;
}

static ttape_status journal_all(struct ttp_encode *e, uint64_t *partitions, ttape_error *err)
{
    struct ttp_growing files = {0};
    ttape_status status = list_files(e, &files, partitions, err);
    if (status == TTAPE_OK)
        status = ttp_journal_checkpoint(e, &files, err);
    ttp_grown_free(&e->allocator, &files);
    return status;
}

static ttape_status checkpoint(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_thread **touched = e->touched.data;
    for (size_t i = 0; i < e->touched.count; i++)
        TTP_TRY(ttp_filter_settle(e, touched[i], err));
    ttp_pace_set_levels(e);
    TTP_TRY(seal_all(e, err));
    for (size_t i = 0; i < e->touched.count; i++) {
        touched[i]->is_touched = false;
        TTP_TRY(ttp_journal_thread(e, touched[i], err));
        TTP_TRY(ttp_journal_reached(e, touched[i], err));
    }
    e->touched.count = 0;
    struct ttp_checkpoint *c = ttp_push(&e->allocator, &e->waiting, sizeof *c, err);
    if (c == NULL)
        return TTAPE_E_MEMORY;
    TTP_TRY(journal_all(e, &c->partitions, err));
    c->journal = e->journal;
    c->slots = e->consumed;
    e->journal = e->consumed = (struct ttp_growing){0};
    e->sealed_ms = ttp_now_ms();
    return reap(e, err);
}

/* Naming and removing */

static ttape_status publish(const struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    if (o->final_path == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_directory_publish(e->directory, ttp_directory_base(o->path), o->final_path, err));
    ttp_directory_sync(e->directory);
    free(o->path);
    o->path = o->final_path;
    o->final_path = NULL;
    return TTAPE_OK;
}

static ttape_status remember_file(struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    char **place = ttp_push(&e->allocator, &e->files, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = o->path;
    o->path = NULL;
    return TTAPE_OK;
}

ttape_status ttp_number_add(struct ttp_encode *e, struct ttp_growing *list, const char *key,
                            uint64_t value, ttape_error *err)
{
    struct ttp_number *number = ttp_push(&e->allocator, list, sizeof *number, err);
    if (number == NULL)
        return TTAPE_E_MEMORY;
    *number = (struct ttp_number){.value = value};
    (void)snprintf(number->key, sizeof number->key, "%s", key);
    return TTAPE_OK;
}

ttape_status ttape_recording_set_number(ttape_recording *r, const char *key, uint64_t value,
                                        ttape_error *err)
{
    return ttp_number_add(&r->encoder, &r->encoder.numbers, key, value, err);
}

/* A text that was cut off ends with a whole word, or at least a whole character. */
static void cut_words(char *text)
{
    size_t size = strlen(text), end = size;
    while (end > 0 && text[end] != ' ')
        end--;
    while (end == 0 && size > 0 && !ttp_begins_character(text[size - 1]))
        size--;
    bool is_begun = end == 0 && size > 0 && (unsigned char)text[size - 1] >= 0xC0u;
    text[end != 0 ? end : size - is_begun] = '\0';
}

ttape_status ttape_recording_set_text(ttape_recording *r, const char *key, const char *text,
                                      ttape_error *err)
{
    struct ttp_encode *e = &r->encoder;
    if (*text == '\0')
        return TTAPE_OK;
    TTP_TRY(ttp_number_add(e, &e->numbers, key, 0, err));
    struct ttp_number *added = (struct ttp_number *)e->numbers.data + e->numbers.count - 1;
    (void)snprintf(added->text, sizeof added->text, "%s", text);
    if (strlen(text) >= sizeof added->text)
        cut_words(added->text);
    return TTAPE_OK;
}

static ttape_status add_stop(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err)
{
    static const char *const words[TTAPE_STOP_COUNT] = {
        [TTAPE_STOP_UNKNOWN] = "recorder", [TTAPE_STOP_OFF] = "switch",
        [TTAPE_STOP_TIME] = "time",        [TTAPE_STOP_SIZE] = "size",
        [TTAPE_STOP_ASKED] = "request",    [TTAPE_STOP_ENDED] = "recorder",
        [TTAPE_STOP_FAILED] = "failure"};
    TTP_TRY(ttp_number_add(e, list, "stopped_by", 0, err));
    struct ttp_number *added = (struct ttp_number *)list->data + list->count - 1;
    (void)snprintf(added->text, sizeof added->text, "%s", words[e->stop_reason]);
    return TTAPE_OK;
}

ttape_status ttp_output_numbers(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err)
{
    const _Atomic uint64_t *unseen = e->shared->unseen;
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {{"dropped_events", ttp_arena_lost(e->shared) - e->shared->arena_sandboxed},
               {"sandboxed_events", e->sandboxed},
               {"silenced_events", e->shared->arena_sandboxed},
               {"culled_calls", e->culled},
               {"overwritten_events", e->overwritten},
               {"off_ns", e->off_ns},
               {"recorder_wait_ns", ttp_clock_scaled(&e->rate, e->shared->waited_ticks)},
               {"fast_partitions", e->pace.fast_partitions},
               {"syscalls_unseen_no_plan", unseen[TTP_UNSEEN_MODULES]},
               {"syscalls_unseen_no_room", unseen[TTP_UNSEEN_SITES]},
               {"patched_functions", unseen[TTP_PATCHED_FUNCTIONS]},
               {"patched_exits", unseen[TTP_PATCHED_EXITS]},
               {"unpatched_functions", unseen[TTP_UNPATCHED_FUNCTIONS]},
               {"unpatched_exits", unseen[TTP_UNPATCHED_EXITS]},
               {"unpatched_hooked", unseen[TTP_UNPATCHED_HOOKED]},
               {"unpatched_modules", unseen[TTP_UNPATCHED_MODULES]},
               {"patched_inlined", unseen[TTP_PATCHED_INLINED]},
               {"unpatched_inlined", unseen[TTP_UNPATCHED_INLINED]},
               {"patched_marks", unseen[TTP_PATCHED_MARKS]},
               {"unpatched_marks", unseen[TTP_UNPATCHED_MARKS]},
               {"late_plans", unseen[TTP_LATE_PLANS]},
               {"lost_switches", e->switches != NULL ? e->switches->lost_count : 0}};
    list->count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value != 0)
            TTP_TRY(ttp_number_add(e, list, all[i].key, all[i].value, err));
    if (e->has_gone_on)
        TTP_TRY(add_stop(e, list, err));
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        if (e->shared->unrecorded[i] != 0)
            TTP_TRY(ttp_number_add(e, list, ttp_unrecorded_key(i), e->shared->unrecorded[i], err));
    return ttp_clock_numbers(e, list, err);
}

static ttape_status write_number(ttape_writer *w, const struct ttp_number *number, ttape_error *err)
{
    const ttape_string text = {number->text, strlen(number->text)};
    return text.size_bytes > 0 ? ttape_writer_set_text(w, number->key, text, err)
                               : ttape_writer_set_number(w, number->key, number->value, err);
}

static ttape_status set_numbers(ttape_writer *w, const struct ttp_growing *list, ttape_error *err)
{
    const struct ttp_number *numbers = list->data;
    for (size_t i = 0; i < list->count; i++)
        TTP_TRY(write_number(w, &numbers[i], err));
    return TTAPE_OK;
}

static ttape_status set_counts(struct ttp_encode *e, ttape_writer *w, ttape_error *err)
{
    struct ttp_growing list = {0};
    ttape_status status = ttp_output_numbers(e, &list, err);
    if (status == TTAPE_OK)
        status = set_numbers(w, &list, err);
    ttp_grown_free(&e->allocator, &list);
    return status != TTAPE_OK ? status : set_numbers(w, &e->numbers, err);
}

static ttape_status finish_output(struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    if (o->writer == NULL)
        return TTAPE_OK;
    ttp_pace_count(e);
    TTP_TRY(set_counts(e, o->writer, err));
    TTP_TRY(ttape_writer_finish(o->writer, err));
    if (!ttp_sync_file(o->fd))
        return ttp_directory_fail(err, "syncing", o->path);
    ttape_writer_progress progress;
    ttape_writer_get_progress(o->writer, &progress);
    e->finished_bytes += progress.written_bytes;
    ttape_writer_close(o->writer);
    o->writer = NULL;
    count_written(e);
    (void)close(o->fd);
    o->fd = -1;
    o->written_bytes = progress.written_bytes;
    return publish(e, o, err);
}

/* Rotation */

static ttape_status save_edge(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    if (thread->stream == TTAPE_NONE || thread->must_resume)
        return TTAPE_OK; /* nothing of it is in this file */
    thread->must_resume = true;
    TTP_TRY(ttp_stream_get_edge(e->current->writer, thread->stream, &thread->edge, &thread->frames,
                                err));
    return ttp_journal_edge(e, thread, err);
}

/* Where streams stand is in the journal before their file is finished: the next one says it only
 * when it has something of them. */
static ttape_status save_edges(struct ttp_encode *e, ttape_error *err)
{
    uint64_t partitions;
    for (size_t i = 0; i < e->threads.count; i++)
        TTP_TRY(save_edge(e, ttp_thread_at(e, i), err));
    TTP_TRY(journal_all(e, &partitions, err));
    TTP_TRY(ttp_journal_write(e, &e->journal, err));
    e->journal.count = 0;
    return TTAPE_OK;
}

/* Files go, the oldest first, until no more is left than is to be kept. Joined, they are no larger
 * than alone; the newest that has events stays. */
static void drop_oldest(struct ttp_encode *e)
{
    bool enough = false;
    uint64_t bytes = 0, now = ttp_now_ms();
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = e->outputs.count; i-- > 0;) {
        struct ttp_output *o = outputs[i];
        enough |=
            (e->options.keep_bytes != 0 && bytes != 0 &&
             bytes + get_size(o) > e->options.keep_bytes) ||
            (e->options.keep_ns != 0 && (now - o->last_event_ms) * 1000000u > e->options.keep_ns);
        bytes += o->event_count != 0 ? get_size(o) : 0;
        if (!enough || o->writer != NULL || o->path == NULL)
            continue;
        (void)unlink(o->path);
        free(o->path);
        o->path = NULL;
        e->overwritten += o->event_count;
    }
}

static ttape_status rotate(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_output *old = e->current;
    TTP_TRY(ttape_writer_flush(old->writer, false, err));
    TTP_TRY(reap(e, err));
    TTP_TRY(save_edges(e, err));
    old->last_event_ms = ttp_now_ms();
    TTP_TRY(finish_output(e, old, err));
    TTP_TRY(ttp_output_begin(e, 0, &e->current, err));
    TTP_TRY(ttp_images_define_again(e, err));
    drop_oldest(e);
    uint64_t none;
    return journal_all(e, &none, err);
}

static bool is_file_full(const struct ttp_encode *e)
{
    uint64_t limit = rotation_bytes(e);
    return limit != 0 && e->current != NULL && e->current->event_count != 0 &&
           get_size(e->current) >= limit;
}

static bool rotation_due(const struct ttp_encode *e)
{
    if (e->current == NULL || e->current->event_count == 0)
        return false;
    return is_file_full(e) ||
           (e->options.keep_ns != 0 &&
            (ttp_now_ms() - e->current->opened_ms) * 8000000u >= e->options.keep_ns);
}

/* Where the spill file is nearly full, its room is wanted back in smaller pieces: programs may come
 * to wait for it. */
static bool pressed(const struct ttp_encode *e, uint64_t ready)
{
    return e->spill->in_use > e->spill->slot_limit / 4 * 3 && ready >= PRESSED_EVENTS &&
           ttp_now_ms() - e->sealed_ms >= PRESSED_SEAL_MS;
}

ttape_status ttp_output_due(struct ttp_encode *e, bool now, ttape_error *err)
{
    uint64_t ready = 0, limit = e->options.writer.partition_events;
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++)
        ready += outputs[i]->event_count - outputs[i]->sealed_at;
    bool live = e->options.live && ttp_now_ms() - e->sealed_ms >= LIVE_SEAL_MS;
    if (is_small(e))
        limit = events_wanted(e);
    bool by_time = e->options.keep_ns != 0 && rotation_due(e);
    bool is_due = ready != 0 ? ready >= limit || now || live || by_time || pressed(e, ready)
                             : is_file_full(e); /* flushes alone have sealed all of it */
    if (is_due) {
        TTP_TRY(checkpoint(e, err));
        ttp_limits_check(e);
        if (rotation_due(e))
            TTP_TRY(rotate(e, err));
    } else if (e->waiting.count != 0) {
        TTP_TRY(reap(e, err));
    }
    return TTAPE_OK;
}

/* The rest may be half a gigabyte, and a size that is promised holds for it, too. Where none is,
 * nothing but the trace is written: the disk may be full. */
ttape_status ttp_output_take_rest(struct ttp_encode *e, const struct ttp_slot *s, ttape_error *err)
{
    TTP_TRY(ttp_output_take(e, s, err));
    return events_wanted(e) != 0 ? ttp_output_due(e, false, err) : TTAPE_OK;
}

ttape_status ttp_outputs_flush(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_output **outputs = e->outputs.data;
    TTP_TRY(checkpoint(e, err));
    for (size_t i = 0; i < e->outputs.count; i++)
        if (outputs[i]->writer != NULL)
            TTP_TRY(flush_output(e, outputs[i], err));
    ttp_limits_check(e);
    return reap(e, err);
}

/* Nothing is left: what has its name already goes, too. */
static void drop_all(struct ttp_encode *e)
{
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++) {
        struct ttp_output *o = outputs[i];
        bool is_named = o->final_path == NULL && e->options.keep_bytes + e->options.keep_ns == 0;
        ttape_writer_close(o->writer);
        o->writer = NULL;
        if (o->path != NULL)
            (void)unlinkat(is_named ? e->directory->parent_fd : e->directory->fd,
                           ttp_directory_base(o->path), 0);
        free(o->path);
        o->path = NULL;
    }
}

ttape_status ttp_outputs_finish(struct ttp_encode *e, ttape_error *err)
{
    if (e->outputs.count == 0 && e->current == NULL && e->options.separate_files &&
        !e->options.drop_empty)
        TTP_TRY(ttp_output_begin(e, 0, &e->current, err));
    TTP_TRY(ttp_outputs_flush(e, err));
    if (e->options.keep_bytes != 0)
        drop_oldest(e);
    bool is_empty = e->options.drop_empty && e->appended == 0;
    if (is_empty || !ttp_triggers_keep(e)) {
        drop_all(e);
        return TTAPE_OK;
    }
    /* From here on nothing may fail for want of memory: a file that has its name is done. */
    TTP_TRY(
        ttp_grow(&e->allocator, &e->files, sizeof(char *), e->files.count + e->outputs.count, err));
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++) {
        TTP_TRY(finish_output(e, outputs[i], err));
        if (outputs[i]->path != NULL)
            TTP_TRY(remember_file(e, outputs[i], err));
    }
    return TTAPE_OK;
}

void ttp_outputs_close(struct ttp_encode *e, bool leaves_nothing)
{
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++) {
        ttape_writer_close(outputs[i]->writer);
        if (outputs[i]->fd >= 0)
            (void)close(outputs[i]->fd);
        if (leaves_nothing && e->options.live && outputs[i]->path != NULL &&
            outputs[i]->final_path == NULL && outputs[i]->fd >= 0) /* it has its name already */
            (void)unlinkat(e->directory->parent_fd, ttp_directory_base(outputs[i]->path), 0);
        free(outputs[i]->path);
        free(outputs[i]->final_path);
        free(outputs[i]);
    }
    struct ttp_checkpoint *waiting = e->waiting.data;
    for (size_t i = 0; i < e->waiting.count; i++) {
        ttp_grown_free(&e->allocator, &waiting[i].journal);
        ttp_grown_free(&e->allocator, &waiting[i].slots);
    }
    ttp_grown_free(&e->allocator, &e->outputs);
    ttp_grown_free(&e->allocator, &e->waiting);
}
