/* Recovery of a recording: the pieces in the order in which they continue one another.
 *
 *   trace.N      complete partitions up to the journal's last checkpoint    copied as they are
 *   journal      whose they are, how far each thread had come               replayed
 *   spill        slots behind that                                          decoded, appended
 *   arena        blocks behind those                                        decoded, appended */
#include <tracetape/copy.h>
#include <tracetape/recover.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "reader/partition/partition_reader.h"
#include "recorder/recover/recover_files.h"
#include "recorder/recover/recover_reached.h"
#include "recorder/recover/recover_salvaged.h"
#include "recorder/recover/recover_state.h"
#include "recorder/recover/recover_tell.h"
#include "recorder/state/journal.h"
#include "writer/events/copy_writer.h"

/* A recovery under way. */
struct recovery {
    struct ttp_recovered_files files;
    struct ttp_recovered_edges edges;
    struct ttp_reached reached;
    struct ttp_encode *e;
    ttape_writer *writer;
    struct ttp_telling telling;
    bool is_adopted; /* the trace goes on in its last file, with the ids that are there */
    bool has_losses; /* in files so far */
    bool is_broken;  /* the last file cannot be read, and was worth it */
    uint64_t lost_slots;
};

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

/* Something of the trace files is not there. Where the journal does not tell how far each thread
 * was, the streams of these events are unknown: each that goes on does so behind a gap. */
static void note_loss(struct recovery *v)
{
    v->has_losses = true;
    for (size_t i = 0; i < v->e->threads.count && !v->reached.is_known; i++)
        ttp_thread_at(v->e, i)->has_hole = true;
}

static void disbelieve(struct recovery *v)
{
    ttp_reached_forget(&v->reached);
    ttp_tell(&v->telling, true,
             "the journal's numbers of events cannot be, and are not believed: partitions are "
             "counted");
}

static bool is_separate(const struct recovery *v)
{
    return (v->files.naming & TTP_JOURNAL_SEPARATE) != 0;
}

/* ---- one trace file ---- */

struct copying {
    struct recovery *v;
    const struct ttp_recovered_file *file;
    struct ttp_salvaged salvaged;
    bool is_open; /* what it has behind the checkpoint is in the spill file too */
    bool goes_on; /* it is the last one, and the only one of its kind */
};

/* How far the file's stream was at the checkpoint; NULL: the journal does not tell. */
static const struct ttp_reached_row *row_of(const struct copying *c, const ttape_reader *r,
                                            uint32_t stream)
{
    uint32_t scope, id = ttp_local_stream(r, stream, &scope);
    return scope == 0 ? ttp_reached_of(&c->v->reached, c->file->number, id) : NULL;
}

static bool is_behind(void *context, const ttape_reader *r, const struct ttp_partition_entry *entry,
                      uint64_t before, uint64_t missing)
{
    const struct copying *c = context;
    uint64_t limit = c->file->partitions;
    if (before >= limit)
        return true;
    if (missing < limit - before) /* one of them in any case, whatever the journal says */
        return false;
    if (!c->v->reached.is_known)
        return true;
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        const struct ttp_segment_entry *seg = &r->segments[entry->first_segment + i];
        const struct ttp_reached_row *row = row_of(c, r, seg->stream);
        if (row == NULL || row->number < seg->first_event ||
            row->number - seg->first_event < seg->event_count)
            return true;
    }
    return false;
}

static bool find_end(void *context, uint32_t stream, uint64_t *number, uint64_t *time_ns)
{
    const struct copying *c = context;
    const struct ttp_reached_row *row = row_of(c, c->salvaged.salvage.r, stream);
    if (row == NULL)
        return false;
    *number = row->number;
    *time_ns = row->time_ns;
    return true;
}

/* Without the journal's numbers: by partitions, whatever became of them. */
static bool has_few_partitions(const struct copying *c)
{
    const struct ttp_salvage *s = &c->salvaged.salvage;
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->order_count; i++) {
        const struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        count += piece->head.kind == TTP_CHUNK_PARTITION && piece->fate != TTAPE_RECOVER_SKIPPED;
    }
    return count < c->file->partitions;
}

