/* What a reader knows without reading on: counts, definitions, where segments are. */
#include "base/text.h"
#include "format/base/fail.h"
#include "reader/definitions/targets_reader.h"
#include "reader/definitions/value_names_reader.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tracetape/writer.h> /* TTAPE_TIME_NONE */

#define BASE_BYTES 64u /* of a module's file name in the name of a site */

/* Of what is not found: to be printed as it is. */
static const ttape_string no_text = {"", 0};

static ttape_byte_counts partition_bytes(const struct ttp_partition_entry *entry)
{
    ttape_byte_counts b = {.order = entry->order_bytes,
                           .times = entry->times_bytes,
                           .values = entry->values_bytes,
                           .summaries = entry->summary_bytes};
    b.other = (uint64_t)TTP_CHUNK_HEADER_BYTES + entry->stored_bytes - b.order - b.times -
              b.values - b.summaries;
    return b;
}

static void add_partition(const struct ttp_partition_entry *entry, ttape_info *info)
{
    ttape_byte_counts b = partition_bytes(entry);
    info->event_count += entry->event_count;
    info->gap_count += entry->gap_count;
    info->lost_count += entry->lost_count;
    info->bytes.order += b.order;
    info->bytes.times += b.times;
    info->bytes.values += b.values;
    info->bytes.summaries += b.summaries;
    if (entry->resolution_ns == 0)
        return;
    uint64_t first = ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
    uint64_t last = ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns,
                                entry->resolution_ns);
    bool none = info->time_first_ns == UINT64_MAX;
    info->time_first_ns = first < info->time_first_ns ? first : info->time_first_ns;
    info->time_last_ns = none || last > info->time_last_ns ? last : info->time_last_ns;
}

void ttape_reader_get_info(const ttape_reader *r, ttape_info *info)
{
    const struct ttp_definition_tables *d = &r->definitions;
    *info = (ttape_info){.major_version = TTP_MAJOR_VERSION,
                         .minor_version = r->header.minor,
                         .required_minor = r->header.required_minor,
                         .file_bytes = r->source.size_bytes,
                         .partition_count = r->partition_count + r->past.partition_count,
                         .chunk_count = r->chunk_count,
                         .unknown_chunk_count = r->unknown_chunk_count,
                         .scope_count = d->scope_count,
                         .site_count = d->site_count,
                         .module_count = d->module_count,
                         .process_count = d->process_count,
                         .stream_count = d->stream_count,
                         .by_index = r->by_index,
                         .complete = r->complete,
                         .truncated = r->truncated,
                         .truncated_at = r->truncated ? r->truncated_at : r->source.size_bytes};
    memcpy(info->trace_id, r->header.trace_id, TTP_TRACE_ID_BYTES);
    info->event_count = r->past.event_count;
    info->gap_count = r->past.gap_count;
    info->lost_count = r->past.lost_count;
    info->bytes = r->past.bytes;
    info->time_first_ns = UINT64_MAX;
    if (r->past.timed) {
        info->time_first_ns = r->past.time_first_ns;
        info->time_last_ns = r->past.time_last_ns;
    }
    for (uint32_t i = 0; i < r->partition_count; i++)
        add_partition(&r->partitions[i], info);
    if (info->time_first_ns == UINT64_MAX && info->time_last_ns == 0)
        info->time_first_ns = 0;
    else if (r->start_ns != 0 && r->start_ns < info->time_first_ns)
        info->time_first_ns = r->start_ns;
    if (r->past.partition_count != 0)
        info->resolution_ns = r->past.resolution_ns;
    else if (r->partition_count != 0)
        info->resolution_ns =
            r->partitions[0].resolution_ns != 0 ? r->partitions[0].resolution_ns : TTAPE_TIME_NONE;
    info->bytes.sites = r->sites_bytes;
    info->bytes.models = r->models_bytes;
    ttape_byte_counts *b = &info->bytes;
    b->other =
        info->file_bytes - b->order - b->times - b->values - b->summaries - b->sites - b->models;
}

void ttp_reader_retire_partitions(ttape_reader *r)
{
    ttape_info info;
    ttape_reader_get_info(r, &info);
    struct ttp_past *past = &r->past;
    if (past->partition_count == 0)
        past->resolution_ns = info.resolution_ns;
    past->partition_count = info.partition_count;
    past->event_count = info.event_count;
    past->gap_count = info.gap_count;
    past->lost_count = info.lost_count;
    past->bytes = info.bytes;
    for (uint32_t i = 0; i < r->partition_count; i++)
        past->timed = past->timed || r->partitions[i].resolution_ns != 0;
    past->time_first_ns = info.time_first_ns;
    past->time_last_ns = info.time_last_ns;
}

