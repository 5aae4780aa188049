/* What is found in one of several files begins with the name of the file. */
#include "recorder/recover/recover_tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/base/sized.h"

#define LINE_BYTES 512u

ttape_status ttp_recover_options(ttape_recover_options *out, const ttape_recover_options *options,
                                 ttape_error *err)
{
    *out = (ttape_recover_options){.size = sizeof *out};
    if (options == NULL)
        return TTAPE_OK;
    if (options->size < sizeof options->size)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "recovery options without their size");
    TTP_TRY(ttp_take_sized(out, sizeof *out, options, "recovery", err));
    out->size = sizeof *out;
    return TTAPE_OK;
}

ttape_reader_options ttp_recover_reading(const ttape_recover_options *options)
{
    return (ttape_reader_options){.size = sizeof(ttape_reader_options),
                                  .limits = options->limits,
                                  .cache_bytes = 1, /* one partition is always kept */
                                  .allocator = options->allocator};
}

void ttp_tell(const struct ttp_telling *t, bool is_loss, const char *format, ...)
{
    char line[LINE_BYTES];
    int used = 0;
    va_list arguments;
    t->report->loss_count += is_loss;
    if (t->options->found == NULL)
        return;
    if (t->file != NULL)
        used = snprintf(line, sizeof line / 2, "'%s': ", t->file);
    if (used < 0 || (size_t)used >= sizeof line / 2)
        used = 0;
    va_start(arguments, format);
    (void)vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    va_end(arguments);
    t->options->found(t->options->context, is_loss, line);
}

static ttape_recover_kind kind_of(const struct ttp_salvage_piece *piece)
{
    if (!piece->is_chunk)
        return TTAPE_RECOVER_BYTES;
    if (piece->head.kind == TTP_CHUNK_PATHS || piece->head.kind == TTP_CHUNK_VALUE_NAMES)
        return TTAPE_RECOVER_SITES;
    if (piece->head.kind == TTP_CHUNK_OVERVIEW)
        return TTAPE_RECOVER_INDEX;
    return ttp_chunk_kind_known(piece->head.kind) ? piece->head.kind : TTAPE_RECOVER_OTHER;
}

static void tell_piece(const struct ttp_telling *t, const struct ttp_salvage *s,
                       const struct ttp_salvage_piece *piece)
{
    ttape_recover_piece out = {.fate = piece->fate,
                               .kind = kind_of(piece),
                               .offset = piece->offset,
                               .size_bytes = piece->size_bytes,
                               .sequence = piece->head.sequence,
                               .event_count = piece->event_count,
                               .events_known = piece->events_known,
                               .file = t->file};
    t->report->pieces[out.kind][out.fate]++;
    t->report->loss_count += out.fate == TTAPE_RECOVER_LOST || out.fate == TTAPE_RECOVER_FOREIGN;
    if (t->options->piece == NULL)
        return;
    if (piece->why != TTP_NO_PIECE)
        out.why = s->whys[piece->why];
    else if (out.fate == TTAPE_RECOVER_LOST)
        (void)ttp_fail(&out.why, TTAPE_E_CORRUPT, "", piece->offset, "one of many findings");
    t->options->piece(t->options->context, &out);
}

static void tell_hole(const struct ttp_telling *t, const struct ttp_hole *hole)
{
    unsigned long long first = hole->first, last = hole->first + (hole->count - 1);
    if (hole->is_index) {
        ttp_tell(t, false, "chunk %llu, an index, is missing", first);
        return;
    }
    t->report->missing_chunks += hole->count;
    if (hole->count == 1)
        ttp_tell(t, true, "chunk %llu is missing", first);
    else
        ttp_tell(t, true, "chunks %llu to %llu are missing", first, last);
}

void ttp_tell_salvage(const struct ttp_telling *t, const struct ttp_salvage *s, bool is_open)
{
    if (!s->has_header)
        ttp_tell(t, false, "the file header is damaged (%s: %s): version 1 is assumed",
                 s->header_error.rule, s->header_error.message);
    else if (memcmp(s->trace_id, s->r->header.trace_id, sizeof s->trace_id) != 0)
        ttp_tell(t, false, "the file header is of another trace than the chunks");
    for (uint32_t i = 0; i < s->piece_count; i++)
        tell_piece(t, s, &s->pieces[i]);
    for (uint32_t i = 0; i < s->hole_count; i++)
        tell_hole(t, &s->holes[i]);
    if (s->placeholders.count != 0)
        ttp_tell(t, true, "%llu definitions are lost: they have no names in the output",
                 (unsigned long long)s->placeholders.count);
    if (!s->has_footer && !is_open)
        ttp_tell(t, false, "the file has no footer: what was written behind its end is not known");
    t->report->placeholder_count += s->placeholders.count;
}