/* Where the thread stands behind the last partition that is kept. */
static uint64_t kept_end(const struct copying *c, uint32_t thread)
{
    const struct ttp_reached_row *row = &c->v->reached.rows[thread];
    const ttape_reader *r = c->salvaged.salvage.r;
    ttape_stream_info info;
    uint32_t stream = ttp_definitions_find(&r->definitions, 0, TTP_DEFINES_STREAMS, row->stream);
    if (stream != TTAPE_NONE && ttape_reader_get_stream(r, stream, &info) == TTAPE_OK &&
        info.event_count != 0)
        return info.first_event + info.event_count + info.missing_count;
    return is_separate(c->v) ? 0 : ttp_edges_number(&c->v->edges, thread);
}

/* Are events that the journal counts missing behind the last partition that is kept? Not more than
 * the partitions that are missing may have held: else it lies. */
static bool is_short(struct copying *c)
{
    struct ttp_reached *reached = &c->v->reached;
    uint64_t limit = c->file->partitions, kept = c->salvaged.salvage.r->partition_count;
    uint64_t missing = limit > kept ? limit - kept : 0;
    bool is_short = false;
    for (uint32_t i = 0; i < reached->count && reached->is_known; i++) {
        const struct ttp_reached_row *row = &reached->rows[i];
        if (row->number == 0 || row->file != c->file->number)
            continue;
        uint64_t end = kept_end(c, i);
        is_short |= row->number > end;
        if (row->number < end || !ttp_reached_can_be(end, row->number, missing))
            disbelieve(c->v);
    }
    return reached->is_known ? is_short : has_few_partitions(c);
}

/* The last one's scope is gone on with, where its threads are those of the journal. */
static ttape_status adopt(struct copying *c, ttape_error *err)
{
    struct recovery *v = c->v;
    struct ttp_scope *scope = ttp_copier_scope(c->salvaged.copier, 0);
    v->is_broken = c->goes_on && scope == NULL && c->file->partitions != 0;
    if (!c->goes_on || scope == NULL)
        return TTAPE_OK;
    v->is_adopted = true;
    ttp_writer_take_over(v->writer, scope);
    return ttp_state_adopt(v->e, c->salvaged.salvage.r, err);
}

/* Where files before the first one are not kept, nobody is in the trace before that begins. */
static void begin_window(struct copying *c)
{
    struct recovery *v = c->v;
    ttape_info info;
    ttape_reader_get_info(c->salvaged.salvage.r, &info);
    bool is_first = c->file == v->files.items && c->file->number != 0 && info.event_count != 0;
    if (is_first && (v->files.naming & TTP_JOURNAL_WINDOW) != 0)
        v->edges.begin_ns = info.time_first_ns;
    c->salvaged.begin_ns = v->edges.begin_ns;
}

static ttape_status copy_salvaged(struct copying *c, ttape_error *err)
{
    struct recovery *v = c->v;
    struct ttp_salvage *s = &c->salvaged.salvage;
    struct ttp_gap_facts facts = {
        .context = c, .begins = c->file->number == 0, .lost_before = v->has_losses};
    bool lacks_end = c->is_open && is_short(c);
    uint64_t losses = v->telling.report->loss_count;
    if (c->file->is_named && s->has_footer && s->footer.file_bytes == s->r->source.size_bytes)
        return TTAPE_OK; /* finished: nothing is to be recovered of it */
    if (lacks_end)
        ttp_tell(&v->telling, true, "events at its end are missing: there were %llu partitions",
                 (unsigned long long)c->file->partitions);
    else if (c->is_open)
        ttp_salvage_forgive_tail(s);
    ttp_tell_salvage(&v->telling, s, c->is_open);
    if (v->telling.report->loss_count != losses)
        note_loss(v);
    if (c->is_open && v->reached.is_known)
        facts.find_end = find_end;
    begin_window(c);
    TTP_TRY(ttp_salvaged_copy(&c->salvaged, v->writer, &facts, v->telling.report, err));
    return adopt(c, err);
}

