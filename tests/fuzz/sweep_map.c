/* A walk over the chunk headers, and a table. */
#include "sweep_map.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/container/chunk.h"

#define OUTCOMES 4u

static const char *const names[TTEST_PLACES] = {"file header",          "footer",
                                                "private: header",      "private: payload",
                                                "metadata: header",     "metadata: payload",
                                                "site table: header",   "site table: payload",
                                                "stream table: header", "stream table: payload",
                                                "partition: header",    "partition: payload",
                                                "model: header",        "model: payload",
                                                "index: header",        "index: payload"};

/* By index, by scan, as a pipe. An early index is met by a scan only, and only its header. */
const uint8_t ttest_allowed[TTEST_PLACES][TTEST_WAYS] = {
    [TTEST_PLACE_FILE_HEADER] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_FOOTER] = {TTEST_EXACT, TTEST_EXACT, TTEST_REFUSED},
    [TTEST_PLACE_CHUNK(0)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(0)] = {TTEST_UNREAD, TTEST_UNREAD, TTEST_UNREAD},
    [TTEST_PLACE_CHUNK(1)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(1)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_CHUNK(2)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(2)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_CHUNK(3)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(3)] = {TTEST_REFUSED, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_CHUNK(4)] = {TTEST_ONE, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(4)] = {TTEST_ONE, TTEST_ONE, TTEST_ONE},
    [TTEST_PLACE_CHUNK(5)] = {TTEST_ONE, TTEST_REFUSED, TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(5)] = {TTEST_ONE, TTEST_ONE, TTEST_REFUSED},
    [TTEST_PLACE_CHUNK(6)] = {TTEST_EXACT | TTEST_UNREAD, TTEST_EXACT | TTEST_REFUSED,
                              TTEST_REFUSED},
    [TTEST_PLACE_PAYLOAD(6)] = {TTEST_EXACT | TTEST_UNREAD, TTEST_EXACT | TTEST_UNREAD,
                                TTEST_UNREAD},
};

static uint64_t counts[TTEST_PLACES][TTEST_WAYS][OUTCOMES];

static void add_block(struct ttest_map *map, struct ttest_block block)
{
    map->blocks = realloc(map->blocks, (map->block_count + 1) * sizeof block);
    for (size_t byte = block.start; byte < block.end; byte++)
        map->block_of[byte] = map->block_count;
    map->blocks[map->block_count++] = block;
}

struct ttest_map ttest_map_make(const struct ttest_trace *trace)
{
    struct ttest_map map = {.block_of = calloc(trace->size_bytes, sizeof *map.block_of)};
    size_t at = TTP_FILE_HEADER_BYTES;
    uint32_t partitions = 0;
    struct ttp_chunk chunk;
    add_block(&map, (struct ttest_block){0, at, at, TTEST_PLACE_FILE_HEADER, 0, false});
    while (trace->size_bytes - at > TTP_FOOTER_BYTES &&
           ttp_chunk_read(trace->data + at, at, &chunk, NULL) == TTAPE_OK) {
        uint32_t kind = ttp_chunk_kind_known(chunk.kind) ? chunk.kind : 0;
        size_t payload = at + TTP_CHUNK_HEADER_BYTES, end = payload + (size_t)chunk.stored_bytes;
        bool last = kind == TTP_CHUNK_INDEX && trace->size_bytes - end == TTP_FOOTER_BYTES;
        add_block(&map, (struct ttest_block){at, payload, end, TTEST_PLACE_CHUNK(kind), partitions,
                                             last});
        partitions += kind == TTP_CHUNK_PARTITION;
        at = end;
    }
    add_block(&map, (struct ttest_block){at, trace->size_bytes, trace->size_bytes,
                                         TTEST_PLACE_FOOTER, partitions, false});
    return map;
}

void ttest_map_free(struct ttest_map *map)
{
    free(map->blocks);
    free(map->block_of);
    *map = (struct ttest_map){0};
}

uint32_t ttest_map_place(const struct ttest_map *map, size_t byte)
{
    const struct ttest_block *block = &map->blocks[map->block_of[byte]];
    return block->place + (byte >= block->payload);
}

void ttest_map_count(uint32_t place, enum ttest_way way, uint32_t outcome)
{
    for (uint32_t i = 0; i < OUTCOMES; i++)
        counts[place][way][i] += outcome == 1u << i;
}

void ttest_map_print(void)
{
    static const char *const ways[TTEST_WAYS] = {"by index", "by scan", "as a pipe"};
    static const char *const outcomes[OUTCOMES] = {"exact", "one partition", "refused", "unread"};
    uint64_t sums[TTEST_WAYS][OUTCOMES] = {0};
    for (uint32_t place = 0; place < TTEST_PLACES; place++)
        for (uint32_t way = 0; way < TTEST_WAYS; way++)
            for (uint32_t i = 0; i < OUTCOMES; i++) {
                sums[way][i] += counts[place][way][i];
                if (counts[place][way][i] != 0)
                    printf("  %-22s %-10s %-14s %8llu\n", names[place], ways[way], outcomes[i],
                           (unsigned long long)counts[place][way][i]);
            }
    for (uint32_t way = 0; way < TTEST_WAYS; way++)
        printf("%s: %llu exact, %llu harm one partition, %llu refused, %llu unread\n", ways[way],
               (unsigned long long)sums[way][0], (unsigned long long)sums[way][1],
               (unsigned long long)sums[way][2], (unsigned long long)sums[way][3]);
}
