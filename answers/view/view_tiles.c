/* Tiles: for each thread asked for some neighbouring ones of one level. */
#include <tracetape/tiles.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define TILES_MOST  256u
#define DEPTHS_MOST 512u

/* Bars as one list of numbers, seven each: their names in every bar would be half of the bytes. */
static void put_bars(struct ttape_view *view, const ttape_tile *tile)
{
    uint32_t count;
    const ttape_tile_bar *bars = ttape_tile_get_bars(tile, &count);
    ttp_view_begin(view, "bars", '[');
    for (uint32_t i = 0; i < count; i++) {
        ttp_view_number(view, NULL, bars[i].start);
        ttp_view_number(view, NULL, bars[i].length);
        ttp_view_number(view, NULL, bars[i].depth);
        ttp_view_number(view, NULL, bars[i].site);
        ttp_view_number(view, NULL, bars[i].signal);
        ttp_view_number(view, NULL, bars[i].instants);
        ttp_view_number(view, NULL, bars[i].calls);
    }
    ttp_view_end(view, ']');
}

/* Puts where the tile has something, as starts and lengths. */
static void put_buckets(struct ttape_view *view, const char *key, const ttape_tile *tile,
                        bool wants_gaps)
{
    const ttape_tile_bucket *buckets = ttape_tile_get_buckets(tile);
    ttp_view_begin(view, key, '[');
    for (uint32_t i = 0, start = 0; i <= TTAPE_TILE_BUCKETS; i++) {
        bool is_so =
            i < TTAPE_TILE_BUCKETS && (wants_gaps ? buckets[i].has_gaps : buckets[i].known > 0);
        if (is_so)
            continue;
        if (i > start) {
            ttp_view_number(view, NULL, start);
            ttp_view_number(view, NULL, i - start);
        }
        start = i + 1;
    }
    ttp_view_end(view, ']');
}

static ttape_status put_tile(struct ttape_view *view, const ttape_tile *tile,
                             const ttape_tile_options *how, bool wants_off, ttape_error *err)
{
    ttape_tile_info info;
    ttape_tile_get_info(tile, &info);
    ttp_view_begin(view, NULL, '{');
    ttp_view_number(view, "stream", info.stream);
    ttp_view_signed(view, "index", info.index);
    ttp_view_number(view, "instants", info.instants);
    ttp_view_number(view, "depths", info.depth_count);
    if (info.is_cut)
        ttp_view_bool(view, "cut", true);
    if (info.damaged_count > 0)
        ttp_view_number(view, "damaged", info.damaged_count);
    put_bars(view, tile);
    put_buckets(view, "known", tile, false);
    put_buckets(view, "gaps", tile, true);
    ttape_status status = wants_off ? ttp_view_put_off(view, how, err) : TTAPE_OK;
    ttp_view_end(view, '}');
    return status;
}

/* Tiles of all threads are made together: their events of one time are in the same partitions.
 * Where half of the limit is full, the rest is left out, and said to be. */
static ttape_status put_tiles(struct ttape_view *view, ttape_tile_options *how,
                              const struct ttp_view_list *streams, bool wants_off, bool *is_full,
                              ttape_error *err)
{
    ttape_tile *tile;
    for (uint32_t i = 0; i < streams->count; i++) {
        how->stream = streams->numbers[i];
        if (ttp_view_stops(view) || view->text.count > view->text.limit / 2) {
            *is_full = true;
            return TTAPE_OK;
        }
        TTP_TRY(ttape_tile_make(&tile, view->reader, how, err));
        ttape_status status = put_tile(view, tile, how, wants_off, err);
        ttape_tile_close(tile);
        TTP_TRY(status);
    }
    return TTAPE_OK;
}

ttape_status ttp_view_tiles(struct ttape_view *view, const struct ttp_view_question *question,
                            ttape_error *err)
{
    ttape_tile_options how = {.size = sizeof how,
                              .depths = 64,
                              .instants = 8,
                              .memory_bytes = view->options.memory_bytes,
                              .adapts = true,
                              .damage = ttp_view_note_damage,
                              .context = view,
                              .watch = &view->watch};
    struct ttp_view_list streams;
    uint32_t count = 1;
    bool is_full = false, wants_off = ttp_view_is(question, "off", "1");
    TTP_TRY(ttp_view_take_number(question, "level", TTAPE_TILE_LEVELS - 1, &how.level, err));
    TTP_TRY(ttp_view_take_signed(question, "index", &how.index, err));
    TTP_TRY(ttp_view_take_number(question, "count", TILES_MOST, &count, err));
    TTP_TRY(ttp_view_take_number(question, "depths", DEPTHS_MOST, &how.depths, err));
    TTP_TRY(ttp_view_take_number(question, "instants", TTAPE_TILE_INSTANTS, &how.instants, err));
    TTP_TRY(ttp_view_take_list(question, "streams", &streams, err));
    ttp_view_number(view, "level", how.level);
    ttp_view_begin(view, "tiles", '[');
    int64_t first = how.index;
    for (uint32_t i = 0; i < count && !is_full; i++) {
        if (__builtin_add_overflow(first, (int64_t)i, &how.index))
            break;
        TTP_TRY(put_tiles(view, &how, &streams, wants_off, &is_full, err));
    }
    ttp_view_end(view, ']');
    ttp_view_bool(view, "complete", !is_full);
    return TTAPE_OK;
}
