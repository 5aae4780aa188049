/* FlatBuffers, as little of them as Arrow's messages need: written front to back, as each table
 * stands before what it refers to.
 *
 *   message: ff ff ff ff | u32 bytes of the metadata | metadata | body
 *   table:   u16 bytes of this list | u16 bytes of the table | u16 where each field is, 0: nowhere
 *            ... i32 how far this list is before | 4 bytes | fields, 8 bytes each
 *   offset:  u32, from where it stands to what it means
 *
 * No maintained library of Debian's writes them from C (decision 0020). */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/export/formats/arrow_message.h"

#define VERSION_5   4u /* of the metadata; Arrow from 1.0 on */
#define TYPE_INT    2u
#define TYPE_UTF8   5u
#define CONTINUES   0xFFFFFFFFu
#define INDEX_BITS  32u
#define FIELD_BYTES 8u

enum head { HEAD_SCHEMA = 1, HEAD_DICTIONARY = 2, HEAD_BATCH = 3 };

struct flat {
    uint8_t *data;
    size_t size_bytes, capacity;
};

/* A field of a table; 0 bytes: it is not there. */
struct field {
    uint8_t bytes;
    uint64_t value;
};

static void store(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint8_t *add_room(struct flat *flat, size_t bytes)
{
    tool_grow((void **)&flat->data, &flat->capacity, flat->size_bytes + bytes, 1);
    uint8_t *at = flat->data + flat->size_bytes;
    memset(at, 0, bytes);
    flat->size_bytes += bytes;
    return at;
}

/* So that what follows `ahead` more bytes lies at a multiple of 8. */
static void align(struct flat *flat, size_t ahead)
{
    (void)add_room(flat, (8 - (flat->size_bytes + ahead) % 8) % 8);
}

static void add_number(struct flat *flat, uint64_t value, size_t bytes)
{
    store(add_room(flat, bytes), value, bytes);
}

/* Returns where its first field is. */
static size_t add_table(struct flat *flat, const struct field *fields, size_t count)
{
    size_t list_bytes = 4 + 2 * count;
    align(flat, list_bytes);
    size_t list = flat->size_bytes;
    add_number(flat, list_bytes, 2);
    add_number(flat, FIELD_BYTES * (count + 1), 2);
    for (size_t i = 0; i < count; i++)
        add_number(flat, fields[i].bytes > 0 ? FIELD_BYTES * (i + 1) : 0, 2);
    add_number(flat, flat->size_bytes - list, 4);
    (void)add_room(flat, 4);
    size_t first = flat->size_bytes;
    for (size_t i = 0; i < count; i++)
        store(add_room(flat, FIELD_BYTES), fields[i].value, fields[i].bytes);
    return first;
}

/* The offset at `from` means what is added next, which begins at a multiple of 8 after `ahead`. */
static void point(struct flat *flat, size_t from, size_t ahead)
{
    align(flat, ahead);
    store(flat->data + from, flat->size_bytes - from, 4);
}

/* The same of a table, which is meant by where its fields begin, less 8. */
static void point_table(struct flat *flat, size_t from, size_t first_field)
{
    store(flat->data + from, first_field - FIELD_BYTES - from, 4);
}

static void add_text(struct flat *flat, size_t from, const char *text)
{
    size_t size = strlen(text);
    point(flat, from, 0);
    add_number(flat, size, 4);
    memcpy(add_room(flat, size + 1), text, size);
}

static size_t place_of(size_t first, size_t field) { return first + FIELD_BYTES * field; }

/* ---- messages ---- */

/* Returns where the offset of what it is about stands. */
static size_t begin_message(struct flat *flat, enum head head, uint64_t body_bytes)
{
    const struct field fields[] = {{2, VERSION_5}, {1, head}, {4, 0}, {8, body_bytes}};
    add_number(flat, 0, 4); /* the offset of the root */
    size_t first = add_table(flat, fields, 4);
    point_table(flat, 0, first);
    return place_of(first, 2);
}

static void end_message(struct flat *flat, struct tool_output *out)
{
    uint8_t head[8];
    align(flat, 0);
    store(head, CONTINUES, 4);
    store(head + 4, flat->size_bytes, 4);
    tool_output_bytes(out, head, sizeof head);
    tool_output_bytes(out, flat->data, flat->size_bytes);
    free(flat->data);
}

static void add_integer(struct flat *flat, size_t from, uint64_t bits, bool is_signed)
{
    const struct field type[] = {{4, bits}, {1, is_signed}};
    point_table(flat, from, add_table(flat, type, 2));
}

/* name, nullable, type's kind, type, dictionary, children */
static void add_field(struct flat *flat, size_t from, const struct tool_arrow_column *column)
{
    bool is_text = column->dictionary != ARROW_NO_DICTIONARY;
    const struct field fields[] = {
        {4, 0}, {1, column->is_nullable}, {1, is_text ? TYPE_UTF8 : TYPE_INT},
        {4, 0}, {is_text ? 4 : 0, 0},     {4, 0}};
    size_t first = add_table(flat, fields, 6);
    point_table(flat, from, first);
    add_text(flat, place_of(first, 0), column->name);
    if (is_text) {
        const struct field encoding[] = {{8, column->dictionary}, {4, 0}};
        point_table(flat, place_of(first, 3), add_table(flat, NULL, 0));
        size_t index = add_table(flat, encoding, 2);
        point_table(flat, place_of(first, 4), index);
        add_integer(flat, place_of(index, 1), INDEX_BITS, true);
    } else {
        add_integer(flat, place_of(first, 3), 8u * column->bytes, column->is_signed);
    }
    point(flat, place_of(first, 5), 0);
    add_number(flat, 0, 4); /* no children */
}

void tool_arrow_put_schema(struct tool_output *out, const struct tool_arrow_column *columns,
                           uint32_t count)
{
    struct flat flat = {0};
    const struct field schema[] = {{2, 0}, {4, 0}}; /* little-endian; fields */
    size_t from = begin_message(&flat, HEAD_SCHEMA, 0);
    size_t first = add_table(&flat, schema, 2);
    point_table(&flat, from, first);
    point(&flat, place_of(first, 1), 0);
    add_number(&flat, count, 4);
    size_t list = flat.size_bytes;
    (void)add_room(&flat, (size_t)count * 4);
    for (uint32_t i = 0; i < count; i++)
        add_field(&flat, list + (size_t)i * 4, &columns[i]);
    end_message(&flat, out);
}

static uint64_t body_bytes(const struct tool_arrow_body *body)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < body->buffer_count; i++)
        sum += tool_arrow_padded(body->buffer_bytes[i]);
    return sum;
}

