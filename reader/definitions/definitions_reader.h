/* What ids mean, over all scopes of a file.
 *
 * Sites, modules, processes and streams are numbered through in the order in which the file
 * defines them: numbers stay what they are when more definitions follow, also of an earlier
 * scope. Each scope maps its own ids to them by blocks of consecutive ids, of which there is one
 * per table chunk at most. */
#ifndef TTP_READER_DEFINITIONS_READER_H
#define TTP_READER_DEFINITIONS_READER_H

#include <tracetape/reader.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/container/chunk.h"

struct ttp_id_block {
    uint32_t local_first, count, file_first;
};

struct ttp_id_map {
    struct ttp_id_block *blocks;
    uint32_t block_count, block_capacity;
    uint32_t id_count; /* ids of the scope so far: 0 .. id_count - 1 */
};

/* The block that has `value`; first: of the first block, the field that ascends with it. */
static inline const struct ttp_id_block *ttp_id_block_of(const struct ttp_id_map *map,
                                                         const uint32_t *first, uint32_t value)
{
    size_t step = sizeof *map->blocks / sizeof *first;
    return &map->blocks[ttp_count_below(first, step, map->block_count, value + 1ull) - 1];
}

enum ttp_definition_kind {
    TTP_DEFINES_SITES,
    TTP_DEFINES_MODULES,
    TTP_DEFINES_FILES,
    TTP_DEFINES_PROCESSES,
    TTP_DEFINES_STREAMS,
    TTP_DEFINES_PATHS, /* local id 0 is path 1 of the scope */
    TTP_DEFINES_COUNT
};

struct ttp_read_scope {
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
    struct ttp_id_map maps[TTP_DEFINES_COUNT];
    uint32_t unlinked_site; /* the first that may still be given a path: behind the last link */
};

/* References are file-wide numbers plus one, 0 for none. */
struct ttp_read_site {
    uint64_t address;
    uint32_t module_plus_one, file_plus_one, line, kind;
    ttape_string symbol;
    uint32_t scope;
    uint32_t path; /* file-wide number from 1, 0: none */
};

/* Calls of it say that a thread waited for the recorder (spec/recording.md, 2.5). */
static inline bool ttp_read_site_is_recorder(const struct ttp_read_site *site)
{
    static const char name[] = "(the recorder)";
    return site->kind == TTAPE_SITE_FUNCTION && site->module_plus_one == 0 &&
           ttp_is_same_text(site->symbol, (ttape_string){name, sizeof name - 1});
}

/* Processes may be defined later than what names them: these references stay ids of the scope. */
struct ttp_read_module {
    ttape_module module;
    uint64_t chunk_offset; /* of the chunk that defines it, in the file */
    uint32_t scope;
};
struct ttp_read_process {
    ttape_process process;
    uint64_t chunk_offset;
    uint32_t scope;
};
struct ttp_read_stream {
    ttape_stream stream; /* process: file-wide */
    uint32_t scope;
};

struct ttp_read_path {
    uint32_t parent; /* file-wide number from 1, 0: none */
    uint32_t site_plus_one, depth, scope;
};

struct ttp_read_metadata {
    ttape_string key, text;
    uint64_t number;
    uint32_t scope;
    ttape_metadata_type type;
};

struct ttp_kept;        /* content that strings point into */
struct ttp_value_names; /* value_names_reader.c */

struct ttp_definition_tables {
    struct ttp_memory *memory;
    const ttape_limits *limits;
    uint64_t chunk_offset; /* of the chunk that is taken in */
    struct ttp_read_scope *scopes;
    struct ttp_read_site *sites;
    struct ttp_read_module *modules;
    ttape_string *files;
    struct ttp_read_process *processes;
    struct ttp_read_stream *streams;
    struct ttp_read_path *paths;
    struct ttp_read_metadata *metadata;
    uint32_t scope_count, site_count, module_count, file_count, process_count, stream_count,
        path_count, metadata_count;
    uint32_t scope_capacity, site_capacity, module_capacity, file_capacity, process_capacity,
        stream_capacity, path_capacity, metadata_capacity;
    struct ttp_kept *kept;
    struct ttp_value_names *value_names;
    const ttape_site_values **site_values; /* by site, NULL: none; of the first sites */
    uint32_t site_values_count, site_values_capacity;
    uint32_t *targets; /* a hash table of what pointers point to (targets_reader.c) */
    uint32_t target_count, target_capacity;
    struct ttp_placeholders *placeholders; /* NULL but while a damaged file is recovered */
};

void ttp_definitions_init(struct ttp_definition_tables *d, struct ttp_memory *memory,
                          const ttape_limits *limits);
void ttp_definitions_reset(struct ttp_definition_tables *d);

/* Takes in the content of a metadata, site, stream, path table or value name chunk, and the content
 * itself, which was taken from the memory with size_bytes bytes: also on failure. `offset` is the
 * chunk's in the file; error offsets count in the content. */
ttape_status ttp_definitions_add(struct ttp_definition_tables *d, uint64_t offset,
                                 const struct ttp_chunk *chunk, uint8_t *content, size_t size_bytes,
                                 ttape_error *err);

/* To be called when no more definitions come for now: the last value of a metadata key stands
 * (F-MET-02). */
ttape_status ttp_definitions_settle(struct ttp_definition_tables *d, ttape_error *err);
/* F-SIT-09: every process that is named is defined. The error's offset is that of the chunk that
 * names it. */
ttape_status ttp_definitions_check(const struct ttp_definition_tables *d, ttape_error *err);

/* Gives the scope's next `count` ids the file-wide numbers from file_first on. */
ttape_status ttp_definitions_map(struct ttp_definition_tables *d, uint32_t scope,
                                 enum ttp_definition_kind kind, uint32_t file_first, uint32_t count,
                                 ttape_error *err);

/* File-wide number of a scope's id, or TTAPE_NONE. */
uint32_t ttp_definitions_find(const struct ttp_definition_tables *d, uint32_t scope,
                              enum ttp_definition_kind kind, uint32_t id);

#endif
