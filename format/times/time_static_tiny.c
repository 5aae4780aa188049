/* Times of few events: no tables could pay, so every bit adapts (about 100 ns an event).
 *
 * A difference is its bit length (a tree of six decisions) and the bits below its leading one,
 * the first four modelled. Each decision is predicted by the edge, else by the code, else by
 * what is known of all, the first of them that has seen anything: few events teach that much and
 * no more. */
#include "format/times/time_static.h"

#include <string.h>

#include "format/base/bytes.h"

#define EDGE_BITS     9u
#define CODE_BITS     8u
#define TREE          64u /* six decisions */
#define LENGTH_WIDE   33u
#define MODELLED_BITS 4u
#define TRUSTED       2u /* hits from which on a prediction is used */

/* Rows begin when they are first asked for: some dozen events would wait for all of them. */
struct tiny {
    struct ttp_prob all[TREE], all_low[TREE][1u << MODELLED_BITS];
    struct ttp_prob code[1u << CODE_BITS][TREE], edge[1u << EDGE_BITS][TREE];
    struct ttp_prob code_low[1u << EDGE_BITS][1u << MODELLED_BITS];
    bool has_code[1u << CODE_BITS], has_edge[1u << EDGE_BITS], has_code_low[1u << EDGE_BITS];
};

struct coder { /* one of the two directions */
    struct ttp_encoder *encoder;
    struct ttp_decoder *decoder;
};

size_t ttp_sta_tiny_workspace(void) { return sizeof(struct tiny); }

static unsigned code_with(struct coder *c, uint32_t p, unsigned bit)
{
    if (c->decoder != NULL)
        return ttp_decode_with(c->decoder, p);
    ttp_encode_with(c->encoder, p, bit);
    return bit;
}

static uint32_t hash(uint32_t x, uint32_t y, unsigned bits)
{
    return ((x * 0x9E3779B1u) ^ (y * 0x85EBCA6Bu)) >> (32 - bits);
}

static struct ttp_prob *row_of(struct ttp_prob *row, bool *has, size_t count)
{
    if (!*has)
        ttp_prob_init(row, count, TTP_PROB_HALF);
    *has = true;
    return row;
}

/* T-STA-61 */
static uint32_t code_length(struct coder *c, struct tiny *t, uint32_t before, uint32_t code,
                            uint32_t length)
{
    uint32_t e = hash(before, code, EDGE_BITS), o = hash(code, 0, CODE_BITS);
    struct ttp_prob *edge = row_of(t->edge[e], &t->has_edge[e], TREE);
    struct ttp_prob *one = row_of(t->code[o], &t->has_code[o], TREE);
    uint32_t node = 1;
    for (unsigned i = 6; i-- > 0;) {
        struct ttp_prob *use = edge[node].n >= TRUSTED  ? &edge[node]
                               : one[node].n >= TRUSTED ? &one[node]
                                                        : &t->all[node];
        unsigned bit = code_with(c, use->p, length >> i & 1);
        ttp_prob_adapt(&edge[node], bit);
        ttp_prob_adapt(&one[node], bit);
        ttp_prob_adapt(&t->all[node], bit);
        node = node << 1 | bit;
    }
    return node - TREE;
}

/* T-STA-62 */
static uint32_t code_low_bits(struct coder *c, struct tiny *t, uint32_t code, uint32_t length,
                              uint32_t value)
{
    uint32_t o = hash(code, length, EDGE_BITS);
    struct ttp_prob *one = row_of(t->code_low[o], &t->has_code_low[o], 1u << MODELLED_BITS);
    struct ttp_prob *all = t->all_low[length];
    uint32_t result = 1, node = 1;
    for (uint32_t i = length - 1; i-- > 0;) {
        unsigned bit = value >> i & 1;
        if (node < 1u << MODELLED_BITS) {
            bit = code_with(c, one[node].n >= TRUSTED ? one[node].p : all[node].p, bit);
            ttp_prob_adapt(&one[node], bit);
            ttp_prob_adapt(&all[node], bit);
            node = node << 1 | bit;
        } else {
            bit = code_with(c, TTP_PROB_HALF, bit);
        }
        result = result << 1 | bit;
    }
    return result;
}

/* One difference, and its wide value where it has one (T-STA-63). False: not a difference. */
static bool code_delta(struct coder *c, struct tiny *t, uint32_t before, uint32_t code,
                       uint32_t *delta, int64_t *wide)
{
    uint32_t length = *delta == 0 ? 0 : 32 - (uint32_t)__builtin_clz(*delta);
    if (*delta == TTP_DELTA_WIDE)
        length = LENGTH_WIDE;
    length = code_length(c, t, before, code, length);
    if (length > LENGTH_WIDE)
        return false;
    if (length < LENGTH_WIDE) {
        *delta = length <= 1 ? length : code_low_bits(c, t, code, length, *delta);
        return *delta != TTP_DELTA_WIDE;
    }
    uint64_t value = ttp_zigzag(*wide), got = 0;
    for (unsigned i = 64; i-- > 0;)
        got = got << 1 | code_with(c, TTP_PROB_HALF, value >> i & 1);
    *delta = TTP_DELTA_WIDE;
    *wide = ttp_unzigzag(got);
    return true;
}

static void start_tiny(struct tiny *t)
{
    ttp_prob_init(t->all, offsetof(struct tiny, code) / sizeof *t->all, TTP_PROB_HALF);
    memset(t->has_code, 0, sizeof *t - offsetof(struct tiny, has_code));
}

size_t ttp_sta_tiny_encode(const struct ttp_times *in, void *workspace, uint8_t *out,
                           size_t out_bytes)
{
    struct tiny *t = workspace;
    if (out_bytes < 1)
        return 0;
    struct ttp_encoder e = ttp_encoder_init(out + 1, out_bytes - 1);
    struct coder c = {&e, NULL};
    uint32_t wide_at = 0;
    out[0] = TTP_STA_FORM_TINY;
    start_tiny(t);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        uint32_t before = UINT32_MAX;
        for (uint32_t i = in->segment_start[s]; i < in->segment_start[s + 1]; i++) {
            uint32_t delta = in->delta[i];
            int64_t wide = delta == TTP_DELTA_WIDE ? in->wide[wide_at++] : 0;
            code_delta(&c, t, before, in->codes[i], &delta, &wide);
            before = in->codes[i];
        }
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size + 1;
}

bool ttp_sta_tiny_decode(struct ttp_times *io, void *workspace, const uint8_t *data,
                         size_t size_bytes)
{
    struct tiny *t = workspace;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    struct coder c = {NULL, &d};
    start_tiny(t);
    for (uint32_t s = 0; s < io->segment_count; s++) {
        uint32_t before = UINT32_MAX;
        for (uint32_t i = io->segment_start[s]; i < io->segment_start[s + 1]; i++) {
            uint32_t delta = 0;
            int64_t wide = 0;
            if (!code_delta(&c, t, before, io->codes[i], &delta, &wide) || ttp_decoder_cut(&d))
                return false;
            if (delta == TTP_DELTA_WIDE) {
                if (io->wide_count == io->wide_capacity)
                    return false;
                io->wide[io->wide_count++] = wide;
            }
            io->delta[i] = delta;
            before = io->codes[i];
        }
    }
    return d.at == d.end;
}