/* Rows; of each column rows and nulls; of each buffer where it is in the body, and its bytes. */
static void add_batch(struct flat *flat, size_t from, const struct tool_arrow_body *body)
{
    const struct field batch[] = {{8, body->row_count}, {4, 0}, {4, 0}};
    size_t first = add_table(flat, batch, 3);
    uint64_t offset = 0;
    point_table(flat, from, first);
    point(flat, place_of(first, 1), 4);
    add_number(flat, body->column_count, 4);
    for (uint32_t i = 0; i < body->column_count; i++) {
        add_number(flat, body->row_count, 8);
        add_number(flat, body->null_counts[i], 8);
    }
    point(flat, place_of(first, 2), 4);
    add_number(flat, body->buffer_count, 4);
    for (uint32_t i = 0; i < body->buffer_count; i++) {
        add_number(flat, offset, 8);
        add_number(flat, body->buffer_bytes[i], 8);
        offset += tool_arrow_padded(body->buffer_bytes[i]);
    }
}

void tool_arrow_put_batch(struct tool_output *out, const struct tool_arrow_body *body)
{
    struct flat flat = {0};
    add_batch(&flat, begin_message(&flat, HEAD_BATCH, body_bytes(body)), body);
    end_message(&flat, out);
}

void tool_arrow_put_dictionary(struct tool_output *out, uint32_t dictionary,
                               const struct tool_arrow_body *body)
{
    struct flat flat = {0};
    const struct field fields[] = {{8, dictionary}, {4, 0}};
    size_t from = begin_message(&flat, HEAD_DICTIONARY, body_bytes(body));
    size_t first = add_table(&flat, fields, 2);
    point_table(&flat, from, first);
    add_batch(&flat, place_of(first, 1), body);
    end_message(&flat, out);
}

void tool_arrow_put_end(struct tool_output *out)
{
    uint8_t end[8];
    store(end, CONTINUES, 8);
    tool_output_bytes(out, end, sizeof end);
}