/* One that cannot be read, for a reason that lies in it. */
static ttape_status give_up(struct copying *c, const ttape_error *why, const char *what,
                            ttape_error *err)
{
    struct recovery *v = c->v;
    if (is_machine(why) && why->os_errno != ENOENT && why->os_errno != EACCES)
        return pass_on(why, err);
    if (c->file->partitions == 0)
        return TTAPE_OK;
    v->is_broken = c->goes_on;
    ttp_tell(&v->telling, true, "cannot be %s: %s", what, why->message);
    note_loss(v);
    return TTAPE_OK;
}

static ttape_status copy_file(struct recovery *v, const struct ttp_recovered_file *file,
                              bool goes_on, ttape_error *err)
{
    ttape_source source;
    ttape_error why = {0};
    struct copying c = {
        .v = v, .file = file, .is_open = goes_on || is_separate(v), .goes_on = goes_on};
    const struct ttp_salvage_end end = {is_behind, &c};
    const ttape_reader_options options = ttp_recover_reading(v->telling.options);
    const char *slash = strrchr(file->path, '/');
    v->telling.file = slash != NULL ? slash + 1 : file->path;
    if (ttape_source_file_open(&source, file->path, &why) != TTAPE_OK)
        return give_up(&c, &why, "read", err);
    ttape_status status =
        ttp_salvage_open(&c.salvaged.salvage, &source, &options, c.is_open ? &end : NULL, &why);
    if (status != TTAPE_OK) {
        why.os_errno = 0;
        status = give_up(&c, &why, "opened", err);
    } else {
        status = copy_salvaged(&c, err);
    }
    ttp_salvaged_close(&c.salvaged);
    ttape_source_file_close(&source);
    return status;
}

static ttape_status copy_files(struct recovery *v, ttape_error *err)
{
    bool goes_on = !is_separate(v), timed = v->writer->timed;
    uint64_t resolution = v->writer->resolution, origin = v->writer->options.origin_ns;
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < v->files.count && status == TTAPE_OK; i++)
        status = copy_file(v, &v->files.items[i], goes_on && i + 1 == v->files.count, err);
    v->telling.file = NULL;
    TTP_TRY(status);
    TTP_TRY(ttp_writer_set_clock(v->writer, timed ? resolution : 0, origin, err));
    if (!v->is_adopted) /* of files that are not there, or of one that had not begun yet */
        ttp_state_forget_ids(v->e);
    return TTAPE_OK;
}

static ttape_status resume_threads(struct recovery *v, ttape_error *err)
{
    struct ttp_gap_sums gaps = {0};
    if (!v->is_adopted && !v->is_broken)
        return TTAPE_OK;
    TTP_TRY(ttp_reached_resume(&v->reached, &v->edges, v->e, &gaps, err));
    v->telling.report->gap_count += gaps.gap_count;
    v->telling.report->lost_events += gaps.lost_events;
    return TTAPE_OK;
}

/* ---- what is not in files ---- */

