/* The header becomes a table of codes by position; the data section is then a run of copies from
 * it. Every copy is bounded by what is left of its segment, so that a few bytes can never mean more
 * events than the caller counted. */
#include "format/order/literal.h"

#include "format/base/fail.h"
#include "format/order/raw_order.h"

/* The chain of a position, as positions: start <= p < end. */
struct span {
    uint32_t start, end;
};

/* What the data section did with a chain. */
struct tally {
    uint64_t uses, events;
};

struct table {
    uint32_t *codes;    /* by position */
    struct span *spans; /* by position */
    uint32_t positions;
    uint64_t position_count; /* with the chains of length one that are not spelled out */
    struct tally *tallies;   /* by a chain's first position; NULL: codes are wanted */
};

/* Short copies go in whole blocks where both sides have room; the table is padded for it. */
#define BLOCK 8u

static uint32_t position_max(uint32_t event_count)
{
    return event_count < TTP_LITERAL_POSITIONS_MAX ? event_count : TTP_LITERAL_POSITIONS_MAX;
}

size_t ttp_literal_decode_workspace(uint32_t event_count)
{
    size_t positions = position_max(event_count);

    return sizeof(uint32_t) + positions * sizeof(struct span) +
           (positions + BLOCK) * sizeof(uint32_t);
}

static ttape_status corrupt(ttape_error *err, const char *rule, const struct ttp_reader_cursor *at,
                            const char *message)
{
    return ttp_fail(err, at->bad && at->at == at->end ? TTAPE_E_TRUNCATED : TTAPE_E_CORRUPT, rule,
                    ttp_reader_offset(at), "%s", message);
}

static ttape_status spans_read(struct ttp_reader_cursor *from, uint32_t event_count,
                               struct table *table, ttape_error *err)
{
    uint64_t chains = ttp_read_varint(from), max = position_max(event_count);

    if (from->bad)
        return corrupt(err, "O-LIT-02", from, "bad chain count in the literal header");
    table->positions = 0;
    for (uint64_t c = 0; c < chains; c++) {
        uint64_t length = ttp_read_varint(from);
        if (from->bad || length == 0)
            return corrupt(err, "O-LIT-03", from, "bad chain length in the literal header");
        if (length > max - table->positions)
            return corrupt(err, "O-LIT-04", from, "chains too long in the literal header");
        uint32_t start = table->positions, end = start + (uint32_t)length;
        while (table->positions < end)
            table->spans[table->positions++] = (struct span){start, end};
    }
    return TTAPE_OK;
}

static ttape_status header_read(struct ttp_reader_cursor *from, struct ttp_order_out *out,
                                struct table *table, ttape_error *err)
{
    TTP_TRY(ttp_symbols_read(from, out, err));
    TTP_TRY(spans_read(from, out->event_count, table, err));
    uint64_t alphabet = (uint64_t)out->symbol_count * 2, code = 0;
    for (uint32_t p = 0; p < table->positions; p++) {
        /* Unsigned: what wraps is out of the alphabet. */
        if (p == table->spans[p].start)
            code = ttp_read_varint(from);
        else
            code += (uint64_t)ttp_read_svarint(from);
        if (from->bad || code >= alphabet)
            return corrupt(err, "O-LIT-05", from, "bad event in a chain of the literal header");
        table->codes[p] = (uint32_t)code;
    }
    if (ttp_reader_left(from) != 0)
        return corrupt(err, "O-LIT-06", from, "literal header goes on after its last chain");
    memset(table->codes + table->positions, 0, BLOCK * sizeof *table->codes);
    table->position_count = table->positions + alphabet;
    return TTAPE_OK;
}

/* Goes round the chain from `position` on. */
static void copy_round(uint32_t *to, uint64_t count, const struct table *table, uint32_t position)
{
    struct span span = table->spans[position];

    for (uint64_t i = 0; i < count; i++) {
        to[i] = table->codes[position];
        if (++position == span.end)
            position = span.start;
    }
}

/* The bits after a first bit 0: how many successors occurred. */
static ttape_status successors_read(struct ttp_reader_cursor *from, uint64_t *successors,
                                    ttape_error *err)
{
    uint8_t bits = ttp_read8(from), ones = 0;

    if (!from->bad && bits == TTP_LITERAL_ESCAPE) {
        *successors = ttp_read_varint(from);
        if (from->bad || *successors > UINT64_MAX - TTP_LITERAL_ESCAPE_COUNT)
            return corrupt(err, "O-LIT-12", from, "bad repeat count in the literal data");
        *successors += TTP_LITERAL_ESCAPE_COUNT;
        return TTAPE_OK;
    }
    while (bits & 0x80u) {
        bits = (uint8_t)(bits << 1);
        ones++;
    }
    if (from->bad || bits != 0)
        return corrupt(err, "O-LIT-11", from, "bad bit sequence in the literal data");
    *successors = ones;
    return TTAPE_OK;
}

/* The record whose pointer was read already; returns how many events it was in *count, at most
 * `left`. */
static ttape_status record_read(struct ttp_reader_cursor *from, const struct table *table,
                                uint64_t pointer, uint32_t *to, uint32_t left, uint32_t *count,
                                ttape_error *err)
{
    uint64_t position = pointer >> 1, successors = 0;
    bool lone = position >= table->positions;

    if (from->bad || position >= table->position_count)
        return corrupt(err, "O-LIT-09", from, "bad pointer in the literal data");
    if ((pointer & 1) == 0)
        TTP_TRY(successors_read(from, &successors, err));
    else if (!lone)
        successors = table->spans[position].end - position - 1;
    if (successors >= left)
        return corrupt(err, "O-LIT-14", from, "run over the segment's end in the literal data");
    *count = (uint32_t)successors + 1;
    if (table->tallies != NULL) {
        if (!lone) {
            struct tally *tally = &table->tallies[table->spans[position].start];
            tally->uses++;
            tally->events += *count;
        }
        return TTAPE_OK;
    }
    if (lone)
        for (uint32_t i = 0; i < *count; i++)
            to[i] = (uint32_t)(position - table->positions);
    else
        copy_round(to, *count, table, (uint32_t)position);
    return TTAPE_OK;
}

