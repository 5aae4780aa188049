/* Replaying the journal: the recorder's own structures, filled as they were at the last checkpoint.
 */
#include "recorder/recover/recover_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "base/secret.h"
#include "base/text.h"
#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/secret_hash.h"
#include "recorder/arena/record.h"
#include "recorder/decode/layouts.h"
#include "recorder/state/journal.h"

static ttape_status no_memory(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
}

/* Calls `take` for each entry up to the last checkpoint. */
static ttape_status each_entry(const struct ttp_recovered_files *files,
                               ttape_status (*take)(struct ttp_encode *, uint32_t kind,
                                                    const uint8_t *bytes, size_t size,
                                                    ttape_error *err),
                               struct ttp_encode *e, ttape_error *err)
{
    for (size_t at = 0; at < files->journal_bytes;) {
        uint32_t kind = ttp_load32(files->journal + at);
        size_t size = ttp_load32(files->journal + at + 4);
        TTP_TRY(take(e, kind, files->journal + at + TTP_JOURNAL_HEAD_BYTES, size, err));
        at += TTP_JOURNAL_HEAD_BYTES + size;
    }
    return TTAPE_OK;
}

static struct ttp_tick_rate load_line(const uint8_t *bytes)
{
    return (struct ttp_tick_rate){ttp_load64(bytes), ttp_load64(bytes + 8), ttp_load64(bytes + 16)};
}

static void take_calls(ttape_syscall_options *calls, const uint8_t *bytes)
{
    uint32_t flags = ttp_load32(bytes);
    calls->chosen[0] = (flags & TTP_JOURNAL_CALLS) != 0; /* any */
    calls->plan_folder = (flags & TTP_JOURNAL_OUTSIDE) != 0 ? NULL : "";
    calls->traced = (flags & TTP_JOURNAL_TRACED) != 0;
    calls->is_attached = (flags & TTP_JOURNAL_ATTACHED) != 0;
    calls->stacks = (flags & TTP_JOURNAL_STACKS) != 0;
    calls->stack_every = ttp_load32(bytes + 4);
    calls->stack_rate = ttp_load32(bytes + 8);
}

static ttape_status take_start(struct ttp_encode *e, uint32_t kind, const uint8_t *bytes,
                               size_t size, ttape_error *err)
{
    (void)err;
    if (kind != TTP_JOURNAL_START || size != TTP_JOURNAL_START_BYTES)
        return TTAPE_OK;
    ttape_writer_options *w = &e->options.writer;
    e->options.clock = ttp_load32(bytes);
    w->partition_events = ttp_load32(bytes + 4);
    e->rate = load_line(bytes + 8);
    ttp_clock_begin(&e->clock, &e->rate);
    w->resolution_ns = ttp_load64(bytes + 32);
    w->level = (int32_t)ttp_load32(bytes + 40);
    w->literal = ttp_load32(bytes + 44) != 0;
    e->options.separate_files = (ttp_load32(bytes + 48) & TTP_JOURNAL_SEPARATE) != 0;
    if ((ttp_load32(bytes + 48) & TTP_JOURNAL_APPLICATION) == 0)
        e->options.rules.is_application = NULL;
    memcpy(w->trace_id, bytes + 56, sizeof w->trace_id);
    w->has_trace_id = true;
    take_calls(&e->options.syscalls, bytes + 72);
    return TTAPE_OK;
}

ttape_status ttp_state_open(struct ttp_encode **out, const ttape_recover_options *options,
                            const struct ttp_recovered_files *files, ttape_error *err)
{
    struct ttp_encode *e = *out = calloc(1, sizeof *e);
    if (e == NULL)
        return no_memory(err);
    e->journal_fd = -1;
    e->allocator = ttp_allocator_or_default(options->allocator);
    e->is_replaying = true;
    e->options.rules.name = options->name;
    e->options.rules.is_application = options->is_application;
    e->options.rules.context = options->context;
    return each_entry(files, take_start, e, err);
}

ttape_status ttp_state_set_writer(struct ttp_encode *e, ttape_writer *writer, ttape_error *err)
{
    e->current = calloc(1, sizeof *e->current);
    if (e->current == NULL)
        return no_memory(err);
    e->current->writer = writer;
    e->current->fd = -1;
    return TTAPE_OK;
}

