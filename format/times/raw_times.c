/* The full decoder is the block decoder in a loop, so that seeking and streaming cannot disagree.
 */
#include "format/times/raw_times.h"

#include "format/base/bytes.h"
#include "format/base/fail.h"

static uint32_t block_count(uint32_t event_count)
{
    return event_count / TTP_TIME_BLOCK_EVENTS + (event_count % TTP_TIME_BLOCK_EVENTS != 0);
}

static uint32_t block_end(uint32_t event_count, uint32_t block)
{
    uint32_t first = block * TTP_TIME_BLOCK_EVENTS;

    return event_count - first < TTP_TIME_BLOCK_EVENTS ? event_count
                                                       : first + TTP_TIME_BLOCK_EVENTS;
}

static size_t directory_bytes(uint32_t event_count)
{
    return (size_t)block_count(event_count) * TTP_RAW_TIMES_ENTRY_BYTES;
}

size_t ttp_raw_times_bound(uint32_t event_count)
{
    return directory_bytes(event_count) + (size_t)event_count * TTP_VARINT_MAX;
}

/* Goes through the events in order, and knows the time relative to the running segment's base.
 * Unsigned: hostile differences may pass 64 bits, and both sides then wrap alike. */
struct walk {
    uint64_t time;
    uint32_t segment;
};

static void walk_to(struct walk *walk, const struct ttp_times *times, uint32_t event)
{
    while (walk->segment < times->segment_count && times->segment_start[walk->segment] <= event) {
        if (times->segment_start[walk->segment] == event)
            walk->time = 0;
        walk->segment++;
    }
}

/* LEB128 of a number below 2^35 without a branch, but for what takes three bytes and more: groups
 * of 7 bits are spread over bytes. There is room for 8 bytes. */
static inline uint8_t *put_small(uint8_t *to, uint64_t v)
{
    if (__builtin_expect(v < UINT64_C(1) << 14, 1)) {
        unsigned two = v > 0x7f;
        ttp_store16(to, (uint16_t)((v & 0x7f) | (v & 0x3f80) << 1 | two << 7));
        return to + 1 + two;
    }
    uint64_t spread = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3 |
                      (v & 0x7f0000000) << 4;
    unsigned bits = 64u - (unsigned)__builtin_clzll(v | 1), bytes = (bits + 6) / 7;
    uint64_t below_last = (UINT64_C(1) << 8 * (bytes - 1)) - 1;

    ttp_store64(to, spread | (below_last & UINT64_C(0x8080808080)));
    return to + bytes;
}

static void put_run_carefully(struct ttp_writer_cursor *to, const struct ttp_times *in,
                              uint32_t from, uint32_t end, uint32_t *wide, uint64_t *time)
{
    for (uint32_t i = from; i < end; i++) {
        uint32_t delta = in->delta[i];
        int64_t number = delta != TTP_DELTA_WIDE ? (int64_t)delta : in->wide[(*wide)++];
        ttp_write_svarint(to, number);
        *time += (uint64_t)number;
    }
}

/* Events of one block and one segment. */
static void put_run(struct ttp_writer_cursor *to, const struct ttp_times *in, uint32_t from,
                    uint32_t end, uint32_t *wide, uint64_t *time)
{
    if ((size_t)(to->end - to->at) < (size_t)(end - from) * TTP_VARINT_MAX) {
        put_run_carefully(to, in, from, end, wide, time);
        return;
    }
    uint8_t *at = to->at;
    uint64_t sum = 0;

    for (uint32_t i = from; i < end; i++) {
        uint32_t delta = in->delta[i];
        if (__builtin_expect(delta == TTP_DELTA_WIDE, 0)) {
            to->at = at;
            put_run_carefully(to, in, i, i + 1, wide, time);
            at = to->at;
            continue;
        }
        at = put_small(at, (uint64_t)delta << 1);
        sum += delta;
    }
    to->at = at;
    *time += sum;
}

/* Where the run that `event` is in ends: at the block's end, or where the next segment begins. */
static uint32_t run_end(const struct walk *walk, const struct ttp_times *in, uint32_t event)
{
    uint32_t end = block_end(in->event_count, event / TTP_TIME_BLOCK_EVENTS);

    return walk->segment < in->segment_count && in->segment_start[walk->segment] < end
               ? in->segment_start[walk->segment]
               : end;
}

