/* A trace as it comes in, byte by byte: where its pieces end, and what the bytes so far are known
 * by. Pieces are the file header, chunks, and the footer. Pure: bytes in, places out.
 *
 *   file header | chunk | chunk | ... | footer
 *   whole_bytes -------------^ all pieces before were accepted */
#ifndef TOOL_ARRIVAL_H
#define TOOL_ARRIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/container/chunk.h"

enum tool_arrival_event {
    TOOL_ARRIVAL_MORE,  /* all bytes were taken */
    TOOL_ARRIVAL_PIECE, /* a piece has ended: its payload is looked at, then it is accepted */
    TOOL_ARRIVAL_BAD    /* these bytes are no trace's; nothing is taken any more */
};

struct tool_arrival {
    uint64_t at_bytes, whole_bytes;
    uint64_t prefix; /* of whole_bytes: spec/send.md */
    uint64_t chunk_count, partition_count;
    bool is_complete; /* the footer was accepted */
    ttape_error error;
    /* the piece under way */
    uint8_t block[TTP_CHUNK_HEADER_BYTES];
    uint32_t block_bytes;
    uint64_t payload_left;
    struct ttp_chunk chunk; /* of PIECE, where is_chunk */
    bool is_chunk, is_footer, is_pending;
    uint64_t last_chunk_at; /* for the footer, which names the last one */
    uint16_t last_kind;
};

/* A zeroed one is at a file's start. Takes at most `size_bytes`, up to the end of a piece, and
 * returns how many. */
size_t tool_arrival_take(struct tool_arrival *arrival, const uint8_t *data, size_t size_bytes,
                         enum tool_arrival_event *event);
/* How many bytes that come next are payload, and may be passed over. */
uint64_t tool_arrival_payload_left(const struct tool_arrival *arrival);
void tool_arrival_skip(struct tool_arrival *arrival, uint64_t size_bytes);
/* Where the payload of the piece that has ended stands, and whether it has one to look at. */
bool tool_arrival_has_payload(const struct tool_arrival *arrival, uint64_t *offset);
/* The piece that has ended belongs to what is whole. */
void tool_arrival_accept(struct tool_arrival *arrival);
/* What is behind that comes once more, whatever was wrong with it. */
void tool_arrival_go_back(struct tool_arrival *arrival);

/* Goes on over the bytes of a file, by headers alone, up to `end`: MORE. BAD with a status of
 * TTAPE_E_IO: it could not be read. */
enum tool_arrival_event tool_arrival_walk(struct tool_arrival *arrival, int fd, uint64_t end);
/* The same over all pieces that end there or before, which are accepted. */
void tool_arrival_walk_all(struct tool_arrival *arrival, int fd, uint64_t end);

#endif
