/* What a sound index tells about chunks that are gone: the events of partitions. It is never
 * believed about a chunk that is there. */
#include <string.h>

#include "answers/check/salvage.h"
#include "format/base/fail.h"

/* Entries are at least this long. */
#define ENTRY_BYTES 3u

struct index_walk {
    ttape_reader *r;
    struct ttp_reader_cursor cursor;
    struct ttp_index_state state;
    struct ttp_index_entry *entries;
    uint32_t count;
};

/* Called for every segment; `sequence` is its partition's. */
typedef ttape_status (*take_segment)(void *context, uint64_t sequence, uint32_t scope,
                                     const struct ttp_index_segment *segment, ttape_error *err);

/* The numbers of a stream's first events relate to the segments before, so all are gone through. */
struct expected_numbers {
    uint64_t *next; /* by file-wide stream */
    uint32_t count;
};

static ttape_status read_segments(struct index_walk *w, const struct ttp_index_entry *entry,
                                  uint64_t sequence, struct expected_numbers *expected,
                                  take_segment take, void *context, ttape_error *err)
{
    struct ttp_index_segment before = {.stream = UINT32_MAX}, segment;
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        TTP_TRY(ttp_index_segment_read(&w->cursor, &before, &segment, err));
        uint32_t stream = ttp_definitions_find(&w->r->definitions, entry->scope,
                                               TTP_DEFINES_STREAMS, segment.stream);
        bool known = expected != NULL && stream < expected->count;
        TTP_TRY(ttp_index_segment_read_number(&w->cursor, known ? expected->next[stream] : 0,
                                              &segment, err));
        before = segment;
        if (known) {
            expected->next[stream] = segment.first_event + segment.event_count;
            TTP_TRY(take(context, sequence, stream, &segment, err));
        }
    }
    return TTAPE_OK;
}

static ttape_status read_entries(struct index_walk *w, struct expected_numbers *expected,
                                 take_segment take, void *context, ttape_error *err)
{
    for (uint32_t i = 0; i < w->count; i++) {
        struct ttp_index_entry entry;
        TTP_TRY(ttp_index_entry_read(&w->cursor, &w->state, &entry, err));
        if (w->entries != NULL)
            w->entries[i] = entry;
        if (entry.kind == TTP_CHUNK_PARTITION)
            TTP_TRY(read_segments(w, &entry, i, expected, take, context, err));
    }
    if (ttp_reader_left(&w->cursor) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-06", 0, "index goes on behind its last entry");
    return TTAPE_OK;
}

/* Reads the content, and how many entries there are. Those of a sound index are as many as chunks
 * stand before it. */
static ttape_status open_index(ttape_reader *r, const struct ttp_salvage_piece *piece,
                               struct index_walk *w, uint8_t **content, size_t *size_bytes,
                               ttape_error *err)
{
    TTP_TRY(
        ttp_reader_content(&r->pool.first, piece->offset, &piece->head, content, size_bytes, err));
    *w = (struct index_walk){.r = r, .cursor = ttp_reader_cursor_init(*content, *size_bytes)};
    uint64_t count = ttp_read_varint(&w->cursor);
    if (!w->cursor.bad && count <= *size_bytes / ENTRY_BYTES && count == piece->head.sequence) {
        w->count = (uint32_t)count;
        return TTAPE_OK;
    }
    ttp_memory_give(&r->memory, *content, *size_bytes, 1);
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-02", piece->offset, "index has not all chunks");
}

static bool is_machine_failure(ttape_status status)
{
    return status == TTAPE_E_MEMORY || status == TTAPE_E_IO;
}

ttape_status ttp_salvage_read_index(ttape_reader *r, const struct ttp_salvage_piece *piece,
                                    struct ttp_index_entry **entries, uint32_t *count,
                                    uint32_t *capacity, ttape_error *err)
{
    struct index_walk w;
    uint8_t *content;
    size_t size_bytes;
    *entries = NULL;
    ttape_status status = open_index(r, piece, &w, &content, &size_bytes, err);
    if (status != TTAPE_OK)
        return is_machine_failure(status) ? status : TTAPE_OK;
    *count = *capacity = w.count;
    w.entries = ttp_memory_take(&r->memory, w.count, sizeof *w.entries, err);
    status = w.entries == NULL ? r->memory.status : read_entries(&w, NULL, NULL, NULL, err);
    ttp_memory_give(&r->memory, content, size_bytes, 1);
    if (status == TTAPE_OK) {
        *entries = w.entries;
        return TTAPE_OK;
    }
    ttp_memory_give(&r->memory, w.entries, w.count, sizeof *w.entries);
    return is_machine_failure(status) ? status : TTAPE_OK;
}

/* ---- lost partitions ---- */

/* Our chunk of a number; NULL: it is missing. */
static struct ttp_salvage_piece *chunk_of(const struct ttp_salvage *s, uint64_t sequence)
{
    uint32_t low = 0, high = s->order_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->pieces[s->order[middle]].head.sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->order_count || s->pieces[s->order[low]].head.sequence != sequence)
        return NULL;
    return &s->pieces[s->order[low]];
}

