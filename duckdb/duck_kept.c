/* Texts that items keep from when they are read until their cells are filled, and paths. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_query.h"

#define PLACE_BYTES 4096u /* of a file's name and a line, or a function's */

static bool add_bytes(struct duck_bytes *bytes, const char *data, size_t size_bytes)
{
    if (bytes->room - bytes->count < size_bytes) {
        size_t room = bytes->room + bytes->room / 2 + size_bytes + 256;
        char *grown = realloc(bytes->data, room);
        if (grown == NULL)
            return false;
        bytes->data = grown;
        bytes->room = room;
    }
    if (size_bytes > 0)
        memcpy(bytes->data + bytes->count, data, size_bytes);
    bytes->count += size_bytes;
    return true;
}

void duck_drop_texts(struct duck_scan *scan) { scan->bytes.count = scan->text_count = 0; }

static bool end_text(struct duck_scan *scan)
{
    if (scan->text_count == scan->text_room) {
        uint32_t room = 2 * scan->text_room + 64;
        uint64_t *grown = realloc(scan->text_ends, room * sizeof *grown);
        if (grown == NULL)
            return false;
        scan->text_ends = grown;
        scan->text_room = room;
    }
    scan->text_ends[scan->text_count++] = scan->bytes.count;
    return true;
}

bool duck_keep_text(struct duck_scan *scan, ttape_string text)
{
    return add_bytes(&scan->bytes, text.data, text.size_bytes) && end_text(scan);
}

static bool keep_hex(struct duck_scan *scan, ttape_string bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.size_bytes; i++) {
        uint8_t byte = (uint8_t)bytes.data[i];
        const char pair[] = {digits[byte >> 4], digits[byte & 15]};
        if (!add_bytes(&scan->bytes, pair, sizeof pair))
            return false;
    }
    return end_text(scan);
}

bool duck_keep_value(struct duck_scan *scan, const ttape_value *value)
{
    char text[40];
    double real;
    switch (value->type) {
    case TTAPE_VALUE_STRING: return duck_keep_text(scan, value->bytes);
    case TTAPE_VALUE_BYTES: return keep_hex(scan, value->bytes);
    case TTAPE_VALUE_NULL: (void)snprintf(text, sizeof text, "NULL"); break;
    case TTAPE_VALUE_SIGNED:
        (void)snprintf(text, sizeof text, "%" PRId64, (int64_t)value->number);
        break;
    case TTAPE_VALUE_POINTER: (void)snprintf(text, sizeof text, "0x%" PRIx64, value->number); break;
    case TTAPE_VALUE_FLOAT:
        memcpy(&real, &value->number, sizeof real);
        (void)snprintf(text, sizeof text, "%.17g", real);
        break;
    default: (void)snprintf(text, sizeof text, "%" PRIu64, value->number); break;
    }
    return duck_keep_text(scan, (ttape_string){text, strlen(text)});
}

ttape_string duck_kept_text(const struct duck_scan *scan, uint32_t number)
{
    uint64_t first = number > 0 ? scan->text_ends[number - 1] : 0;
    if (scan->text_ends[number] == first)
        return (ttape_string){"", 0};
    return (ttape_string){scan->bytes.data + first, (size_t)(scan->text_ends[number] - first)};
}

bool duck_put_texts(const struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                    size_t row, uint32_t first, uint32_t count)
{
    size_t at;
    if (!rows->list(rows, place, row, count, &at))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!duck_put_listed(rows, place, at + i, duck_kept_text(scan, first + i)))
            return false;
    return true;
}

ttape_status duck_put_known(struct duck_rows *rows, unsigned place, size_t row, ttape_string text,
                            ttape_error *err)
{
    if (text.size_bytes == 0) {
        duck_none(rows, place, row);
        return TTAPE_OK;
    }
    return duck_put_text(rows, place, row, text) ? TTAPE_OK : duck_no_memory(err);
}

ttape_status duck_put_place(struct duck_rows *rows, unsigned place, size_t row,
                            const ttape_reader *reader, uint32_t number, ttape_error *err)
{
    char text[PLACE_BYTES];
    ttape_site site;
    if (ttape_reader_get_site(reader, number, &site) != TTAPE_OK)
        return duck_put_known(rows, place, row, (ttape_string){"", 0}, err);
    if (site.kind != TTAPE_SITE_CALL)
        return duck_put_known(rows, place, row, site.symbol, err);
    size_t size = ttape_call_site_name(reader, number, text, sizeof text);
    size = size < sizeof text ? size : sizeof text - 1;
    return duck_put_known(rows, place, row, (ttape_string){text, size}, err);
}

/* ---- paths ---- */

static bool add_name(struct duck_scan *scan, struct duck_bytes *bytes, uint32_t site, bool is_first)
{
    char name[1024];
    size_t size = ttape_site_name(scan->file->reader, site, name, sizeof name);
    size = size < sizeof name ? size : sizeof name - 1;
    return (is_first || add_bytes(bytes, ";", 1)) && add_bytes(bytes, name, size);
}

bool duck_keep_stack(struct duck_scan *scan, const ttape_call *calls, uint32_t count)
{
    bool is_first = true;
    for (uint32_t i = 0; i < count; i++) {
        if (calls[i].site == TTAPE_NONE)
            continue; /* a signal's handler */
        if (!add_name(scan, &scan->bytes, calls[i].site, is_first))
            return false;
        is_first = false;
    }
    return end_text(scan);
}

/* Parents come before: their frames are counted first, then written from the outermost on. */
static bool make_stack(struct duck_scan *scan, uint32_t path)
{
    ttape_path about;
    bool is_whole = ttape_reader_get_path(scan->file->reader, path, &about) == TTAPE_OK;
    uint32_t depth = is_whole ? about.depth : 0;
    uint32_t *frames = malloc((depth + 1ull) * sizeof *frames);
    if (frames == NULL)
        return false;
    for (uint32_t i = depth; i > 0; i--) {
        is_whole = is_whole && ttape_reader_get_path(scan->file->reader, path, &about) == TTAPE_OK;
        frames[i - 1] = is_whole ? about.site : TTAPE_NONE;
        path = about.parent;
    }
    is_whole = true;
    for (uint32_t i = 0; i < depth && is_whole; i++)
        is_whole = add_name(scan, &scan->stack, frames[i], i == 0);
    free(frames);
    return is_whole;
}

ttape_status duck_put_stack(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                            size_t row, uint32_t site, ttape_error *err)
{
    ttape_site about;
    (void)ttape_reader_get_site(scan->file->reader, site, &about);
    if (about.path == 0) {
        duck_none(rows, place, row);
        return TTAPE_OK;
    }
    if (site != scan->stack_site) {
        scan->stack_site = TTAPE_NONE;
        scan->stack.count = 0;
        if (!make_stack(scan, about.path))
            return duck_no_memory(err);
        scan->stack_site = site;
    }
    const ttape_string text = {scan->stack.data, scan->stack.count};
    return duck_put_text(rows, place, row, text) ? TTAPE_OK : duck_no_memory(err);
}
