/* Tiles of a trace at several levels, as each of its sources tells them: all must be the same.
 *
 *   tiles_agree FILE
 *
 * Prints how many tiles there were, and how many segments overviews, sections and events told in
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tracetape.h>

enum { STREAMS = 4, TILES = 3 };

struct counts {
    unsigned long tiles, overviews, sections, events;
};

static ttape_tile *make(ttape_reader *reader, ttape_tile_options options, uint32_t sources,
                        ttape_tile_info *info)
{
    ttape_error err = {0};
    ttape_tile *tile;
    options.sources = sources;
    if (ttape_tile_make(&tile, reader, &options, &err) != TTAPE_OK) {
        fprintf(stderr, "tiles_agree: %s\n", err.message);
        exit(1);
    }
    ttape_tile_get_info(tile, info);
    return tile;
}

static bool is_same(const ttape_tile *a, const ttape_tile *b)
{
    uint32_t count, other;
    const ttape_tile_bar *bars = ttape_tile_get_bars(a, &count), *others;
    others = ttape_tile_get_bars(b, &other);
    return count == other && (count == 0 || memcmp(bars, others, count * sizeof *bars) == 0) &&
           memcmp(ttape_tile_get_buckets(a), ttape_tile_get_buckets(b),
                  TTAPE_TILE_BUCKETS * sizeof(ttape_tile_bucket)) == 0;
}

static void compare(ttape_reader *reader, const ttape_tile_options *options, struct counts *counts)
{
    static const uint32_t ways[] = {TTAPE_TILE_FROM_OVERVIEWS | TTAPE_TILE_FROM_INSTANTS |
                                        TTAPE_TILE_FROM_EVENTS,
                                    TTAPE_TILE_FROM_INSTANTS | TTAPE_TILE_FROM_EVENTS,
                                    TTAPE_TILE_FROM_OVERVIEWS, TTAPE_TILE_FROM_INSTANTS};
    ttape_tile_info info, decoded_info;
    ttape_tile *decoded = make(reader, *options, TTAPE_TILE_FROM_EVENTS, &decoded_info);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        ttape_tile *tile = make(reader, *options, ways[i], &info);
        if (info.left_out_count == 0 && !is_same(tile, decoded)) {
            fprintf(stderr,
                    "tiles_agree: stream %u, level %u, tile %lld, %u instants: sources %u differ "
                    "from events\n",
                    options->stream, options->level, (long long)options->index, options->instants,
                    ways[i]);
            exit(1);
        }
        if (i < 2) {
            counts->tiles++;
            counts->overviews += info.overview_count;
            counts->sections += info.section_count;
            counts->events += info.event_count;
        }
        ttape_tile_close(tile);
    }
    ttape_tile_close(decoded);
}

/* From the level at which all of the stream is a 32nd of a tile to finer ones: tiles in its first,
 * middle and last part. */
static void compare_stream(ttape_reader *reader, uint32_t stream, struct counts *counts)
{
    static const uint32_t finer[] = {0, 2, 4, 5, 6, 8, 10, 13, 16};
    ttape_error err = {0};
    ttape_tile_axis axis;
    uint32_t whole = 0;
    if (ttape_tile_get_axis(reader, stream, &axis, &err) != TTAPE_OK || !axis.has_times)
        return;
    uint64_t ticks = (uint64_t)axis.last_tick - (uint64_t)axis.first_tick;
    while (ticks >> whole >= TTAPE_TILE_BUCKETS)
        whole++;
    whole += 5;
    for (size_t i = 0; i < sizeof finer / sizeof finer[0] && finer[i] <= whole; i++)
        for (uint32_t k = 0; k < TILES; k++) {
            ttape_tile_options options = {.size = sizeof options,
                                          .stream = stream,
                                          .level = whole - finer[i],
                                          .instants = 1u << (2 * (i + k)) % 6};
            int64_t at = axis.first_tick + (int64_t)(ticks / (TILES - 1) * k);
            options.index = at >> options.level >> 8;
            compare(reader, &options, counts);
        }
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_info info;
    struct counts counts = {0};
    if (argc != 2)
        return 2;
    if (ttape_reader_open_path(&reader, argv[1], NULL, &err) != TTAPE_OK) {
        fprintf(stderr, "tiles_agree: %s\n", err.message);
        return 1;
    }
    ttape_reader_get_info(reader, &info);
    uint32_t step = info.stream_count > STREAMS ? info.stream_count / STREAMS : 1;
    for (uint32_t s = 0; s < info.stream_count; s += step)
        compare_stream(reader, s, &counts);
    printf("%lu %lu %lu %lu\n", counts.tiles, counts.overviews, counts.sections, counts.events);
    ttape_reader_close(reader);
    return 0;
}
