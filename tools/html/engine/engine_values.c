/* Values in a page: by the names that the file has, plainly. The command's own tables (flags of
 * system calls, names of parameters in the C library) are not in the module. */
#include "tools/html/engine/engine_values.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *bytes;
    size_t capacity, count; /* what it would have; the rest is cut off */
};

static void put(struct text *text, const char *bytes, size_t size_bytes)
{
    size_t left = text->count < text->capacity ? text->capacity - text->count - 1 : 0;
    if (left > 0)
        memcpy(text->bytes + text->count, bytes, size_bytes < left ? size_bytes : left);
    text->count += size_bytes;
}

static void put_word(struct text *text, const char *word) { put(text, word, strlen(word)); }

/* Six decimals, by integers: printf has no fractions in the module. */
static void put_fraction(struct text *text, uint64_t bits)
{
    char word[48];
    double number;
    memcpy(&number, &bits, sizeof number);
    bool is_negative = number < 0;
    number = is_negative ? -number : number;
    if (!(number < 1e12)) {
        (void)snprintf(word, sizeof word, "double 0x%016" PRIx64, bits);
    } else {
        uint64_t millionths = (uint64_t)(number * 1e6 + 0.5);
        (void)snprintf(word, sizeof word, "%s%" PRIu64 ".%06" PRIu64, is_negative ? "-" : "",
                       millionths / 1000000, millionths % 1000000);
    }
    put_word(text, word);
}

static void put_value(struct text *text, const ttape_value *value)
{
    char word[40];
    switch (value->type) {
    case TTAPE_VALUE_SIGNED:
        (void)snprintf(word, sizeof word, "%" PRId64, (int64_t)value->number);
        break;
    case TTAPE_VALUE_POINTER: (void)snprintf(word, sizeof word, "0x%" PRIx64, value->number); break;
    case TTAPE_VALUE_FLOAT: put_fraction(text, value->number); return;
    case TTAPE_VALUE_NULL: put_word(text, "NULL"); return;
    case TTAPE_VALUE_STRING:
        put_word(text, "\"");
        put(text, value->bytes.data, value->bytes.size_bytes);
        put_word(text, "\"");
        return;
    case TTAPE_VALUE_BYTES:
        (void)snprintf(word, sizeof word, "%u bytes", (unsigned)value->bytes.size_bytes);
        break;
    default: (void)snprintf(word, sizeof word, "%" PRIu64, value->number); break;
    }
    put_word(text, word);
}

size_t engine_put_values(const ttape_reader *reader, uint32_t site, bool is_exit,
                         const ttape_value *values, uint32_t value_count, char *buffer,
                         size_t size_bytes)
{
    struct text text = {.bytes = buffer, .capacity = size_bytes};
    ttape_site_values known = {0};
    (void)ttape_reader_get_site_values(reader, site, &known);
    const ttape_value_name *names = is_exit ? known.exit : known.enter;
    uint32_t name_count = is_exit ? known.exit_count : known.enter_count;
    put_word(&text, is_exit ? " = " : "(");
    for (uint32_t i = 0; i < value_count; i++) {
        if (i > 0)
            put_word(&text, ", ");
        if (i < name_count && names[i].name.size_bytes > 0 && (!is_exit || i > 0)) {
            put(&text, names[i].name.data, names[i].name.size_bytes);
            put_word(&text, "=");
        }
        put_value(&text, &values[i]);
    }
    if (!is_exit)
        put_word(&text, ")");
    buffer[text.count < size_bytes ? text.count : size_bytes - 1] = '\0';
    return text.count;
}
