/* The targets of single codecs: what a partition's head and light sections would have said is made
 * of a few parameters, and the sections themselves are the rest of the input. */
#ifndef FUZZ_CODEC_H
#define FUZZ_CODEC_H

#include "format/chain/chain_prime.h"
#include "format/order/order.h"
#include "format/times/times.h"
#include "fuzz_common.h"

/* Parameters, 16 bytes:
 *
 *   u16 events - 1 | u8 segments - 1 | u8 open frames | u8 symbols of open frames
 *   u16 other symbols | u16 bytes of the first section | u16 wide differences | u8 flags
 *   u16 codes | 2 reserved
 *
 * Segments have equally many events. For the times, the codes follow (2 bytes each) and repeat. */
#define FUZZ_CODEC_BYTES 16u

struct fuzz_codec {
    struct ttp_order_out order; /* decoders of order fill it */
    struct ttp_times times;     /* decoders of times fill it */
    struct fuzz_input sections[2];
    uint32_t frame_count, flags;
};

/* At most `most_events` events, so that an input stays quick. */
void fuzz_codec_open(struct fuzz_codec *codec, struct fuzz_input in, uint32_t most_events);
/* A second place for what is decoded. */
struct ttp_order_out fuzz_codec_order(const struct fuzz_codec *codec);
struct ttp_times fuzz_codec_times(const struct fuzz_codec *codec);

/* Takes the first section and half of the second one for a model's; NULL when they are none. */
struct ttp_chain_primer *fuzz_codec_prime(struct fuzz_codec *codec);
/* What a partition that names that model knows before it is decoded. */
struct ttp_order_out fuzz_codec_primed(const struct fuzz_codec *codec,
                                       const struct ttp_chain_primer *primer);

/* What an encoder takes. */
struct ttp_order fuzz_codec_encodable(const struct ttp_order_out *order);
/* Do the stacks allow the codes? */
bool fuzz_codec_is_sound(const struct fuzz_codec *codec, const struct ttp_order_out *order);
void fuzz_codec_require_same_order(const struct ttp_order_out *one,
                                   const struct ttp_order_out *two);

/* What a decoder of times must do with any bytes: blocks alone are what they are in the whole, the
 * directory tells the truth, and what was decoded can be encoded. */
struct fuzz_times_form {
    uint32_t most_events;
    size_t (*decode_workspace)(uint32_t event_count, uint32_t symbol_count);
    ttape_status (*decode)(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                           struct ttp_bytes data, struct ttp_workspace workspace, ttape_error *err);
    ttape_status (*directory)(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                              size_t size_bytes, ttape_error *err);
    size_t (*encode_workspace)(uint32_t event_count);
    size_t (*encode_bound)(uint32_t event_count);
    ttape_status (*encode)(const struct ttp_times *in, struct ttp_workspace workspace,
                           struct ttp_buffer *out, ttape_error *err);
};
void fuzz_times(const struct fuzz_times_form *form, const uint8_t *data, size_t size);

/* A failure of a decoder: says so properly, within its sections. */
void fuzz_require_error(ttape_status status, const ttape_error *err, size_t size_bytes);

#endif