/* Slots and blocks in the order of their threads. */
static int by_place(const void *a, const void *b)
{
    const struct ttp_recovered_slot *x = a, *y = b;
    if (x->serial != y->serial)
        return x->serial < y->serial ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static ttape_status decode_rest(struct recovery *v, ttape_error *err)
{
    struct ttp_recovered_slot *slots = v->files.slots.items;
    struct ttp_slot *slot = malloc(sizeof *slot);
    ttape_status status = TTAPE_OK;
    if (slot == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    if (v->files.slots.count != 0)
        qsort(slots, v->files.slots.count, sizeof *slots, by_place);
    for (size_t i = 0; i < v->files.slots.count && status == TTAPE_OK; i++) {
        if (i == 0 || slots[i].serial != slots[i - 1].serial)
            status = ttp_edges_resume(&v->edges, v->e, slots[i].serial, err);
        if (status == TTAPE_OK)
            status = ttp_recovered_load(&v->files, &slots[i], slot, err);
        if (status == TTAPE_OK)
            status = ttp_decode_slot(v->e, slot, err);
        status = status == TTAPE_END ? TTAPE_OK : status;
    }
    free(slot);
    return status;
}

static ttape_status finish_recovery(struct recovery *v, ttape_error *err)
{
    uint64_t lost = v->files.arena_lost, uncounted = v->e->uncounted;
    v->telling.report->recovered_events = v->e->appended;
    TTP_TRY(ttp_state_end_threads(v->e, &v->edges, err));
    v->telling.report->lost_events += v->e->lost + lost;
    if (v->e->lost + lost != 0)
        ttp_tell(&v->telling, true, "%llu events were lost before",
                 (unsigned long long)(v->e->lost + lost));
    if (uncounted != 0)
        ttp_tell(&v->telling, true, "%llu gaps are of events that nobody has counted",
                 (unsigned long long)uncounted);
    if (v->lost_slots > uncounted) /* of the others the gaps speak */
        uncounted = v->lost_slots;
    v->telling.report->uncounted_losses += uncounted;
    if (lost != 0)
        TTP_TRY(ttape_writer_set_number(v->writer, "dropped_events", lost, err));
    return ttape_writer_finish(v->writer, err);
}

static ttape_status open_writer(struct recovery *v, const ttape_sink *sink, ttape_error *err)
{
    ttape_writer_options options = v->e->options.writer;
    options.size = sizeof options;
    options.allocator = v->telling.options->allocator;
    options.jobs = 2;
    options.model_period = UINT32_MAX; /* copied models have the numbers that it would give */
    if (v->e->options.clock == TTAPE_CLOCK_NONE)
        options.resolution_ns = TTAPE_TIME_NONE;
    TTP_TRY(ttape_writer_open(&v->writer, sink, &options, err));
    /* As the trace files say it, of which there may be none. */
    TTP_TRY(ttp_output_set_calls(v->writer, &v->e->options, err));
    return ttp_state_set_writer(v->e, v->writer, err);
}

static void tell_arena(struct recovery *v)
{
    const char *path = v->files.arena_path != NULL ? v->files.arena_path : "?";
    const char *why = v->files.arena.why_not;
    if (v->files.arena.memory == NULL && why[0] == '\0')
        ttp_tell(&v->telling, true, "the arena '%s' is gone, with what was only there", path);
    else if (v->files.arena.memory == NULL)
        ttp_tell(&v->telling, true,
                 "'%s' %s, and is left alone: the arena is gone, with what was only there", path,
                 why);
}

static ttape_status recover(struct recovery *v, const char *directory, const ttape_sink *sink,
                            ttape_error *err)
{
    TTP_TRY(ttp_recovered_open(&v->files, directory, err));
    TTP_TRY(ttp_state_open(&v->e, v->telling.options, &v->files, err));
    TTP_TRY(open_writer(v, sink, err));
    if (v->files.journal_lost_bytes != 0)
        ttp_tell(&v->telling, false,
                 "the journal's last %llu bytes are no checkpoint: their events come from "
                 "the spill file",
                 (unsigned long long)v->files.journal_lost_bytes);
    TTP_TRY(ttp_state_replay(v->e, &v->files, err));
    TTP_TRY(ttp_edges_find(&v->edges, v->e, &v->files, err));
    TTP_TRY(ttp_reached_find(&v->reached, v->e, &v->files, &v->edges, err));
    if (v->reached.is_false)
        disbelieve(v);
    TTP_TRY(copy_files(v, err));
    TTP_TRY(resume_threads(v, err));
    tell_arena(v);
    if (!v->files.has_spill)
        ttp_tell(&v->telling, true, "the spill file is gone, with what was only there");
    v->lost_slots = ttp_slots_tell(&v->telling, &v->files, v->e);
    TTP_TRY(decode_rest(v, err));
    return finish_recovery(v, err);
}

ttape_status ttape_recover_recording(const char *directory, const ttape_sink *sink,
                                     const ttape_recover_options *options,
                                     ttape_recover_report *report, ttape_error *err)
{
    ttape_recover_report unused;
    ttape_recover_options how;
    struct recovery v = {.telling = {.options = &how, .report = report != NULL ? report : &unused}};
    *v.telling.report = (ttape_recover_report){0};
    TTP_TRY(ttp_recover_options(&how, options, err));
    ttape_status status = recover(&v, directory, sink, err);
    ttape_writer_close(v.writer);
    ttp_reached_close(&v.reached);
    ttp_edges_close(&v.edges);
    ttp_state_close(v.e);
    ttp_recovered_close(&v.files);
    return status;
}
