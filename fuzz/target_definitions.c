/* Site, stream and path tables and names of values, as a reader takes them in: several, one behind
 * the other. */
#include <string.h>

#include "fuzz_codec.h"
#include "reader/definitions/value_names_reader.h"

static const uint8_t scope_metadata[] = "\xa1\x68trace_id\x50"
                                        "0123456789abcdef";

static ttape_status add(struct ttp_definition_tables *tables, uint16_t kind, const void *data,
                        size_t size, ttape_error *err)
{
    struct ttp_chunk chunk = {.kind = kind, .stored_bytes = size, .content_bytes = size};
    uint8_t *content = ttp_memory_take(tables->memory, size, 1, err);
    if (content == NULL)
        return TTAPE_E_LIMIT;
    if (size > 0)
        memcpy(content, data, size);
    return ttp_definitions_add(tables, 0, &chunk, content, size, err);
}

/* What callers rely on: walking outwards ends, and every number names something. */
static void check_paths(const struct ttp_definition_tables *tables)
{
    for (uint32_t i = 0; i < tables->path_count; i++) {
        const struct ttp_read_path *path = &tables->paths[i];
        uint32_t outer = path->parent == 0 ? 0 : tables->paths[path->parent - 1].depth;
        FUZZ_REQUIRE(path->parent <= i && path->depth == outer + 1);
        FUZZ_REQUIRE(path->depth <= TTAPE_PATH_MAX_DEPTH);
        FUZZ_REQUIRE(path->site_plus_one <= tables->site_count);
    }
    for (uint32_t i = 0; i < tables->site_count; i++)
        FUZZ_REQUIRE(tables->sites[i].path <= tables->path_count);
}

/* Reads each byte of a name: none lies outside of what is kept. */
static void check_text(ttape_string text)
{
    for (size_t i = 0; i < text.size_bytes; i++)
        FUZZ_REQUIRE((unsigned char)text.data[i] <= 255);
}

static void check_value_names(const struct ttp_definition_tables *tables)
{
    for (uint32_t site = 0; site < tables->site_count; site++) {
        const ttape_site_values *values = ttp_value_names_of(tables, site);
        if (values == NULL)
            continue;
        FUZZ_REQUIRE(values->enter_count <= TTAPE_EVENT_MAX_VALUES &&
                     values->exit_count <= TTAPE_EVENT_MAX_VALUES);
        for (uint32_t i = 0; i < values->enter_count + values->exit_count; i++) {
            const ttape_value_name *name = i < values->enter_count
                                               ? &values->enter[i]
                                               : &values->exit[i - values->enter_count];
            check_text(name->name);
            check_text(name->type);
            check_text(name->enumeration);
            for (uint32_t k = 0; k < name->constant_count; k++)
                check_text(name->constants[k].name);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_memory counted;
    struct ttp_memory memory;
    struct ttp_definition_tables tables;
    ttape_error err = {0};
    const ttape_limits limits = {.memory_bytes = 16u << 20,
                                 .partition_events = 65536,
                                 .site_count = 4096,
                                 .stream_count = 4096,
                                 .partition_count = 4096,
                                 .string_bytes = 1024};
    fuzz_memory_open(&counted, 16u << 20);
    ttp_memory_init(&memory, &counted.allocator, limits.memory_bytes);
    ttp_definitions_init(&tables, &memory, &limits);
    ttape_status status =
        add(&tables, TTP_CHUNK_METADATA, scope_metadata, sizeof scope_metadata - 1, &err);
    FUZZ_REQUIRE(status == TTAPE_OK);
    while (status == TTAPE_OK && in.size > 0) {
        static const uint16_t kinds[] = {TTP_CHUNK_SITES, TTP_CHUNK_STREAMS, TTP_CHUNK_PATHS,
                                         TTP_CHUNK_VALUE_NAMES};
        uint16_t kind = kinds[fuzz_number(&in, 1) % 4];
        struct fuzz_input content = fuzz_part(&in, fuzz_number(&in, 2));
        status = add(&tables, kind, content.data, content.size, &err);
    }
    if (status == TTAPE_OK)
        status = ttp_definitions_settle(&tables, &err);
    if (status == TTAPE_OK)
        status = ttp_definitions_check(&tables, &err);
    if (status != TTAPE_OK)
        fuzz_require_error(status, &err, SIZE_MAX);
    for (uint32_t i = 0; i < tables.site_count; i++)
        FUZZ_REQUIRE(ttp_definitions_find(&tables, 0, TTP_DEFINES_SITES, i) == i);
    check_paths(&tables);
    check_value_names(&tables);
    ttp_definitions_reset(&tables);
    fuzz_memory_close(&counted);
    return 0;
}
