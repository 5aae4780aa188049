/* A call, or its end, with values behind it, as records:
 *
 *     the call | the message's head | values: of each its type, then 8 bytes, or its size and bytes
 */
#include "recorder/runtime/hot.h"
#include "recorder/runtime/patch/patch.h"

struct putting {
    uint64_t *place, word;
    uint32_t count;
};

/* One record is whole; the next one begins with this. */
static inline __attribute__((always_inline)) void put_record(struct putting *p, uint64_t word,
                                                             uint32_t count)
{
    ttp_store(p->place++, ttp_record_data(p->word));
    p->word = word;
    p->count = count;
}

static void put_byte(struct putting *p, uint8_t byte)
{
    p->word |= (uint64_t)byte << 8 * p->count;
    if (++p->count >= TTP_DATA_BYTES)
        put_record(p, 0, 0);
}

/* A number has 4 or 8 bytes: what fits into the record that was begun, and the rest. A record drops
 * what is above its bytes. */
static void put_number(struct putting *p, uint64_t number, uint32_t bytes)
{
    uint32_t room = TTP_DATA_BYTES - p->count;
    p->word |= number << 8 * p->count;
    p->count += bytes;
    if (bytes < room)
        return;
    put_record(p, number >> 8 * room, bytes - room);
    if (p->count >= TTP_DATA_BYTES)
        put_record(p, 0, 0);
}

static bool is_text(const struct ttp_call_values *values, uint32_t i)
{
    return values->texts != NULL && values->texts->types[i] != TTAPE_VALUE_UNSIGNED;
}

static uint64_t size_of(const struct ttp_call_values *values)
{
    uint64_t size = 9ull * values->count;
    for (uint32_t i = 0; values->texts != NULL && i < values->count; i++)
        size += is_text(values, i) ? values->texts->sizes[i] - 4ull : 0;
    return size;
}

static void put_values(uint64_t *place, const struct ttp_call_values *values)
{
    struct putting p = {.place = place};
    const struct ttp_call_texts *texts = values->texts;
    for (uint32_t i = 0; i < values->count; i++) {
        if (!is_text(values, i)) {
            bool is_more = i >= TTP_CALL_VALUES_MAX; /* then there are texts */
            put_byte(&p, is_more             ? texts->kinds[i]
                         : values->has_types ? values->types[i]
                                             : (uint8_t)values->type);
            put_number(&p, is_more ? texts->numbers[i] : values->numbers[i], 8);
            continue;
        }
        put_byte(&p, (uint8_t)texts->types[i]);
        put_number(&p, texts->sizes[i], 4);
        for (uint32_t k = 0; k < texts->sizes[i]; k++)
            put_byte(&p, texts->bytes[texts->at[i] + k]);
    }
    if (p.count != 0)
        ttp_store(p.place, ttp_record_data(p.word));
}

/* The call is stored last: whoever takes records up to the first place that is empty takes it with
 * its values, or not yet. Who is stopped in between leaves an empty place in front of values, which
 * are then nobody's. */
bool ttp_call_write(uint32_t process, uint64_t tag, uintptr_t key,
                    const struct ttp_call_values *values)
{
    uint64_t now, size = size_of(values);
    uint32_t data = (uint32_t)((size + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES), count = 2 + data;
    uint64_t *place =
        tag == TTP_TAG_EXIT ? ttp_reserve_end(count, &now) : ttp_reserve_timed(count, &now);
    if (place == NULL)
        return false;
    bool is_late = ttp_is_dropping() || ttp_is_child_of(process); /* began in a handler, just now */
    for (uint32_t i = 0; is_late && i < count; i++)
        ttp_slot_fill((uint64_t)(place + i));
    if (is_late)
        return false;
    uint64_t call = ttp_record_call(tag, now, key);
    put_values(place + 2, values);
    ttp_store(place + 1, ttp_record_extension(TTP_EXT_MESSAGE, now,
                                              (uint64_t)TTP_MESSAGE_VALUES << 24 | size));
    ttp_store(place, call);
    return true;
}
