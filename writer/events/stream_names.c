/* Names are kept in a list, and put into the rows in one pass when these are collected: a program
 * may have as many threads as it likes, and name each as often. */
#include "writer/events/stream_names.h"

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/definitions.h"

struct name {
    uint32_t stream;
    uint32_t size_bytes;
    size_t start; /* in the definitions' text */
};

bool ttp_stream_rename(ttape_writer *w, uint32_t stream, ttape_string name)
{
    struct ttp_scope *own = *(struct ttp_scope *const *)w->scopes.data;
    struct ttp_definitions *d = &own->fresh;
    if (stream < d->first_stream || name.size_bytes > TTP_MAX_STRING_BYTES)
        return false;
    struct name *added = ttp_push(&w->allocator, &d->names, sizeof *added, NULL);
    if (added == NULL)
        return false;
    *added = (struct name){stream, (uint32_t)name.size_bytes, d->text.count};
    if (ttp_push_bytes(&w->allocator, &d->text, name.data, name.size_bytes, NULL) == TTAPE_OK)
        return true;
    d->names.count--;
    return false;
}

/* By row: which name it has now; TTAPE_NONE: that which it had. Adds up to *bytes. */
static ttape_status find_last(ttape_writer *w, const struct ttp_definitions *d,
                              struct ttp_growing *last, size_t *bytes, ttape_error *err)
{
    const struct name *names = d->names.data;
    TTP_TRY(ttp_grow(&w->allocator, last, sizeof(uint32_t), d->stream_count, err));
    uint32_t *rows = last->data;
    for (uint32_t i = 0; i < d->stream_count; i++)
        rows[i] = TTAPE_NONE;
    for (uint32_t i = 0; i < d->names.count; i++)
        rows[names[i].stream - d->first_stream] = i;
    *bytes = d->streams.count;
    for (uint32_t i = 0; i < d->stream_count; i++)
        if (rows[i] != TTAPE_NONE)
            *bytes += ttp_stream_bound(names[rows[i]].size_bytes);
    return TTAPE_OK;
}

static ttape_status write_rows(const struct ttp_definitions *d, const uint32_t *last,
                               struct ttp_writer_cursor *to, ttape_error *err)
{
    const struct name *names = d->names.data;
    struct ttp_reader_cursor from = ttp_reader_cursor_init(d->streams.data, d->streams.count);
    for (uint32_t i = 0; i < d->stream_count; i++) {
        ttape_stream stream;
        TTP_TRY(ttp_stream_read(&from, TTP_MAX_STRING_BYTES, &stream, err));
        if (last[i] != TTAPE_NONE) {
            const struct name *name = &names[last[i]];
            stream.name =
                (ttape_string){(const char *)d->text.data + name->start, name->size_bytes};
        }
        ttp_stream_write(to, &stream);
    }
    return TTAPE_OK;
}

ttape_status ttp_stream_names_apply(ttape_writer *w, struct ttp_definitions *d, ttape_error *err)
{
    struct ttp_growing last = {0}, rows = {0};
    size_t bytes;
    if (d->names.count == 0)
        return TTAPE_OK;
    ttape_status status = find_last(w, d, &last, &bytes, err);
    if (status == TTAPE_OK)
        status = ttp_grow(&w->allocator, &rows, 1, bytes, err);
    if (status == TTAPE_OK) {
        struct ttp_writer_cursor to = ttp_writer_cursor_init(rows.data, rows.capacity_bytes);
        status = write_rows(d, last.data, &to, err);
        rows.count = ttp_written(&to);
    }
    ttp_grown_free(&w->allocator, &last);
    ttp_grown_free(&w->allocator, &d->names);
    if (status != TTAPE_OK) {
        ttp_grown_free(&w->allocator, &rows);
        return status;
    }
    ttp_grown_free(&w->allocator, &d->streams);
    d->streams = rows;
    return TTAPE_OK;
}
