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
#include <sys/utsname.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "writer/events/stream_edge.h"
#include "writer/output/sync_file.h"
#include "writer/recording/journal.h"

#define LIVE_SEAL_MS 500u
#define SLACK_EVENTS 8192u /* that a slot and what the filter held back may add to a partition */

static ttape_status no_memory(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
}

/* OUTPUT with something before its last suffix: run.ttape -> run.0001.ttape */
static char *numbered(const char *output, const char *middle)
{
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash != NULL ? slash : output, '.');
    char *name = NULL;
    size_t stem = dot != NULL ? (size_t)(dot - output) : strlen(output);
    if (asprintf(&name, "%.*s.%s%s", (int)stem, output, middle, dot != NULL ? dot : "") < 0)
        return NULL;
    return name;
}

char *ttp_output_piece(const char *output, uint32_t number)
{
    char middle[32];
    (void)snprintf(middle, sizeof middle, "%04u", number + 1);
    return numbered(output, middle);
}

static bool keeps_last(const ttape_recording *r)
{
    return r->options.keep_bytes != 0 || r->options.keep_ns != 0;
}

static char *final_name(const ttape_recording *r, uint32_t pid, uint32_t number)
{
    char middle[32];
    if (keeps_last(r))
        return NULL;
    if (pid == 0 && r->options.rotate_bytes == 0)
        return strdup(r->output);
    if (pid == 0)
        return ttp_output_piece(r->output, number);
    (void)snprintf(middle, sizeof middle, "%u-%u", pid, number);
    return numbered(r->output, middle);
}

static ttape_status name_output(const ttape_recording *r, struct ttp_output *o, uint32_t pid,
                                ttape_error *err)
{
    o->final_path = final_name(r, pid, o->number);
    if (o->final_path == NULL && !keeps_last(r))
        return no_memory(err);
    if (r->options.live && o->final_path != NULL) {
        o->path = o->final_path;
        o->final_path = NULL;
        return TTAPE_OK;
    }
    if (asprintf(&o->path, "%s/trace.%u", r->directory, o->number) < 0) {
        o->path = NULL;
        return no_memory(err);
    }
    return TTAPE_OK;
}

static const char *clock_name(ttape_clock clock)
{
    static const char *const names[] = {"", "tsc", "monotonic", "monotonic-coarse", "none"};
    return names[clock <= TTAPE_CLOCK_NONE ? clock : 0];
}

static ttape_status set_text(ttape_writer *w, const char *key, const char *value, ttape_error *err)
{
    if (value == NULL || *value == '\0')
        return TTAPE_OK;
    return ttape_writer_set_text(w, key, (ttape_string){value, strlen(value)}, err);
}

static ttape_status set_metadata(const ttape_recording *r, ttape_writer *w, ttape_error *err)
{
    struct utsname system;
    char recorder[64];
    (void)snprintf(recorder, sizeof recorder, "tracetape %s", ttape_version_string());
    TTP_TRY(set_text(w, "recorder", recorder, err));
    TTP_TRY(set_text(w, "producer", recorder, err));
    TTP_TRY(set_text(w, "command", r->options.command, err));
    TTP_TRY(set_text(w, "clock", clock_name(r->options.clock), err));
    if (uname(&system) != 0)
        return TTAPE_OK;
    TTP_TRY(set_text(w, "host", system.nodename, err));
    return set_text(w, "kernel", system.release, err);
}

/* Tells those who follow the file that somebody is writing it. */
static void hold(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_OFD_SETLK, &lock); /* not every file system can: no failure */
}

static ttape_status open_writer(ttape_recording *r, struct ttp_output *o, ttape_error *err)
{
    ttape_writer_options options = r->options.writer;
    options.size = sizeof options;
    options.partition_events += SLACK_EVENTS;
    if (r->options.rotate_bytes != 0 || keeps_last(r))
        options.model_period = UINT32_MAX; /* pieces are joined: each must do with its own */
    options.allocator = &r->allocator;
    if (r->options.clock == TTAPE_CLOCK_NONE)
        options.resolution_ns = TTAPE_TIME_NONE;
    o->fd = r->options.live && o->final_path == NULL
                ? ttp_directory_create_final(r, o->path)
                : ttp_directory_create(r, ttp_directory_base(o->path), O_WRONLY);
    if (o->fd < 0)
        return ttp_directory_fail(err, "creating", o->path);
    if (r->options.live)
        hold(o->fd);
    ttape_sink sink = ttape_sink_fd(o->fd);
    TTP_TRY(ttape_writer_open(&o->writer, &sink, &options, err));
    return set_metadata(r, o->writer, err);
}

