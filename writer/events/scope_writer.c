/* Scopes: definitions as they come in, and the symbols that events of a scope are known by.
 *
 * Definitions are turned into the bytes that will be written at once, so that names are held only
 * until their chunk is out. What stays per site is its state for measures. */
#include <string.h>

#include "base/secret.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/sized.h"
#include "format/container/definitions.h"
#include "writer/encode/overview_writer.h"
#include "writer/events/metadata_pairs.h"
#include "writer/events/stream_names.h"
#include "writer/writer_internal.h"

static void *allocate_zeroed(ttape_writer *w, size_t size_bytes, ttape_error *err)
{
    void *memory = w->allocator.allocate(w->allocator.context, size_bytes);
    if (memory == NULL)
        (void)ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET,
                       "out of memory for %zu bytes", size_bytes);
    else
        memset(memory, 0, size_bytes);
    return memory;
}

static size_t block_bytes(uint32_t block)
{
    return ((size_t)TTP_SYMBOL_BLOCK << block) * sizeof(struct ttp_symbol);
}

ttape_status ttp_scope_add(ttape_writer *w, struct ttp_scope **out, ttape_error *err)
{
    struct ttp_scope *scope = allocate_zeroed(w, sizeof *scope, err);
    if (scope == NULL)
        return TTAPE_E_MEMORY;
    struct ttp_scope **slot = ttp_push(&w->allocator, &w->scopes, sizeof *slot, err);
    if (slot == NULL) {
        ttp_scope_free(w, scope);
        return TTAPE_E_MEMORY;
    }
    scope->number = TTAPE_NONE;
    *slot = scope;
    *out = scope;
    return TTAPE_OK;
}

static void free_definitions(ttape_writer *w, struct ttp_definitions *d)
{
    ttp_grown_free(&w->allocator, &d->modules);
    ttp_grown_free(&w->allocator, &d->files);
    ttp_grown_free(&w->allocator, &d->processes);
    ttp_grown_free(&w->allocator, &d->streams);
    ttp_grown_free(&w->allocator, &d->sites);
    ttp_grown_free(&w->allocator, &d->text);
    ttp_grown_free(&w->allocator, &d->names);
    ttp_grown_free(&w->allocator, &d->links);
    ttp_fresh_names_free(w, &d->value_names);
    ttp_grown_free(&w->allocator, &d->metadata);
    ttp_grown_free(&w->allocator, &d->pairs);
}

void ttp_scope_free(ttape_writer *w, struct ttp_scope *scope)
{
    const ttape_allocator *a = &w->allocator;
    struct ttp_stream_state *streams = scope->stream_states.data;
    for (uint32_t i = 0; i < scope->stream_count; i++)
        ttp_stream_free(w, &streams[i]);
    for (uint32_t i = 0; i < TTP_SYMBOL_BLOCKS && scope->symbols[i] != NULL; i++)
        a->release(a->context, scope->symbols[i], block_bytes(i));
    free_definitions(w, &scope->fresh);
    ttp_group_free(w, scope);
    ttp_grown_free(a, &scope->site_states);
    ttp_grown_free(a, &scope->site_offs);
    ttp_grown_free(a, &scope->touched);
    for (int i = 0; i < 5; i++)
        ttp_grown_free(a, &scope->definition_hashes[i]);
    ttp_grown_free(a, &scope->metadata_hashes);
    ttp_grown_free(a, &scope->claimed);
    ttp_grown_free(a, &scope->models);
    ttp_grown_free(a, &scope->stream_states);
    ttp_grown_free(a, &scope->file_slots);
    ttp_grown_free(a, &scope->symbol_slots);
    ttp_grown_free(a, &scope->paths);
    ttp_grown_free(a, &scope->path_slots);
    ttp_grown_free(a, &scope->is_named);
    a->release(a->context, scope, sizeof *scope);
}

