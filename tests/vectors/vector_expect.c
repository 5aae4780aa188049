/* Expectations as text. The CSV is made from the events that went in, never from a file that was
 * read back. */
#include "vector_expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/checksum.h"

#define INLINE_CSV_BYTES 4096u /* longer ones are given by their hash */

const char *ttest_status_name(ttape_status status)
{
    switch (status) {
    case TTAPE_OK: return "TTAPE_OK";
    case TTAPE_E_TRUNCATED: return "TTAPE_E_TRUNCATED";
    case TTAPE_E_CORRUPT: return "TTAPE_E_CORRUPT";
    case TTAPE_E_CHECKSUM: return "TTAPE_E_CHECKSUM";
    case TTAPE_E_LIMIT: return "TTAPE_E_LIMIT";
    case TTAPE_E_VERSION: return "TTAPE_E_VERSION";
    case TTAPE_E_UNSUPPORTED: return "TTAPE_E_UNSUPPORTED";
    case TTAPE_E_NOT_TRACE: return "TTAPE_E_NOT_TRACE";
    default: ttest_require(0, "a status without a name"); return "";
    }
}

static bool readable(const struct ttest_expectation *e, const struct ttest_row *row)
{
    return e->opens && row->partition != e->lost_partition;
}

uint32_t ttest_event_count(const struct ttest_expectation *e)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->row_count; i++)
        count += readable(e, &e->rows[i]);
    return count;
}

struct place {
    const struct ttest_row *row;
    uint32_t number;
};

/* Stream after stream by (process, thread), each in its own order: as `tracetape dump --format csv`
 * has it. */
static int compare_rows(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->row->rank != y->row->rank)
        return x->row->rank < y->row->rank ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The character at `at`, or UINT32_MAX where there is no well-formed UTF-8. */
static uint32_t character(const uint8_t *at, size_t left, size_t *length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned ones = at[0] < 0x80 ? 0 : (unsigned)__builtin_clz(~((uint32_t)at[0] << 24));
    *length = ones == 0 ? 1 : ones;
    if (ones == 1 || ones > 4 || *length > left)
        return UINT32_MAX;
    uint32_t code = ones == 0 ? at[0] : at[0] & (0x7fu >> ones);
    for (size_t i = 1; i < *length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        code = code << 6 | (at[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[*length] || code > 0x10ffff || surrogate ? UINT32_MAX : code;
}

/* What must not reach a terminal: controls, line and paragraph separators, bidi marks. */
static bool active(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* Active and invalid bytes as \xNN and a backslash doubled, all of it quoted where RFC 4180 asks
 * for it. */
static void put_symbol(struct ttest_bytes *to, ttape_string symbol)
{
    const uint8_t *at = (const uint8_t *)symbol.data;
    size_t size = symbol.size_bytes;
    bool quoted = false;
    for (size_t i = 0; i < size; i++)
        quoted = quoted || at[i] == ',' || at[i] == '"' || at[i] == '\n' || at[i] == '\r';
    if (quoted)
        ttest_put8(to, '"');
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code = character(at + i, size - i, &length);
        length = code == UINT32_MAX ? 1 : length;
        if (code == UINT32_MAX || active(code))
            for (size_t k = 0; k < length; k++)
                ttest_print(to, "\\x%02x", at[i + k]);
        else if (code == '\\' || code == '"')
            ttest_print(to, "%c%c", at[i], at[i]);
        else
            ttest_put(to, at + i, length);
    }
    if (quoted)
        ttest_put8(to, '"');
}

static void put_row(struct ttest_bytes *to, const struct ttest_row *row, bool timed)
{
    ttest_print(to, "%u,%llu,", row->stream, (unsigned long long)row->tid);
    if (timed)
        ttest_print(to, "%llu", (unsigned long long)row->time_ns);
    ttest_print(to, ",%s,%u,", row->kind, row->depth);
    if (row->has_site)
        ttest_print(to, "0x%llx", (unsigned long long)row->address);
    ttest_put8(to, ',');
    if (row->has_site)
        put_symbol(to, row->symbol);
    ttest_put8(to, '\n');
}

struct ttest_bytes ttest_csv(const struct ttest_expectation *e)
{
    struct ttest_bytes csv = {0};
    struct place *places = ttest_take((e->row_count + 1) * sizeof *places);
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->row_count; i++)
        if (readable(e, &e->rows[i]))
            places[count++] = (struct place){&e->rows[i], i};
    qsort(places, count, sizeof *places, compare_rows);
    ttest_put_text(&csv, "stream,tid,time_ns,kind,depth,address,symbol\n");
    for (uint32_t i = 0; i < count; i++)
        put_row(&csv, places[i].row, e->timed);
    return csv;
}

static void put_json_text(struct ttest_bytes *to, const char *key, const uint8_t *text, size_t size)
{
    ttest_print(to, ",\n  \"%s\": \"", key);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            ttest_put_text(to, "\\n");
        else if (text[i] == '"' || text[i] == '\\')
            ttest_print(to, "\\%c", text[i]);
        else
            ttest_put8(to, text[i]);
    ttest_put8(to, '"');
}

struct ttest_bytes ttest_json(const struct ttest_expectation *e)
{
    struct ttest_bytes json = {0}, csv = ttest_csv(e);
    ttest_print(&json, "{\n  \"valid\": %s,\n  \"group\": \"%s\"", e->valid ? "true" : "false",
                e->group);
    ttest_print(&json, ",\n  \"opens\": %s", e->opens ? "true" : "false");
    ttest_print(&json, ",\n  \"status\": \"%s\",\n  \"rule\": \"%s\"", ttest_status_name(e->status),
                e->rule);
    if (e->opens) {
        ttest_print(&json, ",\n  \"events\": %u,\n  \"streams\": %u,\n  \"partitions\": %u",
                    ttest_event_count(e), e->stream_count, e->partition_count);
        if (csv.size <= INLINE_CSV_BYTES && !e->changed)
            put_json_text(&json, "csv", csv.data, csv.size);
        else if (!e->changed)
            ttest_print(&json, ",\n  \"csv_xxh3\": \"%016llx\"",
                        (unsigned long long)ttp_checksum(csv.data, csv.size));
    }
    put_json_text(&json, "notes", (const uint8_t *)e->notes, strlen(e->notes));
    ttest_put_text(&json, "\n}\n");
    return json;
}
