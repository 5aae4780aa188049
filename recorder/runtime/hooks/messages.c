/* Messages: more than a record holds, in one run of records: a head, then seven bytes in each. The
 * head is stored last, so that a message is whole or not there. Where a handler forks meanwhile,
 * the parent's is left to the parent. */
#include "recorder/arena/record.h"
#include "recorder/runtime/slow.h"

_Static_assert(TTP_DATA_BYTES == 7, "as in TTP_MESSAGE_MAX");

bool ttp_message_begin(struct ttp_message_out *out, size_t size_bytes)
{
    if (size_bytes > TTP_MESSAGE_MAX)
        return false;
    uint32_t records = (uint32_t)((size_bytes + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES);
    *out = (struct ttp_message_out){.size_bytes = size_bytes, .process = ttp_process_now()};
    out->head = ttp_reserve_timed(1 + records, &out->now);
    if (out->head == NULL || ttp_is_child_of(out->process))
        return false;
    out->place = out->head + 1;
    return true;
}

static void put_record(const struct ttp_message_out *out, uint64_t *place, uint64_t record)
{
    if (!ttp_is_child_of(out->process))
        ttp_store(place, record);
}

static void put_byte(struct ttp_message_out *out, uint8_t byte)
{
    out->word |= (uint64_t)byte << (8 * out->count);
    if (++out->count < TTP_DATA_BYTES)
        return;
    put_record(out, out->place++, ttp_record_data(out->word));
    out->word = 0;
    out->count = 0;
}

void ttp_message_bytes(struct ttp_message_out *out, const void *data, size_t size_bytes)
{
    for (size_t at = 0; at < size_bytes; at++)
        put_byte(out, ((const uint8_t *)data)[at]);
}

void ttp_message_end(struct ttp_message_out *out, uint32_t kind)
{
    if (out->count != 0)
        put_record(out, out->place, ttp_record_data(out->word));
    TTP_SIGNAL_FENCE();
    put_record(
        out, out->head,
        ttp_record_extension(TTP_EXT_MESSAGE, out->now, (uint64_t)kind << 24 | out->size_bytes));
}

bool ttp_message(uint32_t kind, const struct ttp_message_field *fields, uint32_t count)
{
    struct ttp_message_out out;
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += fields[i].size_bytes;
    if (!ttp_message_begin(&out, size))
        return false;
    for (uint32_t i = 0; i < count; i++)
        ttp_message_bytes(&out, fields[i].data, fields[i].size_bytes);
    ttp_message_end(&out, kind);
    return !ttp_is_child_of(out.process);
}