static ttape_status new_symbol(ttape_writer *w, struct ttp_scope *scope, uint8_t event_class,
                               uint32_t argument, uint32_t *symbol, ttape_error *err)
{
    uint32_t block = ttp_symbol_block(scope->symbol_count);
    if (block >= TTP_SYMBOL_BLOCKS)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "too many kinds of events in one trace");
    if (scope->symbols[block] == NULL) {
        scope->symbols[block] = allocate_zeroed(w, block_bytes(block), err);
        if (scope->symbols[block] == NULL)
            return TTAPE_E_MEMORY;
    }
    *ttp_scope_symbol_at(scope, scope->symbol_count) = (struct ttp_symbol){argument, event_class};
    *symbol = scope->symbol_count++;
    return TTAPE_OK;
}

/* Arguments are what programs and files say: signal numbers, gap reasons. */
static size_t symbol_hash(const ttape_writer *w, uint8_t event_class, uint32_t argument)
{
    return (size_t)ttp_secret_hash((uint64_t)argument << 8 | event_class, w->hash_key);
}

static ttape_status grow_symbol_slots(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    size_t slots = scope->symbol_slots.count == 0 ? 64 : scope->symbol_slots.count * 2;
    struct ttp_growing bigger = {0};
    TTP_TRY(ttp_grow(&w->allocator, &bigger, sizeof(uint32_t), slots, err));
    uint32_t *to = bigger.data, *from = scope->symbol_slots.data;
    memset(to, 0, slots * sizeof *to);
    for (size_t i = 0; i < scope->symbol_slots.count; i++) {
        if (from[i] == 0)
            continue;
        const struct ttp_symbol *s = ttp_scope_symbol_at(scope, from[i] - 1);
        size_t at = symbol_hash(w, s->event_class, s->argument) & (slots - 1);
        while (to[at] != 0)
            at = (at + 1) & (slots - 1);
        to[at] = from[i];
    }
    ttp_grown_free(&w->allocator, &scope->symbol_slots);
    scope->symbol_slots = bigger;
    scope->symbol_slots.count = slots;
    return TTAPE_OK;
}

ttape_status ttp_scope_symbol(ttape_writer *w, struct ttp_scope *scope, uint8_t event_class,
                              uint32_t argument, uint32_t *symbol, ttape_error *err)
{
    if ((scope->symbol_used + 1ull) * 2 > scope->symbol_slots.count)
        TTP_TRY(grow_symbol_slots(w, scope, err));
    uint32_t *slots = scope->symbol_slots.data;
    size_t mask = scope->symbol_slots.count - 1, at = symbol_hash(w, event_class, argument) & mask;
    for (; slots[at] != 0; at = (at + 1) & mask) {
        const struct ttp_symbol *s = ttp_scope_symbol_at(scope, slots[at] - 1);
        if (s->event_class == event_class && s->argument == argument) {
            *symbol = slots[at] - 1;
            return TTAPE_OK;
        }
    }
    TTP_TRY(new_symbol(w, scope, event_class, argument, symbol, err));
    slots[at] = *symbol + 1;
    scope->symbol_used++;
    return TTAPE_OK;
}

/* Claims `bound` bytes at the end of a byte list as a cursor; finish_rows counts what was written.
 */
static ttape_status begin_rows(ttape_writer *w, struct ttp_growing *rows, size_t bound,
                               struct ttp_writer_cursor *c, ttape_error *err)
{
    TTP_TRY(ttp_grow(&w->allocator, rows, 1, rows->count + bound, err));
    *c = ttp_writer_cursor_init((uint8_t *)rows->data + rows->count, bound);
    return TTAPE_OK;
}

static void finish_rows(struct ttp_growing *rows, const struct ttp_writer_cursor *c)
{
    rows->count += ttp_written(c);
}

static ttape_status check_string(ttape_string s, ttape_error *err)
{
    if (s.size_bytes > TTP_MAX_STRING_BYTES)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SIT-04", TTAPE_ERROR_NO_OFFSET,
                        "a name is longer than %u bytes", TTP_MAX_STRING_BYTES);
    return TTAPE_OK;
}

static ttape_status check_room(uint32_t count, const char *what, ttape_error *err)
{
    if (count >= TTP_MAX_SITES - 1)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-SIT-02", TTAPE_ERROR_NO_OFFSET,
                        "too many %s in one trace", what);
    return TTAPE_OK;
}

