/* Texts: names in a file may hold any bytes, and DuckDB takes UTF-8 only. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "duckdb/duck_rows.h"

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
    size_t size = ttp_utf8_mend(NULL, text.data, text.size_bytes);
    if (size == text.size_bytes) { /* what is replaced gets longer */
        copy(rows, place, row, size == 0 ? "" : text.data, size);
        return true;
    }
    char *made = size <= sizeof room ? room : malloc(size);
    if (made == NULL)
        return false;
    (void)ttp_utf8_mend(made, text.data, text.size_bytes);
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
