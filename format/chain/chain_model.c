/* Layout and starting state of a model, and the two tables of the mixer.
 *
 * Spec: O-FUL-04 limits, O-FUL-13 .. 15 (the range coder), O-FUL-14 and O-FUL-15 start values,
 * O-FUL-19 slots, O-FUL-20 weights. */
#include "format/chain/chain_model.h"

#include <string.h>

const struct ttp_chain_record ttp_chain_no_record = {0};

/* 256 ln((65536 - q) / q), q the middle of each step: one by one below 16, then 16 steps an octave.
 */
const int16_t ttp_chain_stretch_table[TTP_CHAIN_STRETCH_COUNT] = {
    3017, 2735, 2605, 2518, 2454, 2403, 2360, 2323, 2291, 2263, 2237, 2214, 2192, 2173, 2154, 2137,
    2121, 2106, 2092, 2079, 2066, 2054, 2042, 2031, 2020, 2010, 2000, 1991, 1981, 1973, 1964, 1956,
    1944, 1929, 1915, 1901, 1888, 1876, 1864, 1853, 1843, 1832, 1823, 1813, 1804, 1795, 1787, 1778,
    1766, 1751, 1737, 1724, 1711, 1698, 1687, 1676, 1665, 1655, 1645, 1635, 1626, 1617, 1609, 1601,
    1589, 1574, 1559, 1546, 1533, 1521, 1509, 1498, 1487, 1477, 1467, 1458, 1448, 1439, 1431, 1423,
    1411, 1396, 1381, 1368, 1355, 1343, 1331, 1320, 1309, 1299, 1289, 1279, 1270, 1261, 1252, 1244,
    1232, 1217, 1203, 1189, 1176, 1164, 1152, 1141, 1130, 1120, 1110, 1100, 1091, 1082, 1073, 1065,
    1053, 1037, 1023, 1009, 996,  984,  972,  960,  949,  939,  929,  919,  910,  901,  892,  883,
    871,  855,  841,  827,  813,  801,  788,  777,  766,  755,  744,  734,  725,  715,  706,  698,
    685,  669,  653,  639,  625,  612,  599,  587,  575,  564,  553,  542,  532,  522,  512,  503,
    489,  472,  455,  439,  424,  410,  396,  382,  369,  356,  344,  332,  320,  309,  298,  287,
    271,  250,  230,  211,  193,  174,  157,  139,  122,  105,  89,   72,   56,   40,   24,   8,
};

/* 65536 / (1 + exp(-x / 256)) at x = -2048, -1984, ..., 2048. */
const uint16_t ttp_chain_squash_table[TTP_CHAIN_SQUASH_COUNT] = {
    22,    28,    36,    47,    60,    77,    98,    126,   162,   208,   267,   342,   439,
    562,   720,   922,   1179,  1506,  1921,  2446,  3108,  3938,  4971,  6249,  7812,  9702,
    11955, 14595, 17625, 21025, 24743, 28693, 32768, 36843, 40793, 44511, 47911, 50941, 53581,
    55834, 57724, 59287, 60565, 61598, 62428, 63090, 63615, 64030, 64357, 64614, 64816, 64974,
    65097, 65194, 65269, 65328, 65374, 65410, 65438, 65459, 65476, 65489, 65500, 65508, 65514,
};

static uint32_t ceil_log2(uint32_t v)
{
    uint32_t bits = 0;
    while (bits < 31 && (1u << bits) < v)
        bits++;
    return bits;
}

static uint32_t clamp(uint32_t v, uint32_t low, uint32_t high)
{
    return v < low ? low : v > high ? high : v;
}

uint32_t ttp_chain_limit(uint32_t event_count)
{
    uint32_t limit = event_count / 40 + 1024;
    return limit < event_count ? limit : event_count;
}

