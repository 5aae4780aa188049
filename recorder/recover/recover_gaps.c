/* A gap event takes the place of the last event that is lost: its number, its time (which the next
 * partition's edge knows), and the frames that were open behind it. So numbers of events stay what
 * they were, and the next partition goes on exactly where the gap event stands. */
#include "recorder/recover/recover_gaps.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"
#include "reader/partition/partition_reader.h"
#include "writer/events/copy_writer.h"

static bool lost_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_lost_segment *lost = context;
    if (lost[a].stream != lost[b].stream)
        return lost[a].stream < lost[b].stream;
    return lost[a].first_event != lost[b].first_event ? lost[a].first_event < lost[b].first_event
                                                      : a < b;
}

/* Where the output has the stream so far: other files may have brought it there. */
static uint64_t reached(const struct ttp_gaps *g, uint32_t stream)
{
    uint32_t scope, id = ttp_local_stream(g->s->r, stream, &scope);
    const struct ttp_scope *to = ttp_copier_scope(g->copier, scope);
    if (to == NULL || id >= to->stream_count)
        return 0;
    return ((const struct ttp_stream_state *)to->stream_states.data)[id].next_event;
}

ttape_status ttp_gaps_open(struct ttp_gaps *g, const struct ttp_salvage *s, ttape_writer *writer,
                           ttape_copier *copier, const struct ttp_gap_facts *facts,
                           ttape_error *err)
{
    static const struct ttp_gap_facts none = {0};
    ttape_info info;
    const ttape_allocator *a = &writer->allocator;
    *g = (struct ttp_gaps){
        .s = s, .facts = facts != NULL ? facts : &none, .writer = writer, .copier = copier};
    ttape_reader_get_info(s->r, &info);
    TTP_TRY(ttp_grow(a, &g->streams, sizeof(struct ttp_gap_stream), info.stream_count + 1ull, err));
    TTP_TRY(ttp_grow(a, &g->order, sizeof(uint32_t), s->lost_count + 1ull, err));
    TTP_TRY(ttp_grow(a, &g->counted, sizeof(uint32_t), s->losses + 1ull, err));
    memset(g->counted.data, 0, ((size_t)s->losses + 1) * sizeof(uint32_t));
    struct ttp_gap_stream *streams = g->streams.data;
    for (uint32_t i = 0; i < info.stream_count; i++)
        streams[i] = (struct ttp_gap_stream){.next = reached(g, i), .partition = TTAPE_NONE};
    g->streams.count = info.stream_count;
    uint32_t *order = g->order.data;
    for (uint32_t i = 0; i < s->lost_count; i++)
        order[i] = i;
    g->order.count = s->lost_count;
    ttp_sort(order, s->lost_count, lost_less, s->lost);
    return TTAPE_OK;
}

void ttp_gaps_close(struct ttp_gaps *g)
{
    if (g->writer == NULL)
        return;
    const ttape_allocator *a = &g->writer->allocator;
    ttp_grown_free(a, &g->streams);
    ttp_grown_free(a, &g->order);
    ttp_grown_free(a, &g->frames);
    ttp_grown_free(a, &g->counted);
}

/* Events of lost partitions of a stream that are known, with numbers in [from, to). */
static uint64_t known_lost(const struct ttp_gaps *g, uint32_t stream, uint64_t from, uint64_t to,
                           uint64_t *last)
{
    const uint32_t *order = g->order.data;
    const struct ttp_lost_segment *lost = g->s->lost;
    size_t low = 0, high = g->order.count;
    uint64_t sum = 0, end = from;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ttp_lost_segment *at = &lost[order[middle]];
        if (at->stream < stream || (at->stream == stream && at->first_event < from))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < g->order.count; low++) {
        const struct ttp_lost_segment *at = &lost[order[low]];
        if (at->stream != stream || at->first_event >= to)
            break;
        if (at->first_event < end || at->event_count > to - at->first_event)
            continue; /* two say something of the same events, or numbers pass their end */
        sum += at->event_count;
        end = at->first_event + at->event_count;
    }
    *last = end;
    return sum;
}

