/* A timeline: a lane for each thread, its stack from above, at up to one bucket a pixel. Bars are
 * what tiles say: a picture of instants, which no number is read from. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tiles.h>

#include "tools/calls/losses.h"
#include "tools/export/picture/picture.h"
#include "tools/io/table.h"

#define LANES_MOST  120u /* threads, the busiest */
#define ROWS_MOST   160u /* of all lanes */
#define LANES_FEW   16u  /* whose names stand above them, not beside */
#define NAME_WIDTH  180
#define DEPTHS_MOST 48u
#define TOP         70 /* where the first lane begins */
#define LANE_HEAD   18 /* its name */
#define LANE_GAP    6
#define PLACES      9u /* that the axis names, about */

struct bar {
    uint32_t lane, depth;
    int64_t fill;
    uint32_t signal;
    bool is_mostly;  /* others are in it, too */
    bool is_several; /* calls */
    double from, to; /* pixels from the left margin */
};

struct lane {
    const struct tool_export_stream *stream;
    uint64_t event_count;
    uint32_t depths; /* that it has */
    bool is_cut;     /* there are more */
};

struct timeline {
    struct tool_export *export;
    struct lane *lanes;
    uint32_t lane_count, hidden_count, depth_limit;
    struct bar *bars;
    size_t bar_count, bar_capacity;
    double from_ns, to_ns; /* from the trace's first event on */
    double left, width;    /* of the bars, in pixels */
    uint32_t damaged;
};

static int compare_busy(const void *left, const void *right)
{
    const struct lane *a = left, *b = right;
    return (a->event_count < b->event_count) - (a->event_count > b->event_count);
}

