/* Broken orders and times of partition 1, in their raw forms. Its symbols are: 0 enter main, 1
 * enter work (both given), 2 gap, 3 leaf block, 4 unwind; its codes: exit work, gap, leaf, leaf,
 * enter work, unwind | exit work, enter main. */
#include "invalid_vectors.h"

enum { MAIN, WORK, GAP, BLOCK, UNWIND, SYMBOLS };

#define OPENS(symbol)  ((symbol) << 1)
#define CLOSES(symbol) ((symbol) << 1 | 1)

static struct ttest_partition *second(struct ttest_file *file)
{
    return ttest_partition_of(file, 1);
}

/* Edits p's codes and symbols and encodes them again. */
#define ORDER(name, statement)                                                                     \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct ttest_partition *p = second(file);                                                  \
        ttest_require(p->symbol_count == SYMBOLS, "symbols of the base");                          \
        statement;                                                                                 \
        ttest_encode_order(p);                                                                     \
    }

ORDER(undefined_site, p->symbols[BLOCK].argument = 99)
ORDER(close_other, p->codes[0] = CLOSES(MAIN))
ORDER(close_leaf, p->codes[2] = CLOSES(BLOCK))
ORDER(close_closed, p->codes[7] = CLOSES(WORK))
ORDER(code_undefined, p->codes[7] = OPENS(SYMBOLS))
ORDER(unwind_none, p->symbols[UNWIND].argument = 0)
ORDER(unwind_many, p->symbols[UNWIND].argument = 3)
ORDER(unwind_most, p->symbols[UNWIND].argument = UINT32_MAX)
ORDER(across_none, p->symbols[UNWIND] = ((struct ttp_symbol){0, TTP_CLASS_EXIT_ACROSS}))
ORDER(across_many, p->symbols[UNWIND] = ((struct ttp_symbol){2, TTP_CLASS_EXIT_ACROSS}))
ORDER(switch_far, p->symbols[UNWIND] = ((struct ttp_symbol){1u << 20, TTP_CLASS_SWITCH}))

static struct ttest_bytes *order(struct ttest_file *file)
{
    return &ttest_section_of(second(file), TTP_SECTION_ORDER_RAW)->content;
}

static void order_empty(struct ttest_file *file) { order(file)->size = 0; }
static void order_cut(struct ttest_file *file) { order(file)->size--; }
static void order_trailing(struct ttest_file *file) { ttest_put8(order(file), 0); }
static void order_few(struct ttest_file *file) { order(file)->data[0] = 1; }
static void order_many(struct ttest_file *file) { order(file)->data[0] = 127; }
static void order_class(struct ttest_file *file) { order(file)->data[1] = TTP_CLASS_COUNT; }

static void order_argument(struct ttest_file *file)
{
    struct ttest_bytes *o = order(file), rest = ttest_copy(o);
    uint32_t head = 1 + SYMBOLS - 2; /* the count and the classes */
    o->size = head;
    ttest_put_svarint(o, INT64_C(1) << 32);
    ttest_put(o, rest.data + head + 1, rest.size - head - 1);
}

static struct ttest_bytes *times(struct ttest_file *file)
{
    return &ttest_section_of(second(file), TTP_SECTION_TIMES_RAW)->content;
}

/* Mixed times with phases in place of raw ones, of which there is a period only. */
static void times_period(struct ttest_file *file)
{
    ttest_drop_section(second(file), TTP_SECTION_TIMES_RAW);
    ttest_put8(&ttest_insert_section(second(file), TTP_SECTION_TIMES_PHASE)->content, 1);
}

static void times_cut(struct ttest_file *file) { times(file)->size = 15; }
static void times_offset(struct ttest_file *file) { times(file)->data[0] = 1; }
static void times_sum(struct ttest_file *file) { times(file)->data[8] = 1; }
static void times_short(struct ttest_file *file) { times(file)->size--; }
static void times_trailing(struct ttest_file *file) { ttest_put8(times(file), 0); }
static void times_other(struct ttest_file *file) { times(file)->data[16] += 2; }

static void times_wide(struct ttest_file *file) { second(file)->head.wide_count = 1; }

static void first_tick(struct ttest_file *file)
{
    second(file)->head.first_tick--;
    ttest_encode_light(second(file));
}

static void end_tick(struct ttest_file *file) { second(file)->head.end_tick++; }

/* Replaces the raw order by a literal one with this data section. One chain: exit work, gap. */
static void literal(struct ttest_file *file, const char *chains, size_t chain_bytes,
                    const char *data, size_t data_bytes)
{
    struct ttest_partition *p = second(file);
    struct ttest_bytes header = {0}, records = {0};
    ttest_put(&header, order(file)->data, order(file)->size - p->head.event_count);
    ttest_put(&header, chains, chain_bytes);
    ttest_put(&records, data, data_bytes);
    ttest_drop_section(p, TTP_SECTION_ORDER_RAW);
    ttest_insert_section(p, TTP_SECTION_LITERAL_HEADER)->content = header;
    ttest_insert_section(p, TTP_SECTION_LITERAL_DATA)->content = records;
}

#define LITERAL(name, chains, data)                                                                \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        literal(file, chains, sizeof(chains) - 1, data, sizeof(data) - 1);                         \
    }