/* Tables of a small partition are small, so that starting it costs next to nothing. */
struct ttp_chain_sizes ttp_chain_sizes_for(uint32_t event_count, uint32_t symbol_count)
{
    uint32_t bits = ceil_log2(event_count);
    return (struct ttp_chain_sizes){
        .record_bits = clamp(bits, 6, 16),
        .function_bits = clamp(bits, 6, 14),
        .slot_bits = clamp(bits + 2, 8, 16),
        .symbol_limit = clamp(symbol_count, 0, TTP_CHAIN_SYMBOLS_MAX),
        .chain_limit = ttp_chain_limit(event_count),
        .edge_limit = clamp(event_count, 0, 4096),
    };
}

static struct ttp_chain_view place(void *blob, const struct ttp_chain_sizes *z, size_t *bytes)
{
    struct ttp_carver from = {blob, 0};
    struct ttp_chain_view v;
    v.model = ttp_carve(&from, 1, sizeof *v.model);
    v.records = ttp_carve(&from, (size_t)1 << z->record_bits, sizeof *v.records);
    v.functions = ttp_carve(&from, (size_t)1 << z->function_bits, sizeof *v.functions);
    v.slots = ttp_carve(&from, (size_t)1 << z->slot_bits, sizeof *v.slots);
    v.frames = ttp_carve(&from, (size_t)z->symbol_limit + 1, sizeof *v.frames);
    v.edges = ttp_carve(&from, z->edge_limit, sizeof *v.edges);
    v.chains = ttp_carve(&from, z->chain_limit, sizeof *v.chains);
    *bytes = from.used;
    return v;
}

size_t ttp_chain_model_bytes(const struct ttp_chain_sizes *sizes)
{
    size_t bytes;
    (void)place(NULL, sizes, &bytes);
    return bytes;
}

struct ttp_chain_view ttp_chain_view_of(void *blob)
{
    const struct ttp_chain_model *m = blob;
    struct ttp_chain_sizes z = {m->record_bits,  m->function_bits, m->slot_bits,
                                m->symbol_limit, m->chain_limit,   m->edge_limit};
    size_t bytes;
    return place(blob, &z, &bytes);
}

struct ttp_chain_view ttp_chain_model_init(void *blob, const struct ttp_chain_sizes *z)
{
    size_t bytes;
    struct ttp_chain_view v = place(blob, z, &bytes);
    struct ttp_chain_model *m = v.model;
    memset(m, 0, sizeof *m);
    m->record_bits = z->record_bits;
    m->function_bits = z->function_bits;
    m->slot_bits = z->slot_bits;
    m->symbol_limit = z->symbol_limit;
    m->chain_limit = z->chain_limit;
    m->edge_limit = z->edge_limit;
    for (size_t i = 0; i < TTP_CLASS_COUNT; i++)
        m->last_argument[i] = UINT32_MAX;
    for (size_t i = 0; i < TTP_SITE_COUNT; i++)
        for (size_t j = 0; j < TTP_CHAIN_INPUTS; j++)
            m->weights[i][j] = TTP_CHAIN_WEIGHT_START;
    ttp_prob_init(m->sure, 32, TTP_CHAIN_SURE_START);
    ttp_prob_init(m->class_tree, 16, TTP_PROB_HALF);
    ttp_prob_init(m->below, 8, TTP_PROB_HALF);
    struct ttp_number_model *numbers = (struct ttp_number_model *)&m->numbers;
    for (size_t i = 0; i < sizeof m->numbers / sizeof *numbers; i++)
        ttp_number_init(&numbers[i]);
    memset(v.records, 0, sizeof *v.records << z->record_bits);
    memset(v.functions, 0, sizeof *v.functions << z->function_bits);
    ttp_prob_init(v.slots, (size_t)1 << z->slot_bits, TTP_CHAIN_SLOT_START);
    memset(v.frames, 0xff, ((size_t)z->symbol_limit + 1) * sizeof *v.frames);
    return v;
}