ttape_status ttp_output_begin(ttape_recording *r, uint32_t pid, struct ttp_output **out,
                              ttape_error *err)
{
    struct ttp_output **place = ttp_push(&r->allocator, &r->outputs, sizeof *place, err);
    struct ttp_output *o = place == NULL ? NULL : calloc(1, sizeof *o);
    if (o == NULL) {
        r->outputs.count -= place != NULL;
        return no_memory(err);
    }
    *place = *out = o;
    o->fd = -1;
    o->number = r->next_file++;
    o->opened_ms = o->last_event_ms = ttp_now_ms();
    r->file_count++;
    TTP_TRY(name_output(r, o, pid, err));
    return open_writer(r, o, err);
}

/* In a new file a stream goes on with the frames that it had. */
static ttape_status resume(ttape_recording *r, struct ttp_thread *thread, ttape_error *err)
{
    thread->must_resume = false;
    thread->edge.frames = thread->frames.data;
    return ttape_writer_resume(ttp_output_of(r, thread)->writer, thread->stream, &thread->edge,
                               err);
}

ttape_status ttp_output_append(ttape_recording *r, struct ttp_thread *thread,
                               const ttape_event *events, size_t count, ttape_error *err)
{
    TTP_TRY(ttp_stream_ready(r, thread, err));
    if (thread->must_resume)
        TTP_TRY(resume(r, thread, err));
    struct ttp_output *o = ttp_output_of(r, thread);
    o->event_count += count;
    r->appended += count;
    return ttape_writer_append(o->writer, thread->stream, events, count, err);
}

static void count_written(ttape_recording *r)
{
    uint64_t bytes = r->finished_bytes;
    struct ttp_output **outputs = r->outputs.data;
    for (size_t i = 0; i < r->outputs.count; i++) {
        ttape_writer_progress progress = {0};
        if (outputs[i]->writer != NULL)
            ttape_writer_get_progress(outputs[i]->writer, &progress);
        bytes += progress.written_bytes;
    }
    r->written = bytes;
}

/* Checkpoints whose partitions are all in the file: the journal says so, their slots are free. */
static ttape_status reap(ttape_recording *r, ttape_error *err)
{
    ttape_writer_progress progress = {0};
    if (r->current != NULL)
        ttape_writer_get_progress(r->current->writer, &progress);
    count_written(r);
    struct ttp_checkpoint *waiting = r->waiting.data;
    size_t done = 0;
    while (done < r->waiting.count &&
           (r->current == NULL || waiting[done].partitions <= progress.partition_count)) {
        struct ttp_checkpoint *c = &waiting[done];
        TTP_TRY(ttp_journal_write(r, &c->journal, err));
        ttp_spill_release(r, c->slots.data, c->slots.count);
        ttp_grown_free(&r->allocator, &c->journal);
        ttp_grown_free(&r->allocator, &c->slots);
        done++;
    }
    if (done != 0) {
        memmove(waiting, waiting + done, (r->waiting.count - done) * sizeof *waiting);
        r->waiting.count -= done;
    }
    return TTAPE_OK;
}

static uint64_t rotation_bytes(const ttape_recording *r)
{
    if (r->options.rotate_bytes != 0)
        return r->options.rotate_bytes;
    return r->options.keep_bytes / 8;
}

/* How many events a partition has at most where sizes are kept to (an event is about a byte); 0:
 * any. */
static uint64_t events_wanted(const ttape_recording *r)
{
    uint64_t bytes = rotation_bytes(r), of_limit = r->options.max_bytes / 8;
    return bytes != 0 && (of_limit == 0 || bytes < of_limit) ? bytes : of_limit;
}

/* Partitions are small then, and written at once: how large the file is is known before the next.
 */
