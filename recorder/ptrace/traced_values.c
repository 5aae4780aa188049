/* What a call is given and what it returns, read from the thread's registers and memory. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "recorder/arena/call_contents.h"
#include "recorder/ptrace/tracer.h"

#define PAGE        4096u
#define VALUES      8u /* a result, six arguments and a counter */
#define FIELD_COUNT (3u * VALUES)
#define LIST_WORDS  16u /* of a list's addresses at once */

/* Two pieces, as one is read whole or not at all. */
size_t ttp_traced_read(const struct ttp_traced *thread, void *into, uint64_t from, size_t count)
{
    size_t first = PAGE - from % PAGE;
    const struct iovec to = {into, count};
    const struct iovec parts[2] = {
        {(void *)(uintptr_t)from, first < count ? first : count},
        {(void *)(uintptr_t)(from + first), first < count ? count - first : 0}};
    ssize_t got = process_vm_readv((pid_t)thread->tid, &to, 1, parts, first < count ? 2 : 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* A message as it is put together. */
struct ttp_traced_values {
    struct ttp_outside_field fields[FIELD_COUNT];
    uint32_t field_count, value_count;
    uint8_t types[VALUES];
    uint64_t numbers[VALUES];
    uint32_t sizes[VALUES];
    uint8_t bytes[VALUES][TTP_CALL_STRING_MAX];
};

static void add_field(struct ttp_traced_values *values, const void *data, size_t size)
{
    values->fields[values->field_count++] = (struct ttp_outside_field){data, size};
}

static void add_number(struct ttp_traced_values *values, ttape_value_type type, uint64_t number)
{
    uint32_t i = values->value_count++;
    values->types[i] = (uint8_t)type;
    values->numbers[i] = number;
    add_field(values, &values->types[i], 1);
    add_field(values, &values->numbers[i], sizeof(values->numbers[i]));
}

static void add_bytes(struct ttp_traced_values *values, ttape_value_type type, uint32_t size)
{
    uint32_t i = values->value_count++;
    values->types[i] = (uint8_t)type;
    values->sizes[i] = size;
    add_field(values, &values->types[i], 1);
    add_field(values, &values->sizes[i], sizeof(values->sizes[i]));
    add_field(values, values->bytes[i], size);
}

/* False: no string ends there. */
static bool add_string(struct ttp_traced_values *values, const struct ttp_traced *thread,
                       uint64_t from)
{
    uint8_t *into = values->bytes[values->value_count];
    size_t got = from != 0 ? ttp_traced_read(thread, into, from, TTP_CALL_STRING_MAX) : 0;
    const uint8_t *end = got > 0 ? memchr(into, 0, got) : NULL;
    if (end == NULL && got < TTP_CALL_STRING_MAX)
        return false;
    add_bytes(values, TTAPE_VALUE_STRING, (uint32_t)(end != NULL ? (size_t)(end - into) : got));
    return true;
}

static bool add_data(struct ttp_traced_values *values, const struct ttp_tracer *tracer,
                     const struct ttp_traced *thread, uint64_t from, uint64_t size)
{
    uint64_t wanted = tracer->options->data_bytes;
    wanted = wanted < TTP_CALL_DATA_MAX ? wanted : TTP_CALL_DATA_MAX;
    wanted = size < wanted ? size : wanted;
    if (wanted > 0 &&
        ttp_traced_read(thread, values->bytes[values->value_count], from, wanted) != wanted)
        return false;
    add_bytes(values, TTAPE_VALUE_BYTES, (uint32_t)wanted);
    return true;
}

/* Strings with their zeros, one behind the other; without room for all, the last has none.
 * False: a list or a string of it has no end. */
static bool add_list(struct ttp_traced_values *values, const struct ttp_traced *thread,
                     uint64_t from)
{
    uint8_t *into = values->bytes[values->value_count];
    uint64_t words[LIST_WORDS];
    size_t used = 0, count = LIST_WORDS;
    for (; from != 0 && count == LIST_WORDS; from += sizeof(words)) {
        count = ttp_traced_read(thread, words, from, sizeof(words)) / sizeof(*words);
        for (size_t k = 0; k < count; k++) {
            if (words[k] == 0) {
                add_bytes(values, TTAPE_VALUE_BYTES, (uint32_t)used);
                return true;
            }
            size_t room = TTP_CALL_STRING_MAX - used;
            size_t got = ttp_traced_read(thread, into + used, words[k], room);
            const uint8_t *end = got > 0 ? memchr(into + used, 0, got) : NULL;
            size_t length = end != NULL ? (size_t)(end - into) - used : got;
            if (end == NULL && got < room)
                return false;
            if (length + 1 >= room) {
                add_bytes(values, TTAPE_VALUE_BYTES, (uint32_t)(used + length));
                return true;
            }
            used += length + 1;
        }
    }
    return false;
}

static uint32_t read_part(const void *context, uint8_t *into, uint64_t from, uint32_t count)
{
    return (uint32_t)ttp_traced_read(context, into, from, count);
}

/* False: there is none. */
static bool add_part(struct ttp_traced_values *values, const struct ttp_part_reading *reading,
                     char letter, uint32_t i)
{
    uint32_t size = letter == 0 ? TTP_PART_NONE
                                : ttp_part_read(reading, (uint8_t)letter, i,
                                                values->bytes[values->value_count]);
    if (size == TTP_PART_NONE)
        return false;
    add_bytes(values, TTAPE_VALUE_BYTES, size);
    return true;
}

static bool write_call(struct ttp_tracer *tracer, struct ttp_traced *thread,
                       const struct ttp_outside_end *call, const struct ttp_traced_values *values)
{
    return ttp_outside_valued(&tracer->outside, &thread->out, call, values->fields,
                              values->field_count);
}

/* Of a call of 32 bits nothing is known but its registers. */
static struct ttp_call_contents contents_of(const struct ttp_tracer *tracer, uint32_t number)
{
    struct ttp_call_contents contents = {0};
    if (number < TTP_CALL_CONTENTS)
        contents = ttp_call_contents[number];
    if (tracer->options->data_bytes == 0)
        contents.given = contents.filled = 0;
    return contents;
}

static struct ttp_part_reading reading_of(const struct ttp_tracer *tracer,
                                          const struct ttp_traced *thread,
                                          const struct ttp_traced_call *call)
{
    uint64_t most = tracer->options->data_bytes;
    return (struct ttp_part_reading){.read = read_part,
                                     .context = thread,
                                     .arguments = call->arguments,
                                     .number = call->number,
                                     .data_bytes = most < TTP_CALL_DATA_MAX ? (uint32_t)most
                                                                            : TTP_CALL_DATA_MAX};
}

static void read_arguments(const struct ttp_tracer *tracer, const struct ttp_traced *thread,
                           const struct ttp_traced_call *call, struct ttp_traced_values *values)
{
    const uint64_t *arguments = call->arguments;
    const struct ttp_call_contents contents = contents_of(tracer, call->number);
    const struct ttp_part_reading reading = reading_of(tracer, thread, call);
    values->field_count = values->value_count = 0;
    for (uint32_t i = 0; i < TTP_TRACED_ARGUMENTS; i++) {
        bool is_string = (contents.strings >> i & 1) != 0, is_data = contents.given == i + 1;
        bool is_list = contents.list == i + 1;
        if (!(is_string && add_string(values, thread, arguments[i])) &&
            !(is_list && add_list(values, thread, arguments[i])) &&
            !(is_data && add_data(values, tracer, thread, arguments[i], arguments[i + 1])) &&
            !add_part(values, &reading, ttp_call_given[contents.given_row][i], i))
            add_number(values, TTAPE_VALUE_UNSIGNED, arguments[i]);
    }
}

void ttp_traced_arguments(struct ttp_tracer *tracer, struct ttp_traced *thread,
                          struct ttp_traced_call *call, const uint64_t *arguments)
{
    struct ttp_traced_values values;
    const struct ttp_outside_end enter = {TTP_TAG_ENTER, call->key,
                                          ttp_outside_clock(&tracer->outside)};
    memcpy(call->arguments, arguments, sizeof(call->arguments));
    read_arguments(tracer, thread, call, &values);
    call->is_written = write_call(tracer, thread, &enter, &values);
}

void ttp_traced_keep(struct ttp_tracer *tracer, const struct ttp_traced *thread, uint32_t number,
                     const uint64_t *arguments)
{
    struct ttp_traced_call call = {.number = number};
    if (tracer->kept == NULL)
        tracer->kept = malloc(sizeof(*tracer->kept));
    if (tracer->kept == NULL)
        return;
    memcpy(call.arguments, arguments, sizeof(call.arguments));
    read_arguments(tracer, thread, &call, tracer->kept);
}

bool ttp_traced_put_kept(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t key)
{
    const struct ttp_outside_end enter = {TTP_TAG_ENTER, key, ttp_outside_clock(&tracer->outside)};
    return tracer->kept != NULL
               ? write_call(tracer, thread, &enter, tracer->kept)
               : ttp_outside_call(&tracer->outside, &thread->out, TTP_TAG_ENTER, key);
}

void ttp_traced_put_success(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t key)
{
    const struct ttp_outside_end end = {TTP_TAG_EXIT, key, ttp_outside_clock(&tracer->outside)};
    struct ttp_traced_values *values = tracer->kept;
    tracer->kept = NULL;
    if (values == NULL) {
        (void)ttp_outside_call(&tracer->outside, &thread->out, TTP_TAG_EXIT, key);
        return;
    }
    values->field_count = values->value_count = 0;
    add_number(values, TTAPE_VALUE_SIGNED, 0);
    (void)write_call(tracer, thread, &end, values);
    free(values);
}

/* Contents of what it has filled, in the order of its arguments: none is left out that another one
 * follows. */
static void add_filled(struct ttp_traced_values *values, const struct ttp_tracer *tracer,
                       const struct ttp_traced *thread, const struct ttp_traced_call *call,
                       int64_t result)
{
    const struct ttp_call_contents contents = contents_of(tracer, call->number);
    struct ttp_part_reading reading = reading_of(tracer, thread, call);
    uint32_t kept_values = values->value_count, kept_fields = values->field_count;
    reading.result = result;
    reading.is_filled = true;
    for (uint32_t i = 0; i < TTP_TRACED_ARGUMENTS; i++) {
        char letter = ttp_call_filled[contents.filled_row][i];
        bool is_data = ttp_call_contents_fills(call->number, i);
        bool is_known = is_data && contents.filled == i + 1 && result >= 0 &&
                        call->arguments[i] != 0 &&
                        add_data(values, tracer, thread, call->arguments[i], (uint64_t)result);
        if (letter != 0 && ttp_part_is_filled(letter, result))
            is_known = add_part(values, &reading, letter, i);
        if (!is_known && (is_data || letter != 0))
            add_bytes(values, TTAPE_VALUE_BYTES, 0);
        if (is_known) {
            kept_values = values->value_count;
            kept_fields = values->field_count;
        }
    }
    values->value_count = kept_values;
    values->field_count = kept_fields;
}

void ttp_traced_result(struct ttp_tracer *tracer, struct ttp_traced *thread,
                       const struct ttp_traced_call *call, int64_t result, const uint64_t *counted)
{
    struct ttp_traced_values values;
    const struct ttp_outside_end end = {TTP_TAG_EXIT, call->key,
                                        ttp_outside_clock(&tracer->outside)};
    values.field_count = values.value_count = 0;
    add_number(&values, TTAPE_VALUE_SIGNED, (uint64_t)result);
    if (tracer->options->arguments)
        add_filled(&values, tracer, thread, call, result);
    if (counted != NULL)
        add_number(&values, TTAPE_VALUE_UNSIGNED, *counted);
    (void)write_call(tracer, thread, &end, &values);
}
