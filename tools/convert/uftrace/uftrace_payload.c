/* Payloads behind records: values one after another, each padded to 4 bytes, the whole to 8.
 *
 *   number    integer, pointer or float of its size, little-endian
 *   string    u16 length, then that many bytes; ff ff ff ff of length 4: a NULL pointer
 *   struct    its bytes
 *   event     u16 length, then the event's own fields */
#include <math.h>
#include <string.h>

#include "tools/convert/uftrace/uftrace.h"

#define VALUE_ALIGN   4u
#define PAYLOAD_ALIGN 8u

static size_t align_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) / alignment * alignment;
}

static uint64_t load_number(const uint8_t *at, size_t size_bytes)
{
    uint64_t value = 0;
    for (size_t i = size_bytes < 8 ? size_bytes : 8; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* An x87 80-bit number: 64 bits of mantissa with the leading one, 15 of exponent, sign. */
static double load_extended(const uint8_t *at)
{
    uint64_t mantissa = load_number(at, 8);
    unsigned top = (unsigned)load_number(at + 8, 2);
    int exponent = (int)(top & 0x7FFFu);
    double value;
    if (exponent == 0x7FFF)
        value = mantissa << 1 == 0 ? (double)INFINITY : (double)NAN;
    else
        value = ldexp((double)mantissa, exponent - 16383 - 63);
    return (top & 0x8000u) != 0 ? -value : value;
}

static uint64_t load_float(const uint8_t *at, size_t size_bytes)
{
    if (size_bytes == 4) {
        uint32_t bits = (uint32_t)load_number(at, 4);
        float value;
        memcpy(&value, &bits, sizeof(value));
        return double_bits((double)value);
    }
    return size_bytes == 10 ? double_bits(load_extended(at)) : load_number(at, 8);
}

static uint64_t sign_extend(uint64_t value, size_t size_bytes)
{
    if (size_bytes >= 8)
        return value;
    uint64_t sign = (uint64_t)1 << (size_bytes * 8 - 1);
    return (value ^ sign) - sign;
}

/* A register that holds an int: its upper half is zero, whatever its sign. */
static uint64_t load_signed(const struct tool_uft_spec *spec, const uint8_t *at)
{
    uint64_t value = load_number(at, spec->size_bytes);
    bool is_int = spec->is_int && value >> 31 == 1;
    return sign_extend(value, is_int ? 4 : spec->size_bytes);
}

static void decode_fixed(const struct tool_uft_spec *spec, const uint8_t *at, ttape_value *value)
{
    ttape_string bytes = {(const char *)at, spec->size_bytes};
    switch (spec->format) {
    case 'u':
    case 'o':
        *value = (ttape_value){.type = TTAPE_VALUE_UNSIGNED,
                               .number = load_number(at, spec->size_bytes)};
        break;
    case 'x':
    case 'p':
        *value =
            (ttape_value){.type = TTAPE_VALUE_POINTER, .number = load_number(at, spec->size_bytes)};
        break;
    case 'f':
        *value =
            (ttape_value){.type = TTAPE_VALUE_FLOAT, .number = load_float(at, spec->size_bytes)};
        break;
    case 'c': *value = (ttape_value){.type = TTAPE_VALUE_STRING, .bytes = bytes}; break;
    case 't': *value = (ttape_value){.type = TTAPE_VALUE_BYTES, .bytes = bytes}; break;
    default:
        *value = (ttape_value){.type = TTAPE_VALUE_SIGNED, .number = load_signed(spec, at)};
        break;
    }
}

size_t tool_uft_decode(const struct tool_uft_layout *layout, const uint8_t *data, size_t size_bytes,
                       ttape_value *values, uint32_t *value_count)
{
    static const uint8_t null_marker[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    size_t at = 0;
    *value_count = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct tool_uft_spec *spec = &layout->specs[i];
        bool is_string = spec->format == 's' || spec->format == 'S';
        size_t length = spec->size_bytes;
        if (length == 0)
            continue; /* an empty struct leaves nothing */
        if (is_string) {
            if (size_bytes - at < 2)
                return 0;
            length = (size_t)load_number(data + at, 2);
            at += 2;
        }
        if (size_bytes - at < length)
            return 0;
        ttape_value *value = &values[(*value_count)++];
        if (is_string && length == 4 && memcmp(data + at, null_marker, 4) == 0) {
            *value = (ttape_value){.type = TTAPE_VALUE_NULL};
        } else if (is_string) {
            *value = (ttape_value){.type = TTAPE_VALUE_STRING,
                                   .bytes = {(const char *)data + at, length}};
        } else {
            decode_fixed(spec, data + at, value);
        }
        at = align_up(at + length, VALUE_ALIGN);
        if (at > size_bytes)
            return 0;
    }
    at = align_up(at, PAYLOAD_ALIGN);
    return at <= size_bytes ? at : 0;
}

/* Built-in events: numbers as uftrace publishes them, with the count of their u64 fields. */
static const struct {
    uint64_t id;
    const char *name;
    uint32_t fields;
} events[] = {
    {100001, "read:proc/statm", 3}, {100002, "read:page-fault", 2}, {100003, "diff:proc/statm", 3},
    {100004, "diff:page-fault", 2}, {100005, "read:pmu-cycle", 2},  {100006, "diff:pmu-cycle", 2},
    {100007, "read:pmu-cache", 2},  {100008, "diff:pmu-cache", 2},  {100009, "read:pmu-branch", 2},
    {100010, "diff:pmu-branch", 2}, {100011, "watch:cpu", 0},       {100012, "watch:var", 0},
    {100013, "callsite", 0},        {200001, "linux:sched-in", 0},  {200002, "linux:sched-out", 0},
    {200003, "linux:schedule", 0},  {200004, "linux:task-new", 0},  {200005, "linux:task-exit", 0},
    {200006, "linux:task-name", 0}};
#define EVENT_COUNT     (sizeof(events) / sizeof(events[0]))
#define EVENT_WATCH_CPU 100011u
#define EVENT_CALLSITE  100013u

const char *tool_uft_event_name(uint64_t event_id)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (events[i].id == event_id)
            return events[i].name;
    return NULL;
}

static uint32_t fields_of(uint64_t event_id)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (events[i].id == event_id)
            return events[i].fields;
    return 0;
}

size_t tool_uft_decode_event(uint64_t event_id, const uint8_t *data, size_t size_bytes,
                             ttape_value *values, uint32_t *value_count)
{
    *value_count = 0;
    if (size_bytes < 2)
        return 0;
    size_t length = (size_t)load_number(data, 2);
    size_t total = align_up(2 + length, PAYLOAD_ALIGN);
    if (total > size_bytes)
        return 0;
    const uint8_t *at = data + 2;
    uint32_t fields = fields_of(event_id);
    if (fields > 0 && length == fields * 8) {
        for (uint32_t i = 0; i < fields; i++)
            values[i] =
                (ttape_value){.type = TTAPE_VALUE_UNSIGNED, .number = load_number(at + 8 * i, 8)};
        *value_count = fields;
    } else if (event_id == EVENT_WATCH_CPU && length == 4) {
        values[(*value_count)++] =
            (ttape_value){.type = TTAPE_VALUE_UNSIGNED, .number = load_number(at, 4)};
    } else if (event_id == EVENT_CALLSITE && length == 8) {
        values[(*value_count)++] =
            (ttape_value){.type = TTAPE_VALUE_POINTER, .number = load_number(at, 8)};
    } else if (length > 0) {
        values[(*value_count)++] =
            (ttape_value){.type = TTAPE_VALUE_BYTES, .bytes = {(const char *)at, length}};
    }
    return total;
}
