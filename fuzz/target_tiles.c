/* Tiles: bounded in memory, in order, and no bucket has more than its instants, whatever the trace
 * says. */
#include <tracetape/tiles.h>

#include "fuzz_trace.h"

#define MEMORY_BYTES (24u << 20) /* of an answer besides its reader's */

static void damage(void *context, uint32_t partition, const ttape_error *error)
{
    (void)context;
    (void)partition;
    FUZZ_REQUIRE(error->status != TTAPE_OK);
}

static void check(const ttape_tile *tile, const ttape_tile_options *how)
{
    ttape_tile_info info;
    uint32_t count, depth = 0;
    const ttape_tile_bucket *buckets = ttape_tile_get_buckets(tile);
    const ttape_tile_bar *bars = ttape_tile_get_bars(tile, &count);
    ttape_tile_get_info(tile, &info);
    FUZZ_REQUIRE(count == info.bar_count && info.instants <= TTAPE_TILE_INSTANTS);
    for (uint32_t i = 0; i < TTAPE_TILE_BUCKETS; i++)
        FUZZ_REQUIRE(buckets[i].known <= info.instants);
    for (uint32_t i = 0, end = 0; i < count; i++) {
        const ttape_tile_bar *b = &bars[i];
        FUZZ_REQUIRE(b->depth >= depth && (b->depth != depth || b->start >= end));
        FUZZ_REQUIRE(b->length >= 1 && b->start + b->length <= TTAPE_TILE_BUCKETS);
        FUZZ_REQUIRE(b->calls >= 1 && b->calls <= b->instants && b->depth < how->depths);
        FUZZ_REQUIRE(b->instants <= b->length * info.instants);
        end = b->start + b->length;
        depth = b->depth;
    }
}

static void ask(ttape_reader *reader, struct fuzz_input *in)
{
    ttape_tile *tile;
    ttape_tile_axis axis;
    ttape_tile_options how = {.size = sizeof how,
                              .stream = fuzz_number(in, 1) % 4,
                              .level = fuzz_number(in, 1) % TTAPE_TILE_LEVELS,
                              .instants = 1u << fuzz_number(in, 1) % 5,
                              .depths = 1 + fuzz_number(in, 1) * 16,
                              .sources = fuzz_number(in, 1) % 8,
                              .memory_bytes = MEMORY_BYTES,
                              .damage = damage};
    if (ttape_tile_get_axis(reader, how.stream, &axis, NULL) != TTAPE_OK)
        return;
    how.index = (axis.first_tick >> how.level >> 8) + fuzz_number(in, 1);
    if (ttape_tile_make(&tile, reader, &how, NULL) != TTAPE_OK)
        return;
    check(tile, &how);
    ttape_tile_close(tile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace_ask(data, size, MEMORY_BYTES, ask);
    return 0;
}