static ttape_status take_thread(struct ttp_encode *e, const uint8_t *bytes, ttape_error *err)
{
    struct ttp_thread *thread;
    struct ttp_block_head block = {.serial = ttp_load64(bytes),
                                   .image = ttp_load64(bytes + 8),
                                   .started = ttp_load64(bytes + 16),
                                   .thread_id = ttp_load32(bytes + 52),
                                   .process_id = ttp_load32(bytes + 60)};
    memcpy(block.name, bytes + 68, sizeof block.name);
    if (block.serial == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_thread_of(e, &block, &thread, err));
    memcpy(thread->name, block.name, sizeof thread->name);
    thread->sequence = ttp_load64(bytes + 24);
    thread->epoch = ttp_load64(bytes + 32);
    thread->last_ns = ttp_load64(bytes + 40);
    thread->has_signals = true; /* may have had them */
    thread->consumed = ttp_load32(bytes + 48);
    thread->stream = ttp_load32(bytes + 56);
    ttp_image_at(e, thread->image)->process = ttp_load32(bytes + 64);
    return TTAPE_OK;
}

static struct ttp_thread *thread_of_serial(const struct ttp_encode *e, uint64_t serial)
{
    uint32_t index = ttp_map_find(&e->thread_by_serial, serial);
    return index == TTAPE_NONE ? NULL : ttp_thread_at(e, index);
}

static ttape_status take_entry(struct ttp_encode *e, uint32_t kind, const uint8_t *bytes,
                               size_t size, ttape_error *err)
{
    if (kind == TTP_JOURNAL_THREAD && size == TTP_JOURNAL_THREAD_BYTES)
        return take_thread(e, bytes, err);
    if (kind == TTP_JOURNAL_LINE && size == TTP_JOURNAL_LINE_BYTES) {
        struct ttp_tick_rate line = load_line(bytes);
        return ttp_clock_add(&e->allocator, &e->clock, &line, err);
    }
    struct ttp_thread *thread = size < 8 ? NULL : thread_of_serial(e, ttp_load64(bytes));
    if (thread == NULL)
        return TTAPE_OK;
    if (kind == TTP_JOURNAL_ENDED)
        thread->has_ended = true;
    if (kind != TTP_JOURNAL_MESSAGE || size < 12)
        return TTAPE_OK;
    return ttp_image_message(e, thread, ttp_load32(bytes + 8), bytes + 12, size - 12, err);
}

ttape_status ttp_state_replay(struct ttp_encode *e, const struct ttp_recovered_files *files,
                              ttape_error *err)
{
    return each_entry(files, take_entry, e, err);
}

/* Ids */

/* The layout that holds the trace's module, which gets its id there; TTAPE_NONE: none does. */
static uint32_t place_module(struct ttp_encode *e, const ttape_module *module, uint32_t id,
                             uint32_t *index)
{
    for (uint32_t i = 0; i < e->layouts.count; i++) {
        struct ttp_layout *layout = ttp_layout_at(e, i);
        struct ttp_module_seen *seen = layout->modules.data;
        for (uint32_t k = layout->shared; k < layout->modules.count; k++) /* others: the root's */
            if (seen[k].id == TTAPE_NONE && seen[k].module.start == module->start &&
                seen[k].module.end == module->end &&
                ttp_is_same_text(seen[k].module.path, module->path)) {
                seen[k].id = id;
                *index = k;
                return i;
            }
    }
    return TTAPE_NONE;
}

struct module_place {
    uint32_t layout, index;
};

static ttape_status add_site(struct ttp_encode *e, const ttape_site *site, uint32_t id,
                             struct module_place place, ttape_error *err)
{
    struct ttp_layout *layout = ttp_layout_at(e, place.layout);
    struct ttp_word_map *map = ttp_layout_map(layout, site->kind);
    uint32_t known = ttp_map_find(map, site->address);
    if (known != TTAPE_NONE) { /* one of the API's, replayed */
        ((struct ttp_site_seen *)layout->sites.data)[known].id = id;
        return TTAPE_OK;
    }
    struct ttp_site_seen *added = ttp_push(&e->allocator, &layout->sites, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_site_seen){.address = site->address,
                                    .module = place.index,
                                    .kind = site->kind,
                                    .line = site->line,
                                    .id = id};
    TTP_TRY(ttp_keep_text(&added->symbol, site->symbol, err));
    TTP_TRY(ttp_keep_text(&added->file, site->file, err));
    return ttp_map_set(&e->allocator, map, site->address, (uint32_t)(layout->sites.count - 1), err);
}