/* The clock of the streams: that of a partition, or (TTAPE_NONE) of any. */
static ttape_status set_clock(struct ttp_gaps *g, uint32_t partition, ttape_error *err)
{
    const ttape_reader *r = g->s->r;
    if (partition == TTAPE_NONE && r->partition_count == 0)
        return TTAPE_OK;
    const struct ttp_partition_entry *entry =
        &r->partitions[partition == TTAPE_NONE ? 0 : partition];
    return ttp_writer_set_clock(g->writer, entry->resolution_ns, entry->origin_ns, err);
}

/* Writes a gap event whose number is edge->event_number - 1, on the streams' own clock. */
static ttape_status write_gap(struct ttp_gaps *g, uint32_t partition, uint32_t stream,
                              ttape_edge *edge, uint64_t count, ttape_error *err)
{
    uint32_t scope;
    ttape_writer *w = g->writer;
    TTP_TRY(ttp_grow(&w->allocator, &g->frames, sizeof(ttape_open_frame), edge->frame_count + 1ull,
                     err));
    ttape_open_frame *frames = g->frames.data;
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        frames[i] = edge->frames[i];
        if (frames[i].site != TTAPE_NONE)
            frames[i].site = ttp_local_site(g->s->r, frames[i].site, &scope);
    }
    edge->frames = frames;
    edge->event_number--;
    uint32_t id = ttp_local_stream(g->s->r, stream, &scope);
    struct ttp_scope *to = ttp_copier_scope(g->copier, scope);
    ttape_event gap = {.time_ns = edge->time_ns,
                       .kind = TTAPE_EVENT_GAP,
                       .site = TTAPE_NONE,
                       .argument = TTAPE_GAP_REASON_DAMAGE,
                       .lost_count = count,
                       .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(set_clock(g, partition, err));
    TTP_TRY(ttp_resume(w, to, id, edge, err));
    g->sums.gap_count++;
    g->sums.lost_events += count;
    g->sums.uncounted += count == 0;
    return ttp_append(w, to, id, &gap, 1, err);
}

/* A gap speaks for these losses. */
static void count_losses(struct ttp_gaps *g, uint32_t first, uint32_t end)
{
    uint32_t *counted = g->counted.data;
    counted[first]++;
    counted[end]--;
}

/* Is something lost between the stream's last kept event and this number? *count: how many, 0: not
 * known. A hole in a stream's numbers is none where no chunk is lost: it was cut out before. */
static bool is_lost(struct ttp_gaps *g, uint32_t stream, uint64_t first, uint32_t partition,
                    uint64_t *count)
{
    const struct ttp_gap_stream *at = (const struct ttp_gap_stream *)g->streams.data + stream;
    bool seen = at->partition != TTAPE_NONE;
    uint32_t before = seen ? at->losses : 0, losses = g->s->partition_losses[partition];
    uint64_t last;
    if (first <= at->next)
        return false;
    *count = known_lost(g, stream, at->next, first, &last);
    if (g->s->index_end > g->s->r->partitions[partition].sequence)
        return *count != 0;
    if (losses == before && (seen || !g->facts->lost_before))
        return *count != 0;
    if (seen || at->next != 0 || g->facts->begins)
        *count = first - at->next;
    count_losses(g, before, losses);
    return true;
}

ttape_status ttp_gaps_before(struct ttp_gaps *g, uint32_t partition, ttape_error *err)
{
    ttape_partition_info info;
    struct ttp_gap_stream *streams = g->streams.data;
    TTP_TRY(ttape_reader_get_partition(g->s->r, partition, &info));
    for (uint32_t i = 0; i < info.segment_count; i++) {
        const struct ttp_segment_entry *seg = ttp_partition_segment(g->s->r, partition, i);
        uint64_t count;
        if (is_lost(g, seg->stream, seg->first_event, partition, &count)) {
            ttape_segment_info segment;
            TTP_TRY(ttape_reader_get_segment(g->s->r, partition, i, &segment, err));
            TTP_TRY(write_gap(g, partition, seg->stream, &segment.start, count, err));
        }
        streams[seg->stream] = (struct ttp_gap_stream){
            seg->first_event + seg->event_count, g->s->partition_losses[partition], partition, i};
    }
    return TTAPE_OK;
}

