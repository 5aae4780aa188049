/* Texts: names in a file may hold any bytes, and DuckDB takes UTF-8 only. */
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_rows.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
enum { REPLACEMENT_BYTES = sizeof replacement - 1 };

/* The length of the character at `at`; 0: there is none. */
static size_t character_bytes(const uint8_t *at, size_t left)
{
    static const uint8_t least_second[] = {0x80, 0xa0, 0x90}, most_second[] = {0xbf, 0x9f, 0x8f};
    uint8_t lead = at[0];
    if (lead < 0x80)
        return 1;
    size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || left < size)
        return 0;
    uint8_t least = lead == 0xe0   ? least_second[1]
                    : lead == 0xf0 ? least_second[2]
                                   : least_second[0];
    uint8_t most = lead == 0xed ? most_second[1] : lead == 0xf4 ? most_second[2] : most_second[0];
    if (at[1] < least || at[1] > most)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

size_t duck_utf8_bytes(ttape_string text)
{
    size_t total = 0;
    for (size_t i = 0; i < text.size_bytes;) {
        size_t size = character_bytes((const uint8_t *)text.data + i, text.size_bytes - i);
        total += size != 0 ? size : REPLACEMENT_BYTES;
        i += size != 0 ? size : 1;
    }
    return total;
}

void duck_utf8_write(char *to, ttape_string text)
{
    for (size_t i = 0; i < text.size_bytes;) {
        size_t size = character_bytes((const uint8_t *)text.data + i, text.size_bytes - i);
        size_t written = size != 0 ? size : REPLACEMENT_BYTES;
        memcpy(to, size != 0 ? text.data + i : replacement, written);
        to += written;
        i += size != 0 ? size : 1;
    }
}

struct duck_text duck_lasting(const char *data, size_t size_bytes)
{
    struct duck_text cell = {.size_bytes = (uint32_t)size_bytes};
    size_t head = size_bytes < DUCK_PREFIX_BYTES ? size_bytes : DUCK_PREFIX_BYTES;
    if (head > 0)
        memcpy(cell.prefix, data, head);
    if (size_bytes > DUCK_SHORT_BYTES)
        cell.in.data = data;
    else if (size_bytes > head)
        memcpy(cell.in.rest, data + head, size_bytes - head);
    return cell;
}

/* Hands the text on as UTF-8. */
static bool copy_text(struct duck_rows *rows, unsigned place, size_t row, ttape_string text,
                      void (*copy)(struct duck_rows *, unsigned, size_t, const char *, size_t))
{
    char room[512];
    size_t size = duck_utf8_bytes(text);
    if (size == text.size_bytes) { /* what is replaced gets longer */
        copy(rows, place, row, size == 0 ? "" : text.data, size);
        return true;
    }
    char *made = size <= sizeof room ? room : malloc(size);
    if (made == NULL)
        return false;
    duck_utf8_write(made, text);
    copy(rows, place, row, made, size);
    if (made != room)
        free(made);
    return true;
}

bool duck_put_text(struct duck_rows *rows, unsigned place, size_t row, ttape_string text)
{
    return copy_text(rows, place, row, text, rows->copy);
}

bool duck_put_listed(struct duck_rows *rows, unsigned place, size_t row, ttape_string text)
{
    return copy_text(rows, place, row, text, rows->copy_into_list);
}
