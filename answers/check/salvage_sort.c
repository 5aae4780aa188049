/* To which trace chunks belong, which of them stand twice, and in which order they were written.
 *
 * A series of chunks is ours when it begins with our trace's first metadata, another's when it
 * begins with that of another trace. Any other series is taken for ours unless something speaks
 * against it:
 *   - a chunk of it has the number of one of ours, and other content
 *   - the index in it lists chunks that most of ours are not
 *   - it goes on, by its numbers, where another trace's series before it stopped */
#include <string.h>

#include "answers/check/salvage.h"
#include "base/sort.h"
#include "format/base/fail.h"
#include "reader/base/cbor_decoder.h"

struct sorting {
    struct ttp_salvage *s;
    uint32_t *sorted; /* chunks by number, then offset */
    uint32_t *group;  /* of a piece: the index in `sorted` where chunks of its number begin */
    uint32_t *ours;   /* by that index: our chunk of this number, or TTP_NO_PIECE */
    uint32_t chunk_count;
};

static bool number_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_salvage_piece *pieces = context;
    if (pieces[a].head.sequence != pieces[b].head.sequence)
        return pieces[a].head.sequence < pieces[b].head.sequence;
    return a < b;
}

static ttape_status open_sorting(struct sorting *k, struct ttp_salvage *s, ttape_error *err)
{
    struct ttp_memory *m = &s->r->memory;
    *k = (struct sorting){.s = s};
    k->sorted = ttp_memory_take(m, s->piece_count, sizeof *k->sorted, err);
    k->group = ttp_memory_take(m, s->piece_count, sizeof *k->group, err);
    k->ours = ttp_memory_take(m, s->piece_count, sizeof *k->ours, err);
    if (k->sorted == NULL || k->group == NULL || k->ours == NULL)
        return m->status;
    for (uint32_t i = 0; i < s->piece_count; i++)
        if (s->pieces[i].is_chunk)
            k->sorted[k->chunk_count++] = i;
    ttp_sort(k->sorted, k->chunk_count, number_less, s->pieces);
    for (uint32_t i = 0; i < k->chunk_count; i++) {
        const struct ttp_salvage_piece *piece = &s->pieces[k->sorted[i]];
        bool first = i == 0 || s->pieces[k->sorted[i - 1]].head.sequence != piece->head.sequence;
        k->group[k->sorted[i]] = first ? i : k->group[k->sorted[i - 1]];
        k->ours[i] = TTP_NO_PIECE;
    }
    return TTAPE_OK;
}

static void close_sorting(struct sorting *k)
{
    struct ttp_memory *m = &k->s->r->memory;
    ttp_memory_give(m, k->sorted, k->s->piece_count, sizeof *k->sorted);
    ttp_memory_give(m, k->group, k->s->piece_count, sizeof *k->group);
    ttp_memory_give(m, k->ours, k->s->piece_count, sizeof *k->ours);
}

/* ---- trace ids ---- */

struct id_taker {
    uint8_t id[TTP_TRACE_ID_BYTES];
    bool has;
};

static ttape_status take_id(void *context, const struct ttp_cbor_entry *entry, ttape_error *err)
{
    static const char key[] = "trace_id";
    struct id_taker *taker = context;
    (void)err;
    if (entry->is_bytes && entry->text.size_bytes == TTP_TRACE_ID_BYTES &&
        entry->key.size_bytes == sizeof key - 1 &&
        memcmp(entry->key.data, key, sizeof key - 1) == 0) {
        taker->has = true;
        memcpy(taker->id, entry->text.data, TTP_TRACE_ID_BYTES);
    }
    return TTAPE_OK;
}

/* The first chunk of a trace names it. */
static ttape_status name_series(struct ttp_salvage *s, const struct ttp_salvage_piece *piece,
                                ttape_error *err)
{
    uint8_t *content;
    size_t size_bytes;
    struct id_taker taker = {.has = false};
    ttape_error unused;
    if (!piece->is_sound || piece->head.kind != TTP_CHUNK_METADATA || piece->head.scope != 0 ||
        piece->head.sequence != 0 || (piece->head.flags & TTP_FLAG_ZSTD))
        return TTAPE_OK;
    ttape_status status = ttp_reader_content(&s->r->pool.first, piece->offset, &piece->head,
                                             &content, &size_bytes, err);
    if (status != TTAPE_OK)
        return ttp_salvage_must_stop(s, status) ? status : TTAPE_OK;
    status = ttp_cbor_decode(content, size_bytes, take_id, &taker, &unused);
    ttp_memory_give(&s->r->memory, content, size_bytes, 1);
    if (status == TTAPE_OK && taker.has) {
        s->series[piece->series].has_id = true;
        memcpy(s->series[piece->series].trace_id, taker.id, TTP_TRACE_ID_BYTES);
    }
    return TTAPE_OK;
}

