/* All streams by time: a heap of streams, each with a small buffer of events.
 *
 * A stream enters with the least time that its next partition can have, and is decoded only when
 * that is the least of all: so a file of a million streams starts at once. Buffers are refilled
 * through the cache; where that had to decode a partition again, the stream's buffer grows, so that
 * many sources whose partitions do not fit the cache together cost a decoding per buffer and not
 * per event. */
#include <string.h>

#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/cache/prefetch.h"
#include "reader/cursor/cursor.h"

#define FIRST_BUDGET_BYTES  (4u << 20) /* for all buffers at first */
#define BUFFER_LEAST_EVENTS 8u
#define BUFFER_FIRST_EVENTS 512u
#define BUFFER_MOST_EVENTS  65536u

struct merge_stream {
    uint32_t stream;
    uint32_t ordinal,
        segment_count; /* of the stream; `segment` is the one that the buffer is from */
    uint32_t position; /* of the next event that is not in the buffer */
    ttape_event *events;
    uint32_t capacity, first, count; /* events[first, count) are still to come */
    struct ttp_walker walker;        /* before `position`; valid when walker_run == segment */
    uint32_t walker_ordinal;
    uint32_t window_position; /* position of events[0] in the segment */
    uint64_t largest;         /* time seen so far */
    uint64_t floor;           /* no event that is still to come in the segment is earlier */
    uint32_t sought_ordinal;  /* where a seek led */
    uint64_t seek_time;       /* events of the segment before this time are to be left out ... */
    bool seeking;             /* ... until one is found */
};

/* Streams with nothing buffered stand before those with an event of the same time: that is when
 * they are looked at. */
struct heap_entry {
    uint64_t key;
    uint32_t ready; /* the key is the next event's; otherwise a bound */
    uint32_t slot;  /* in streams; ascending like stream numbers */
};

struct ttp_merge {
    struct ttp_lease *lease; /* the cursor's */
    const ttape_reader *reader;
    struct merge_stream *streams;
    struct heap_entry *heap;
    uint32_t stream_count, heap_count;
    uint32_t first_capacity, most_capacity;
    uint8_t *failed; /* one bit a partition: its failure was returned; NULL while there is none */
    uint32_t damage_next;
    uint32_t last_partition; /* that was not in the cache */
};

static const struct ttp_segment_entry *entry_of(const struct ttp_merge *m,
                                                const struct merge_stream *s)
{
    return ttp_stream_segment(m->reader, s->stream, s->ordinal);
}

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    if (a->ready != b->ready)
        return a->ready < b->ready;
    return a->slot < b->slot;
}

static void sift_down(struct ttp_merge *m, uint32_t at)
{
    struct heap_entry entry = m->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &entry))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = entry;
}

/* The key of a stream whose buffer is empty, or false when it is over. */
static bool bound_of(const struct ttp_merge *m, struct merge_stream *s, uint64_t *key)
{
    if (s->ordinal < s->segment_count && s->position >= entry_of(m, s)->event_count) {
        s->ordinal++;
        s->position = 0;
        s->floor = 0;
    }
    while (s->seeking && s->ordinal < s->segment_count &&
           ttp_partition_is_before(&m->reader->partitions[entry_of(m, s)->partition], s->seek_time))
        s->ordinal++;
    if (s->ordinal >= s->segment_count)
        return false;
    const struct ttp_partition_entry *entry = &m->reader->partitions[entry_of(m, s)->partition];
    uint64_t first = 0;
    if (entry->resolution_ns != 0)
        first = ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
    *key = s->largest > first ? s->largest : first;
    if (*key < s->floor)
        *key = s->floor;
    if (s->seeking && *key < s->seek_time)
        *key = s->seek_time;
    return true;
}

/* Puts the top stream where its next event, or the bound of it, belongs. */
static void requeue_top(struct ttp_merge *m)
{
    struct heap_entry *top = &m->heap[0];
    struct merge_stream *s = &m->streams[top->slot];
    top->ready = s->first < s->count;
    if (top->ready) {
        uint64_t time = s->events[s->first].time_ns;
        top->key = time > s->largest ? time : s->largest;
    } else if (!bound_of(m, s, &top->key)) {
        m->heap[0] = m->heap[--m->heap_count];
    }
    if (m->heap_count > 0)
        sift_down(m, 0);
}

