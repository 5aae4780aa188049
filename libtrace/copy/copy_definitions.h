/* Definitions on their way from a reader's scope into one of a writer: rows in the scope's own
 * numbers, and the hashes that tell them apart. */
#ifndef TTP_COPY_DEFINITIONS_H
#define TTP_COPY_DEFINITIONS_H

#include <tracetape/reader.h>

#include "format/base/checksum.h"
#include "writer/writer_internal.h"

/* Sites come before paths, which name them as frames; which path led to a site is said last. */
enum ttp_copied_kind {
    TTP_COPIED_MODULES,
    TTP_COPIED_PROCESSES,
    TTP_COPIED_STREAMS,
    TTP_COPIED_SITES,
    TTP_COPIED_PATHS
};

static inline uint64_t ttp_copied_hash_string(uint64_t hash, ttape_string s)
{
    return (hash ^ ttp_checksum(s.data != NULL ? s.data : "", s.size_bytes)) *
               0x9E3779B97F4A7C15ull +
           s.size_bytes;
}

static inline uint64_t ttp_copied_hash_number(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * 0x9E3779B97F4A7C15ull + (hash >> 32);
}

/* One definition of the reader in the scope's own numbers, and the hash that tells it from others.
 */
struct ttp_copied_row {
    ttape_module module;
    ttape_process process;
    ttape_stream stream;
    ttape_site site;
    ttape_path path;
    uint64_t hash;
};

void ttp_copied_definition(const ttape_reader *r, uint32_t scope, int kind, uint32_t id,
                           struct ttp_copied_row *row);
uint32_t ttp_copied_count(const ttape_reader *r, uint32_t scope, int kind);
/* Once names of its site were changed. */
void ttp_copied_hash_site(struct ttp_copied_row *row);
/* Its times become later. One of 0 is not known. */
void ttp_copied_move(struct ttp_copied_row *row, uint64_t shift_ns);
/* Adds it to a scope that has as many of the kind as come before it; a site without its path. */
ttape_status ttp_copied_add(ttape_writer *w, struct ttp_scope *to, int kind,
                            const struct ttp_copied_row *row, ttape_error *err);
/* Gives the sites from first_site on their paths. */
ttape_status ttp_copied_link_sites(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                   uint32_t scope, uint32_t first_site, ttape_error *err);
/* Gives values of sites the names that they have in the reader, where they have none yet. */
ttape_status ttp_copied_name_values(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                    uint32_t scope, ttape_error *err);

#endif
