/* The content of site table and stream table chunks: what ids mean. Ids are dense and ascend: each
 * chunk goes on where the one before it (of the same scope) ended. Reading is by iteration, so that
 * nothing is allocated here. */
#ifndef TTP_FORMAT_DEFINITIONS_H
#define TTP_FORMAT_DEFINITIONS_H

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "format/base/bytes.h"

/* A site table chunk: | modules | files | sites |, each a varint count and then columns or rows
 * (F-SIT). */
struct ttp_sites_counts {
    uint32_t first_module, module_count;
    uint32_t first_file, file_count;
    uint32_t first_site, site_count;
};

/* file is an index into the scope's file names plus one, 0 for none. */
struct ttp_site {
    uint64_t address;
    uint32_t module_plus_one, file_plus_one, line, kind;
    ttape_string symbol;
};

void ttp_sites_write_counts(struct ttp_writer_cursor *c, const struct ttp_sites_counts *counts);
void ttp_module_write(struct ttp_writer_cursor *c, const ttape_module *module);
void ttp_string_write(struct ttp_writer_cursor *c, ttape_string string);
/* Sites are columns: call this once a column (0 to 5) for all sites, in order. */
#define TTP_SITE_COLUMNS 6u
void ttp_site_write_column(struct ttp_writer_cursor *c, unsigned column,
                           const struct ttp_site *site, const struct ttp_site *before);
size_t ttp_site_bound(size_t symbol_bytes);
size_t ttp_module_bound(size_t path_bytes, size_t build_id_bytes);

ttape_status ttp_sites_read_counts(struct ttp_reader_cursor *c, struct ttp_sites_counts *out,
                                   ttape_error *err);
ttape_status ttp_module_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_module *out,
                             ttape_error *err);
ttape_status ttp_string_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_string *out,
                             ttape_error *err);
/* Columns 0 to 4 are numbers, column 5 the symbols: call per column, for sites [0, count) each. */
ttape_status ttp_site_read_column(struct ttp_reader_cursor *c, unsigned column, uint32_t max_string,
                                  const struct ttp_site *before, struct ttp_site *site,
                                  ttape_error *err);

/* A stream table chunk: | first process, count, processes | first stream, count, streams |, rows.
 */
void ttp_range_write(struct ttp_writer_cursor *c, uint32_t first, uint32_t count);
ttape_status ttp_range_read(struct ttp_reader_cursor *c, uint32_t *first, uint32_t *count,
                            ttape_error *err);
void ttp_process_write(struct ttp_writer_cursor *c, const ttape_process *process);
void ttp_stream_write(struct ttp_writer_cursor *c, const ttape_stream *stream);
ttape_status ttp_process_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_process *out,
                              ttape_error *err);
ttape_status ttp_stream_read(struct ttp_reader_cursor *c, uint32_t max_string, ttape_stream *out,
                             ttape_error *err);
size_t ttp_process_bound(size_t name_bytes);
size_t ttp_stream_bound(size_t name_bytes);

#endif
