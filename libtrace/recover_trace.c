/* Recovery of a trace: what reader/salvage.h found sound is copied, what is missing is marked.
 *
 *   source -> salvage -> copier -> writer -> sink
 *                 \-> gaps ------/                 */
#include <tracetape/recover.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/fail.h"
#include "libtrace/recover_gaps.h"
#include "reader/salvage.h"

#define LINE_BYTES 400u

struct trace_recovery {
    struct ttp_salvage salvage;
    struct ttp_gaps gaps;
    ttape_writer *writer;
    ttape_copier *copier;
    const ttape_recover_options *options;
    ttape_recover_report *report;
};

static void tell(struct trace_recovery *v, bool is_loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(struct trace_recovery *v, bool is_loss, const char *format, ...)
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

/* ---- telling ---- */

static uint32_t kind_of(const struct ttp_piece *piece)
{
    if (!piece->is_chunk)
        return TTAPE_RECOVER_BYTES;
    return ttp_chunk_kind_known(piece->head.kind) ? piece->head.kind : TTAPE_RECOVER_OTHER;
}

static void tell_piece(struct trace_recovery *v, const struct ttp_piece *piece)
{
    ttape_recover_piece out = {.fate = piece->fate,
                               .kind = kind_of(piece),
                               .offset = piece->offset,
                               .size_bytes = piece->size_bytes,
                               .sequence = piece->head.sequence,
                               .event_count = piece->event_count,
                               .events_known = piece->events_known};
    v->report->pieces[out.kind][out.fate]++;
    v->report->loss_count += out.fate == TTAPE_RECOVER_LOST || out.fate == TTAPE_RECOVER_FOREIGN;
    if (v->options->piece == NULL)
        return;
    if (piece->why != TTP_NO_PIECE)
        out.why = v->salvage.whys[piece->why];
    else if (out.fate == TTAPE_RECOVER_LOST)
        (void)ttp_fail(&out.why, TTAPE_E_CORRUPT, "", piece->offset, "one of many findings");
    v->options->piece(v->options->context, &out);
}

static void tell_hole(struct trace_recovery *v, const struct ttp_hole *hole)
{
    unsigned long long first = hole->first, last = hole->first + (hole->count - 1);
    if (hole->is_index) {
        tell(v, false, "chunk %llu, an index, is missing", first);
        return;
    }
    v->report->missing_chunks += hole->count;
    if (hole->count == 1)
        tell(v, true, "chunk %llu is missing", first);
    else
        tell(v, true, "chunks %llu to %llu are missing", first, last);
}

static void tell_findings(struct trace_recovery *v)
{
    const struct ttp_salvage *s = &v->salvage;
    if (!s->has_header)
        tell(v, false, "the file header is damaged (%s: %s): version 1 is assumed",
             s->header_error.rule, s->header_error.message);
    else if (memcmp(s->trace_id, s->r->header.trace_id, sizeof s->trace_id) != 0)
        tell(v, false, "the file header is of another trace than the chunks");
    for (uint32_t i = 0; i < s->piece_count; i++)
        tell_piece(v, &s->pieces[i]);
    for (uint32_t i = 0; i < s->hole_count; i++)
        tell_hole(v, &s->holes[i]);
    if (s->placeholders.count != 0)
        tell(v, true, "%llu definitions are lost: they have no names in the output",
             (unsigned long long)s->placeholders.count);
    if (!s->has_footer)
        tell(v, false, "the file has no footer: what was written behind its end is not known");
    v->report->placeholder_count = s->placeholders.count;
    for (uint32_t i = 0; i < s->lost_count; i++)
        v->report->lost_events += s->lost[i].event_count;
}

/* ---- copying ---- */

static ttape_status copy_partitions(struct trace_recovery *v, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(v->salvage.r, &info);
    for (uint32_t i = 0; i < info.partition_count; i++) {
        ttape_partition_info partition;
        TTP_TRY(ttape_reader_get_partition(v->salvage.r, i, &partition));
        TTP_TRY(ttp_gaps_before(&v->gaps, i, err));
        TTP_TRY(ttape_copier_partition(v->copier, i, err));
        v->report->partition_count++;
        v->report->copied_events += partition.event_count;
    }
    return ttp_gaps_at_end(&v->gaps, err);
}

static ttape_status write_trace(struct trace_recovery *v, const ttape_sink *sink, ttape_error *err)
{
    /* No models of its own: copied ones have the numbers that it would give. */
    ttape_writer_options options = {.size = sizeof options,
                                    .model_period = UINT32_MAX,
                                    .allocator = v->options->allocator};
    TTP_TRY(ttape_writer_open(&v->writer, sink, &options, err));
    TTP_TRY(ttape_copier_open(&v->copier, v->writer, v->salvage.r, err));
    TTP_TRY(ttp_gaps_open(&v->gaps, &v->salvage, v->writer, v->copier, err));
    TTP_TRY(copy_partitions(v, err));
    v->report->gap_count = v->gaps.gap_count;
    return ttape_writer_finish(v->writer, err);
}

ttape_status ttape_recover_trace(const ttape_source *source, const ttape_sink *sink,
                                 const ttape_recover_options *options, ttape_recover_report *report,
                                 ttape_error *err)
{
    static const ttape_recover_options none = {.size = sizeof none};
    ttape_recover_report unused;
    struct trace_recovery v = {.options = options != NULL ? options : &none,
                               .report = report != NULL ? report : &unused};
    ttape_reader_options reading = {.size = sizeof reading, .allocator = v.options->allocator};
    *v.report = (ttape_recover_report){0};
    if (source == NULL || source->read_at == NULL || sink == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no source, or no sink");
    ttape_status status = ttp_salvage_open(&v.salvage, source, &reading, err);
    if (status == TTAPE_OK) {
        tell_findings(&v);
        status = write_trace(&v, sink, err);
    }
    ttp_gaps_close(&v.gaps);
    ttape_copier_close(v.copier);
    ttape_writer_close(v.writer);
    ttp_salvage_close(&v.salvage);
    return status;
}