/* Calls: a trace has their numbers, a recording the addresses at which programs made their sites.
 * One is known by its number, its name and the addresses of the frames that led to it; by a hash of
 * these it is found, and then compared. */

struct journaled_call {
    uint64_t hash;
    uint32_t layout, index;
};

/* What the journal told of sites of calls, by hash. */
struct journaled_calls {
    struct ttp_encode *e;
    const ttape_reader *reader;
    struct journaled_call *items;
    size_t count;
    uint64_t secret;
};

static const struct ttp_site_seen *seen_of(const struct ttp_encode *e,
                                           const struct journaled_call *call)
{
    return (const struct ttp_site_seen *)ttp_layout_at(e, call->layout)->sites.data + call->index;
}

static const uint64_t *frames_of(const struct ttp_layout *layout, const struct ttp_site_seen *seen)
{
    return seen->frame_count == 0 ? NULL
                                  : (const uint64_t *)layout->frames.data + seen->first_frame;
}

static uint64_t add_to(const struct journaled_calls *calls, uint64_t hash, uint64_t number)
{
    return ttp_secret_hash(hash * 31 ^ number, calls->secret);
}

/* From the innermost frame outwards, as the journal has them. */
static uint64_t hash_seen(const struct journaled_calls *calls, const struct ttp_layout *layout,
                          const struct ttp_site_seen *seen)
{
    uint64_t hash = add_to(calls, 0, seen->line);
    for (uint32_t i = 0; i < seen->frame_count; i++)
        hash = add_to(calls, hash, frames_of(layout, seen)[i]);
    return hash;
}

/* The address of a path's innermost frame; false: it is not known, and no more are. */
static bool take_frame(const ttape_reader *reader, uint32_t *path, uint64_t *address)
{
    ttape_path step;
    ttape_site frame;
    if (*path == 0 || ttape_reader_get_path(reader, *path, &step) != TTAPE_OK ||
        ttape_reader_get_site(reader, step.site, &frame) != TTAPE_OK)
        return false;
    *path = step.parent;
    *address = frame.address;
    return true;
}

static uint64_t hash_site(const struct journaled_calls *calls, const ttape_site *site)
{
    uint64_t hash = add_to(calls, 0, site->address), address;
    for (uint32_t path = site->path; take_frame(calls->reader, &path, &address);)
        hash = add_to(calls, hash, address);
    return hash;
}

static bool is_same(const struct journaled_calls *calls, const struct journaled_call *call,
                    const ttape_site *site)
{
    const struct ttp_site_seen *seen = seen_of(calls->e, call);
    const uint64_t *frames = frames_of(ttp_layout_at(calls->e, call->layout), seen);
    ttape_string name = ttp_text_of(seen->symbol);
    uint32_t path = site->path;
    uint64_t address;
    for (uint32_t i = 0; i < seen->frame_count; i++)
        if (!take_frame(calls->reader, &path, &address) || address != frames[i])
            return false;
    return seen->line == site->address && (path != 0) == seen->is_cut &&
           !take_frame(calls->reader, &path, &address) && ttp_is_same_text(name, site->symbol);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct journaled_call *)a)->hash;
    uint64_t y = ((const struct journaled_call *)b)->hash;
    return (x > y) - (x < y);
}

static size_t list_calls(struct journaled_calls *calls)
{
    size_t count = 0;
    for (uint32_t i = 0; i < calls->e->layouts.count; i++) {
        const struct ttp_layout *layout = ttp_layout_at(calls->e, i);
        const struct ttp_site_seen *seen = layout->sites.data;
        for (uint32_t k = 0; k < layout->sites.count; k++) {
            if (!ttp_site_is_call(&seen[k]))
                continue;
            if (calls->items != NULL)
                calls->items[count] =
                    (struct journaled_call){hash_seen(calls, layout, &seen[k]), i, k};
            count++;
        }
    }
    return count;
}

