/* ttape_summary and ttape_sites: tables that decode no events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_query.h"

/* ---- summary ---- */

enum summary_column {
    SUMMARY_PARTITION = DUCK_FIRST_OWN,
    SUMMARY_SITE,
    SUMMARY_NAME,
    SUMMARY_CALLS,
    SUMMARY_EXITS,
    SUMMARY_SELF,
    SUMMARY_TOTAL,
    SUMMARY_MIN,
    SUMMARY_MAX,
    SUMMARY_SQUARES_LOW,
    SUMMARY_SQUARES_HIGH,
    SUMMARY_COLUMNS
};

static const struct duck_column summary_columns[] = {
    DUCK_FIRST_COLUMNS,          {"partition", DUCK_U32, NULL},   {"site", DUCK_U32, NULL},
    {"name", DUCK_TEXT, NULL},   {"calls", DUCK_I64, NULL},       {"exits", DUCK_I64, NULL},
    {"self_ns", DUCK_I64, NULL}, {"total_ns", DUCK_I64, NULL},    {"min_ns", DUCK_I64, NULL},
    {"max_ns", DUCK_I64, NULL},  {"squares_low", DUCK_U64, NULL}, {"squares_high", DUCK_U64, NULL}};

static ttape_status begin_summary(struct duck_scan *scan, ttape_error *err)
{
    if (scan->room == NULL)
        scan->room = malloc(DUCK_ROWS * sizeof(ttape_summary_row));
    return scan->room != NULL ? TTAPE_OK : duck_no_memory(err);
}

/* Rows are copied: this thread may ask the reader for others before their cells are filled. */
static ttape_status next_summary(struct duck_scan *scan, ttape_error *err)
{
    ttape_summary_row *room = scan->room;
    const ttape_summary_row *rows;
    uint32_t count;
    if (scan->next_item > UINT32_MAX)
        return TTAPE_END;
    ttape_status status =
        ttape_reader_get_summary(scan->file->reader, scan->partition, &rows, &count, err);
    if (status != TTAPE_OK) {
        scan->next_item = UINT64_MAX; /* skipped: there is no more of it */
        return status;
    }
    for (; scan->next_item < count && scan->count < DUCK_ROWS; scan->next_item++)
        if (duck_has_site(scan->file, rows[scan->next_item].site))
            room[scan->count++] = rows[scan->next_item];
    return scan->count > 0 ? TTAPE_OK : TTAPE_END;
}

static void put_measure(const struct duck_file *file, struct duck_rows *rows, unsigned column,
                        unsigned place, size_t row, const ttape_summary_row *from)
{
    switch (column) {
    case SUMMARY_CALLS: duck_put_i64(rows, place, row, (int64_t)from->call_count); break;
    case SUMMARY_EXITS: duck_put_i64(rows, place, row, (int64_t)from->exit_count); break;
    case SUMMARY_SELF: duck_put_time(rows, place, row, file, from->self_ns); break;
    case SUMMARY_TOTAL: duck_put_time(rows, place, row, file, from->total_ns); break;
    case SUMMARY_SQUARES_LOW: duck_put_u64(rows, place, row, from->squares.low); break;
    case SUMMARY_SQUARES_HIGH: duck_put_u64(rows, place, row, from->squares.high); break;
    default:
        duck_put_time(rows, place, row, file, column == SUMMARY_MIN ? from->min_ns : from->max_ns);
        if (from->exit_count == 0)
            duck_none(rows, place, row);
        break;
    }
}

static ttape_status put_summary(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                                unsigned place, ttape_error *err)
{
    const ttape_summary_row *room = scan->room;
    (void)err;
    for (size_t i = 0; i < scan->count; i++)
        switch (column) {
        case SUMMARY_PARTITION: duck_put_u32(rows, place, i, scan->partition); break;
        case SUMMARY_SITE: duck_put_u32(rows, place, i, room[i].site); break;
        case SUMMARY_NAME: duck_put_name(rows, place, i, scan->file, room[i].site); break;
        default: put_measure(scan->file, rows, column, place, i, &room[i]); break;
        }
    return TTAPE_OK;
}

static uint64_t estimate_summary(const ttape_info *info) { return info->partition_count * 100; }