ttape_status ttp_scope_add_module(ttape_writer *w, struct ttp_scope *scope,
                                  const ttape_module *module, uint32_t *id, ttape_error *err)
{
    struct ttp_writer_cursor c;
    TTP_TRY(ttp_check_reserved(module->reserved, 2, "module", err));
    TTP_TRY(check_string(module->path, err));
    TTP_TRY(check_string(module->build_id, err));
    TTP_TRY(check_room(scope->module_count, "modules", err));
    if (module->end < module->start)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SIT-06", TTAPE_ERROR_NO_OFFSET,
                        "a module ends before its start");
    size_t bound = ttp_module_bound(module->path.size_bytes, module->build_id.size_bytes);
    TTP_TRY(begin_rows(w, &scope->fresh.modules, bound, &c, err));
    ttp_module_write(&c, module);
    finish_rows(&scope->fresh.modules, &c);
    scope->fresh.module_count++;
    *id = scope->module_count++;
    return TTAPE_OK;
}

ttape_status ttp_scope_add_process(ttape_writer *w, struct ttp_scope *scope,
                                   const ttape_process *process, uint32_t *id, ttape_error *err)
{
    struct ttp_writer_cursor c;
    TTP_TRY(ttp_check_reserved(process->reserved, 2, "process", err));
    TTP_TRY(check_string(process->name, err));
    TTP_TRY(check_room(scope->process_count, "processes", err));
    TTP_TRY(begin_rows(w, &scope->fresh.processes, ttp_process_bound(process->name.size_bytes), &c,
                       err));
    ttp_process_write(&c, process);
    finish_rows(&scope->fresh.processes, &c);
    scope->fresh.process_count++;
    *id = scope->process_count++;
    return TTAPE_OK;
}

ttape_status ttp_scope_add_stream(ttape_writer *w, struct ttp_scope *scope,
                                  const ttape_stream *stream, uint32_t *id, ttape_error *err)
{
    struct ttp_writer_cursor c;
    TTP_TRY(ttp_check_reserved(stream->reserved, 2, "stream", err));
    TTP_TRY(check_string(stream->name, err));
    TTP_TRY(check_room(scope->stream_count, "streams", err));
    if (stream->process >= scope->process_count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-STR-02", TTAPE_ERROR_NO_OFFSET,
                        "unknown process %u", stream->process);
    if (w->loaded != NULL && w->scope == scope)
        ttp_unload(w); /* the states are about to move */
    struct ttp_stream_state *state =
        ttp_push(&w->allocator, &scope->stream_states, sizeof *state, err);
    if (state == NULL)
        return TTAPE_E_MEMORY;
    scope->stream_count++;
    uint32_t first;
    TTP_TRY(ttp_stream_stack(w, state, 0, &first, err));
    TTP_TRY(
        begin_rows(w, &scope->fresh.streams, ttp_stream_bound(stream->name.size_bytes), &c, err));
    ttp_stream_write(&c, stream);
    finish_rows(&scope->fresh.streams, &c);
    scope->fresh.stream_count++;
    *id = scope->stream_count - 1;
    return TTAPE_OK;
}

static ttape_status grow_file_slots(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    size_t slots = scope->file_slots.count == 0 ? 64 : scope->file_slots.count * 2;
    struct ttp_growing bigger = {0};
    TTP_TRY(ttp_grow(&w->allocator, &bigger, sizeof(struct ttp_file_slot), slots, err));
    struct ttp_file_slot *to = bigger.data, *from = scope->file_slots.data;
    memset(to, 0, slots * sizeof *to);
    for (size_t i = 0; i < scope->file_slots.count; i++) {
        size_t at = (size_t)ttp_secret_hash(from[i].hash, w->hash_key) & (slots - 1);
        while (from[i].id_plus_one != 0 && to[at].id_plus_one != 0)
            at = (at + 1) & (slots - 1);
        if (from[i].id_plus_one != 0)
            to[at] = from[i];
    }
    ttp_grown_free(&w->allocator, &scope->file_slots);
    scope->file_slots = bigger;
    scope->file_slots.count = slots;
    return TTAPE_OK;
}