/* Our trace is the one that the file header names; where nothing of that is in the file, or the
 * header is not sound, the first one that is. */
static ttape_status find_home(struct ttp_salvage *s, ttape_error *err)
{
    uint32_t first = TTP_NO_PIECE, named = TTP_NO_PIECE;
    for (uint32_t i = 0; i < s->piece_count; i++)
        if (s->pieces[i].is_chunk)
            TTP_TRY(name_series(s, &s->pieces[i], err));
    for (uint32_t i = s->series_count; i-- > 0;)
        if (s->series[i].has_id) {
            first = i;
            if (s->has_header &&
                memcmp(s->series[i].trace_id, s->r->header.trace_id, TTP_TRACE_ID_BYTES) == 0)
                named = i;
        }
    uint32_t home = named != TTP_NO_PIECE ? named : first;
    if (home != TTP_NO_PIECE)
        memcpy(s->trace_id, s->series[home].trace_id, TTP_TRACE_ID_BYTES);
    else if (s->has_header)
        memcpy(s->trace_id, s->r->header.trace_id, TTP_TRACE_ID_BYTES);
    for (uint32_t i = 0; i < s->series_count; i++)
        if (s->series[i].has_id)
            s->series[i].owner = memcmp(s->series[i].trace_id, s->trace_id, TTP_TRACE_ID_BYTES) == 0
                                     ? TTP_SERIES_HOME
                                     : TTP_SERIES_FOREIGN;
    return TTAPE_OK;
}

/* ---- ours or not ---- */

static bool same_chunk(const struct ttp_salvage_piece *a, const struct ttp_salvage_piece *b)
{
    return a->head.kind == b->head.kind && a->head.scope == b->head.scope &&
           a->head.stored_bytes == b->head.stored_bytes &&
           a->head.payload_hash == b->head.payload_hash;
}

static struct ttp_salvage_piece *our_chunk(const struct sorting *k, uint32_t piece)
{
    uint32_t ours = k->ours[k->group[piece]];
    return ours == TTP_NO_PIECE ? NULL : &k->s->pieces[ours];
}

/* A sound copy is worth more than a damaged one. */
static ttape_status adopt(struct sorting *k, uint32_t at, ttape_error *err)
{
    static const ttape_error copy = {.status = TTAPE_E_CORRUPT,
                                     .offset = TTAPE_ERROR_NO_OFFSET,
                                     .rule = "F-CHK-07",
                                     .message = "chunk stands twice"};
    struct ttp_salvage_piece *piece = &k->s->pieces[at], *have = our_chunk(k, at), *other = piece;
    if (have == NULL || (piece->is_sound && !have->is_sound)) {
        k->ours[k->group[at]] = at;
        other = have;
    }
    if (other == NULL)
        return TTAPE_OK;
    ttape_error why = copy;
    why.offset = other->offset;
    return ttp_salvage_settle(k->s, other, TTAPE_RECOVER_DUPLICATE, &why, err);
}

static ttape_status refuse_piece(struct sorting *k, struct ttp_salvage_piece *piece,
                                 const char *what, ttape_error *err)
{
    ttape_error why;
    (void)ttp_fail(&why, TTAPE_E_CORRUPT, "F-CHK-07", piece->offset, "%s", what);
    return ttp_salvage_settle(k->s, piece, TTAPE_RECOVER_FOREIGN, &why, err);
}

/* Entries of an index that differ from our chunks of their number, and those that are compared. */
struct agreement {
    uint32_t compared, wrong;
};

static bool entry_fits(const struct ttp_index_entry *entry, const struct ttp_salvage_piece *piece)
{
    return entry->kind == piece->head.kind && entry->scope == piece->head.scope &&
           entry->stored_bytes == piece->head.stored_bytes;
}

/* Two traces of one program may have the same definitions. */
static bool tells_apart(uint16_t kind)
{
    return kind == TTP_CHUNK_PARTITION || kind == TTP_CHUNK_MODEL;
}

/* A footer that is right about its index's offset and the file's size: nothing was put together
 * here, and an index that is wrong is just wrong. */
static bool is_confirmed(const struct ttp_salvage *s, const struct ttp_salvage_piece *index)
{
    return s->has_footer && s->footer.index_offset == index->offset &&
           s->footer.file_bytes == s->r->source.size_bytes;
}

