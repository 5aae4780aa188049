/* A gap event takes the place of the last event that is lost: its number, its time (which the next
 * partition's edge knows), and the frames that were open behind it. So numbers of events stay what
 * they were, and the next partition goes on exactly where the gap event stands. */
#include "libtrace/recover_gaps.h"

#include <string.h>

#include "format/fail.h"
#include "reader/partition_reader.h"
#include "reader/sort.h"
#include "writer/copy_writer.h"

static bool lost_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_lost_segment *lost = context;
    if (lost[a].stream != lost[b].stream)
        return lost[a].stream < lost[b].stream;
    return lost[a].first_event != lost[b].first_event ? lost[a].first_event < lost[b].first_event
                                                      : a < b;
}

ttape_status ttp_gaps_open(struct ttp_gaps *g, const struct ttp_salvage *s, ttape_writer *writer,
                           ttape_copier *copier, ttape_error *err)
{
    ttape_info info;
    const ttape_allocator *a = &writer->allocator;
    *g = (struct ttp_gaps){.s = s, .writer = writer, .copier = copier};
    ttape_reader_get_info(s->r, &info);
    TTP_TRY(ttp_grow(a, &g->streams, sizeof(struct ttp_gap_stream), info.stream_count + 1ull, err));
    TTP_TRY(ttp_grow(a, &g->order, sizeof(uint32_t), s->lost_count + 1ull, err));
    struct ttp_gap_stream *streams = g->streams.data;
    for (uint32_t i = 0; i < info.stream_count; i++)
        streams[i] = (struct ttp_gap_stream){.partition = TTAPE_NONE};
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

/* Writes a gap event whose number is edge->event_number - 1, on the streams' own clock. */
static ttape_status write_gap(struct ttp_gaps *g, uint32_t partition, uint32_t stream,
                              ttape_edge *edge, uint64_t count, ttape_error *err)
{
    uint32_t scope;
    ttape_partition_info info;
    ttape_writer *w = g->writer;
    TTP_TRY(ttape_reader_get_partition(g->s->r, partition, &info));
    const struct ttp_part *part = &g->s->r->parts[partition];
    struct ttp_scope *to = ttp_copier_scope(g->copier, info.scope);
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
    ttape_event gap = {.time_ns = edge->time_ns,
                       .kind = TTAPE_GAP,
                       .site = TTAPE_NONE,
                       .argument = TTAPE_GAP_DAMAGE,
                       .count = count,
                       .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(ttp_writer_set_clock(w, part->resolution_ns, part->origin_ns, err));
    TTP_TRY(ttp_resume(w, to, id, edge, err));
    g->gap_count++;
    return ttp_append(w, to, id, &gap, 1, err);
}

/* Is something lost between the stream's last kept event and this number? *count: how many, 0: not
 * known. A hole in a stream's numbers is none where no chunk is lost: it was cut out before. */
static bool is_lost(const struct ttp_gaps *g, uint32_t stream, uint64_t first, uint32_t partition,
                    uint64_t *count)
{
    const struct ttp_gap_stream *at = (const struct ttp_gap_stream *)g->streams.data + stream;
    bool seen = at->partition != TTAPE_NONE;
    uint64_t last;
    if (first <= at->next)
        return false;
    *count = known_lost(g, stream, at->next, first, &last);
    if (g->s->index_end > g->s->r->parts[partition].sequence)
        return *count != 0;
    if (g->s->part_losses[partition] == (seen ? at->losses : 0))
        return *count != 0;
    if (seen)
        *count = first - at->next;
    return true;
}

ttape_status ttp_gaps_before(struct ttp_gaps *g, uint32_t partition, ttape_error *err)
{
    ttape_partition_info info;
    struct ttp_gap_stream *streams = g->streams.data;
    TTP_TRY(ttape_reader_get_partition(g->s->r, partition, &info));
    for (uint32_t i = 0; i < info.segment_count; i++) {
        struct ttp_segment_place place;
        uint64_t count;
        TTP_TRY(ttp_partition_segment(g->s->r, partition, i, &place));
        if (is_lost(g, place.stream, place.first_event, partition, &count)) {
            ttape_segment_info segment;
            TTP_TRY(ttape_reader_get_segment(g->s->r, partition, i, &segment, err));
            TTP_TRY(write_gap(g, partition, place.stream, &segment.start, count, err));
        }
        streams[place.stream] = (struct ttp_gap_stream){place.first_event + place.event_count,
                                                        g->s->part_losses[partition], partition, i};
    }
    return TTAPE_OK;
}

ttape_status ttp_gaps_at_end(struct ttp_gaps *g, ttape_error *err)
{
    const struct ttp_gap_stream *streams = g->streams.data;
    for (uint32_t i = 0; i < g->streams.count; i++) {
        uint64_t last, count;
        ttape_segment_info segment;
        if (streams[i].partition == TTAPE_NONE)
            continue;
        count = known_lost(g, i, streams[i].next, UINT64_MAX, &last);
        if (count == 0)
            continue;
        TTP_TRY(ttape_reader_get_segment(g->s->r, streams[i].partition, streams[i].segment,
                                         &segment, err));
        segment.end.event_number = last;
        TTP_TRY(write_gap(g, streams[i].partition, i, &segment.end, count, err));
    }
    return TTAPE_OK;
}