ttape_status ttp_raw_times_encode(const struct ttp_times *in, uint8_t *data, size_t capacity,
                                  size_t *size_bytes, ttape_error *err)
{
    struct ttp_writer_cursor to = ttp_writer_cursor_init(data, capacity);
    uint8_t *entry = ttp_claim(&to, directory_bytes(in->event_count));
    uint8_t *differences = to.at;
    struct walk walk = {0, 0};
    uint32_t wide = 0;

    for (uint32_t i = 0, end; i < in->event_count && !to.full; i = end) {
        walk_to(&walk, in, i);
        if (i % TTP_TIME_BLOCK_EVENTS == 0) {
            ttp_store64(entry, (uint64_t)(to.at - differences));
            ttp_store64(entry + 8, walk.time);
            entry += TTP_RAW_TIMES_ENTRY_BYTES;
        }
        end = run_end(&walk, in, i);
        put_run(&to, in, i, end, &wide, &walk.time);
    }
    if (to.full)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "no room for the raw form of times");
    *size_bytes = ttp_written(&to);
    return TTAPE_OK;
}

ttape_status ttp_raw_times_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                     size_t size_bytes, ttape_error *err)
{
    if (size_bytes < directory_bytes(event_count))
        return ttp_fail(err, TTAPE_E_TRUNCATED, "T-RAW-01", size_bytes,
                        "raw times end within their directory");
    for (uint32_t b = 0; b < block_count(event_count); b++)
        ticks[b] = (int64_t)ttp_load64(data + (size_t)b * TTP_RAW_TIMES_ENTRY_BYTES + 8);
    return TTAPE_OK;
}

/* The bytes of one block, from the start of the section, checked to lie within it. */
static ttape_status block_bytes(const uint8_t *data, size_t size_bytes, uint32_t event_count,
                                uint32_t block, size_t *start, size_t *end, ttape_error *err)
{
    uint32_t blocks = block_count(event_count);
    size_t head = directory_bytes(event_count);

    if (size_bytes < head)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "T-RAW-01", size_bytes,
                        "raw times end within their directory");
    if (block >= blocks)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no block '%u'", block);
    const uint8_t *entry = data + (size_t)block * TTP_RAW_TIMES_ENTRY_BYTES;
    uint64_t room = size_bytes - head, from = ttp_load64(entry);
    uint64_t to = block + 1 < blocks ? ttp_load64(entry + TTP_RAW_TIMES_ENTRY_BYTES) : room;
    if ((block == 0 && from != 0) || from > to || to > room)
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-RAW-02",
                        (uint64_t)block * TTP_RAW_TIMES_ENTRY_BYTES,
                        "times directory points outside the times");
    *start = head + (size_t)from;
    *end = head + (size_t)to;
    return TTAPE_OK;
}

/* Puts one difference where it belongs; false where there is no room for a wide one. */
static inline bool put_delta(struct ttp_times *out, uint32_t event, int64_t delta)
{
    if (delta >= 0 && delta < (int64_t)TTP_DELTA_WIDE) {
        out->delta[event] = (uint32_t)delta;
        return true;
    }
    if (out->wide_count >= out->wide_capacity)
        return false;
    out->delta[event] = TTP_DELTA_WIDE;
    out->wide[out->wide_count++] = delta;
    return true;
}

/* A bit for each of 64 bytes that ends a varint, the first byte's lowest. */
static inline uint64_t ends_of(const uint8_t *from)
{
    uint64_t ends = 0;

    for (unsigned i = 0; i < 8; i++) {
        uint64_t last = ~ttp_load64(from + (size_t)8 * i) >> 7 & UINT64_C(0x0101010101010101);
        ends |= (last * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
    }
    return ends;
}

#define WINDOW_EVENTS 64u
#define WINDOW_BYTES  (WINDOW_EVENTS + 8u)

/* A window whose numbers take one or two bytes, as nearly all do, without a branch on which: the
 * sign of `wrong` tells, and false is returned, when a number is negative or not canonical. */
static inline bool read_short(const uint8_t *bytes, uint64_t ends, uint32_t *delta, uint64_t *sum,
                              uint32_t *count)
{
    uint32_t odd = 0, wrong = 0, n = 0;
    unsigned start = 0;

    for (; ends != 0; ends &= ends - 1) {
        unsigned last = (unsigned)__builtin_ctzll(ends), two = last - start;
        uint32_t x = ttp_load16(bytes + start);
        uint32_t v = (x & 0x7f) | (x >> 1 & 0x3f80 & -two);
        odd |= v;
        wrong |= x - (two << 8);
        delta[n++] = v >> 1;
        *sum += v >> 1;
        start = last + 1;
    }
    *count = n;
    return ((odd & 1) | wrong >> 31) == 0;
}

/* Steps through a window of bytes by the ends of its varints, so that no read waits for the length
 * of the one before, as in a loop over bytes. Stops before what is not small, not positive or not
 * canonical: reading it the careful way says what it is. There are WINDOW_BYTES to read, and
 * room for WINDOW_EVENTS. Returns how many differences it read. */
static inline uint32_t read_window(struct ttp_reader_cursor *from, uint32_t *delta, uint64_t *time)
{
    const uint8_t *bytes = from->at;
    uint64_t ends = ends_of(bytes), sum = 0;
    unsigned start = 0;
    uint32_t count = 0;

    /* Two bytes in a row that go on belong to a longer number. */
    if (__builtin_expect((~ends & ~ends >> 1) == 0, 1) && ends != 0 &&
        read_short(bytes, ends, delta, &sum, &count)) {
        from->at += 64u - (unsigned)__builtin_clzll(ends);
        *time += sum;
        return count;
    }
    sum = count = 0;
    for (; ends != 0; ends &= ends - 1) {
        unsigned last = (unsigned)__builtin_ctzll(ends), above = last - start;
        if (__builtin_expect((above > 4) | ((bytes[last] == 0) & (above != 0)), 0))
            break;
        uint64_t x = ttp_load64(bytes + start) & UINT64_MAX >> (56 - 8 * above);
        uint64_t v = (x & 0x7f) | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) | (x >> 3 & 0xfe00000) |
                     (x >> 4 & 0x7f0000000);
        if (__builtin_expect((v & 1) | (v >> 1 >= TTP_DELTA_WIDE), 0))
            break;
        delta[count++] = (uint32_t)(v >> 1);
        sum += v >> 1;
        start = last + 1;
    }
    from->at += start;
    *time += sum;
    return count;
}