/* `sorted` is by number and so are entries: one pass over both. */
static struct agreement compare_index(const struct sorting *k,
                                      const struct ttp_index_entry *entries, uint32_t count,
                                      uint64_t below)
{
    struct agreement found = {0};
    for (uint32_t i = 0; i < k->chunk_count; i++) {
        uint64_t number = k->s->pieces[k->sorted[i]].head.sequence;
        const struct ttp_salvage_piece *ours = our_chunk(k, k->sorted[i]);
        if (number >= count || number >= below)
            break;
        if (k->group[k->sorted[i]] != i || ours == NULL || !tells_apart(ours->head.kind))
            continue;
        found.compared++;
        found.wrong += !entry_fits(&entries[number], ours);
    }
    return found;
}

/* The last sound index of a series, from its last chunk at `last` on backwards. */
static uint32_t last_index_of(const struct ttp_salvage *s, uint32_t first, uint32_t last)
{
    for (uint32_t i = last + 1; i-- > first;)
        if (s->pieces[i].head.kind == TTP_CHUNK_INDEX && s->pieces[i].is_sound)
            return i;
    return TTP_NO_PIECE;
}

/* Does the index of a series that nothing else tells of list another trace's chunks? */
static ttape_status index_objects(const struct sorting *k, uint32_t first, uint32_t last,
                                  bool *objects, ttape_error *err)
{
    struct ttp_index_entry *entries;
    uint32_t count, capacity, index = last_index_of(k->s, first, last);
    if (index == TTP_NO_PIECE || is_confirmed(k->s, &k->s->pieces[index]))
        return TTAPE_OK;
    TTP_TRY(
        ttp_salvage_read_index(k->s->r, &k->s->pieces[index], &entries, &count, &capacity, err));
    if (entries == NULL)
        return TTAPE_OK;
    struct agreement found = compare_index(k, entries, count, UINT64_MAX);
    *objects = found.wrong * 2ull > found.compared;
    ttp_memory_give(&k->s->r->memory, entries, capacity, sizeof *entries);
    return TTAPE_OK;
}

/* A series that is ours by its beginning may end in another's: where the chunks right before an
 * index are what it lists, and most of those before them are not. */
static ttape_status split_series(struct sorting *k, uint32_t first, uint32_t last, ttape_error *err)
{
    struct ttp_index_entry *entries;
    struct ttp_salvage *s = k->s;
    uint32_t count, capacity, index = last_index_of(s, first, last), at = index;
    if (index == TTP_NO_PIECE || is_confirmed(s, &s->pieces[index]))
        return TTAPE_OK;
    TTP_TRY(ttp_salvage_read_index(s->r, &s->pieces[at], &entries, &count, &capacity, err));
    if (entries == NULL)
        return TTAPE_OK;
    while (at > first && s->pieces[at - 1].head.sequence < count &&
           entry_fits(&entries[s->pieces[at - 1].head.sequence], &s->pieces[at - 1]))
        at--;
    struct agreement before = compare_index(k, entries, count, s->pieces[at].head.sequence);
    ttp_memory_give(&s->r->memory, entries, capacity, sizeof *entries);
    if (at == first || before.wrong * 2ull <= before.compared)
        return TTAPE_OK;
    for (uint32_t i = at; i <= last; i++) {
        if (k->ours[k->group[i]] == i)
            k->ours[k->group[i]] = TTP_NO_PIECE;
        TTP_TRY(refuse_piece(k, &s->pieces[i], "chunk goes with the index of another trace", err));
    }
    return TTAPE_OK;
}

/* Where the last series of another trace before this chunk stopped: UINT64_MAX, there was none,
 * or one of ours came behind it. */
struct neighbours {
    uint64_t foreign_last, home_last;
    bool after_foreign;
};

static ttape_status judge_series(struct sorting *k, uint32_t first, uint32_t last,
                                 const struct neighbours *near, ttape_error *err)
{
    struct ttp_salvage *s = k->s;
    struct ttp_chunk_series *series = &s->series[s->pieces[first].series];
    uint64_t number = s->pieces[first].head.sequence;
    bool objects = false;
    if (series->owner != TTP_SERIES_UNKNOWN)
        return TTAPE_OK;
    series->owner = TTP_SERIES_HOME;
    if (near->after_foreign && number > near->foreign_last &&
        (number != near->home_last + 1 || number == near->foreign_last + 1))
        series->owner = TTP_SERIES_FOREIGN;
    for (uint32_t i = first; i <= last && series->owner == TTP_SERIES_HOME; i++) {
        const struct ttp_salvage_piece *have = our_chunk(k, i);
        if (have != NULL && !same_chunk(have, &s->pieces[i]))
            series->owner = TTP_SERIES_FOREIGN;
    }
    TTP_TRY(index_objects(k, first, last, &objects, err));
    if (objects)
        series->owner = TTP_SERIES_FOREIGN;
    return TTAPE_OK;
}

