/* pprof's profile: a sample for each distinct stack, with the nanoseconds for which exactly it ran.
 *
 * Each element of Profile's lists is written as soon as it is known, before the first one that
 * refers to it; readers put the lists together. This is the door to what protobuf-c generates from
 * export_pprof.proto. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <export_pprof.pb-c.h>

#include "tools/export/export_paths.h"
#include "tools/export/export_stacks.h"

typedef Perftools__Profiles__Profile pp_profile;

#define OTHER_SITES UINT64_C(0x100000000) /* ids of labels that are no sites are above */

struct pprof {
    struct tool_export *export;
    pp_profile profile; /* that holds one element */
    struct tool_buffer packed, text;
    int64_t string_count;
    bool *has_site;       /* by site: its function and location are written */
    bool *has_module;     /* by module */
    uint64_t *path;       /* locations of the stack that is visited, outermost first */
    uint64_t *leaf_first; /* ... as a sample has them */
    size_t path_room, leaf_room;
    bool has_unknown, has_signal[256];
};

/* Writes what was put into out->profile, and empties it. */
static void put_element(struct pprof *out)
{
    size_t size = perftools__profiles__profile__get_packed_size(&out->profile);
    tool_grow((void **)&out->packed.data, &out->packed.capacity, size, 1);
    (void)perftools__profiles__profile__pack(&out->profile, (uint8_t *)out->packed.data);
    tool_output_bytes(&out->export->out, out->packed.data, size);
    perftools__profiles__profile__init(&out->profile);
}

/* A text's place in the table. Bytes that are no text are escaped. */
static int64_t put_text(struct pprof *out, ttape_string text)
{
    out->text.size_bytes = 0;
    tool_buffer_add(&out->text, "", 0);
    tool_buffer_name(&out->text, TTP_ESCAPE_TERMINAL, text);
    out->profile.n_string_table = 1;
    out->profile.string_table = &out->text.data;
    put_element(out);
    return out->string_count++;
}

static int64_t put_word(struct pprof *out, const char *word)
{
    return put_text(out, (ttape_string){word, strlen(word)});
}

static void put_type(struct pprof *out, const char *type, const char *unit)
{
    Perftools__Profiles__ValueType value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *list = &value;
    value.has_type = value.has_unit = true;
    value.type = put_word(out, type);
    value.unit = put_word(out, unit);
    out->profile.n_sample_type = 1;
    out->profile.sample_type = &list;
    put_element(out);
}

/* A module's id, which is its number and one; 0: none. */
static uint64_t put_module(struct pprof *out, uint32_t number)
{
    Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *list = &mapping;
    ttape_module module;
    char id[130] = "";
    if (ttape_reader_get_module(out->export->reader, number, &module) != TTAPE_OK)
        return 0;
    if (out->has_module[number])
        return number + UINT64_C(1);
    out->has_module[number] = true;
    for (size_t i = 0; i < module.build_id.size_bytes && i < 64; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", (unsigned char)module.build_id.data[i]);
    mapping.has_id = mapping.has_memory_start = mapping.has_memory_limit = true;
    mapping.has_filename = mapping.has_build_id = mapping.has_has_functions = true;
    mapping.id = number + UINT64_C(1);
    mapping.memory_start = module.start;
    mapping.memory_limit = module.end;
    mapping.has_functions = true;
    mapping.filename = put_text(out, module.path);
    mapping.build_id = put_word(out, id);
    out->profile.n_mapping = 1;
    out->profile.mapping = &list;
    put_element(out);
    return mapping.id;
}

/* A function and its one location, both with the same id. */
static void put_function(struct pprof *out, uint64_t id, ttape_string name, const ttape_site *site)
{
    Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT,
                                  *functions = &function;
    Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT,
                                  *locations = &location;
    Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines = &line;
    function.has_id = function.has_name = function.has_system_name = true;
    function.id = id;
    function.name = function.system_name = put_text(out, name);
    line.has_function_id = location.has_id = true;
    line.function_id = location.id = id;
    location.n_line = 1;
    location.line = &lines;
    if (site != NULL) {
        function.has_filename = function.has_start_line = true;
        function.filename = put_text(out, site->file);
        function.start_line = line.line = site->line;
        line.has_line = location.has_address = location.has_mapping_id = true;
        location.address = site->address;
        location.mapping_id = put_module(out, site->module);
    }
    out->profile.n_function = 1;
    out->profile.function = &functions;
    put_element(out);
    out->profile.n_location = 1;
    out->profile.location = &locations;
    put_element(out);
}

static uint64_t location_of_site(struct pprof *out, uint32_t number)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    ttape_site site = {.module = TTAPE_NONE};
    uint64_t id = number + UINT64_C(1);
    if (!out->has_site[number]) {
        out->has_site[number] = true;
        tool_export_get_site(out->export, number, &site);
        put_function(out, id, tool_export_place(out->export, &site, room), &site);
    }
    return id;
}