/* Events of one block and one segment. */
static ttape_status take_run(struct ttp_reader_cursor *from, uint32_t first, uint32_t end,
                             struct ttp_times *out, uint64_t *time, ttape_error *err)
{
    for (uint32_t i = first; i < end; i++) {
        while (end - i >= WINDOW_EVENTS && ttp_reader_left(from) >= WINDOW_BYTES) {
            uint32_t count = read_window(from, out->delta + i, time);
            i += count;
            if (count == 0)
                break;
        }
        if (i == end)
            break;
        int64_t delta = ttp_read_svarint(from);
        if (from->bad)
            return ttp_fail(err, TTAPE_E_CORRUPT, "T-RAW-04", ttp_reader_offset(from),
                            "bad or missing difference in block '%u' of the times",
                            first / TTP_TIME_BLOCK_EVENTS);
        if (!put_delta(out, i, delta))
            return ttp_fail(err, TTAPE_E_LIMIT, "T-RAW-05", ttp_reader_offset(from),
                            "too many wide differences in the times data");
        *time += (uint64_t)delta;
    }
    return TTAPE_OK;
}

static ttape_status block_decode(const uint8_t *data, size_t start, size_t end, uint32_t block,
                                 struct ttp_times *out, struct walk *walk, ttape_error *err)
{
    /* From the section's start, as offsets in errors are. */
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data, end);
    uint32_t last = block_end(out->event_count, block);

    from.at += start;
    for (uint32_t i = block * TTP_TIME_BLOCK_EVENTS, next; i < last; i = next) {
        walk_to(walk, out, i);
        next = run_end(walk, out, i);
        TTP_TRY(take_run(&from, i, next, out, &walk->time, err));
    }
    if (ttp_reader_left(&from) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-RAW-02", ttp_reader_offset(&from),
                        "block '%u' of the times goes on after its last event", block);
    return TTAPE_OK;
}

ttape_status ttp_raw_times_decode(const uint8_t *data, size_t size_bytes, struct ttp_times *out,
                                  ttape_error *err)
{
    struct walk walk = {0, 0};
    uint32_t blocks = block_count(out->event_count);

    out->wide_count = 0;
    if (blocks == 0 && size_bytes != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-RAW-01", 0, "times stored for no events");
    for (uint32_t block = 0; block < blocks; block++) {
        size_t start = 0, end = 0, entry_at = (size_t)block * TTP_RAW_TIMES_ENTRY_BYTES;
        TTP_TRY(block_bytes(data, size_bytes, out->event_count, block, &start, &end, err));
        walk_to(&walk, out, block * TTP_TIME_BLOCK_EVENTS);
        if (ttp_load64(data + entry_at + 8) != walk.time)
            return ttp_fail(err, TTAPE_E_CORRUPT, "T-RAW-03", entry_at + 8,
                            "times directory disagrees with the times at block '%u'", block);
        TTP_TRY(block_decode(data, start, end, block, out, &walk, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_raw_times_decode_block(const uint8_t *data, size_t size_bytes, uint32_t block,
                                        struct ttp_times *out, int64_t *time_ticks,
                                        ttape_error *err)
{
    /* Past the last segment already, so that the walk has nothing to do: only the full decoder
     * needs it. */
    struct walk walk = {0, out->segment_count};
    size_t start = 0, end = 0;

    out->wide_count = 0;
    TTP_TRY(block_bytes(data, size_bytes, out->event_count, block, &start, &end, err));
    TTP_TRY(block_decode(data, start, end, block, out, &walk, err));
    *time_ticks = (int64_t)ttp_load64(data + (size_t)block * TTP_RAW_TIMES_ENTRY_BYTES + 8);
    return TTAPE_OK;
}
