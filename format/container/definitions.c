/* Site and stream tables. Sites stand in columns because the compressor behind likes symbols beside
 * symbols; modules, processes and streams are few and stand in rows. */
#include "format/container/definitions.h"

#include "format/base/fail.h"
#include "format/base/limits.h"

void ttp_string_write(struct ttp_writer_cursor *c, ttape_string string)
{
    ttp_write_varint(c, string.size_bytes);
    ttp_write_bytes(c, string.data, string.size_bytes);
}

void ttp_range_write(struct ttp_writer_cursor *c, uint32_t first, uint32_t count)
{
    ttp_write_varint(c, first);
    ttp_write_varint(c, count);
}

void ttp_sites_write_counts(struct ttp_writer_cursor *c, const struct ttp_sites_counts *counts)
{
    ttp_range_write(c, counts->first_module, counts->module_count);
    ttp_range_write(c, counts->first_file, counts->file_count);
    ttp_range_write(c, counts->first_site, counts->site_count);
}

/* An id that may be missing is stored plus one: TTAPE_NONE becomes 0. */
static void write_optional_id(struct ttp_writer_cursor *c, uint32_t id)
{
    ttp_write_varint(c, id == TTAPE_NONE ? 0 : (uint64_t)id + 1);
}

void ttp_module_write(struct ttp_writer_cursor *c, const ttape_module *module)
{
    ttp_write_varint(c, module->start);
    ttp_write_varint(c, module->end - module->start);
    write_optional_id(c, module->process);
    ttp_string_write(c, module->path);
    ttp_string_write(c, module->build_id);
}

void ttp_site_write_column(struct ttp_writer_cursor *c, unsigned column,
                           const struct ttp_site *site, const struct ttp_site *before)
{
    switch (column) {
    case 0: ttp_write_varint(c, site->kind); break;
    case 1: ttp_write_varint(c, site->module_plus_one); break;
    case 2: ttp_write_svarint(c, (int64_t)(site->address - before->address)); break;
    case 3: ttp_write_varint(c, site->file_plus_one); break;
    case 4: ttp_write_varint(c, site->line); break;
    default: ttp_string_write(c, site->symbol);
    }
}

size_t ttp_site_bound(size_t symbol_bytes)
{
    return symbol_bytes + (size_t)TTP_SITE_COLUMNS * TTP_VARINT_MAX;
}

size_t ttp_module_bound(size_t path_bytes, size_t build_id_bytes)
{
    return path_bytes + build_id_bytes + 5 * (size_t)TTP_VARINT_MAX;
}

static ttape_status bad_definition(const struct ttp_reader_cursor *c, const char *rule,
                                   const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

ttape_status ttp_range_read(struct ttp_reader_cursor *c, uint32_t *first, uint32_t *count,
                            ttape_error *err)
{
    uint64_t f = ttp_read_varint(c), n = ttp_read_varint(c);
    /* Every item costs at least a byte, so a count past the bytes that are left is a lie. */
    if (c->bad || f >= TTP_MAX_SITES || n > TTP_MAX_SITES - f || n > ttp_reader_left(c))
        return bad_definition(c, "F-SIT-02", "a table's range of ids is out of bounds", err);
    *first = (uint32_t)f;
    *count = (uint32_t)n;
    return TTAPE_OK;
}

ttape_status ttp_sites_read_counts(struct ttp_reader_cursor *c, struct ttp_sites_counts *out,
                                   ttape_error *err)
{
    TTP_TRY(ttp_range_read(c, &out->first_module, &out->module_count, err));
    TTP_TRY(ttp_range_read(c, &out->first_file, &out->file_count, err));
    return ttp_range_read(c, &out->first_site, &out->site_count, err);
}

ttape_status ttp_string_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_string *out,
                             ttape_error *err)
{
    uint64_t size = ttp_read_varint(c);
    if (c->bad || size > ttp_reader_left(c))
        return bad_definition(c, "F-SIT-03", "a string is longer than its table", err);
    if (size > max_string)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-SIT-04", ttp_reader_offset(c),
                        "a string is longer than %u bytes", max_string);
    out->data = (const char *)ttp_read_bytes(c, (size_t)size);
    out->size_bytes = (size_t)size;
    return TTAPE_OK;
}

