/* Placeholders are rows of zeros and "", appended to the tables like what a chunk defines. */
#include "reader/definitions/placeholders.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

/* One of the tables; rows is the address of the pointer to its first row. */
struct table {
    void *rows;
    uint32_t *row_count, *capacity;
    size_t row_bytes;
};

static struct table table_of(struct ttp_definition_tables *d, enum ttp_definition_kind kind)
{
    switch (kind) {
    case TTP_DEFINES_SITES:
        return (struct table){&d->sites, &d->site_count, &d->site_capacity, sizeof *d->sites};
    case TTP_DEFINES_MODULES:
        return (struct table){&d->modules, &d->module_count, &d->module_capacity,
                              sizeof *d->modules};
    case TTP_DEFINES_FILES:
        return (struct table){&d->files, &d->file_count, &d->file_capacity, sizeof *d->files};
    case TTP_DEFINES_PROCESSES:
        return (struct table){&d->processes, &d->process_count, &d->process_capacity,
                              sizeof *d->processes};
    case TTP_DEFINES_PATHS:
        return (struct table){&d->paths, &d->path_count, &d->path_capacity, sizeof *d->paths};
    default:
        return (struct table){&d->streams, &d->stream_count, &d->stream_capacity,
                              sizeof *d->streams};
    }
}

/* Appends `count` rows of zeros; the table stays as it is without memory. */
static ttape_status append_rows(struct ttp_memory *memory, const struct table *t, uint32_t count,
                                ttape_error *err)
{
    uint8_t *rows;
    TTP_TRY(ttp_memory_reserve(memory, t->rows, t->capacity, (uint64_t)*t->row_count + count,
                               t->row_bytes, err));
    memcpy(&rows, t->rows, sizeof rows);
    memset(rows + *t->row_count * t->row_bytes, 0, count * t->row_bytes);
    *t->row_count += count;
    return TTAPE_OK;
}

/* What is not zero in a row. A stream has a process: the scope's first one, whatever it was. */
static void fill_row(struct ttp_definition_tables *d, enum ttp_definition_kind kind, uint32_t row,
                     uint32_t scope)
{
    switch (kind) {
    case TTP_DEFINES_SITES: d->sites[row].scope = scope; break;
    case TTP_DEFINES_MODULES:
        d->modules[row].scope = scope;
        d->modules[row].module.process = TTAPE_NONE;
        break;
    case TTP_DEFINES_FILES: break;
    case TTP_DEFINES_PROCESSES:
        d->processes[row].scope = scope;
        d->processes[row].process.parent = TTAPE_NONE;
        break;
    case TTP_DEFINES_PATHS: /* one frame, which is not known */
        d->paths[row].scope = scope;
        d->paths[row].depth = 1;
        break;
    default:
        d->streams[row].scope = scope;
        d->streams[row].stream.process = ttp_definitions_find(d, scope, TTP_DEFINES_PROCESSES, 0);
    }
}

ttape_status ttp_placeholders_fill(struct ttp_definition_tables *d, uint32_t scope,
                                   enum ttp_definition_kind kind, uint32_t end, ttape_error *err)
{
    uint32_t have = d->scopes[scope].maps[kind].id_count;
    if (end <= have)
        return TTAPE_OK;
    uint32_t count = end - have;
    if (d->placeholders->count + count > TTP_MAX_PLACEHOLDERS)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-02", 0,
                        "definitions of more than %u ids are lost", TTP_MAX_PLACEHOLDERS);
    d->placeholders->count += count;
    if (kind == TTP_DEFINES_STREAMS)
        TTP_TRY(ttp_placeholders_fill(d, scope, TTP_DEFINES_PROCESSES, 1, err));
    const struct table t = table_of(d, kind);
    uint32_t first = *t.row_count;
    TTP_TRY(append_rows(d->memory, &t, count, err));
    for (uint32_t row = first; row < *t.row_count; row++)
        fill_row(d, kind, row, scope);
    return ttp_definitions_map(d, scope, kind, first, count, err);
}

uint32_t ttp_placeholders_find(struct ttp_definition_tables *d, uint32_t scope,
                               enum ttp_definition_kind kind, uint32_t id)
{
    uint32_t number = ttp_definitions_find(d, scope, kind, id);
    if (number != TTAPE_NONE || d->placeholders == NULL || !d->placeholders->on_demand ||
        scope >= d->scope_count || id >= TTP_MAX_SITES ||
        ttp_placeholders_fill(d, scope, kind, id + 1, NULL) != TTAPE_OK)
        return number;
    return ttp_definitions_find(d, scope, kind, id);
}

ttape_status ttp_placeholders_scopes(struct ttp_definition_tables *d, uint32_t end,
                                     const uint8_t seed[TTP_TRACE_ID_BYTES], ttape_error *err)
{
    if (end > TTP_MAX_SCOPES)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-CHK-09", TTAPE_ERROR_NO_OFFSET,
                        "scope '%u' is over the limit", end - 1);
    if (end > d->scope_count &&
        end - d->scope_count > TTP_MAX_PLACEHOLDER_SCOPES - d->placeholders->scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", TTAPE_ERROR_NO_OFFSET,
                        "more than %u scopes have lost their metadata", TTP_MAX_PLACEHOLDER_SCOPES);
    while (d->scope_count < end) {
        TTP_TRY(ttp_memory_reserve(d->memory, &d->scopes, &d->scope_capacity, d->scope_count + 1ull,
                                   sizeof *d->scopes, err));
        struct ttp_read_scope *scope = &d->scopes[d->scope_count];
        *scope = (struct ttp_read_scope){0};
        memcpy(scope->trace_id, seed, TTP_TRACE_ID_BYTES);
        if (d->scope_count != 0) { /* d->scopes of one id would be taken for pieces of one trace */
            uint8_t bytes[TTP_TRACE_ID_BYTES + 4];
            memcpy(bytes, seed, TTP_TRACE_ID_BYTES);
            ttp_store32(bytes + TTP_TRACE_ID_BYTES, d->scope_count);
            ttp_store64(scope->trace_id + 8, ttp_checksum(bytes, sizeof bytes));
        }
        d->scope_count++;
        d->placeholders->scope_count++;
    }
    return TTAPE_OK;
}