static bool is_small(const ttape_recording *r)
{
    uint64_t wanted = events_wanted(r);
    return wanted != 0 && wanted < r->options.writer.partition_events;
}

static ttape_status seal_all(ttape_recording *r, ttape_error *err)
{
    struct ttp_output **outputs = r->outputs.data;
    for (size_t i = 0; i < r->outputs.count; i++) {
        if (outputs[i]->writer == NULL || outputs[i]->sealed_at == outputs[i]->event_count)
            continue;
        outputs[i]->sealed_at = outputs[i]->event_count;
        if (r->current != NULL && !r->options.live && !is_small(r))
            TTP_TRY(ttape_writer_seal(outputs[i]->writer, err));
        else
            TTP_TRY(ttape_writer_flush(outputs[i]->writer, false, err));
    }
    return TTAPE_OK;
}

static ttape_status list_files(ttape_recording *r, struct ttp_growing *files, uint64_t *partitions,
                               ttape_error *err)
{
    struct ttp_output **outputs = r->outputs.data;
    *partitions = 0;
    for (size_t i = 0; i < r->outputs.count; i++) {
        ttape_writer_progress progress;
        if (outputs[i]->writer == NULL)
            continue;
        ttape_writer_get_progress(outputs[i]->writer, &progress);
        *partitions = progress.sealed_count;
        TTP_TRY(ttp_journal_file(r, files, outputs[i]->number, progress.sealed_count, err));
    }
    return TTAPE_OK;
}

static ttape_status journal_all(ttape_recording *r, uint64_t *partitions, ttape_error *err)
{
    struct ttp_growing files = {0};
    ttape_status status = list_files(r, &files, partitions, err);
    if (status == TTAPE_OK)
        status = ttp_journal_checkpoint(r, &files, err);
    ttp_grown_free(&r->allocator, &files);
    return status;
}

static ttape_status checkpoint(ttape_recording *r, ttape_error *err)
{
    struct ttp_thread **touched = r->touched.data;
    for (size_t i = 0; i < r->touched.count; i++)
        TTP_TRY(ttp_filter_settle(r, touched[i], err));
    TTP_TRY(seal_all(r, err));
    for (size_t i = 0; i < r->touched.count; i++) {
        touched[i]->is_touched = false;
        TTP_TRY(ttp_journal_thread(r, touched[i], err));
        TTP_TRY(ttp_journal_reached(r, touched[i], err));
    }
    r->touched.count = 0;
    struct ttp_checkpoint *c = ttp_push(&r->allocator, &r->waiting, sizeof *c, err);
    if (c == NULL)
        return TTAPE_E_MEMORY;
    TTP_TRY(journal_all(r, &c->partitions, err));
    c->journal = r->journal;
    c->slots = r->consumed;
    r->journal = r->consumed = (struct ttp_growing){0};
    r->sealed_ms = ttp_now_ms();
    return reap(r, err);
}

/* Naming and removing */

static ttape_status publish(const ttape_recording *r, struct ttp_output *o, ttape_error *err)
{
    if (o->final_path == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_directory_publish(r, ttp_directory_base(o->path), o->final_path, err));
    ttp_directory_sync(r);
    free(o->path);
    o->path = o->final_path;
    o->final_path = NULL;
    return TTAPE_OK;
}

static ttape_status remember_file(ttape_recording *r, struct ttp_output *o, ttape_error *err)
{
    char **place = ttp_push(&r->allocator, &r->files, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = o->path;
    o->path = NULL;
    return TTAPE_OK;
}

ttape_status ttp_number_add(ttape_recording *r, struct ttp_growing *list, const char *key,
                            uint64_t value, ttape_error *err)
{
    struct ttp_number *number = ttp_push(&r->allocator, list, sizeof *number, err);
    if (number == NULL)
        return TTAPE_E_MEMORY;
    (void)snprintf(number->key, sizeof number->key, "%s", key);
    number->value = value;
    return TTAPE_OK;
}

ttape_status ttp_output_numbers(ttape_recording *r, struct ttp_growing *list, ttape_error *err)
{
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {{"dropped_events", ttp_arena_lost(r)},
               {"culled_calls", r->culled},
               {"overwritten_events", r->overwritten}};
    list->count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value != 0)
            TTP_TRY(ttp_number_add(r, list, all[i].key, all[i].value, err));
    return TTAPE_OK;
}