static uint64_t location_of(struct pprof *out, uint32_t label)
{
    char name[32] = "...";
    if (label != TOOL_FOLDED_UNKNOWN && (label & TOOL_FOLDED_SIGNAL) == 0)
        return location_of_site(out, label);
    uint32_t number = label & ~TOOL_FOLDED_SIGNAL & 255;
    bool *is_there = label == TOOL_FOLDED_UNKNOWN ? &out->has_unknown : &out->has_signal[number];
    uint64_t id = OTHER_SITES + (label == TOOL_FOLDED_UNKNOWN ? 256 : number);
    if (!*is_there) {
        if (label != TOOL_FOLDED_UNKNOWN)
            (void)snprintf(name, sizeof name, "signal %" PRIu32, number);
        *is_there = true;
        put_function(out, id, (ttape_string){name, strlen(name)}, NULL);
    }
    return id;
}

static void put_stack(void *context, uint32_t depth, uint32_t label, uint64_t weight)
{
    struct pprof *out = context;
    Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *list = &sample;
    int64_t value = (int64_t)weight;
    tool_grow((void **)&out->path, &out->path_room, (size_t)depth + 1, sizeof(uint64_t));
    out->path[depth] = location_of(out, label);
    if (weight == 0 || out->export->out.failed_errno != 0)
        return;
    tool_grow((void **)&out->leaf_first, &out->leaf_room, (size_t)depth + 1, sizeof(uint64_t));
    for (uint32_t i = 0; i <= depth; i++)
        out->leaf_first[i] = out->path[depth - i];
    sample.n_location_id = (size_t)depth + 1;
    sample.location_id = out->leaf_first;
    sample.n_value = 1;
    sample.value = &value;
    out->profile.n_sample = 1;
    out->profile.sample = &list;
    put_element(out);
}

static void put_head(struct pprof *out)
{
    const ttape_info *info = &out->export->info;
    (void)put_word(out, ""); /* the first one, for what has none */
    if (out->export->has_times) {
        put_type(out, "time", "nanoseconds");
        out->profile.has_duration_nanos = true;
        out->profile.duration_nanos = (int64_t)(info->time_last_ns - info->time_first_ns);
        put_element(out);
    } else {
        put_type(out, "events", "count");
    }
}

static int write_pprof(struct tool_export *export)
{
    struct pprof out = {.export = export,
                        .has_site = tool_allocate(export->info.site_count, sizeof(bool)),
                        .has_module = tool_allocate(export->info.module_count, sizeof(bool))};
    perftools__profiles__profile__init(&out.profile);
    put_head(&out);
    int status = tool_export_fold(export, put_stack, &out);
    tool_buffer_close(&out.packed);
    tool_buffer_close(&out.text);
    free(out.has_site);
    free(out.has_module);
    free(out.path);
    free(out.leaf_first);
    return status;
}

const struct tool_export_format tool_export_pprof = {.name = "pprof",
                                                     .summary = "a profile for pprof",
                                                     .shape = TOOL_EXPORT_BINARY,
                                                     .run = write_pprof};