/* Takes segments of partitions that are missing, or lost and do not tell themselves. */
static ttape_status take_lost(void *context, uint64_t sequence, uint32_t stream,
                              const struct ttp_index_segment *segment, ttape_error *err)
{
    struct ttp_salvage *s = context;
    struct ttp_salvage_piece *piece = chunk_of(s, sequence);
    if (piece != NULL && (piece->fate != TTAPE_RECOVER_LOST || piece->events_known))
        return TTAPE_OK;
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->lost, &s->lost_capacity, s->lost_count + 1ull,
                               sizeof *s->lost, err));
    s->lost[s->lost_count++] =
        (struct ttp_lost_segment){segment->first_event, sequence, stream, segment->event_count};
    return TTAPE_OK;
}

static void count_lost(struct ttp_salvage *s, uint32_t first)
{
    for (uint32_t i = first; i < s->lost_count; i++) {
        struct ttp_salvage_piece *piece = chunk_of(s, s->lost[i].sequence);
        if (piece == NULL)
            continue;
        piece->event_count += s->lost[i].event_count;
        piece->events_known = true;
    }
}

static ttape_status walk_lost(struct ttp_salvage *s, const struct ttp_salvage_piece *index,
                              bool *sound, ttape_error *err)
{
    struct index_walk w;
    uint8_t *content;
    size_t size_bytes;
    ttape_reader *r = s->r;
    struct expected_numbers expected = {NULL, r->definitions.stream_count};
    uint32_t before = s->lost_count;
    ttape_error why;
    *sound = false;
    ttape_status status = open_index(r, index, &w, &content, &size_bytes, &why);
    if (status == TTAPE_OK) {
        expected.next = ttp_memory_take(&r->memory, expected.count, sizeof *expected.next, &why);
        status = expected.next == NULL ? r->memory.status : TTAPE_OK;
        if (status == TTAPE_OK) {
            memset(expected.next, 0, expected.count * sizeof *expected.next);
            status = read_entries(&w, &expected, take_lost, s, &why);
        }
        ttp_memory_give(&r->memory, expected.next, expected.count, sizeof *expected.next);
        ttp_memory_give(&r->memory, content, size_bytes, 1);
    }
    *sound = status == TTAPE_OK;
    if (*sound)
        count_lost(s, before);
    else
        s->lost_count = before;
    if (!is_machine_failure(status))
        return TTAPE_OK;
    if (err != NULL)
        *err = why;
    return status;
}

/* Does an index agree with every chunk of ours that is there? One that does not is of no use. */
static ttape_status agrees(struct ttp_salvage *s, const struct ttp_salvage_piece *index, bool *does,
                           ttape_error *err)
{
    struct ttp_index_entry *entries;
    uint32_t count, capacity;
    TTP_TRY(ttp_salvage_read_index(s->r, index, &entries, &count, &capacity, err));
    *does = entries != NULL;
    for (uint32_t i = 0; *does && i < s->order_count; i++) {
        const struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        if (piece->head.sequence >= count)
            break;
        const struct ttp_index_entry *entry = &entries[piece->head.sequence];
        *does = entry->kind == piece->head.kind && entry->scope == piece->head.scope &&
                entry->stored_bytes == piece->head.stored_bytes;
    }
    if (entries != NULL)
        ttp_memory_give(&s->r->memory, entries, capacity, sizeof *entries);
    return TTAPE_OK;
}

ttape_status ttp_salvage_lost_by_index(struct ttp_salvage *s, ttape_error *err)
{
    for (uint32_t i = s->order_count, tried = 0; i-- > 0 && tried < 4;) {
        const struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        bool good = false;
        if (piece->head.kind != TTP_CHUNK_INDEX || !piece->is_sound)
            continue;
        tried++;
        TTP_TRY(agrees(s, piece, &good, err));
        if (good)
            TTP_TRY(walk_lost(s, piece, &good, err));
        if (good) {
            s->index_end = piece->head.sequence;
            return TTAPE_OK;
        }
    }
    return TTAPE_OK;
}