ttape_status ttape_reader_get_site(const ttape_reader *r, uint32_t site, ttape_site *out)
{
    const struct ttp_definition_tables *d = &r->definitions;
    if (site >= d->site_count) {
        *out = (ttape_site){.module = TTAPE_NONE, .symbol = no_text, .file = no_text};
        return TTAPE_E_NOT_FOUND;
    }
    const struct ttp_read_site *s = &d->sites[site];
    *out = (ttape_site){.address = s->address,
                        .module = s->module_plus_one - 1,
                        .line = s->line,
                        .kind = s->kind,
                        .symbol = s->symbol,
                        .path = s->path};
    if (s->file_plus_one != 0)
        out->file = d->files[s->file_plus_one - 1];
    return TTAPE_OK;
}

ttape_status ttape_reader_get_path(const ttape_reader *r, uint32_t path, ttape_path *out)
{
    const struct ttp_definition_tables *d = &r->definitions;
    if (path == 0 || path > d->path_count) {
        *out = (ttape_path){.site = TTAPE_NONE};
        return TTAPE_E_NOT_FOUND;
    }
    const struct ttp_read_path *p = &d->paths[path - 1];
    *out = (ttape_path){.parent = p->parent, .site = p->site_plus_one - 1, .depth = p->depth};
    return TTAPE_OK;
}

ttape_status ttape_reader_get_site_values(const ttape_reader *r, uint32_t site,
                                          ttape_site_values *out)
{
    const ttape_site_values *values = ttp_value_names_of(&r->definitions, site);
    *out = values != NULL ? *values : (ttape_site_values){0};
    return values != NULL ? TTAPE_OK : TTAPE_E_NOT_FOUND;
}

ttape_status ttape_reader_get_target(const ttape_reader *r, uint32_t site, uint64_t address,
                                     ttape_string *symbol)
{
    uint32_t found = ttp_targets_find(&r->definitions, site, address);
    *symbol = found != TTAPE_NONE ? r->definitions.sites[found].symbol : no_text;
    return found != TTAPE_NONE ? TTAPE_OK : TTAPE_E_NOT_FOUND;
}

uint32_t ttape_reader_find_target(const ttape_reader *r, uint32_t site, uint64_t address)
{
    return ttp_targets_find(&r->definitions, site, address);
}

uint32_t ttape_reader_path_count(const ttape_reader *r) { return r->definitions.path_count; }

ttape_status ttape_reader_get_module(const ttape_reader *r, uint32_t module, ttape_module *out)
{
    const struct ttp_definition_tables *d = &r->definitions;
    if (module >= d->module_count) {
        *out = (ttape_module){.process = TTAPE_NONE, .path = no_text, .build_id = no_text};
        return TTAPE_E_NOT_FOUND;
    }
    *out = d->modules[module].module;
    if (out->process != TTAPE_NONE)
        out->process =
            ttp_definitions_find(d, d->modules[module].scope, TTP_DEFINES_PROCESSES, out->process);
    return TTAPE_OK;
}

/* The last part of a path, as far as a name shows it. */
static ttape_string base_of(ttape_string path)
{
    size_t start = path.size_bytes;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    size_t left = path.size_bytes - start;
    return left == 0 ? no_text
                     : (ttape_string){path.data + start, left < BASE_BYTES ? left : BASE_BYTES};
}

size_t ttape_site_name(const ttape_reader *r, uint32_t site, char *buffer, size_t size_bytes)
{
    ttape_site s;
    ttape_module module;
    char place[BASE_BYTES + 24]; /* "+0x" and 16 digits */
    ttape_string name = {"?", 1};
    if (ttape_reader_get_site(r, site, &s) == TTAPE_OK && s.symbol.size_bytes > 0) {
        name = s.symbol;
    } else if (site < r->definitions.site_count) {
        (void)ttape_reader_get_module(r, s.module, &module);
        ttape_string base = base_of(module.path);
        memcpy(place, base.data, base.size_bytes);
        int digits = snprintf(place + base.size_bytes, sizeof place - base.size_bytes,
                              base.size_bytes > 0 ? "+0x%" PRIx64 : "0x%" PRIx64,
                              base.size_bytes > 0 ? s.address - module.start : s.address);
        name = (ttape_string){place, base.size_bytes + (size_t)digits};
    }
    if (size_bytes > 0) {
        size_t shown = name.size_bytes < size_bytes ? name.size_bytes : size_bytes - 1;
        memcpy(buffer, name.data, shown);
        buffer[shown] = '\0';
    }
    return name.size_bytes;
}

size_t ttape_call_site_name(const ttape_reader *r, uint32_t site, char *buffer, size_t size_bytes)
{
    ttape_site s;
    if (ttape_reader_get_site(r, site, &s) != TTAPE_OK || s.file.size_bytes == 0 || s.line == 0)
        return ttape_site_name(r, site, buffer, size_bytes);
    ttape_string base = ttp_path_base(s.file);
    char line[12];
    size_t digits = (size_t)snprintf(line, sizeof line, ":%" PRIu32, s.line);
    for (size_t i = 0; i + 1 < size_bytes && i < base.size_bytes + digits; i++)
        buffer[i] = i < base.size_bytes ? base.data[i] : line[i - base.size_bytes];
    size_t whole = base.size_bytes + digits;
    if (size_bytes > 0)
        buffer[whole < size_bytes ? whole : size_bytes - 1] = '\0';
    return whole;
}