/* File names are few and shared: known by their 64-bit hash alone, names are not kept. Two names of
 * one hash would show one file for the other: one chance in 2^64 a pair, and only a label is at
 * stake. */
static ttape_status intern_file(ttape_writer *w, struct ttp_scope *scope, ttape_string name,
                                uint32_t *id_plus_one, ttape_error *err)
{
    *id_plus_one = 0;
    if (name.size_bytes == 0)
        return TTAPE_OK;
    if ((scope->file_used + 1ull) * 2 > scope->file_slots.count)
        TTP_TRY(grow_file_slots(w, scope, err));
    struct ttp_file_slot *slots = scope->file_slots.data;
    uint64_t hash = ttp_checksum(name.data, name.size_bytes);
    size_t mask = scope->file_slots.count - 1;
    size_t at = (size_t)ttp_secret_hash(hash, w->hash_key) & mask;
    while (slots[at].id_plus_one != 0 && slots[at].hash != hash)
        at = (at + 1) & mask;
    if (slots[at].id_plus_one == 0) {
        struct ttp_writer_cursor c;
        TTP_TRY(begin_rows(w, &scope->fresh.files, name.size_bytes + TTP_VARINT_MAX, &c, err));
        ttp_string_write(&c, name);
        finish_rows(&scope->fresh.files, &c);
        scope->fresh.file_count++;
        scope->file_used++;
        slots[at] = (struct ttp_file_slot){hash, ++scope->file_count};
    }
    *id_plus_one = slots[at].id_plus_one;
    return TTAPE_OK;
}