/* Whole records of the common kind, while a block can be written anywhere within the segment; stops
 * before anything else. One- and two-byte pointers only: canonical by the second byte being neither
 * 0 nor more than 127. */
static uint32_t copy_fast(struct ttp_reader_cursor *from, const struct table *table, uint32_t *to,
                          uint32_t left)
{
    uint32_t done = 0;

    while (ttp_reader_left(from) >= 2) {
        uint32_t pointer = from->at[0], bytes = 1;
        if (pointer >= 0x80) {
            uint32_t high = from->at[1];
            if (high - 1 >= 0x7f)
                break;
            pointer = (pointer & 0x7f) | high << 7;
            bytes = 2;
        }
        uint32_t position = pointer >> 1, count = 1;
        if ((pointer & 1) == 0 || position >= table->position_count)
            break;
        if (position >= table->positions) {
            if (left - done < 1)
                break;
            to[done] = position - table->positions;
        } else {
            count = table->spans[position].end - position;
            if (left - done < count + BLOCK)
                break;
            for (uint32_t i = 0; i < count; i += BLOCK)
                memcpy(to + done + i, table->codes + position + i, BLOCK * sizeof *to);
        }
        done += count;
        from->at += bytes;
    }
    return done;
}

/* The header's table, whose codes and spans stand at `memory`. */
static ttape_status table_read(struct table *table, void *memory, struct ttp_order_out *out,
                               struct ttp_bytes header, ttape_error *err)
{
    struct ttp_reader_cursor head = ttp_reader_cursor_init(header.data, header.size);
    uint8_t *aligned = (uint8_t *)memory + (0 - (uintptr_t)memory) % sizeof(uint32_t);

    table->spans = (struct span *)(void *)aligned;
    table->codes = (uint32_t *)(void *)(table->spans + position_max(out->event_count));
    return header_read(&head, out, table, err);
}

static ttape_status workspace_small(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                    "workspace too small for the literal form of order");
}

static ttape_status data_read(struct ttp_order_out *out, const struct table *table,
                              struct ttp_bytes data, ttape_error *err)
{
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data.data, data.size);
    bool writes = table->tallies == NULL;

    for (uint32_t s = 0; s < out->segment_count; s++) {
        uint32_t at = out->segment_start[s], end = out->segment_start[s + 1];
        while (at < end) {
            uint32_t count = 0, *to = writes ? out->codes + at : NULL;
            if (writes) {
                count = copy_fast(&from, table, to, end - at);
                at += count;
                to += count;
            }
            if (at == end)
                break;
            uint64_t pointer = ttp_read_varint(&from);
            TTP_TRY(record_read(&from, table, pointer, to, end - at, &count, err));
            at += count;
        }
    }
    if (ttp_reader_left(&from) != 0)
        return corrupt(err, "O-LIT-15", &from, "literal data goes on after its last event");
    return TTAPE_OK;
}

ttape_status ttp_literal_decode(struct ttp_order_out *out, struct ttp_bytes header,
                                struct ttp_bytes data, struct ttp_workspace ws, ttape_error *err)
{
    struct table table = {.tallies = NULL};

    if (ws.size < ttp_literal_decode_workspace(out->event_count))
        return workspace_small(err);
    TTP_TRY(table_read(&table, ws.memory, out, header, err));
    return data_read(out, &table, data, err);
}

size_t ttp_literal_list_workspace(uint32_t event_count)
{
    return sizeof(uint64_t) + position_max(event_count) * sizeof(struct tally) +
           ttp_literal_decode_workspace(event_count);
}

static ttape_status list_chains(const struct table *table, struct ttp_order_chain_sink to)
{
    *to.chained_count = 0;
    for (uint32_t p = 0; p < table->positions; p = table->spans[p].end)
        *to.chained_count += table->tallies[p].events;
    for (uint32_t p = 0; p < table->positions; p = table->spans[p].end) {
        uint32_t length = table->spans[p].end - p;
        const struct ttp_order_chain chain = {.items = table->codes + p,
                                              .item_count = length,
                                              .length = length,
                                              .uses = table->tallies[p].uses,
                                              .event_count = table->tallies[p].events};
        TTP_TRY(to.chain(to.context, &chain));
    }
    return TTAPE_OK;
}

ttape_status ttp_literal_list(struct ttp_order_out *out, struct ttp_bytes header,
                              struct ttp_bytes data, struct ttp_workspace ws,
                              struct ttp_order_chain_sink to, ttape_error *err)
{
    uint8_t *aligned = (uint8_t *)ws.memory + (0 - (uintptr_t)ws.memory) % sizeof(uint64_t);
    struct table table = {.tallies = (struct tally *)(void *)aligned};

    if (ws.size < ttp_literal_list_workspace(out->event_count))
        return workspace_small(err);
    size_t positions = position_max(out->event_count);
    memset(table.tallies, 0, positions * sizeof *table.tallies);
    TTP_TRY(table_read(&table, table.tallies + positions, out, header, err));
    TTP_TRY(data_read(out, &table, data, err));
    return list_chains(&table, to);
}
