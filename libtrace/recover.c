/* Recovery of a recording: the pieces in the order in which they continue one another.
 *
 *   trace.N      complete partitions up to the journal's last checkpoint    copied as they are
 *   journal      whose they are, how far each thread had come               replayed
 *   spill        slots behind that                                          decoded, appended
 *   arena        blocks behind those                                        decoded, appended */
#define _GNU_SOURCE /* asprintf */
#include <tracetape/copy.h>
#include <tracetape/recover.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/fail.h"
#include "libtrace/recover_edges.h"
#include "libtrace/recover_files.h"
#include "libtrace/recover_state.h"
#include "reader/partition_reader.h"
#include "writer/copy_writer.h"
#include "writer/recording/journal.h"

#define LINE_BYTES 512u

/* A recovery under way. */
struct recovery {
    ttp_recovered_files files;
    ttp_recovered_edges edges;
    ttape_recording *r;
    ttape_writer *writer;
    const ttape_recover_options *options;
    ttape_recover_report *report;
    bool is_adopted; /* the trace goes on in its last file, with the ids that are there */
};

static void tell(struct recovery *v, bool is_loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(struct recovery *v, bool is_loss, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    v->report->loss_count += is_loss;
    if (v->options->found == NULL)
        return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    v->options->found(v->options->context, is_loss, line);
}

/* Not the bytes are to blame: a recovery without what they say would be another one next time. */
static bool is_machine(const ttape_error *why)
{
    return why->status == TTAPE_E_MEMORY || why->status == TTAPE_E_IO;
}

static ttape_status pass_on(const ttape_error *why, ttape_error *err)
{
    if (err != NULL)
        *err = *why;
    return why->status;
}

/* Partitions that the journal counts are not there: nobody knows whose events they held, so all
 * threads that go on do so behind a gap. */
static void mark_holes(struct recovery *v)
{
    for (size_t i = 0; i < v->r->threads.count; i++)
        ((struct ttp_thread **)v->r->threads.data)[i]->has_hole = true;
}

/* Copies complete partitions and remembers where their streams end. A damaged one stays out. */
static ttape_status copy_partitions(struct recovery *v, ttape_copier *copier, ttape_reader *reader,
                                    const char *name, uint64_t limit, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    uint64_t count = info.partition_count < limit ? info.partition_count : limit;
    for (uint32_t i = 0; i < count; i++) {
        ttape_partition_info partition;
        ttape_error why = {0};
        TTP_TRY(ttape_reader_get_partition(reader, i, &partition));
        ttape_status status = ttape_copier_partition(copier, i, &why);
        if (is_machine(&why))
            return pass_on(&why, err);
        if (status != TTAPE_OK) {
            tell(v, true, "partition %u of '%s' is damaged (%s): %u events lost", i, name,
                 why.message, partition.event_count);
            v->report->lost_events += partition.event_count;
            mark_holes(v);
            continue;
        }
        v->report->partition_count++;
        v->report->copied_events += partition.event_count;
    }
    if (limit != UINT64_MAX && info.partition_count < limit) {
        tell(v, true, "'%s' has %llu partitions of %llu", name,
             (unsigned long long)info.partition_count, (unsigned long long)limit);
        mark_holes(v);
    }
    return TTAPE_OK;
}

static bool is_separate(const struct recovery *v)
{
    return (v->files.naming & TTP_JOURNAL_SEPARATE) != 0;
}

/* One file. The last one's scope is gone on with, where its threads are those of the journal. */
static ttape_status copy_file(struct recovery *v, const ttp_recovered_file *file, bool goes_on,
                              ttape_error *err)
{
    ttape_source source;
    ttape_reader *reader = NULL;
    ttape_copier *copier = NULL;
    ttape_error why = {0};
    if (ttape_source_file_open(&source, file->path, &why) != TTAPE_OK) {
        if (is_machine(&why) && why.os_errno != ENOENT && why.os_errno != EACCES)
            return pass_on(&why, err);
        if (file->partitions != 0) {
            tell(v, true, "'%s' cannot be read: %s", file->path, why.message);
            mark_holes(v);
        }
        return TTAPE_OK;
    }
    ttape_reader_options options = {.size = sizeof options, .ignore_index = true};
    ttape_status status = ttape_reader_open(&reader, &source, &options, &why);
    if (status != TTAPE_OK) {
        ttape_source_file_close(&source);
        if (is_machine(&why))
            return pass_on(&why, err);
        if (file->partitions != 0) {
            tell(v, true, "'%s' cannot be opened: %s", file->path, why.message);
            mark_holes(v);
        }
        return TTAPE_OK;
    }
    /* What open files have behind the checkpoint is in the spill file too. */
    bool was_open = goes_on || is_separate(v);
    uint64_t limit = was_open ? file->partitions : UINT64_MAX;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    bool is_finished = file->is_named && info.complete;
    if (!is_finished)
        status = ttape_copier_open(&copier, v->writer, reader, err);
    if (status == TTAPE_OK && copier != NULL)
        status = copy_partitions(v, copier, reader, file->path, limit, err);
    if (status == TTAPE_OK && copier != NULL && goes_on && ttp_copier_scope(copier, 0) != NULL) {
        ttp_writer_take_over(v->writer, ttp_copier_scope(copier, 0));
        status = ttp_state_adopt(v->r, reader, limit, err);
        v->is_adopted = true;
    }
    ttape_copier_close(copier);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return status;
}

static ttape_status copy_files(struct recovery *v, ttape_error *err)
{
    bool goes_on = !is_separate(v);
    for (size_t i = 0; i < v->files.count; i++)
        TTP_TRY(copy_file(v, &v->files.items[i], goes_on && i + 1 == v->files.count, err));
    if (!v->is_adopted) /* of files that are not there, or of one that had not begun yet */
        ttp_state_forget_ids(v->r);
    return TTAPE_OK;
}

/* Slots and blocks in the order of their threads. */
static int by_place(const void *a, const void *b)
{
    const ttp_recovered_slot *x = a, *y = b;
    if (x->serial != y->serial)
        return x->serial < y->serial ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static ttape_status decode_rest(struct recovery *v, ttape_error *err)
{
    ttp_recovered_slot *slots = v->files.slots;
    struct ttp_slot *slot = malloc(sizeof *slot);
    ttape_status status = TTAPE_OK;
    if (slot == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    if (v->files.slot_count != 0)
        qsort(slots, v->files.slot_count, sizeof *slots, by_place);
    for (size_t i = 0; i < v->files.slot_count && status == TTAPE_OK; i++) {
        if (i == 0 || slots[i].serial != slots[i - 1].serial)
            status = ttp_edges_resume(&v->edges, v->r, slots[i].serial, err);
        if (status == TTAPE_OK)
            status = ttp_recovered_load(&v->files, &slots[i], slot, err);
        if (status == TTAPE_OK)
            status = ttp_decode_slot(v->r, slot, err);
        status = status == TTAPE_END ? TTAPE_OK : status;
    }
    free(slot);
    return status;
}

static ttape_status finish(struct recovery *v, ttape_error *err)
{
    uint64_t lost = v->files.arena_lost;
    v->report->recovered_events = v->r->appended;
    v->report->lost_events += v->r->lost + lost;
    if (v->r->lost + lost != 0)
        tell(v, true, "%llu events were lost before",
             (unsigned long long)(v->r->lost + lost));
    if (lost != 0)
        TTP_TRY(ttape_writer_set_number(v->writer, "dropped_events", lost, err));
    return ttape_writer_finish(v->writer, err);
}

static ttape_status open_writer(struct recovery *v, const ttape_sink *sink, ttape_error *err)
{
    ttape_writer_options options = v->r->options.writer;
    options.size = sizeof options;
    options.allocator = v->options->allocator;
    options.jobs = 2;
    options.model_period = UINT32_MAX; /* copied models have the numbers that it would give */
    if (v->r->options.clock == TTAPE_CLOCK_NONE)
        options.resolution_ns = TTAPE_TIME_NONE;
    TTP_TRY(ttape_writer_open(&v->writer, sink, &options, err));
    return ttp_state_set_writer(v->r, v->writer, err);
}

static void tell_arena(struct recovery *v)
{
    const char *path = v->files.arena_path != NULL ? v->files.arena_path : "?";
    const char *why = v->files.arena.why_not;
    if (v->files.arena.memory == NULL && why[0] == '\0')
        tell(v, true, "the arena '%s' is gone, with what was only there", path);
    else if (v->files.arena.memory == NULL)
        tell(v, true, "'%s' %s, and is left alone: the arena is gone, with what was only there",
             path, why);
}

static ttape_status recover(struct recovery *v, const char *directory, const ttape_sink *sink,
                            ttape_error *err)
{
    TTP_TRY(ttp_recovered_open(&v->files, directory, err));
    TTP_TRY(ttp_state_open(&v->r, v->options, &v->files, err));
    TTP_TRY(open_writer(v, sink, err));
    if (v->files.journal_lost_bytes != 0)
        tell(v, false, "the journal's last %llu bytes are no checkpoint: their events come from "
                       "the spill file",
             (unsigned long long)v->files.journal_lost_bytes);
    TTP_TRY(ttp_state_replay(v->r, &v->files, err));
    TTP_TRY(ttp_edges_find(&v->edges, v->r, &v->files, err));
    TTP_TRY(copy_files(v, err));
    tell_arena(v);
    if (!v->files.has_spill)
        tell(v, true, "the spill file is gone, with what was only there");
    TTP_TRY(decode_rest(v, err));
    return finish(v, err);
}

ttape_status ttape_recover_recording(const char *directory, const ttape_sink *sink,
                                     const ttape_recover_options *options,
                                     ttape_recover_report *report, ttape_error *err)
{
    static const ttape_recover_options none = {.size = sizeof none};
    ttape_recover_report unused;
    struct recovery v = {.options = options != NULL ? options : &none,
                         .report = report != NULL ? report : &unused};
    *v.report = (ttape_recover_report){0};
    ttape_status status = recover(&v, directory, sink, err);
    ttape_writer_close(v.writer);
    ttp_state_close(v.r);
    ttp_edges_close(&v.edges);
    ttp_recovered_close(&v.files);
    return status;
}