static ttape_status read_optional_id(struct ttp_reader_cursor *c, uint32_t *out, ttape_error *err)
{
    uint64_t id = ttp_read_varint(c);
    if (c->bad || id > TTP_MAX_SITES)
        return bad_definition(c, "F-SIT-05", "an id is out of range", err);
    *out = id == 0 ? TTAPE_NONE : (uint32_t)(id - 1);
    return TTAPE_OK;
}

ttape_status ttp_module_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_module *out,
                             ttape_error *err)
{
    *out = (ttape_module){.start = ttp_read_varint(c)};
    uint64_t size = ttp_read_varint(c);
    if (c->bad || size > UINT64_MAX - out->start)
        return bad_definition(c, "F-SIT-06", "a module's address range is out of bounds", err);
    out->end = out->start + size;
    TTP_TRY(read_optional_id(c, &out->process, err));
    TTP_TRY(ttp_string_read(c, max_string, &out->path, err));
    return ttp_string_read(c, max_string, &out->build_id, err);
}

static ttape_status read_small(struct ttp_reader_cursor *c, uint32_t max, uint32_t *out,
                               ttape_error *err)
{
    uint64_t value = ttp_read_varint(c);
    if (c->bad || value > max)
        return bad_definition(c, "F-SIT-07", "a field of a site is out of range", err);
    *out = (uint32_t)value;
    return TTAPE_OK;
}

ttape_status ttp_site_read_column(struct ttp_reader_cursor *c, unsigned column, uint32_t max_string,
                                  const struct ttp_site *before, struct ttp_site *site,
                                  ttape_error *err)
{
    switch (column) {
    case 0: return read_small(c, UINT16_MAX, &site->kind, err);
    case 1: return read_small(c, TTP_MAX_SITES, &site->module_plus_one, err);
    case 2:
        site->address = before->address + (uint64_t)ttp_read_svarint(c);
        return c->bad ? bad_definition(c, "F-SIT-07", "a field of a site is out of range", err)
                      : TTAPE_OK;
    case 3: return read_small(c, TTP_MAX_SITES, &site->file_plus_one, err);
    case 4: return read_small(c, UINT32_MAX, &site->line, err);
    default: return ttp_string_read(c, max_string, &site->symbol, err);
    }
}

void ttp_process_write(struct ttp_writer_cursor *c, const ttape_process *process)
{
    ttp_write_varint(c, process->pid);
    write_optional_id(c, process->parent);
    ttp_write_varint(c, process->start_time_ns);
    ttp_string_write(c, process->name);
}

void ttp_stream_write(struct ttp_writer_cursor *c, const ttape_stream *stream)
{
    ttp_write_varint(c, stream->process);
    ttp_write_varint(c, stream->tid);
    ttp_write_varint(c, stream->start_time_ns);
    ttp_string_write(c, stream->name);
}

ttape_status ttp_process_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_process *out,
                              ttape_error *err)
{
    *out = (ttape_process){.pid = ttp_read_varint(c)};
    TTP_TRY(read_optional_id(c, &out->parent, err));
    out->start_time_ns = ttp_read_varint(c);
    return ttp_string_read(c, max_string, &out->name, err);
}

ttape_status ttp_stream_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_stream *out,
                             ttape_error *err)
{
    *out = (ttape_stream){0};
    TTP_TRY(read_small(c, TTP_MAX_STREAMS, &out->process, err));
    out->tid = ttp_read_varint(c);
    out->start_time_ns = ttp_read_varint(c);
    return ttp_string_read(c, max_string, &out->name, err);
}

size_t ttp_process_bound(size_t name_bytes) { return name_bytes + 4 * (size_t)TTP_VARINT_MAX; }

size_t ttp_stream_bound(size_t name_bytes) { return name_bytes + 4 * (size_t)TTP_VARINT_MAX; }
