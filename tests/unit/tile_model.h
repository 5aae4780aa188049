/* Tiles of the model in analysis_fixture.h, made instant by instant: every instant has a copy of
 * its stack. */
#ifndef TTEST_TILE_MODEL_H
#define TTEST_TILE_MODEL_H

#include <tracetape/tiles.h>

#include "tests/unit/analysis_fixture.h"

struct ttest_instant {
    bool known, has_gap;
    uint32_t height;
    uint32_t frames[TTEST_DEPTH]; /* of the model; those above its height are not set */
};

/* What a bucket's path has at a depth. */
struct ttest_step {
    uint32_t name; /* site, or 1000 and a signal's number */
    uint32_t instants, count;
    uint32_t frames[TTAPE_TILE_INSTANTS]; /* different ones */
};

struct ttest_path {
    uint32_t length;
    struct ttest_step steps[TTEST_DEPTH];
};

struct ttest_tile {
    ttape_tile_bucket buckets[TTAPE_TILE_BUCKETS];
    ttape_tile_bar *bars;
    uint32_t bar_count;
};

static inline uint32_t ttest_tile_name(const struct ttest_model *m, size_t frame)
{
    const struct ttest_frame *f = &m->frames[frame];
    return f->site == TTAPE_NONE ? 1000 + f->argument : f->site;
}

static inline int64_t ttest_tile_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The first instant at or behind a tick. */
static inline int64_t ttest_tile_number(int64_t tick, int64_t spacing)
{
    return -ttest_tile_floor(-tick, spacing);
}

/* Gives `count` instants from number `first` on. A stream's instants come in its order: those that
 * were given stay. */
static inline void ttest_tile_fill(const struct ttest_model *m, uint32_t stream,
                                   const ttape_tile_axis *axis, int64_t spacing, int64_t first,
                                   int64_t count, struct ttest_instant *out)
{
    struct ttest_model again = *m;
    struct ttest_stacks st = {0};
    const struct ttest_stream *s = &m->streams[stream];
    int64_t next = INT64_MIN, before = 0;
    bool gap = false;
    size_t stream_start = 0; /* of its frames in the model */
    while (stream_start < m->frame_count && m->frames[stream_start].stream < stream)
        stream_start++;
    again.frames = NULL;
    again.frame_count = again.frame_capacity = 0;
    for (int64_t i = 0; i < count; i++)
        out[i].known = out[i].has_gap = false;
    for (size_t i = 0; i < s->count; i++) {
        int64_t tick = ttest_tile_floor((int64_t)(s->events[i].time_ns - axis->origin_ns),
                                        (int64_t)axis->resolution_ns);
        next = i == 0 ? ttest_tile_number(tick, spacing) : next;
        int64_t end = ttest_tile_number(tick, spacing), given = next;
        next = end > next && before < tick ? end : next;
        for (int64_t n = given > first ? given : first; n < next && n < first + count; n++) {
            struct ttest_instant *at = &out[n - first];
            at->known = true;
            at->has_gap = gap && n == given;
            at->height = st.height[st.current];
            for (uint32_t k = 0; k < at->height; k++)
                at->frames[k] = (uint32_t)(stream_start + st.frame[st.current][k]);
        }
        if (next >= first + count)
            break; /* what follows gives later ones */
        gap = gap && next == given;
        before = tick;
        ttest_apply(&again, &st, stream, i);
        gap = gap || s->events[i].kind == TTAPE_EVENT_GAP;
    }
    free(again.frames);
}

/* Adds a step to the path; `has` says which instants have the path so far. */
static inline bool ttest_tile_step(const struct ttest_model *m, const struct ttest_instant *at,
                                   uint32_t count, bool *has, struct ttest_path *path)
{
    struct ttest_step *step = &path->steps[path->length];
    uint32_t names[TTAPE_TILE_INSTANTS];
    *step = (struct ttest_step){0};
    for (uint32_t i = 0; i < count; i++) {
        has[i] = has[i] && at[i].known && at[i].height > path->length;
        names[i] = has[i] ? ttest_tile_name(m, at[i].frames[path->length]) : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t have = 0;
        for (uint32_t k = 0; k < count; k++)
            have += has[i] && has[k] && names[k] == names[i];
        if (have > step->instants)
            *step = (struct ttest_step){.name = names[i], .instants = have};
    }
    for (uint32_t i = 0; i < count; i++) {
        has[i] = has[i] && names[i] == step->name;
        bool known = !has[i];
        for (uint32_t k = 0; k < step->count; k++)
            known = known || step->frames[k] == at[i].frames[path->length];
        if (!known)
            step->frames[step->count++] = at[i].frames[path->length];
    }
    return step->instants != 0;
}

/* Whether step d of the path goes on from the bucket before. */
static inline bool ttest_tile_joins(const struct ttest_path *before, const struct ttest_path *path,
                                    uint32_t depth)
{
    for (uint32_t d = 0; d <= depth; d++) {
        const struct ttest_step *a = &before->steps[d], *b = &path->steps[d];
        if (before->length <= d || a->name != b->name ||
            (a->count == 1 && b->count == 1 && a->frames[0] != b->frames[0]))
            return false;
    }
    return true;
}

/* Frames of steps first .. last of a depth, each once. */
static inline uint32_t ttest_tile_calls(const struct ttest_path *paths, uint32_t first,
                                        uint32_t last, uint32_t depth)
{
    uint32_t calls = 0;
    for (uint32_t b = first; b <= last; b++)
        for (uint32_t i = 0; i < paths[b].steps[depth].count; i++) {
            bool known = false;
            for (uint32_t k = first; k < b; k++)
                for (uint32_t j = 0; j < paths[k].steps[depth].count; j++)
                    known =
                        known || paths[k].steps[depth].frames[j] == paths[b].steps[depth].frames[i];
            calls += !known;
        }
    return calls;
}