static ttape_status grow_buffer(struct ttp_merge *m, struct merge_stream *s, uint32_t capacity,
                                ttape_error *err)
{
    struct ttp_memory *memory = &m->lease->memory;
    ttape_event *events = ttp_memory_take(memory, capacity, sizeof *events, err);
    if (events == NULL)
        return memory->status;
    ttp_memory_give(memory, s->events, s->capacity, sizeof *s->events);
    s->events = events;
    s->capacity = capacity;
    return TTAPE_OK;
}

/* True where the segment's turn comes later than the heap has it: segments know when they start,
 * partitions only when the first of their segments does. */
static bool comes_later(const struct ttp_merge *m, struct merge_stream *s,
                        const struct ttp_loaded *p, uint32_t segment)
{
    if (p->head.resolution_ns == 0 || p->head.wide_count != 0)
        return false; /* times may step back behind the segment's base */
    s->floor = ttp_time_of(p->segments.segments[segment].base_tick, p->head.origin_ns,
                           p->head.resolution_ns);
    return s->floor > m->heap[0].key;
}

/* Moves the stream to where a seek leads in its segment. */
static ttape_status seek_in_segment(struct ttp_merge *m, struct merge_stream *s, uint32_t segment,
                                    ttape_error *err)
{
    const struct ttp_segment_entry *seg = entry_of(m, s);
    struct ttp_search search = {seg->partition, segment, s->position, s->seek_time, true};
    TTP_TRY(ttp_search_time(m->lease->decoder, &search, err));
    s->position = search.position;
    s->seeking = search.position == seg->event_count;
    s->sought_ordinal = s->ordinal;
    s->walker_ordinal = UINT32_MAX;
    return TTAPE_OK;
}

/* A merge that stepped from one partition to the next in the file will step on like that. */
static void prefetch(struct ttp_merge *m, uint32_t partition)
{
    uint32_t next[TTP_PREFETCH_MOST], count = 0, last = m->last_partition;
    m->last_partition = partition;
    if (m->lease->decoder->jobs < 2 || last == UINT32_MAX || partition != last + 1)
        return;
    while (count < ttp_prefetch_depth(m->lease->decoder) &&
           m->reader->partition_count - partition > count + 1) {
        next[count] = partition + 1 + count;
        count++;
    }
    ttp_prefetch_want(m->lease->decoder, partition, next, count, TTP_STAGE_EVENTS);
}

/* Fills the stream's buffer from its segment; leaves it empty where a seek finds nothing in the
 * segment, and where its turn is not now. */
static ttape_status decode_buffer(struct ttp_merge *m, struct merge_stream *s, ttape_error *err)
{
    struct ttp_trace_decoder *d = m->lease->decoder;
    const ttape_reader *r = d->reader;
    const struct ttp_segment_entry *seg = entry_of(m, s);
    bool is_loaded = ttp_cache_find(d, seg->partition) != NULL;
    uint32_t segment = ttp_segment_number(r, seg);
    bool again = s->walker_ordinal == s->ordinal && !is_loaded;
    if (!is_loaded)
        prefetch(m, seg->partition);
    struct ttp_loaded *p;
    if (s->position == 0) {
        TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_LIGHT, &p, err));
        if (comes_later(m, s, p, segment))
            return TTAPE_OK;
    }
    if (s->seeking)
        TTP_TRY(seek_in_segment(m, s, segment, err));
    if (s->position == seg->event_count)
        return TTAPE_OK;
    if (s->events == NULL)
        TTP_TRY(grow_buffer(m, s, m->first_capacity, err));
    else if (again && s->capacity < m->most_capacity)
        (void)grow_buffer(m, s,
                          s->capacity * 2 < m->most_capacity ? s->capacity * 2 : m->most_capacity,
                          NULL); /* without memory the buffer stays as it is */
    TTP_TRY(ttp_loaded_get(d, seg->partition,
                           s->ordinal == s->sought_ordinal ? TTP_STAGE_ORDER : TTP_STAGE_EVENTS, &p,
                           err));
    uint32_t left = seg->event_count - s->position, count = left < s->capacity ? left : s->capacity;
    uint32_t first = p->segment_start[segment] + s->position;
    const struct ttp_range range = {first, first + count, first + count, false};
    TTP_TRY(ttp_loaded_reach(d, seg->partition, &range, &p, err));
    if (s->walker_ordinal != s->ordinal)
        s->walker = ttp_walker_at(p, segment, first);
    ttp_walker_events(p, &s->walker, s->walker.event + count, s->events);
    s->walker_ordinal = s->ordinal;
    s->window_position = s->position;
    s->position += count;
    s->first = 0;
    s->count = count;
    return TTAPE_OK;
}