static ttape_status set_numbers(ttape_writer *w, const struct ttp_growing *list, ttape_error *err)
{
    const struct ttp_number *numbers = list->data;
    for (size_t i = 0; i < list->count; i++)
        TTP_TRY(ttape_writer_set_number(w, numbers[i].key, numbers[i].value, err));
    return TTAPE_OK;
}

static ttape_status set_counts(ttape_recording *r, ttape_writer *w, ttape_error *err)
{
    struct ttp_growing list = {0};
    ttape_status status = ttp_output_numbers(r, &list, err);
    if (status == TTAPE_OK)
        status = set_numbers(w, &list, err);
    ttp_grown_free(&r->allocator, &list);
    return status != TTAPE_OK ? status : set_numbers(w, &r->numbers, err);
}

static ttape_status finish_output(ttape_recording *r, struct ttp_output *o, ttape_error *err)
{
    if (o->writer == NULL)
        return TTAPE_OK;
    TTP_TRY(set_counts(r, o->writer, err));
    TTP_TRY(ttape_writer_finish(o->writer, err));
    if (!ttp_sync_file(o->fd))
        return ttp_directory_fail(err, "syncing", o->path);
    ttape_writer_progress progress;
    ttape_writer_get_progress(o->writer, &progress);
    r->finished_bytes += progress.written_bytes;
    ttape_writer_close(o->writer);
    o->writer = NULL;
    count_written(r);
    (void)close(o->fd);
    o->fd = -1;
    o->written_bytes = progress.written_bytes;
    return publish(r, o, err);
}

/* Rotation */

static ttape_status save_edge(ttape_recording *r, struct ttp_thread *thread, ttape_error *err)
{
    if (thread->stream == TTAPE_NONE || thread->must_resume)
        return TTAPE_OK; /* nothing of it is in this file */
    thread->must_resume = true;
    TTP_TRY(ttp_stream_get_edge(r->current->writer, thread->stream, &thread->edge, &thread->frames,
                                err));
    return ttp_journal_edge(r, thread, err);
}

/* Where streams stand is in the journal before their file is finished: the next one says it only
 * when it has something of them. */
static ttape_status save_edges(ttape_recording *r, ttape_error *err)
{
    uint64_t partitions;
    for (size_t i = 0; i < r->threads.count; i++)
        TTP_TRY(save_edge(r, ((struct ttp_thread **)r->threads.data)[i], err));
    TTP_TRY(journal_all(r, &partitions, err));
    TTP_TRY(ttp_journal_write(r, &r->journal, err));
    r->journal.count = 0;
    return TTAPE_OK;
}

/* Drops the oldest files that are not needed to hold what is to be kept. */
static void drop_oldest(ttape_recording *r)
{
    uint64_t bytes = 0, now = ttp_now_ms();
    struct ttp_output **outputs = r->outputs.data;
    for (size_t i = r->outputs.count; i-- > 0;) {
        struct ttp_output *o = outputs[i];
        bool enough =
            (r->options.keep_bytes != 0 && bytes >= r->options.keep_bytes) ||
            (r->options.keep_ns != 0 && (now - o->last_event_ms) * 1000000u > r->options.keep_ns);
        bytes += o->written_bytes;
        if (!enough || o->writer != NULL || o->path == NULL)
            continue;
        (void)unlink(o->path);
        free(o->path);
        o->path = NULL;
        r->overwritten += o->event_count;
    }
}

static ttape_status rotate(ttape_recording *r, ttape_error *err)
{
    struct ttp_output *old = r->current;
    TTP_TRY(ttape_writer_flush(old->writer, false, err));
    TTP_TRY(reap(r, err));
    TTP_TRY(save_edges(r, err));
    old->last_event_ms = ttp_now_ms();
    TTP_TRY(finish_output(r, old, err));
    TTP_TRY(ttp_output_begin(r, 0, &r->current, err));
    TTP_TRY(ttp_images_define_again(r, err));
    drop_oldest(r);
    uint64_t none;
    return journal_all(r, &none, err);
}