const struct duck_table duck_summary = {.name = "ttape_summary",
                                        .columns = summary_columns,
                                        .column_count = SUMMARY_COLUMNS,
                                        .unit = DUCK_BY_PARTITION,
                                        .name_columns = 1u << SUMMARY_NAME,
                                        .has_function = true,
                                        .has_damaged = true,
                                        .begin = begin_summary,
                                        .next = next_summary,
                                        .put = put_summary,
                                        .estimate = estimate_summary};

/* ---- sites ---- */

enum site_column {
    SITE_SITE = DUCK_FIRST_OWN,
    SITE_KIND,
    SITE_NAME,
    SITE_SYMBOL,
    SITE_MODULE,
    SITE_BUILD_ID,
    SITE_OFFSET,
    SITE_FILE,
    SITE_LINE,
    SITE_FUNCTION,
    SITE_COLUMNS
};

static const char *const site_words[] = {"function", "block",  "branch",    "system call", "marker",
                                         "frame",    "target", "call site", "unknown",     NULL};
#define SITE_UNKNOWN 8u /* kinds that later versions give a meaning */

static const struct duck_column site_columns[] = {DUCK_FIRST_COLUMNS,
                                                  {"site", DUCK_U32, NULL},
                                                  {"kind", DUCK_WORD, site_words},
                                                  {"name", DUCK_TEXT, NULL},
                                                  {"symbol", DUCK_TEXT, NULL},
                                                  {"module", DUCK_TEXT, NULL},
                                                  {"build_id", DUCK_TEXT, NULL},
                                                  {"module_offset", DUCK_U64, NULL},
                                                  {"file", DUCK_TEXT, NULL},
                                                  {"line", DUCK_U32, NULL},
                                                  {"function", DUCK_U64, NULL}};

static ttape_status next_sites(struct duck_scan *scan, ttape_error *err)
{
    (void)err;
    return duck_next_numbered(scan, scan->file->info.site_count);
}

static ttape_status put_build_id(struct duck_rows *rows, unsigned place, size_t row,
                                 ttape_string id, ttape_error *err)
{
    char text[2 * 64 + 1] = "";
    for (size_t i = 0; i < id.size_bytes && i < sizeof text / 2; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", (uint8_t)id.data[i]);
    return duck_put_known(rows, place, row, (ttape_string){text, strlen(text)}, err);
}

static ttape_status put_site(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                             unsigned place, size_t row, ttape_error *err)
{
    const struct duck_file *file = scan->file;
    uint32_t number = (uint32_t)(scan->first_item + row);
    ttape_module module;
    ttape_site site;
    (void)ttape_reader_get_site(file->reader, number, &site);
    bool has_module = ttape_reader_get_module(file->reader, site.module, &module) == TTAPE_OK;
    bool has_offset = has_module && site.address >= module.start;
    switch (column) {
    case SITE_SITE: duck_put_u32(rows, place, row, number); break;
    case SITE_KIND:
        duck_put_byte(rows, place, row,
                      (uint8_t)(site.kind < SITE_UNKNOWN ? site.kind : SITE_UNKNOWN));
        break;
    case SITE_NAME: duck_put_name(rows, place, row, file, number); break;
    case SITE_SYMBOL: return duck_put_known(rows, place, row, site.symbol, err);
    case SITE_MODULE: return duck_put_known(rows, place, row, module.path, err);
    case SITE_BUILD_ID: return put_build_id(rows, place, row, module.build_id, err);
    case SITE_FILE: return duck_put_known(rows, place, row, site.file, err);
    case SITE_LINE: duck_put_u32(rows, place, row, site.line); break;
    case SITE_FUNCTION: duck_put_u64(rows, place, row, file->keys[number]); break;
    default:
        duck_put_u64(rows, place, row, site.address - module.start);
        if (!has_offset)
            duck_none(rows, place, row);
        break;
    }
    if (column == SITE_LINE && site.line == 0)
        duck_none(rows, place, row);
    return TTAPE_OK;
}

static ttape_status put_sites(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                              unsigned place, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++)
        status = put_site(scan, rows, column, place, i, err);
    return status;
}

static uint64_t estimate_sites(const ttape_info *info) { return info->site_count; }

const struct duck_table duck_sites = {.name = "ttape_sites",
                                      .columns = site_columns,
                                      .column_count = SITE_COLUMNS,
                                      .unit = DUCK_BY_FILE,
                                      .name_columns = 1u << SITE_NAME,
                                      .key_columns = 1u << SITE_FUNCTION,
                                      .begin = duck_begin_nothing,
                                      .next = next_sites,
                                      .put = put_sites,
                                      .estimate = estimate_sites};