static int compare_places(const void *left, const void *right)
{
    const struct lane *a = left, *b = right;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static void choose_lanes(struct timeline *line)
{
    struct tool_export *export = line->export;
    line->lanes = tool_allocate(export->stream_count, sizeof(struct lane));
    for (uint32_t i = 0; i < export->stream_count; i++) {
        ttape_stream_info info;
        if (ttape_reader_get_stream(export->reader, export->streams[i].stream, &info) == TTAPE_OK &&
            info.event_count > 0)
            line->lanes[line->lane_count++] =
                (struct lane){.stream = &export->streams[i], .event_count = info.event_count};
    }
    qsort(line->lanes, line->lane_count, sizeof(struct lane), compare_busy);
    if (line->lane_count > LANES_MOST) {
        line->hidden_count = line->lane_count - LANES_MOST;
        line->lane_count = LANES_MOST;
    }
    qsort(line->lanes, line->lane_count, sizeof(struct lane), compare_places);
    uint32_t each = line->lane_count > 0 ? ROWS_MOST / line->lane_count : 1;
    line->depth_limit = each < DEPTHS_MOST ? each : DEPTHS_MOST;
    line->left = TOOL_PICTURE_MARGIN + (line->lane_count > LANES_FEW ? NAME_WIDTH : 0);
    line->width = TOOL_PICTURE_WIDTH - TOOL_PICTURE_MARGIN - line->left;
}

static void count_damage(void *context, uint32_t partition, const ttape_error *error)
{
    struct timeline *line = context;
    (void)partition;
    (void)error;
    line->damaged++;
}

/* A bar goes on from the one before it at this depth where both are of the same function. */
static void add_bar(struct timeline *line, size_t *open, struct bar bar)
{
    bar.from = fmax(bar.from, 0);
    bar.to = fmin(bar.to, line->width);
    if (bar.to <= bar.from)
        return;
    struct bar *last = open[bar.depth] > 0 ? &line->bars[open[bar.depth] - 1] : NULL;
    if (last != NULL && last->fill == bar.fill && last->signal == bar.signal &&
        bar.from - last->to < 0.001) {
        last->to = bar.to;
        last->is_several |= bar.is_several;
        return;
    }
    tool_grow((void **)&line->bars, &line->bar_capacity, line->bar_count + 1, sizeof(struct bar));
    line->bars[line->bar_count++] = bar;
    open[bar.depth] = line->bar_count;
    struct lane *lane = &line->lanes[bar.lane];
    if (bar.fill != TOOL_PICTURE_LOST && lane->depths <= bar.depth)
        lane->depths = bar.depth + 1;
}

static void add_tile(struct timeline *line, uint32_t lane, size_t *open, const ttape_tile *tile,
                     double start, double bucket)
{
    uint32_t count;
    const ttape_tile_bar *bars = ttape_tile_get_bars(tile, &count);
    const ttape_tile_bucket *buckets = ttape_tile_get_buckets(tile);
    for (uint32_t i = 0; i < count; i++) {
        bool is_signal = bars[i].site == TTAPE_NONE;
        add_bar(line, open,
                (struct bar){.lane = lane,
                             .depth = bars[i].depth,
                             .fill = is_signal ? TOOL_PICTURE_SIGNAL : (int64_t)bars[i].site,
                             .signal = bars[i].signal,
                             .is_several = bars[i].calls > 1,
                             .from = start + bars[i].start * bucket,
                             .to = start + (bars[i].start + bars[i].length) * bucket});
    }
    for (uint32_t i = 0; i < TTAPE_TILE_BUCKETS; i++)
        if (buckets[i].has_gaps)
            add_bar(line, open,
                    (struct bar){.lane = lane,
                                 .depth = line->depth_limit, /* a row of its own, drawn above */
                                 .fill = TOOL_PICTURE_LOST,
                                 .from = start + i * bucket,
                                 .to = start + (i + 1) * bucket});
}

/* The tile of a tick, which as a double may be one that no trace has. Tiles of the last level have
 * 2^63 ticks, as many as a shift can divide by. */
static int64_t tile_at(const ttape_tile_axis *axis, double tick, uint32_t level)
{
    const uint32_t bits = 8; /* of a place in a tile */
    double tile_ticks = ldexp(1, (int)(level + bits)), tile = floor(tick / tile_ticks);
    if (tile <= floor((double)axis->first_tick / tile_ticks))
        return axis->first_tick >> (level + bits);
    if (tile >= floor((double)axis->last_tick / tile_ticks))
        return axis->last_tick >> (level + bits);
    return (int64_t)tile;
}

_Static_assert(TTAPE_TILE_BUCKETS == 1u << 8, "as tile_at shifts");

static int fill_lane(struct timeline *line, uint32_t number)
{
    struct lane *lane = &line->lanes[number];
    ttape_tile_axis axis;
    ttape_error err = {0};
    ttape_tile_options how = {.size = sizeof how,
                              .stream = lane->stream->stream,
                              .instants = 8,
                              .depths = line->depth_limit,
                              .damage = count_damage,
                              .context = line};
    size_t open[DEPTHS_MOST + 1] = {0}; /* bars, from 1 on, by depth */
    if (ttape_tile_get_axis(line->export->reader, how.stream, &axis, &err) != TTAPE_OK)
        return tool_fail("'%s': %s", line->export->input->name, err.message);
    if (!axis.has_times)
        return TOOL_OK;
    double tick_ns = (double)axis.resolution_ns;
    double origin = (double)((int64_t)axis.origin_ns - (int64_t)line->export->info.time_first_ns);
    double first = fmax((line->from_ns - origin) / tick_ns, (double)axis.first_tick);
    double last = fmin((line->to_ns - origin) / tick_ns, (double)axis.last_tick);
    double ticks = (line->to_ns - line->from_ns) / tick_ns;
    while (how.level + 1 < TTAPE_TILE_LEVELS && ldexp(line->width, (int)how.level) < ticks)
        how.level++;
    double pixels = line->width / ticks, bucket = ldexp(pixels, (int)how.level);
    double tile_ticks = ldexp(TTAPE_TILE_BUCKETS, (int)how.level);
    int64_t end = tile_at(&axis, last, how.level);
    for (int64_t i = tile_at(&axis, first, how.level); i <= end; i++) {
        ttape_tile *tile;
        ttape_tile_info info;
        how.index = i;
        if (ttape_tile_make(&tile, line->export->reader, &how, &err) != TTAPE_OK)
            return tool_fail("'%s': %s", line->export->input->name, err.message);
        ttape_tile_get_info(tile, &info);
        lane->is_cut |= info.is_cut;
        add_tile(line, number, open, tile,
                 ((double)i * tile_ticks - (line->from_ns - origin) / tick_ns) * pixels, bucket);
        ttape_tile_close(tile);
    }
    return TOOL_OK;
}

static int compare_bars(const void *left, const void *right)
{
    const struct bar *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

/* One bar in place of several: of the function that has at least half of them, or of none. */
static struct bar join_bars(const struct bar *bars, size_t count)
{
    struct bar joined = bars[0];
    int64_t likeliest = bars[0].fill;
    double weight = 0, of_likeliest = 0, of_all = 0;
    joined.to = bars[count - 1].to;
    for (size_t i = 0; i < count; i++) {
        double width = bars[i].to - bars[i].from;
        weight += bars[i].fill == likeliest ? width : -width;
        if (weight < 0) {
            likeliest = bars[i].fill;
            weight = -weight;
        }
    }
    for (size_t i = 0; i < count; i++) {
        of_all += bars[i].to - bars[i].from;
        of_likeliest += bars[i].fill == likeliest ? bars[i].to - bars[i].from : 0;
        joined.is_mostly |= bars[i].fill != likeliest;
    }
    joined.is_several |= count > 1;
    joined.fill = 2 * of_likeliest >= of_all ? likeliest : (int64_t)TOOL_PICTURE_MIXED;
    return joined;
}

/* Neighbours that are narrower than `least` become one bar; returns how many bars there are then.
 * With `into`, which may be where they are, they are written there. */
static size_t join_narrow(const struct timeline *line, double least, struct bar *into)
{
    size_t count = 0, first = 0;
    while (first < line->bar_count) {
        const struct bar *bars = &line->bars[first];
        size_t size = 1;
        if (bars[0].fill >= 0 && bars[0].to - bars[0].from < least)
            while (first + size < line->bar_count && bars[size].fill >= 0 &&
                   bars[size].lane == bars[0].lane && bars[size].depth == bars[0].depth &&
                   bars[size].to - bars[size].from < least &&
                   bars[size].from - bars[size - 1].to < least)
                size++;
        if (into != NULL)
            into[count] = join_bars(bars, size);
        count++;
        first += size;
    }
    return count;
}

static void thin_out(struct timeline *line, size_t most)
{
    double least = 0.5;
    if (line->bar_count == 0)
        return; /* nothing can be read, or is on */
    qsort(line->bars, line->bar_count, sizeof(struct bar), compare_bars);
    while (join_narrow(line, least, NULL) > most && least < 4 * line->width)
        least *= 1.1;
    line->bar_count = join_narrow(line, least, line->bars);
}

static double lane_head(const struct timeline *line)
{
    return line->lane_count > LANES_FEW ? 0 : LANE_HEAD;
}

static double lane_height(const struct timeline *line, uint32_t lane)
{
    uint32_t depths = line->lanes[lane].depths;
    return lane_head(line) + (depths > 0 ? depths : 1) * TOOL_PICTURE_ROW +
           (lane_head(line) > 0 ? LANE_GAP : 1);
}

static void put_axis(struct timeline *line, struct tool_output *out, double height)
{
    double span = line->to_ns - line->from_ns, step = 1;
    static const double factors[] = {2, 2.5, 2};
    for (unsigned i = 0; span / step > PLACES; i++)
        step *= factors[i % 3];
    /* of a short part far from the start, places are counted from its own start */
    bool is_far = span < line->from_ns / 100;
    double origin = is_far ? line->from_ns : 0;
    for (double at = origin + ceil((line->from_ns - origin) / step) * step; at <= line->to_ns;
         at += step) {
        char text[41] = "+";
        double x = line->left + (at - line->from_ns) / span * line->width;
        text[is_far + tool_put_time(text + is_far, (int64_t)(at - origin))] = '\0';
        tool_picture_put_line(out, x, TOP - 12, height - TOP + 4);
        tool_picture_put_text(out, x + 3, TOP - 6, true, x > TOOL_PICTURE_WIDTH - 80, text);
    }
}

static void put_bar(struct timeline *line, struct tool_output *out, const struct bar *bar, double y)
{
    char label[560], about[700], from[40], to[40];
    double scale = (line->to_ns - line->from_ns) / line->width;
    const char *name =
        bar->fill >= 0 ? tool_site_name(&line->export->names, (uint32_t)bar->fill) : "";
    label[0] = '\0';
    if (bar->fill >= 0)
        (void)snprintf(label, sizeof label, "%.500s%s", name,
                       bar->is_several ? ", several calls" : "");
    else if (bar->fill == TOOL_PICTURE_SIGNAL)
        (void)snprintf(label, sizeof label, "signal %" PRIu32, bar->signal);
    from[tool_put_time(from, (int64_t)(line->from_ns + bar->from * scale))] = '\0';
    to[tool_put_time(to, (int64_t)(line->from_ns + bar->to * scale))] = '\0';
    (void)snprintf(about, sizeof about, "%s%s, about %s to %s",
                   bar->fill == TOOL_PICTURE_MIXED  ? "calls of many functions"
                   : bar->fill == TOOL_PICTURE_LOST ? "events are lost"
                                                    : label,
                   bar->is_mostly && bar->fill >= 0 ? " for the most part" : "", from, to);
    bool is_lost = bar->fill == TOOL_PICTURE_LOST;
    tool_picture_put_bar(out,
                         &(struct tool_picture_bar){
                             .x = line->left + bar->from,
                             .y = is_lost ? y : y + lane_head(line) + bar->depth * TOOL_PICTURE_ROW,
                             .width = bar->to - bar->from > 0.3 ? bar->to - bar->from : 0.3,
                             .fill = bar->fill,
                             .label = label,
                             .about = about});
}

static void put_lane(struct timeline *line, struct tool_output *out, uint32_t number, double y)
{
    const struct lane *lane = &line->lanes[number];
    struct tool_buffer name = {0};
    char text[200];
    tool_export_thread_name(line->export, lane->stream, 0, &name);
    size_t size = ttp_escape(text, TTP_ESCAPE_TERMINAL, name.data,
                             name.size_bytes < 24 ? name.size_bytes : 24);
    if (lane_head(line) > 0)
        (void)snprintf(text + size, sizeof text - size,
                       ", thread %" PRIu64 " of process %" PRIu64 "%s", lane->stream->tid,
                       lane->stream->pid, lane->is_cut ? ", deeper calls are left out" : "");
    else
        (void)snprintf(text + size, sizeof text - size, " %" PRIu64, lane->stream->tid);
    tool_picture_put_text(out, TOOL_PICTURE_MARGIN, y + 12, true, false, text);
    tool_buffer_close(&name);
}

static void put_all(struct timeline *line, struct tool_output *out)
{
    char about[256], length[40];
    double height = TOP, y = TOP;
    size_t next = 0;
    for (uint32_t i = 0; i < line->lane_count; i++)
        height += lane_height(line, i);
    length[tool_put_time(length, (int64_t)(line->to_ns - line->from_ns))] = '\0';
    int size = snprintf(
        about, sizeof about, "%s from +%.9fs on, %" PRIu32 " of %" PRIu32 " threads", length,
        line->from_ns / 1e9, line->lane_count, line->lane_count + line->hidden_count);
    uint64_t lost = tool_lost_events(line->export->reader);
    if (lost > 0)
        (void)snprintf(about + size, sizeof about - (size_t)size, ", %" PRIu64 " events are lost",
                       lost);
    tool_picture_begin(out, height + 8, tool_picture_title(line->export), about);
    put_axis(line, out, height);
    for (uint32_t i = 0; i < line->lane_count; i++) {
        put_lane(line, out, i, y);
        for (; next < line->bar_count && line->bars[next].lane == i; next++)
            put_bar(line, out, &line->bars[next], y);
        y += lane_height(line, i);
    }
    tool_picture_end(out);
}

int tool_picture_draw_timeline(struct tool_export *export, struct tool_output *out)
{
    const ttape_info *info = &export->info;
    double end = (double)(info->time_last_ns - info->time_first_ns);
    struct timeline line = {.export = export, .to_ns = end};
    int status = TOOL_OK;
    if (!export->has_times)
        return tool_fail("'%s' has no times, so there is no timeline: --picture flame, or tree",
                         export->input->name);
    if (export->has_from)
        line.from_ns = fmax((double)export->from_ns - (double)info->time_first_ns, 0);
    if (export->has_to)
        line.to_ns = fmin((double)export->to_ns - (double)info->time_first_ns, end);
    if (line.to_ns - line.from_ns < 1)
        line.to_ns = line.from_ns + 1;
    choose_lanes(&line);
    for (uint32_t i = 0; i < line.lane_count && status == TOOL_OK; i++)
        status = fill_lane(&line, i);
    if (status == TOOL_OK) {
        /* lines and names of lanes are shapes, too */
        thin_out(&line, TOOL_PICTURE_SHAPES - line.lane_count - 2 * PLACES - 2);
        put_all(&line, out);
    }
    if (line.damaged > 0 && status == TOOL_OK) {
        tool_message("'%s': %" PRIu32 " partitions cannot be read: their time is empty",
                     export->input->name, line.damaged);
        status = TOOL_LOSS;
    }
    free(line.lanes);
    free(line.bars);
    return status;
}