static ttape_status refill(struct ttp_merge *m, struct merge_stream *s, ttape_error *err)
{
    TTP_TRY(ttp_lease_begin(m->lease, err));
    ttape_status status = decode_buffer(m, s, err);
    ttp_lease_end(m->lease);
    return status;
}

/* True the first time for each partition. */
static bool first_failure(struct ttp_merge *m, uint32_t partition)
{
    size_t bytes = m->reader->partition_count / 8 + 1;
    if (m->failed == NULL) {
        m->failed = ttp_memory_take(&m->lease->memory, bytes, 1, NULL);
        if (m->failed == NULL)
            return true;
        memset(m->failed, 0, bytes);
    }
    bool seen = m->failed[partition / 8] >> (partition % 8) & 1;
    m->failed[partition / 8] |= (uint8_t)(1u << (partition % 8));
    return !seen;
}

static ttape_status set_values(struct ttp_merge *m, const struct merge_stream *s,
                               const struct ttp_segment_entry *seg, struct ttp_item_values *values,
                               ttape_event_item *out, ttape_error *err)
{
    struct ttp_loaded *p;
    uint32_t segment = ttp_segment_number(m->reader, seg);
    const struct ttp_range wanted = {.values = true};
    TTP_TRY(ttp_lease_begin(m->lease, err));
    ttape_status status = ttp_loaded_reach(m->lease->decoder, seg->partition, &wanted, &p, err);
    if (status == TTAPE_OK)
        status = ttp_item_set_values(&m->lease->memory, values, p,
                                     p->segment_start[segment] + s->window_position + s->first, out,
                                     err);
    ttp_lease_end(m->lease);
    return status;
}

static ttape_status report_damage(struct ttp_merge *m, ttape_error *err)
{
    if (m->reader->damaged_count == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_lease_begin(m->lease, err));
    ttape_status status = ttp_report_damage(m->lease->decoder, TTAPE_NONE, &m->damage_next,
                                            m->reader->partition_count, err);
    ttp_lease_end(m->lease);
    return status;
}

/* The top stream's segment cannot be read: it goes on behind it. */
static ttape_status skip_segment(struct ttp_merge *m, struct merge_stream *s, ttape_status status)
{
    bool report = first_failure(m, entry_of(m, s)->partition);
    s->first = s->count = 0;
    s->ordinal++;
    s->position = 0;
    s->floor = 0;
    requeue_top(m);
    return report ? status : TTAPE_OK;
}

ttape_status ttp_merge_next(struct ttp_merge *m, struct ttp_item_values *values,
                            ttape_event_item *out, ttape_error *err)
{
    const ttape_reader *r = m->reader;
    while (m->heap_count > 0) {
        struct merge_stream *s = &m->streams[m->heap[0].slot];
        if (!m->heap[0].ready) {
            ttape_error problem = {0};
            ttape_status status = refill(m, s, &problem);
            if (status == TTAPE_OK) {
                requeue_top(m);
                continue;
            }
            status = skip_segment(m, s, status);
            if (status == TTAPE_OK)
                continue;
            if (err != NULL)
                *err = problem;
            return status;
        }
        const struct ttp_segment_entry *seg = entry_of(m, s);
        *out = (ttape_event_item){.event = s->events[s->first],
                                  .stream = s->stream,
                                  .number = seg->first_event + s->window_position + s->first};
        if (r->partitions[seg->partition].values_bytes != 0) {
            ttape_status status = set_values(m, s, seg, values, out, err);
            if (status != TTAPE_OK && skip_segment(m, s, status) != TTAPE_OK)
                return status;
            if (status != TTAPE_OK)
                continue;
        }
        s->largest = m->heap[0].key;
        s->first++;
        requeue_top(m);
        return TTAPE_OK;
    }
    TTP_TRY(report_damage(m, err));
    return TTAPE_END;
}

