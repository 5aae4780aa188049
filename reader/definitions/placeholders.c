/* Placeholders are rows of zeros and "", appended to the tables like what a chunk defines. */
#include "reader/definitions/placeholders.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

/* Appends `count` rows of zeros; *rows stays where it is without memory. */
#define APPEND_ROWS(d, rows, row_count, row_capacity, count, err)                                  \
    append_rows((d)->memory, (void *)&(d)->rows, &(d)->row_count, &(d)->row_capacity, count,       \
                sizeof *(d)->rows, err)

static ttape_status append_rows(struct ttp_memory *memory, void *array, uint32_t *row_count,
                                uint32_t *capacity, uint32_t count, size_t row_bytes,
                                ttape_error *err)
{
    uint8_t *rows;
    memcpy(&rows, array, sizeof rows);
    rows = ttp_memory_grow(memory, rows, capacity, (uint64_t)*row_count + count, row_bytes, err);
    if (rows == NULL)
        return memory->status;
    memcpy(array, &rows, sizeof rows);
    memset(rows + *row_count * row_bytes, 0, count * row_bytes);
    *row_count += count;
    return TTAPE_OK;
}

static ttape_status fill_sites(struct ttp_definition_tables *d, uint32_t scope, uint32_t count,
                               ttape_error *err)
{
    uint32_t first = d->site_count;
    TTP_TRY(APPEND_ROWS(d, sites, site_count, site_capacity, count, err));
    for (uint32_t i = first; i < d->site_count; i++)
        d->sites[i].scope = scope;
    return ttp_definitions_map(d, scope, TTP_DEFINES_SITES, first, count, err);
}

static ttape_status fill_modules(struct ttp_definition_tables *d, uint32_t scope, uint32_t count,
                                 ttape_error *err)
{
    uint32_t first = d->module_count;
    TTP_TRY(APPEND_ROWS(d, modules, module_count, module_capacity, count, err));
    for (uint32_t i = first; i < d->module_count; i++) {
        d->modules[i].scope = scope;
        d->modules[i].module.process = TTAPE_NONE;
    }
    return ttp_definitions_map(d, scope, TTP_DEFINES_MODULES, first, count, err);
}

static ttape_status fill_files(struct ttp_definition_tables *d, uint32_t scope, uint32_t count,
                               ttape_error *err)
{
    uint32_t first = d->file_count;
    TTP_TRY(APPEND_ROWS(d, files, file_count, file_capacity, count, err));
    return ttp_definitions_map(d, scope, TTP_DEFINES_FILES, first, count, err);
}

static ttape_status fill_processes(struct ttp_definition_tables *d, uint32_t scope, uint32_t count,
                                   ttape_error *err)
{
    uint32_t first = d->process_count;
    TTP_TRY(APPEND_ROWS(d, processes, process_count, process_capacity, count, err));
    for (uint32_t i = first; i < d->process_count; i++) {
        d->processes[i].scope = scope;
        d->processes[i].process.parent = TTAPE_NONE;
    }
    return ttp_definitions_map(d, scope, TTP_DEFINES_PROCESSES, first, count, err);
}

/* A stream has a process: the scope's first one, whatever it was. */
static ttape_status fill_streams(struct ttp_definition_tables *d, uint32_t scope, uint32_t count,
                                 ttape_error *err)
{
    if (d->scopes[scope].maps[TTP_DEFINES_PROCESSES].id_count == 0)
        TTP_TRY(ttp_placeholders_fill(d, scope, TTP_DEFINES_PROCESSES, 1, err));
    uint32_t first = d->stream_count;
    TTP_TRY(APPEND_ROWS(d, streams, stream_count, stream_capacity, count, err));
    for (uint32_t i = first; i < d->stream_count; i++) {
        d->streams[i].scope = scope;
        d->streams[i].stream.process = ttp_definitions_find(d, scope, TTP_DEFINES_PROCESSES, 0);
    }
    return ttp_definitions_map(d, scope, TTP_DEFINES_STREAMS, first, count, err);
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
    switch (kind) {
    case TTP_DEFINES_SITES: return fill_sites(d, scope, count, err);
    case TTP_DEFINES_MODULES: return fill_modules(d, scope, count, err);
    case TTP_DEFINES_FILES: return fill_files(d, scope, count, err);
    case TTP_DEFINES_PROCESSES: return fill_processes(d, scope, count, err);
    default: return fill_streams(d, scope, count, err);
    }
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
        struct ttp_read_scope *scopes = ttp_memory_grow(d->memory, d->scopes, &d->scope_capacity,
                                                        d->scope_count + 1ull, sizeof *scopes, err);
        if (scopes == NULL)
            return d->memory->status;
        d->scopes = scopes;
        struct ttp_read_scope *scope = &scopes[d->scope_count];
        *scope = (struct ttp_read_scope){0};
        memcpy(scope->trace_id, seed, TTP_TRACE_ID_BYTES);
        if (d->scope_count != 0) { /* scopes of one id would be taken for pieces of one trace */
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