LITERAL(lit_no_count, "", "\1")
LITERAL(lit_empty_chain, "\1\0", "\1")
LITERAL(lit_long_chain, "\1\x09\3\2\2\2\2\2\2\2\2", "\1")
LITERAL(lit_identifier, "\1\2\3\x7f", "\1")
LITERAL(lit_trailing, "\1\2\3\2\0", "\1")
LITERAL(lit_pointer, "\1\2\3\2", "\x7f")
LITERAL(lit_bits, "\1\2\3\2", "\0\x81")
LITERAL(lit_bomb, "\1\2\3\2", "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
LITERAL(lit_past, "\1\2\3\2", "\0\xfe")
LITERAL(lit_early, "\1\2\3\2", "\1")

#define C    TTAPE_E_CORRUPT
#define CUT  TTAPE_E_TRUNCATED
#define LEFT TTEST_FIRST

static const struct ttest_break order_breaks[] = {
    {"evt-08-site", "F-EVT-08", C, LEFT, "a site that is not defined", undefined_site, NULL},
    {"evt-02-other", "O-CHK-03", C, LEFT, "an exit of a frame below the top (F-EVT-02)",
     close_other, NULL},
    {"evt-02-leaf", "O-CHK-03", C, LEFT, "a close bit with a leaf (F-EVT-02)", close_leaf, NULL},
    {"evt-02-closed", "O-CHK-03", C, LEFT, "an exit with no frame open (F-EVT-02)", close_closed,
     NULL},
    {"evt-03-none", "O-CHK-04", C, LEFT, "unwinding of 0 frames (F-EVT-03)", unwind_none, NULL},
    {"evt-03-many", "O-CHK-04", C, LEFT, "unwinding of 3 frames of 2 (F-EVT-03)", unwind_many,
     NULL},
    {"evt-03-most", "O-CHK-04", C, LEFT, "unwinding of 2^32 - 1 frames (F-EVT-03)", unwind_most,
     NULL},
    {"evt-03-across-none", "O-CHK-05", C, LEFT, "an exit across 0 frames (F-EVT-03)", across_none,
     NULL},
    {"evt-03-across", "O-CHK-05", C, LEFT, "an exit across 2 frames of 2 (F-EVT-03)", across_many,
     NULL},
    {"evt-03-stack", "F-EVT-03", C, LEFT, "a switch to stack 2^20", switch_far, NULL},
    {"raw-01-empty", "O-RAW-01", C, LEFT, "no byte in the order", order_empty, NULL},
    {"raw-02-few", "O-RAW-02", C, LEFT, "fewer symbols than are given", order_few, NULL},
    {"raw-02-many", "O-RAW-02", TTAPE_E_LIMIT, LEFT, "more symbols than bytes", order_many, NULL},
    {"raw-03-class", "O-RAW-03", C, LEFT, "class 9", order_class, NULL},
    {"raw-04-argument", "O-RAW-04", C, LEFT, "an argument of 2^32", order_argument, NULL},
    {"raw-05-cut", "O-RAW-05", CUT, LEFT, "the last code is missing", order_cut, NULL},
    {"raw-05-trailing", "O-RAW-05", C, LEFT, "a byte behind the last code", order_trailing, NULL},
    {"raw-06-code", "O-RAW-06", C, LEFT, "a code of an undefined symbol", code_undefined, NULL},
    {"lit-02-cut", "O-LIT-02", CUT, LEFT, "no number of chains", lit_no_count, NULL},
    {"lit-03-empty", "O-LIT-03", C, LEFT, "a chain without events", lit_empty_chain, NULL},
    {"lit-04-long", "O-LIT-04", C, LEFT, "chains that are longer than the partition",
     lit_long_chain, NULL},
    {"lit-05-identifier", "O-LIT-05", C, LEFT, "an identifier below the alphabet", lit_identifier,
     NULL},
    {"lit-06-trailing", "O-LIT-06", C, LEFT, "a byte behind the last chain", lit_trailing, NULL},
    {"lit-09-pointer", "O-LIT-09", C, LEFT, "a pointer past the positions", lit_pointer, NULL},
    {"lit-11-bits", "O-LIT-11", C, LEFT, "bits behind the first 0", lit_bits, NULL},
    {"lit-14-bomb", "O-LIT-14", C, LEFT, "a repeat count of 2^63", lit_bomb, NULL},
    {"lit-14-past", "O-LIT-14", C, LEFT, "a record that leaves its segment", lit_past, NULL},
    {"lit-15-early", "O-LIT-09", CUT, LEFT, "records for two events of eight", lit_early, NULL},
    {"tra-01-cut", "T-RAW-01", CUT, LEFT, "ends inside the directory", times_cut, NULL},
    {"tra-02-offset", "T-RAW-02", C, LEFT, "the first block begins at 1", times_offset, NULL},
    {"tra-03-sum", "T-RAW-03", C, LEFT, "a directory time that is not the sum", times_sum, NULL},
    {"mix-21-period", "T-MIX-21", C, LEFT, "a period of 1", times_period, NULL},
    {"tra-04-short", "T-RAW-04", C, LEFT, "a difference is missing", times_short, NULL},
    {"tra-02-trailing", "T-RAW-02", C, LEFT, "a byte behind the last difference", times_trailing,
     NULL},
    {"tim-03-wide", "F-TIM-03", C, LEFT, "the head counts a wide difference that is not there",
     times_wide, NULL},
    {"par-12-first", "F-PAR-12", C, TTEST_ALL, "the first tick is not the least", first_tick, NULL},
    {"par-12-end", "F-PAR-12", C, TTEST_ALL, "the end tick is not the greatest plus one", end_tick,
     NULL},
    {"edg-05-times", "F-EDG-05", C, TTEST_CHANGED, "a difference that is not what the edges say",
     times_other, NULL},
};

void ttest_make_invalid_orders(const struct ttest_output *out)
{
    ttest_emit_breaks(out, order_breaks, sizeof order_breaks / sizeof order_breaks[0], true);
}