uint32_t ttape_call_site_index(const ttape_reader *r, uint32_t site, const ttape_value *values,
                               uint32_t count)
{
    ttape_site found;
    for (uint32_t i = count; i-- > 0;)
        if (values[i].type == TTAPE_VALUE_POINTER &&
            ttape_reader_get_site(r, ttape_reader_find_target(r, site, values[i].number), &found) ==
                TTAPE_OK &&
            found.kind == TTAPE_SITE_CALL)
            return i;
    return count;
}

uint32_t ttape_event_call_site(const ttape_reader *r, const ttape_event_item *item)
{
    const ttape_event *event = &item->event;
    bool is_begin = event->kind == TTAPE_EVENT_ENTER || event->kind == TTAPE_EVENT_LEAF ||
                    event->kind == TTAPE_EVENT_OPEN;
    uint32_t count = is_begin ? item->value_count : 0;
    uint32_t at = ttape_call_site_index(r, event->site, item->values, count);
    return at == count ? TTAPE_NONE
                       : ttape_reader_find_target(r, event->site, item->values[at].number);
}

ttape_status ttape_reader_get_process(const ttape_reader *r, uint32_t process, ttape_process *out)
{
    const struct ttp_definition_tables *d = &r->definitions;
    if (process >= d->process_count) {
        *out = (ttape_process){.parent = TTAPE_NONE, .name = no_text};
        return TTAPE_E_NOT_FOUND;
    }
    *out = d->processes[process].process;
    if (out->parent != TTAPE_NONE)
        out->parent = ttp_definitions_find(d, d->processes[process].scope, TTP_DEFINES_PROCESSES,
                                           out->parent);
    return TTAPE_OK;
}

ttape_status ttape_reader_get_stream(const ttape_reader *r, uint32_t stream, ttape_stream_info *out)
{
    const struct ttp_definition_tables *d = &r->definitions;
    if (stream >= d->stream_count) {
        *out = (ttape_stream_info){.stream = {.process = TTAPE_NONE, .name = no_text}};
        return TTAPE_E_NOT_FOUND;
    }
    const struct ttp_read_stream *s = &d->streams[stream];
    *out = (ttape_stream_info){.stream = s->stream, .scope = s->scope};
    out->pid = d->processes[s->stream.process].process.pid;
    if (stream >= r->indexed_streams || r->stream_first[stream] == r->stream_first[stream + 1])
        return TTAPE_OK;
    const uint32_t *list = r->stream_segments + r->stream_first[stream];
    uint32_t count = r->stream_first[stream + 1] - r->stream_first[stream];
    out->first_event = r->segments[list[0]].first_event;
    uint64_t end = out->first_event;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_segment_entry *seg = &r->segments[list[i]];
        out->event_count += seg->event_count;
        if (seg->first_event > end)
            out->missing_count += seg->first_event - end;
        if (seg->first_event + seg->event_count > end)
            end = seg->first_event + seg->event_count;
    }
    return TTAPE_OK;
}

ttape_status ttape_reader_get_metadata(const ttape_reader *r, uint32_t entry,
                                       ttape_metadata_entry *out)
{
    if (entry >= r->definitions.metadata_count) {
        *out = (ttape_metadata_entry){.key = no_text, .text = no_text};
        return TTAPE_E_NOT_FOUND;
    }
    const struct ttp_read_metadata *m = &r->definitions.metadata[entry];
    *out = (ttape_metadata_entry){
        .scope = m->scope, .key = m->key, .type = m->type, .text = m->text, .number = m->number};
    return TTAPE_OK;
}

ttape_status ttape_reader_get_partition(const ttape_reader *r, uint32_t partition,
                                        ttape_partition_info *out)
{
    if (partition >= r->partition_count) {
        *out = (ttape_partition_info){.model = TTAPE_NONE};
        return TTAPE_E_NOT_FOUND;
    }
    const struct ttp_partition_entry *entry = &r->partitions[partition];
    *out = (ttape_partition_info){
        .offset = entry->offset,
        .stored_bytes = entry->stored_bytes + (uint64_t)TTP_CHUNK_HEADER_BYTES,
        .sequence = entry->sequence,
        .scope = entry->scope,
        .event_count = entry->event_count,
        .segment_count = entry->segment_count,
        .model = entry->model,
        .resolution_ns = entry->resolution_ns != 0 ? entry->resolution_ns : TTAPE_TIME_NONE,
        .bytes = partition_bytes(entry)};
    if (entry->resolution_ns != 0) {
        out->time_first_ns = ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
        out->time_end_ns = 1 + ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1),
                                           entry->origin_ns, entry->resolution_ns);
    }
    return TTAPE_OK;
}