static void start_cursors(struct ttp_merge *m, bool seeking, uint64_t time_ns)
{
    m->heap_count = 0;
    m->damage_next = 0;
    m->last_partition = UINT32_MAX;
    for (uint32_t i = 0; i < m->stream_count; i++) {
        struct merge_stream *s = &m->streams[i];
        struct heap_entry entry = {.slot = i};
        s->ordinal = s->position = s->first = s->count = 0;
        s->walker_ordinal = s->sought_ordinal = UINT32_MAX;
        s->largest = s->floor = 0;
        s->seeking = seeking;
        s->seek_time = time_ns;
        if (bound_of(m, s, &entry.key))
            m->heap[m->heap_count++] = entry;
    }
    for (uint32_t i = m->heap_count / 2; i-- > 0;)
        sift_down(m, i);
}

ttape_status ttp_merge_seek(struct ttp_merge *m, uint64_t time_ns, ttape_error *err)
{
    (void)err;
    start_cursors(m, true, time_ns);
    return TTAPE_OK;
}

static uint32_t share_budget(uint64_t budget_bytes, uint32_t streams, uint32_t least, uint32_t most)
{
    uint64_t events = budget_bytes / sizeof(ttape_event) / (streams != 0 ? streams : 1);
    return events < least ? least : events > most ? most : (uint32_t)events;
}

ttape_status ttp_merge_open(struct ttp_merge **out, struct ttp_lease *lease, ttape_error *err)
{
    const ttape_reader *r = lease->reader;
    struct ttp_memory *memory = &lease->memory;
    struct ttp_merge *m = ttp_memory_take(memory, 1, sizeof *m, err);
    if (m == NULL)
        return memory->status;
    *m = (struct ttp_merge){.lease = lease, .reader = r};
    *out = m;
    for (uint32_t i = 0; i < r->indexed_streams; i++)
        m->stream_count += r->stream_first[i] != r->stream_first[i + 1];
    m->first_capacity =
        share_budget(FIRST_BUDGET_BYTES, m->stream_count, BUFFER_LEAST_EVENTS, BUFFER_FIRST_EVENTS);
    m->most_capacity = share_budget(r->pool.cache_limit_bytes / 2, m->stream_count,
                                    m->first_capacity, BUFFER_MOST_EVENTS);
    m->streams = ttp_memory_take(memory, m->stream_count, sizeof *m->streams, err);
    if (m->streams == NULL)
        return memory->status;
    memset(m->streams, 0, m->stream_count * sizeof *m->streams);
    m->heap = ttp_memory_take(memory, m->stream_count, sizeof *m->heap, err);
    if (m->heap == NULL)
        return memory->status;
    uint32_t slot = 0;
    for (uint32_t i = 0; i < r->indexed_streams; i++) {
        uint32_t segments = r->stream_first[i + 1] - r->stream_first[i];
        if (segments != 0)
            m->streams[slot++] = (struct merge_stream){.stream = i, .segment_count = segments};
    }
    start_cursors(m, false, 0);
    return TTAPE_OK;
}

void ttp_merge_close(struct ttp_merge *m)
{
    if (m == NULL)
        return;
    const ttape_reader *r = m->reader;
    struct ttp_memory *memory = &m->lease->memory;
    for (uint32_t i = 0; m->streams != NULL && i < m->stream_count; i++)
        ttp_memory_give(memory, m->streams[i].events, m->streams[i].capacity,
                        sizeof *m->streams[i].events);
    ttp_memory_give(memory, m->streams, m->stream_count, sizeof *m->streams);
    ttp_memory_give(memory, m->heap, m->stream_count, sizeof *m->heap);
    ttp_memory_give(memory, m->failed, r->partition_count / 8 + 1, 1);
    ttp_memory_give(memory, m, 1, sizeof *m);
}