/* What is missing behind the stream's last kept event: how many, the number behind the last of them
 * and (where it is known) its time. */
static bool is_lost_at_end(struct ttp_gaps *g, uint32_t stream, uint64_t *count, uint64_t *end,
                           uint64_t *time_ns)
{
    const struct ttp_gap_stream *at = (const struct ttp_gap_stream *)g->streams.data + stream;
    bool seen = at->partition != TTAPE_NONE;
    *time_ns = 0;
    uint64_t from = at->next;
    bool has_start = seen || from != 0 || g->facts->begins;
    *count = known_lost(g, stream, from, UINT64_MAX, end);
    if (!has_start || g->facts->find_end == NULL ||
        !g->facts->find_end(g->facts->context, stream, end, time_ns))
        return *count != 0;
    if (*end <= at->next)
        return false;
    *count = *end - at->next;
    count_losses(g, seen ? at->losses : 0, g->s->losses);
    return true;
}

/* Nothing is left of the stream: its beginning is the only time that is known. */
static ttape_status edge_alone(const struct ttp_gaps *g, uint32_t stream, ttape_edge *edge)
{
    ttape_stream_info info;
    const ttape_reader *r = g->s->r;
    *edge = (ttape_edge){0};
    TTP_TRY(ttape_reader_get_stream(r, stream, &info));
    edge->time_ns = info.stream.start_time_ns;
    if (r->partition_count != 0 && edge->time_ns < r->partitions[0].origin_ns)
        edge->time_ns = r->partitions[0].origin_ns;
    return TTAPE_OK;
}

static ttape_status end_stream(struct ttp_gaps *g, uint32_t stream, ttape_error *err)
{
    const struct ttp_gap_stream *at = (const struct ttp_gap_stream *)g->streams.data + stream;
    uint64_t count, end, time_ns;
    ttape_segment_info segment = {0};
    if (!is_lost_at_end(g, stream, &count, &end, &time_ns))
        return TTAPE_OK;
    if (at->partition == TTAPE_NONE)
        TTP_TRY(edge_alone(g, stream, &segment.end));
    else
        TTP_TRY(ttape_reader_get_segment(g->s->r, at->partition, at->segment, &segment, err));
    segment.end.event_number = end;
    if (time_ns > segment.end.time_ns)
        segment.end.time_ns = time_ns;
    return write_gap(g, at->partition, stream, &segment.end, count, err);
}

static void count_uncounted(void *context, uint32_t loss, bool is_known)
{
    struct ttp_gaps *g = context;
    uint32_t *counted = g->counted.data; /* sums of what is before, from here on */
    counted[loss] += loss != 0 ? counted[loss - 1] : 0;
    g->sums.uncounted += !is_known && counted[loss] == 0;
}

/* Of bytes at the end that are no chunk, where no number says that one is missing. */
static bool has_torn_end(const struct ttp_salvage *s)
{
    const struct ttp_salvage_piece *tail = &s->pieces[s->piece_count - 1];
    return !tail->is_chunk && tail->fate == TTAPE_RECOVER_LOST && s->losses == 0;
}

ttape_status ttp_gaps_at_end(struct ttp_gaps *g, ttape_error *err)
{
    for (uint32_t i = 0; i < g->streams.count; i++)
        TTP_TRY(end_stream(g, i, err));
    if (g->facts->find_end != NULL)
        return TTAPE_OK;
    ttp_salvage_each_loss(g->s, count_uncounted, g);
    g->sums.uncounted += has_torn_end(g->s);
    return TTAPE_OK;
}