static ttape_status open_calls(struct journaled_calls *calls, struct ttp_encode *e,
                               const ttape_reader *reader, ttape_error *err)
{
    *calls = (struct journaled_calls){.e = e, .reader = reader, .secret = ttp_secret_key()};
    calls->count = list_calls(calls);
    if (calls->count == 0)
        return TTAPE_OK;
    calls->items = calloc(calls->count, sizeof *calls->items);
    if (calls->items == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    (void)list_calls(calls);
    qsort(calls->items, calls->count, sizeof *calls->items, by_hash);
    return TTAPE_OK;
}

static bool adopt_call(const struct journaled_calls *calls, const ttape_site *site, uint32_t id)
{
    if (site->kind != TTAPE_SITE_SYSCALL || site->file.size_bytes != 0)
        return false;
    uint64_t hash = hash_site(calls, site);
    struct ttp_bisect s = {.end = calls->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, calls->items[s.middle].hash < hash);
    for (size_t i = s.first; i < calls->count && calls->items[i].hash == hash; i++) {
        const struct journaled_call *call = &calls->items[i];
        struct ttp_site_seen *sites = ttp_layout_at(calls->e, call->layout)->sites.data;
        if (sites[call->index].id != TTAPE_NONE || !is_same(calls, call, site))
            continue;
        sites[call->index].id = id;
        sites[call->index].path = site->path;
    }
    return true;
}

static void close_calls(struct journaled_calls *calls) { free(calls->items); }

static ttape_status adopt_sites(struct ttp_encode *e, const ttape_reader *reader,
                                const ttape_info *info, ttape_error *err)
{
    struct journaled_calls calls;
    TTP_TRY(open_calls(&calls, e, reader, err));
    struct module_place *places = calloc(info->module_count + 1, sizeof *places);
    ttape_status status = places == NULL ? no_memory(err) : TTAPE_OK;
    for (uint32_t i = 0; i < info->module_count && places != NULL; i++) {
        ttape_module module;
        (void)ttape_reader_get_module(reader, i, &module);
        places[i].layout = place_module(e, &module, i, &places[i].index);
    }
    for (uint32_t i = 0; i < info->site_count && status == TTAPE_OK; i++) {
        ttape_site site;
        struct module_place place = {0, TTAPE_NONE};
        (void)ttape_reader_get_site(reader, i, &site);
        if (adopt_call(&calls, &site, i))
            continue;
        if (site.module < info->module_count)
            place = places[site.module];
        if (place.layout < e->layouts.count)
            status = add_site(e, &site, i, place, err);
    }
    free(places);
    close_calls(&calls);
    return status;
}

/* Streams */

static struct ttp_thread *thread_of_stream(const struct ttp_encode *e, uint32_t stream)
{
    for (size_t i = 0; i < e->threads.count; i++)
        if (ttp_thread_at(e, i)->stream == stream)
            return ttp_thread_at(e, i);
    return NULL;
}

static ttape_status keep_edge(struct ttp_encode *e, struct ttp_thread *thread,
                              const ttape_edge *edge, ttape_error *err)
{
    thread->frames.count = 0;
    TTP_TRY(ttp_grow(&e->allocator, &thread->frames, sizeof(ttape_open_frame),
                     edge->frame_count + 1ull, err));
    if (edge->frame_count != 0)
        memcpy(thread->frames.data, edge->frames, edge->frame_count * sizeof *edge->frames);
    thread->frames.count = edge->frame_count;
    thread->edge = *edge;
    thread->must_resume = true;
    return TTAPE_OK;
}

/* Where each stream was last seen. */
struct last_segment {
    uint32_t partition, segment;
    bool is_there;
};

static ttape_status find_last(ttape_reader *reader, const ttape_info *all,
                              struct last_segment *last, ttape_error *err)
{
    for (uint32_t i = 0; i < all->partition_count; i++) {
        ttape_partition_info info;
        TTP_TRY(ttape_reader_get_partition(reader, i, &info));
        for (uint32_t k = 0; k < info.segment_count; k++) {
            ttape_segment_info segment;
            ttape_error why = {0};
            ttape_status status = ttape_reader_get_segment(reader, i, k, &segment, &why);
            if (status == TTAPE_E_MEMORY || status == TTAPE_E_IO) {
                if (err != NULL)
                    *err = why;
                return status;
            }
            if (status == TTAPE_OK && segment.stream < all->stream_count)
                last[segment.stream] = (struct last_segment){i, k, true};
        }
    }
    return TTAPE_OK;
}

static ttape_status adopt_streams(struct ttp_encode *e, ttape_reader *reader,
                                  const ttape_info *info, ttape_error *err)
{
    struct last_segment *last = calloc(info->stream_count + 1, sizeof *last);
    if (last == NULL)
        return no_memory(err);
    ttape_status status = find_last(reader, info, last, err);
    for (uint32_t i = 0; i < info->stream_count && status == TTAPE_OK; i++) {
        ttape_segment_info segment;
        struct ttp_thread *thread = thread_of_stream(e, i);
        if (thread == NULL || !last[i].is_there)
            continue;
        status =
            ttape_reader_get_segment(reader, last[i].partition, last[i].segment, &segment, err);
        if (status == TTAPE_OK)
            status = keep_edge(e, thread, &segment.end, err);
    }
    free(last);
    return status;
}

/* Ids that the journal names and the trace has not: its definitions were in a chunk that is lost.
 */
static void drop_unknown(struct ttp_encode *e, const ttape_info *info)
{
    for (size_t i = 0; i < e->threads.count; i++) {
        struct ttp_thread *thread = ttp_thread_at(e, i);
        if (thread->stream >= info->stream_count)
            thread->stream = TTAPE_NONE;
    }
    for (size_t i = 0; i < e->images.count; i++) {
        struct ttp_image *image = ttp_image_at(e, i);
        if (image->process >= info->process_count)
            image->process = TTAPE_NONE;
    }
}

ttape_status ttp_state_adopt(struct ttp_encode *e, ttape_reader *reader, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    drop_unknown(e, &info);
    TTP_TRY(adopt_sites(e, reader, &info, err));
    return adopt_streams(e, reader, &info, err);
}

/* What can be known of the end of an image's threads. */
struct image_end {
    uint64_t ns;
    uint32_t how;
};

static void note_latest(uint64_t *ns, uint64_t other_ns)
{
    if (other_ns > *ns)
        *ns = other_ns;
}

/* A process that has said that it ends did so with the last of its events; one whose process is
 * another program now, when that began. Of all others the recorder would have seen the end: they
 * are told at the last event of all. */
static void find_ends(struct ttp_encode *e, struct image_end *ends)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < e->threads.count; i++) {
        const struct ttp_thread *thread = ttp_thread_at(e, i);
        note_latest(&ends[thread->image].ns, thread->last_ns);
        note_latest(&last_ns, thread->last_ns);
    }
    for (uint32_t i = 0; i < e->images.count; i++) {
        const struct ttp_image *image = ttp_image_at(e, i);
        if (image->parent < i && ttp_image_at(e, image->parent)->pid == image->pid) {
            ends[image->parent].how = TTAPE_THREAD_END_EXEC;
            uint64_t began_ns = ttp_clock_ns(&e->clock, image->started);
            note_latest(&ends[image->parent].ns, began_ns < last_ns ? began_ns : last_ns);
        }
    }
    for (uint32_t i = 0; i < e->images.count; i++) {
        bool has_said = ttp_image_at(e, i)->end.how != TTAPE_PROCESS_END_UNKNOWN;
        if (ends[i].how == TTAPE_THREAD_END_UNKNOWN) {
            ends[i].how = TTAPE_THREAD_END_RECORDER_DIED;
            ends[i].ns = has_said ? ends[i].ns : last_ns;
        }
        if (e->options.clock == TTAPE_CLOCK_NONE)
            ends[i].ns = 0;
    }
}