static bool rotation_due(const ttape_recording *r)
{
    ttape_writer_progress progress;
    if (r->current == NULL || r->current->event_count == 0)
        return false;
    ttape_writer_get_progress(r->current->writer, &progress);
    uint64_t limit = rotation_bytes(r);
    return (limit != 0 && progress.written_bytes >= limit) ||
           (r->options.keep_ns != 0 &&
            (ttp_now_ms() - r->current->opened_ms) * 8000000u >= r->options.keep_ns);
}

static void check_limits(ttape_recording *r)
{
    bool large = r->options.max_bytes != 0 && r->written >= r->options.max_bytes;
    bool late =
        r->options.max_ns != 0 && (ttp_now_ms() - r->opened_ms) * 1000000u >= r->options.max_ns;
    r->is_full |= large;
    if (large || late)
        r->stopped = true;
}

ttape_status ttp_output_due(ttape_recording *r, bool now, ttape_error *err)
{
    uint64_t ready = 0, limit = r->options.writer.partition_events;
    struct ttp_output **outputs = r->outputs.data;
    for (size_t i = 0; i < r->outputs.count; i++)
        ready += outputs[i]->event_count - outputs[i]->sealed_at;
    bool live = r->options.live && ttp_now_ms() - r->sealed_ms >= LIVE_SEAL_MS;
    if (is_small(r))
        limit = events_wanted(r);
    bool by_time = r->options.keep_ns != 0 && rotation_due(r);
    if (ready != 0 && (ready >= limit || now || live || by_time)) {
        TTP_TRY(checkpoint(r, err));
        check_limits(r);
        if (rotation_due(r))
            TTP_TRY(rotate(r, err));
    } else if (r->waiting.count != 0) {
        TTP_TRY(reap(r, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_outputs_flush(ttape_recording *r, ttape_error *err)
{
    struct ttp_output **outputs = r->outputs.data;
    TTP_TRY(checkpoint(r, err));
    for (size_t i = 0; i < r->outputs.count; i++)
        if (outputs[i]->writer != NULL)
            TTP_TRY(ttape_writer_flush(outputs[i]->writer, false, err));
    check_limits(r);
    return reap(r, err);
}

ttape_status ttp_outputs_finish(ttape_recording *r, ttape_error *err)
{
    if (r->outputs.count == 0 && r->current == NULL && r->options.separate_files)
        TTP_TRY(ttp_output_begin(r, 0, &r->current, err));
    TTP_TRY(ttp_outputs_flush(r, err));
    /* From here on nothing may fail for want of memory: a file that has its name is done. */
    TTP_TRY(
        ttp_grow(&r->allocator, &r->files, sizeof(char *), r->files.count + r->outputs.count, err));
    struct ttp_output **outputs = r->outputs.data;
    for (size_t i = 0; i < r->outputs.count; i++) {
        TTP_TRY(finish_output(r, outputs[i], err));
        if (outputs[i]->path != NULL)
            TTP_TRY(remember_file(r, outputs[i], err));
    }
    return TTAPE_OK;
}

void ttp_outputs_close(ttape_recording *r)
{
    struct ttp_output **outputs = r->outputs.data;
    bool leaves_nothing = !r->is_opened || (r->is_discarded && r->is_finished);
    for (size_t i = 0; i < r->outputs.count; i++) {
        ttape_writer_close(outputs[i]->writer);
        if (outputs[i]->fd >= 0)
            (void)close(outputs[i]->fd);
        if (leaves_nothing && r->options.live && outputs[i]->path != NULL &&
            outputs[i]->final_path == NULL && outputs[i]->fd >= 0) /* it has its name already */
            (void)unlinkat(r->parent_fd, ttp_directory_base(outputs[i]->path), 0);
        free(outputs[i]->path);
        free(outputs[i]->final_path);
        free(outputs[i]);
    }
    struct ttp_checkpoint *waiting = r->waiting.data;
    for (size_t i = 0; i < r->waiting.count; i++) {
        ttp_grown_free(&r->allocator, &waiting[i].journal);
        ttp_grown_free(&r->allocator, &waiting[i].slots);
    }
    ttp_grown_free(&r->allocator, &r->outputs);
    ttp_grown_free(&r->allocator, &r->waiting);
}