static inline void ttest_tile_bars(const struct ttest_path *paths, struct ttest_tile *out)
{
    uint32_t depths = 0;
    for (uint32_t b = 0; b < TTAPE_TILE_BUCKETS; b++)
        depths = paths[b].length > depths ? paths[b].length : depths;
    for (uint32_t d = 0; d < depths; d++)
        for (uint32_t b = 0; b < TTAPE_TILE_BUCKETS; b++) {
            if (paths[b].length <= d)
                continue;
            const struct ttest_step *step = &paths[b].steps[d];
            if (b == 0 || !ttest_tile_joins(&paths[b - 1], &paths[b], d))
                out->bars[out->bar_count++] =
                    (ttape_tile_bar){.start = b,
                                     .depth = d,
                                     .site = step->name < 1000 ? step->name : TTAPE_NONE,
                                     .signal = step->name < 1000 ? 0 : step->name - 1000};
            ttape_tile_bar *bar = &out->bars[out->bar_count - 1];
            bar->length = b + 1 - bar->start;
            bar->instants += step->instants;
        }
    for (uint32_t i = 0; i < out->bar_count; i++) {
        ttape_tile_bar *bar = &out->bars[i];
        bar->calls = ttest_tile_calls(paths, bar->start, bar->start + bar->length - 1, bar->depth);
    }
}

static inline struct ttest_tile
ttest_tile_of(const struct ttest_model *m, const ttape_tile_axis *axis, const ttape_tile_options *o)
{
    struct ttest_tile tile = {.bars =
                                  calloc(TTAPE_TILE_BUCKETS * TTEST_DEPTH, sizeof(ttape_tile_bar))};
    uint32_t k = o->instants != 0 ? o->instants : TTAPE_TILE_INSTANTS;
    while (o->level < 4 && k > 1u << o->level)
        k /= 2;
    int64_t spacing = (INT64_C(1) << o->level) / k, count = (int64_t)k * TTAPE_TILE_BUCKETS;
    struct ttest_instant *at = malloc((size_t)count * sizeof *at);
    struct ttest_path *paths = calloc(TTAPE_TILE_BUCKETS, sizeof *paths);
    ttest_tile_fill(m, o->stream, axis, spacing, o->index * count, count, at);
    for (uint32_t b = 0; b < TTAPE_TILE_BUCKETS; b++) {
        const struct ttest_instant *first = &at[(size_t)b * k];
        for (uint32_t i = 0; i < k; i++) {
            tile.buckets[b].known += first[i].known;
            tile.buckets[b].has_gaps = tile.buckets[b].has_gaps || first[i].has_gap;
        }
        bool has[TTAPE_TILE_INSTANTS];
        memset(has, true, sizeof has);
        while (ttest_tile_step(m, first, k, has, &paths[b]))
            paths[b].length++;
    }
    ttest_tile_bars(paths, &tile);
    free(paths);
    free(at);
    return tile;
}

static inline bool ttest_tile_same(const struct ttest_tile *want, const ttape_tile *tile)
{
    uint32_t count;
    const ttape_tile_bar *bars = ttape_tile_get_bars(tile, &count);
    const ttape_tile_bucket *buckets = ttape_tile_get_buckets(tile);
    bool same = count == want->bar_count;
    for (uint32_t i = 0; i < TTAPE_TILE_BUCKETS; i++)
        same = same && buckets[i].known == want->buckets[i].known &&
               buckets[i].has_gaps == want->buckets[i].has_gaps;
    for (uint32_t i = 0; i < count && same; i++)
        same = memcmp(&bars[i], &want->bars[i], sizeof bars[i]) == 0;
    return same;
}

/* Tiles of a level: from the first that has something to the last, in steps so that there are about
 * `most` of them. */
struct ttest_tile_span {
    int64_t first, last, step;
};

static inline struct ttest_tile_span ttest_tile_span_of(const ttape_tile_axis *axis, uint32_t level,
                                                        int64_t most)
{
    int64_t width = INT64_C(256) << level;
    struct ttest_tile_span s = {.first = ttest_tile_floor(axis->first_tick, width),
                                .last = ttest_tile_floor(axis->last_tick, width)};
    s.step = s.last - s.first > most ? (s.last - s.first) / most : 1;
    return s;
}

static inline ttape_tile *ttest_tile_made(ttape_reader *r, const ttape_tile_options *o,
                                          ttape_tile_info *info)
{
    ttape_error err = {0};
    ttape_tile *tile;
    ttape_status status = ttape_tile_make(&tile, r, o, &err);
    ck_assert_msg(status == TTAPE_OK, "%s", err.message);
    ttape_tile_get_info(tile, info);
    return tile;
}

static inline bool ttest_tiles_agree(const ttape_tile *a, const ttape_tile *b)
{
    uint32_t count, other;
    const ttape_tile_bar *x = ttape_tile_get_bars(a, &count), *y = ttape_tile_get_bars(b, &other);
    return count == other && (count == 0 || memcmp(x, y, count * sizeof *x) == 0) &&
           memcmp(ttape_tile_get_buckets(a), ttape_tile_get_buckets(b),
                  TTAPE_TILE_BUCKETS * sizeof(ttape_tile_bucket)) == 0;
}

#endif