ttape_status ttp_state_end_threads(struct ttp_encode *e, const struct ttp_recovered_edges *edges,
                                   ttape_error *err)
{
    struct image_end *ends = calloc(e->images.count + 1, sizeof *ends);
    ttape_status status = ends == NULL ? no_memory(err) : TTAPE_OK;
    if (ends != NULL)
        find_ends(e, ends);
    for (size_t i = 0; i < e->threads.count && status == TTAPE_OK; i++) {
        struct ttp_thread *thread = ttp_thread_at(e, i);
        if (thread->stream == TTAPE_NONE || thread->has_ended)
            continue;
        if (!thread->is_touched) /* of others slots were decoded, which go on there already */
            status = ttp_edges_resume(edges, e, thread->serial, err);
        const struct image_end *end = &ends[thread->image];
        if (status == TTAPE_OK)
            status = ttp_end_put(e, thread, ttp_end_payload(false, end->how, 0), end->ns, err);
    }
    free(ends);
    return status;
}

void ttp_state_forget_ids(struct ttp_encode *e)
{
    ttape_info nothing = {0};
    drop_unknown(e, &nothing);
}

void ttp_state_close(struct ttp_encode *e)
{
    if (e == NULL)
        return;
    ttp_images_close(e);
    ttp_grown_free(&e->allocator, &e->values);
    ttp_grown_free(&e->allocator, &e->touched);
    ttp_grown_free(&e->allocator, &e->journal);
    ttp_grown_free(&e->allocator, &e->clock.lines);
    free(e->current);
    free(e);
}