ttape_status ttp_scope_add_site(ttape_writer *w, struct ttp_scope *scope, const ttape_site *site,
                                uint32_t *id, ttape_error *err)
{
    const uint64_t reserved[] = {site->reserved[0], site->reserved_path};
    TTP_TRY(ttp_check_reserved(reserved, 2, "site", err));
    TTP_TRY(check_string(site->symbol, err));
    TTP_TRY(check_string(site->file, err));
    TTP_TRY(check_room(scope->site_count, "sites", err));
    if (site->kind > UINT16_MAX ||
        (site->module != TTAPE_NONE && site->module >= scope->module_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SIT-09", TTAPE_ERROR_NO_OFFSET,
                        "a site of unknown kind or module");
    if (site->path > scope->paths.count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-PTH-06", TTAPE_ERROR_NO_OFFSET,
                        "a site of unknown path %u", site->path);
    struct ttp_definitions *fresh = &scope->fresh;
    struct ttp_pending_site *row = ttp_push(&w->allocator, &fresh->sites, sizeof *row, err);
    if (row == NULL)
        return TTAPE_E_MEMORY;
    *row = (struct ttp_pending_site){site->address,
                                     site->module == TTAPE_NONE ? 0 : site->module + 1,
                                     0,
                                     site->line,
                                     site->kind,
                                     fresh->text.count,
                                     site->symbol.size_bytes};
    TTP_TRY(ttp_push_bytes(&w->allocator, &fresh->text, site->symbol.data, site->symbol.size_bytes,
                           err));
    uint32_t file;
    TTP_TRY(intern_file(w, scope, site->file, &file, err));
    row->file_plus_one = file;
    if (ttp_push(&w->allocator, &scope->site_states, sizeof(struct ttp_site_state), err) == NULL)
        return TTAPE_E_MEMORY;
    size_t room = scope->touched.capacity_bytes / sizeof(uint32_t);
    if (scope->site_count >=
        room) /* by doubling: the list is empty most of the time, so it does not know */
        TTP_TRY(ttp_grow(&w->allocator, &scope->touched, sizeof(uint32_t), 2 * room + 64, err));
    fresh->site_count++;
    *id = scope->site_count++;
    return site->path == 0 ? TTAPE_OK : ttp_scope_link_site(w, scope, *id, site->path, err);
}

static ttape_status collect_sites(ttape_writer *w, const struct ttp_scope *scope,
                                  struct ttp_growing *out, ttape_error *err)
{
    const struct ttp_definitions *d = &scope->fresh;
    const struct ttp_pending_site *rows = d->sites.data;
    struct ttp_writer_cursor c;
    size_t bound = 6 * (size_t)TTP_VARINT_MAX + d->modules.count + d->files.count + d->text.count +
                   d->site_count * ttp_site_bound(0);
    TTP_TRY(begin_rows(w, out, bound, &c, err));
    struct ttp_sites_counts counts = {d->first_module, d->module_count, d->first_file,
                                      d->file_count,   d->first_site,   d->site_count};
    ttp_sites_write_counts(&c, &counts);
    ttp_write_bytes(&c, d->modules.data, d->modules.count);
    ttp_write_bytes(&c, d->files.data, d->files.count);
    for (unsigned column = 0; column < TTP_SITE_COLUMNS; column++) {
        struct ttp_site before = {0};
        for (uint32_t i = 0; i < d->site_count; i++) {
            const char *symbol =
                rows[i].symbol_bytes != 0 ? (char *)d->text.data + rows[i].symbol_start : NULL;
            struct ttp_site site = {rows[i].address,       rows[i].module_plus_one,
                                    rows[i].file_plus_one, rows[i].line,
                                    rows[i].kind,          {symbol, rows[i].symbol_bytes}};
            ttp_site_write_column(&c, column, &site, &before);
            before = site;
        }
    }
    finish_rows(out, &c);
    return TTAPE_OK;
}

static ttape_status collect_streams(ttape_writer *w, struct ttp_scope *scope,
                                    struct ttp_growing *out, ttape_error *err)
{
    struct ttp_definitions *d = &scope->fresh;
    struct ttp_writer_cursor c;
    TTP_TRY(ttp_stream_names_apply(w, d, err));
    TTP_TRY(begin_rows(w, out, 4 * (size_t)TTP_VARINT_MAX + d->processes.count + d->streams.count,
                       &c, err));
    ttp_range_write(&c, d->first_process, d->process_count);
    ttp_write_bytes(&c, d->processes.data, d->processes.count);
    ttp_range_write(&c, d->first_stream, d->stream_count);
    ttp_write_bytes(&c, d->streams.data, d->streams.count);
    finish_rows(out, &c);
    return TTAPE_OK;
}

bool ttp_scope_is_fresh(const struct ttp_scope *scope)
{
    const struct ttp_definitions *d = &scope->fresh;
    return d->metadata_count + d->site_count + d->stream_count + d->process_count +
               d->module_count + d->path_count + d->links.count + d->value_names.sites.count !=
           0;
}

ttape_status ttp_scope_collect(ttape_writer *w, struct ttp_scope *scope,
                               struct ttp_pending *pending, ttape_error *err)
{
    struct ttp_definitions *d = &scope->fresh;
    if (d->process_count + d->stream_count != 0)
        TTP_TRY(collect_streams(w, scope, &pending->streams_chunk, err));
    if (d->module_count + d->file_count + d->site_count != 0)
        TTP_TRY(collect_sites(w, scope, &pending->sites_chunk, err));
    if (d->path_count + d->links.count != 0)
        TTP_TRY(ttp_scope_collect_paths(w, scope, &pending->paths_chunk, err));
    if (d->value_names.sites.count != 0)
        TTP_TRY(ttp_scope_collect_value_names(w, scope, &pending->value_names_chunk, err));
    TTP_TRY(ttp_metadata_collect(w, d, &pending->metadata_chunk, &pending->metadata_pairs, err));
    d->modules.count = d->files.count = d->processes.count = d->streams.count = 0;
    ttp_grown_free(&w->allocator, &d->sites); /* names are the bulk of a large site table */
    ttp_grown_free(&w->allocator, &d->text);
    d->module_count = d->file_count = d->process_count = d->stream_count = d->site_count = 0;
    d->first_module = scope->module_count;
    d->first_file = scope->file_count;
    d->first_site = scope->site_count;
    d->first_process = scope->process_count;
    d->first_stream = scope->stream_count;
    return TTAPE_OK;
}