static ttape_status take_series(struct sorting *k, uint32_t first, uint32_t last, ttape_error *err)
{
    struct ttp_salvage *s = k->s;
    bool home = s->series[s->pieces[first].series].owner == TTP_SERIES_HOME;
    for (uint32_t i = first; i <= last; i++) {
        const struct ttp_salvage_piece *have = our_chunk(k, i);
        if (home && (have == NULL || same_chunk(have, &s->pieces[i])))
            TTP_TRY(adopt(k, i, err));
        else
            TTP_TRY(refuse_piece(k, &s->pieces[i], "chunk is of another trace", err));
    }
    return home ? split_series(k, first, last, err) : TTAPE_OK;
}

/* Series in file order: those of a known trace first, so that others are compared with them. */
static ttape_status take_all_series(struct sorting *k, bool known, ttape_error *err)
{
    struct ttp_salvage *s = k->s;
    struct neighbours near = {UINT64_MAX, UINT64_MAX, false};
    for (uint32_t first = 0, last; first < s->piece_count; first = last + 1) {
        last = first;
        if (!s->pieces[first].is_chunk)
            continue;
        while (last + 1 < s->piece_count && s->pieces[last + 1].is_chunk &&
               s->pieces[last + 1].series == s->pieces[first].series)
            last++;
        bool was_known = s->series[s->pieces[first].series].has_id;
        if (!known)
            TTP_TRY(judge_series(k, first, last, &near, err));
        if (was_known == known)
            TTP_TRY(take_series(k, first, last, err));
        near.after_foreign = s->pieces[last].fate == TTAPE_RECOVER_FOREIGN;
        *(near.after_foreign ? &near.foreign_last : &near.home_last) =
            s->pieces[last].head.sequence;
    }
    return TTAPE_OK;
}

/* ---- order ---- */

static ttape_status add_hole(struct ttp_salvage *s, const struct ttp_hole *hole, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->holes, &s->hole_capacity, s->hole_count + 1ull,
                               sizeof *s->holes, err));
    s->holes[s->hole_count++] = *hole;
    return TTAPE_OK;
}

/* Chunk headers and the footer say where indexes are, or were. */
static ttape_status note_holes(struct ttp_salvage *s, ttape_error *err)
{
    uint64_t next = 0, end = TTP_FILE_HEADER_BYTES;
    for (uint32_t i = 0; i < s->order_count; i++) {
        const struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        uint64_t number = piece->head.sequence;
        struct ttp_hole hole = {next, number - next,
                                number - next == 1 && piece->head.last_index == end};
        if (number > next)
            TTP_TRY(add_hole(s, &hole, err));
        next = number + 1;
        end = piece->offset + piece->size_bytes;
    }
    if (s->has_footer && s->footer.chunk_count > next &&
        s->footer.chunk_count <= next + s->r->source.size_bytes / TTP_CHUNK_HEADER_BYTES + 1) {
        struct ttp_hole hole = {next, s->footer.chunk_count - next,
                                s->footer.chunk_count - next == 1 && s->footer.index_offset == end};
        TTP_TRY(add_hole(s, &hole, err));
    }
    return TTAPE_OK;
}

static ttape_status order_chunks(struct sorting *k, ttape_error *err)
{
    struct ttp_salvage *s = k->s;
    s->order = ttp_memory_take(&s->r->memory, k->chunk_count, sizeof *s->order, err);
    if (s->order == NULL)
        return s->r->memory.status;
    s->order_capacity = k->chunk_count;
    for (uint32_t i = 0; i < k->chunk_count; i++)
        if (k->group[k->sorted[i]] == i && k->ours[i] != TTP_NO_PIECE)
            s->order[s->order_count++] = k->ours[i];
    uint64_t furthest = 0;
    for (uint32_t i = 0; i < s->order_count; i++) {
        struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        if (piece->is_sound && piece->offset < furthest) {
            ttape_error why;
            (void)ttp_fail(&why, TTAPE_E_CORRUPT, "F-CHK-07", piece->offset + TTP_CHUNK_SEQUENCE_AT,
                           "chunk '%llu' stands behind later ones",
                           (unsigned long long)piece->head.sequence);
            why.offset = piece->offset;
            TTP_TRY(ttp_salvage_settle(s, piece, TTAPE_RECOVER_MOVED, &why, err));
        }
        furthest = piece->offset > furthest ? piece->offset : furthest;
    }
    return note_holes(s, err);
}

ttape_status ttp_salvage_sort(struct ttp_salvage *s, ttape_error *err)
{
    struct sorting k;
    ttape_status status = open_sorting(&k, s, err);
    if (status == TTAPE_OK)
        status = find_home(s, err);
    if (status == TTAPE_OK)
        status = take_all_series(&k, true, err);
    if (status == TTAPE_OK)
        status = take_all_series(&k, false, err);
    if (status == TTAPE_OK)
        status = order_chunks(&k, err);
    close_sorting(&k);
    return status;
}
