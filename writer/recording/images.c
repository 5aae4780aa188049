/* Whose records these are: process images, their threads and address spaces, and the sites in them.
 *
 *   thread --> image (one run of one program) --> layout (modules and sites; forked children share it)
 *
 * Ids in the trace file are given when an event first needs them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/fail.h"
#include "format/record.h"
#include "writer/recording/journal.h"

#define PROCESS_BYTES 32u
#define MODULE_BYTES  20u
#define SITE_BYTES    18u
#define SCAN_PAUSE_MS 50u

static ttape_status no_memory(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
}

static struct ttp_image *image_at(const ttape_recording *r, uint32_t index)
{
    return (struct ttp_image *)r->images.data + index;
}

static struct ttp_layout *layout_at(const ttape_recording *r, uint32_t index)
{
    return (struct ttp_layout *)r->layouts.data + index;
}

static ttape_string text(const char *s) { return (ttape_string){s, s == NULL ? 0 : strlen(s)}; }

static ttape_status new_layout(ttape_recording *r, uint32_t pid, uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout = ttp_push(&r->allocator, &r->layouts, sizeof *layout, err);
    if (layout == NULL)
        return TTAPE_E_MEMORY;
    layout->users = 1;
    layout->output = r->current;
    *index = (uint32_t)(r->layouts.count - 1);
    return r->current != NULL ? TTAPE_OK : ttp_output_begin(r, pid, &layout->output, err);
}

static ttape_status new_image(ttape_recording *r, const struct ttp_block_head *block,
                              uint32_t *index, ttape_error *err)
{
    struct ttp_image *image = ttp_push(&r->allocator, &r->images, sizeof *image, err);
    if (image == NULL)
        return TTAPE_E_MEMORY;
    *image = (struct ttp_image){.serial = block->image,
                                .started = block->started,
                                .pid = block->process_id,
                                .parent = TTAPE_NONE,
                                .layout = TTAPE_NONE,
                                .process = TTAPE_NONE};
    *index = (uint32_t)(r->images.count - 1);
    return ttp_map_set(&r->allocator, &r->image_by_serial, block->image, *index, err);
}

ttape_status ttp_thread_of(ttape_recording *r, const struct ttp_block_head *block,
                           struct ttp_thread **out, ttape_error *err)
{
    uint32_t index = ttp_map_find(&r->thread_by_serial, block->serial);
    if (index != TTAPE_NONE) {
        *out = ((struct ttp_thread **)r->threads.data)[index];
        return TTAPE_OK;
    }
    uint32_t image = ttp_map_find(&r->image_by_serial, block->image);
    if (image == TTAPE_NONE)
        TTP_TRY(new_image(r, block, &image, err));
    struct ttp_thread **place = ttp_push(&r->allocator, &r->threads, sizeof *place, err);
    struct ttp_thread *thread =
        place == NULL ? NULL : r->allocator.allocate(r->allocator.context, sizeof *thread);
    if (thread == NULL)
        return no_memory(err);
    *thread = (struct ttp_thread){.serial = block->serial,
                                  .image = image,
                                  .tid = block->thread_id,
                                  .stream = TTAPE_NONE,
                                  .started = block->started};
    memcpy(thread->name, block->name, sizeof thread->name);
    *place = *out = thread;
    return ttp_map_set(&r->allocator, &r->thread_by_serial, block->serial,
                       (uint32_t)(r->threads.count - 1), err);
}

ttape_status ttp_thread_touch(ttape_recording *r, struct ttp_thread *thread, ttape_error *err)
{
    if (thread->is_touched)
        return TTAPE_OK;
    struct ttp_thread **place = ttp_push(&r->allocator, &r->touched, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = thread;
    thread->is_touched = true;
    return TTAPE_OK;
}

static ttape_status layout_of(ttape_recording *r, struct ttp_thread *thread,
                              struct ttp_layout **out, ttape_error *err)
{
    struct ttp_image *image = image_at(r, thread->image);
    if (image->layout == TTAPE_NONE)
        TTP_TRY(new_layout(r, image->pid, &image->layout, err));
    *out = layout_at(r, image->layout);
    return TTAPE_OK;
}

struct ttp_output *ttp_output_of(ttape_recording *r, const struct ttp_thread *thread)
{
    return layout_at(r, image_at(r, thread->image)->layout)->output;
}

static void describe_process(const ttape_recording *r, uint32_t index, ttape_process *process)
{
    const struct ttp_image *image = image_at(r, index);
    const char *slash = image->path == NULL ? NULL : strrchr(image->path, '/');
    *process = (ttape_process){.pid = image->pid,
                               .parent = TTAPE_NONE,
                               .start_time_ns = ttp_clock_ns(r, image->started),
                               .name = text(slash != NULL ? slash + 1 : image->path)};
    if (image->parent != TTAPE_NONE && image_at(r, image->parent)->layout != TTAPE_NONE &&
        layout_at(r, image_at(r, image->parent)->layout)->output ==
            layout_at(r, image->layout)->output)
        process->parent = image_at(r, image->parent)->process;
}

/* Keeps the order in which things got their ids, where the file may be followed by another. */
static ttape_status note_id(ttape_recording *r, struct ttp_growing *list, uint32_t number,
                            ttape_error *err)
{
    uint32_t *place = ttp_push(&r->allocator, list, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = number;
    return TTAPE_OK;
}

static ttape_status note_place(ttape_recording *r, struct ttp_growing *list, uint32_t layout,
                               uint32_t index, ttape_error *err)
{
    struct ttp_place *place = ttp_push(&r->allocator, list, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = (struct ttp_place){layout, index};
    return TTAPE_OK;
}

static ttape_status define_process(ttape_recording *r, uint32_t index, ttape_error *err)
{
    struct ttp_image *image = image_at(r, index);
    ttape_process process;
    if (image->process != TTAPE_NONE)
        return TTAPE_OK;
    const struct ttp_layout *layout = layout_at(r, image->layout);
    if (image->parent != TTAPE_NONE && image_at(r, image->parent)->layout != TTAPE_NONE &&
        layout_at(r, image_at(r, image->parent)->layout)->output == layout->output)
        TTP_TRY(define_process(r, image->parent, err));
    describe_process(r, index, &process);
    TTP_TRY(ttape_writer_add_process(layout->output->writer, &process, &image->process, err));
    r->process_count++;
    return note_id(r, &r->processes, index, err);
}

static void describe_stream(const ttape_recording *r, const struct ttp_thread *thread,
                            ttape_stream *stream)
{
    *stream = (ttape_stream){.process = image_at(r, thread->image)->process,
                             .tid = thread->tid,
                             .start_time_ns = ttp_clock_ns(r, thread->started),
                             .name = {thread->name, strnlen(thread->name, sizeof thread->name)}};
}

ttape_status ttp_stream_ready(ttape_recording *r, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_layout *layout;
    ttape_stream stream;
    if (thread->stream != TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(layout_of(r, thread, &layout, err));
    TTP_TRY(define_process(r, thread->image, err));
    describe_stream(r, thread, &stream);
    TTP_TRY(ttape_writer_add_stream(layout->output->writer, &stream, &thread->stream, err));
    r->thread_count++;
    return note_id(r, &r->streams, ttp_map_find(&r->thread_by_serial, thread->serial), err);
}

/* Modules and sites */

static void free_module(ttape_recording *r, struct ttp_module_seen *module)
{
    (void)r;
    free((void *)module->module.path.data);
    free((void *)module->module.build_id.data);
}

static ttape_status keep_bytes(ttape_string *out, const void *data, size_t size_bytes,
                               ttape_error *err)
{
    char *copy = malloc(size_bytes + 1);
    *out = (ttape_string){copy, size_bytes};
    if (copy == NULL)
        return no_memory(err);
    if (size_bytes != 0)
        memcpy(copy, data, size_bytes);
    copy[size_bytes] = '\0';
    return TTAPE_OK;
}

static ttape_status add_module(ttape_recording *r, struct ttp_growing *list,
                               const ttape_module *module, ttape_error *err)
{
    struct ttp_module_seen *added = ttp_push(&r->allocator, list, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_module_seen){.module = {.start = module->start, .end = module->end},
                                      .id = TTAPE_NONE};
    TTP_TRY(keep_bytes(&added->module.path, module->path.data, module->path.size_bytes, err));
    return keep_bytes(&added->module.build_id, module->build_id.data,
                      module->build_id.size_bytes, err);
}

static bool same_string(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static bool same_module(const struct ttp_module_seen *a, const struct ttp_module_seen *b)
{
    return a->module.start == b->module.start && a->module.end == b->module.end &&
           same_string(a->module.path, b->module.path) &&
           same_string(a->module.build_id, b->module.build_id);
}

static bool holds(const struct ttp_growing *list, const struct ttp_module_seen *module)
{
    const struct ttp_module_seen *modules = list->data;
    for (size_t i = 0; i < list->count; i++)
        if (same_module(&modules[i], module))
            return true;
    return false;
}

/* Modules never leave the list: sites and files refer to them. One that is gone has no addresses. */
static ttape_status unmap_missing(ttape_recording *r, struct ttp_layout *layout,
                                  const struct ttp_growing *complete, ttape_error *err)
{
    struct ttp_module_seen *modules = layout->modules.data;
    bool changed = false;
    for (size_t i = 0; i < layout->modules.count; i++)
        if (modules[i].module.end != 0 && !holds(complete, &modules[i])) {
            modules[i].is_gone = true;
            changed = true;
        }
    if (!changed)
        return TTAPE_OK;
    const struct ttp_site_seen *sites = layout->sites.data;
    ttp_map_free(&r->allocator, &layout->by_address);
    for (size_t i = 0; i < layout->sites.count; i++)
        if (sites[i].module == TTAPE_NONE || !modules[sites[i].module].is_gone)
            TTP_TRY(ttp_map_set(&r->allocator, &layout->by_address, sites[i].address, (uint32_t)i,
                                err));
    return TTAPE_OK;
}

static char *copy_text(const char *s) { return s == NULL ? NULL : strdup(s); }

/* The image gets an address space of its own, as it is now. */
static ttape_status separate(ttape_recording *r, struct ttp_image *image, ttape_error *err)
{
    uint32_t index, old = image->layout;
    TTP_TRY(new_layout(r, image->pid, &index, err));
    image->layout = index;
    layout_at(r, old)->users--;
    const struct ttp_module_seen *modules = layout_at(r, old)->modules.data;
    for (size_t i = 0; i < layout_at(r, old)->modules.count; i++) {
        TTP_TRY(add_module(r, &layout_at(r, index)->modules, &modules[i].module, err));
        ((struct ttp_module_seen *)layout_at(r, index)->modules.data)[i].is_gone =
            modules[i].is_gone;
    }
    struct ttp_layout *layout = layout_at(r, index);
    const struct ttp_site_seen *sites = layout_at(r, old)->sites.data;
    for (size_t i = 0; i < layout_at(r, old)->sites.count; i++) {
        if (ttp_map_find(&layout_at(r, old)->by_address, sites[i].address) != i ||
            sites[i].symbol == NULL)
            continue; /* others are found again when they are met */
        struct ttp_site_seen *added = ttp_push(&r->allocator, &layout->sites, sizeof *added, err);
        if (added == NULL)
            return TTAPE_E_MEMORY;
        *added = sites[i];
        added->symbol = copy_text(sites[i].symbol);
        added->file = copy_text(sites[i].file);
        added->id = TTAPE_NONE;
        TTP_TRY(ttp_map_set(&r->allocator, &layout->by_address, added->address,
                            (uint32_t)(layout->sites.count - 1), err));
    }
    return TTAPE_OK;
}

/* `complete`: the list says all; otherwise it adds. */
static ttape_status apply_modules(ttape_recording *r, struct ttp_image *image, bool complete,
                                  ttape_error *err)
{
    const struct ttp_module_seen *incoming = image->incoming.data;
    struct ttp_layout *layout = layout_at(r, image->layout);
    bool equal = !complete || layout->modules.count == image->incoming.count;
    for (size_t i = 0; i < image->incoming.count; i++)
        equal &= holds(&layout->modules, &incoming[i]);
    if (equal)
        return TTAPE_OK;
    if (layout->users > 1 && layout->modules.count != 0)
        TTP_TRY(separate(r, image, err));
    layout = layout_at(r, image->layout);
    if (complete)
        TTP_TRY(unmap_missing(r, layout, &image->incoming, err));
    for (size_t i = 0; i < image->incoming.count; i++)
        if (!holds(&layout->modules, &incoming[i]))
            TTP_TRY(add_module(r, &layout->modules, &incoming[i].module, err));
    return TTAPE_OK;
}

static void clear_incoming(ttape_recording *r, struct ttp_image *image)
{
    for (size_t i = 0; i < image->incoming.count; i++)
        free_module(r, (struct ttp_module_seen *)image->incoming.data + i);
    image->incoming.count = 0;
}

/* One line of /proc/PID/maps: mappings of one file that lie together are one module. */
static ttape_status take_mapping(ttape_recording *r, struct ttp_image *image, const char *line,
                                 ttape_error *err)
{
    uint64_t start, end, offset;
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end, &offset,
               &at) < 3 ||
        at == 0 || line[at] != '/')
        return TTAPE_OK;
    size_t size = strcspn(line + at, "\n");
    struct ttp_module_seen *modules = image->incoming.data;
    struct ttp_module_seen *last =
        image->incoming.count == 0 ? NULL : &modules[image->incoming.count - 1];
    if (last != NULL && offset != 0 &&
        same_string(last->module.path, (ttape_string){line + at, size})) {
        last->module.end = end;
        return TTAPE_OK;
    }
    ttape_module module = {.start = start, .end = end, .path = {line + at, size}};
    return add_module(r, &image->incoming, &module, err);
}

static bool overlaps(const struct ttp_growing *list, const ttape_module *module)
{
    const struct ttp_module_seen *modules = list->data;
    for (size_t i = 0; i < list->count; i++)
        if (!modules[i].is_gone && modules[i].module.start < module->end &&
            modules[i].module.end > module->start)
            return true;
    return false;
}

/* The program called code that it never told of: a library it opened just now. */
static ttape_status scan_maps(ttape_recording *r, struct ttp_image *image, ttape_error *err)
{
    char path[32], *line = NULL;
    size_t capacity = 0;
    uint64_t now = ttp_now_ms();
    ttape_status status = TTAPE_OK;
    if (image->scanned_ms != 0 && now - image->scanned_ms < SCAN_PAUSE_MS)
        return TTAPE_OK;
    image->scanned_ms = now;
    (void)snprintf(path, sizeof path, "/proc/%u/maps", image->pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return TTAPE_OK;
    struct ttp_growing told = image->incoming;
    image->incoming = (struct ttp_growing){0};
    while (status == TTAPE_OK && getline(&line, &capacity, maps) > 0)
        status = take_mapping(r, image, line, err);
    free(line);
    (void)fclose(maps);
    struct ttp_module_seen *found = image->incoming.data;
    size_t kept = 0;
    for (size_t i = 0; i < image->incoming.count; i++) {
        if (overlaps(&layout_at(r, image->layout)->modules, &found[i].module))
            free_module(r, &found[i]);
        else
            found[kept++] = found[i];
    }
    image->incoming.count = kept;
    if (status == TTAPE_OK && kept != 0)
        status = apply_modules(r, image, false, err);
    clear_incoming(r, image);
    ttp_grown_free(&r->allocator, &image->incoming);
    image->incoming = told;
    return status;
}

static uint32_t find_module(const struct ttp_layout *layout, uint64_t address)
{
    const struct ttp_module_seen *modules = layout->modules.data;
    for (size_t i = layout->modules.count; i-- > 0;)
        if (!modules[i].is_gone && address >= modules[i].module.start &&
            address < modules[i].module.end)
            return (uint32_t)i;
    return TTAPE_NONE;
}

static ttape_status define_module(ttape_recording *r, const struct ttp_image *image,
                                  struct ttp_layout *layout, uint32_t index, ttape_error *err)
{
    struct ttp_module_seen *seen = (struct ttp_module_seen *)layout->modules.data + index;
    if (seen->id != TTAPE_NONE)
        return TTAPE_OK;
    seen->module.process = image->process;
    TTP_TRY(ttape_writer_add_module(layout->output->writer, &seen->module, &seen->id, err));
    return note_place(r, &r->modules, image->layout, index, err);
}

static void describe_site(const struct ttp_layout *layout, uint32_t index, ttape_site *site)
{
    const struct ttp_site_seen *seen = (const struct ttp_site_seen *)layout->sites.data + index;
    const struct ttp_module_seen *modules = layout->modules.data;
    *site = (ttape_site){.address = seen->address,
                         .module = seen->module == TTAPE_NONE ? TTAPE_NONE
                                                              : modules[seen->module].id,
                         .line = seen->line,
                         .kind = seen->kind,
                         .symbol = text(seen->symbol),
                         .file = text(seen->file)};
}

/* Asks for the name, once, and whether its calls are wanted. */
static ttape_status name_site(ttape_recording *r, const struct ttp_layout *layout,
                              struct ttp_site_seen *seen, ttape_site *site, ttape_error *err)
{
    const ttape_site_rules *rules = &r->options.rules;
    const ttape_module *module =
        seen->module == TTAPE_NONE
            ? NULL
            : &((const struct ttp_module_seen *)layout->modules.data)[seen->module].module;
    if (rules->name != NULL && seen->symbol == NULL) {
        ttape_string copy;
        rules->name(rules->context, site, module);
        TTP_TRY(keep_bytes(&copy, site->symbol.data, site->symbol.size_bytes, err));
        seen->symbol = (char *)copy.data;
        TTP_TRY(keep_bytes(&copy, site->file.data, site->file.size_bytes, err));
        free(seen->file);
        seen->file = (char *)copy.data;
        seen->line = site->line;
    }
    if (rules->select != NULL)
        seen->select = rules->select(rules->context, site, module);
    return TTAPE_OK;
}

static ttape_status define_site(ttape_recording *r, struct ttp_thread *thread,
                                struct ttp_layout *layout, uint32_t index, ttape_error *err)
{
    ttape_site site;
    struct ttp_site_seen *seen = (struct ttp_site_seen *)layout->sites.data + index;
    TTP_TRY(ttp_stream_ready(r, thread, err));
    const struct ttp_image *image = image_at(r, thread->image);
    if (seen->module != TTAPE_NONE)
        TTP_TRY(define_module(r, image, layout, seen->module, err));
    describe_site(layout, index, &site);
    TTP_TRY(name_site(r, layout, seen, &site, err));
    describe_site(layout, index, &site);
    TTP_TRY(ttape_writer_add_site(layout->output->writer, &site, &seen->id, err));
    return note_place(r, &r->sites, image->layout, index, err);
}

ttape_status ttp_site_of(ttape_recording *r, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout;
    TTP_TRY(layout_of(r, thread, &layout, err));
    *index = ttp_map_find(&layout->by_address, address);
    if (*index == TTAPE_NONE) {
        uint32_t module = find_module(layout, address);
        if (module == TTAPE_NONE) {
            TTP_TRY(scan_maps(r, image_at(r, thread->image), err));
            layout = layout_at(r, image_at(r, thread->image)->layout);
            module = find_module(layout, address);
        }
        struct ttp_site_seen *added = ttp_push(&r->allocator, &layout->sites, sizeof *added, err);
        if (added == NULL)
            return TTAPE_E_MEMORY;
        *added = (struct ttp_site_seen){.address = address, .module = module, .id = TTAPE_NONE};
        *index = (uint32_t)(layout->sites.count - 1);
        TTP_TRY(ttp_map_set(&r->allocator, &layout->by_address, address, *index, err));
    }
    const struct ttp_site_seen *seen = (const struct ttp_site_seen *)layout->sites.data + *index;
    return seen->id != TTAPE_NONE ? TTAPE_OK : define_site(r, thread, layout, *index, err);
}

struct ttp_site_seen *ttp_site_at(ttape_recording *r, const struct ttp_thread *thread,
                                  uint32_t index)
{
    return (struct ttp_site_seen *)layout_at(r, image_at(r, thread->image)->layout)->sites.data +
           index;
}

/* Messages */

static ttape_status take_process(ttape_recording *r, struct ttp_thread *thread,
                                 const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_image *image = image_at(r, thread->image);
    if (size_bytes < PROCESS_BYTES || image->layout != TTAPE_NONE)
        return TTAPE_OK;
    uint32_t parent = ttp_map_find(&r->image_by_serial, ttp_load64(bytes + 8));
    image->started = ttp_load64(bytes + 16);
    image->pid = ttp_load32(bytes + 24);
    image->parent_pid = ttp_load32(bytes + 28);
    image->path = strndup((const char *)bytes + PROCESS_BYTES, size_bytes - PROCESS_BYTES);
    if (parent != TTAPE_NONE && parent != thread->image) {
        image->parent = parent;
        if (!r->options.separate_files && image_at(r, parent)->layout != TTAPE_NONE) {
            image->layout = image_at(r, parent)->layout;
            layout_at(r, image->layout)->users++;
            return TTAPE_OK;
        }
    }
    for (uint32_t i = (uint32_t)r->images.count; parent == TTAPE_NONE && i-- > 0;)
        if (i != thread->image && (image_at(r, i)->pid == image->parent_pid ||
                                   image_at(r, i)->pid == image->pid)) {
            image->parent = i; /* it was executed by this one */
            break;
        }
    return new_layout(r, image->pid, &image->layout, err);
}

static ttape_status take_module(ttape_recording *r, struct ttp_image *image, const uint8_t *bytes,
                                size_t size_bytes, ttape_error *err)
{
    if (size_bytes < MODULE_BYTES)
        return TTAPE_OK;
    uint32_t id_bytes = ttp_load32(bytes + 16);
    if (id_bytes > size_bytes - MODULE_BYTES)
        return TTAPE_OK;
    const char *path = (const char *)bytes + MODULE_BYTES + id_bytes;
    ttape_module module = {.start = ttp_load64(bytes),
                           .end = ttp_load64(bytes + 8),
                           .build_id = {(const char *)bytes + MODULE_BYTES, id_bytes},
                           .path = {path, size_bytes - MODULE_BYTES - id_bytes}};
    if (module.path.size_bytes == 0 && image->path != NULL)
        module.path = text(image->path);
    return add_module(r, &image->incoming, &module, err);
}

static ttape_status take_site(ttape_recording *r, struct ttp_layout *layout, const uint8_t *bytes,
                              size_t size_bytes, ttape_error *err)
{
    if (size_bytes < SITE_BYTES)
        return TTAPE_OK;
    uint64_t address = ttp_load64(bytes);
    uint32_t name_bytes = ttp_load16(bytes + 16);
    if (name_bytes > size_bytes - SITE_BYTES || address == 0)
        return TTAPE_OK;
    const char *name = (const char *)bytes + SITE_BYTES, *file = name + name_bytes;
    struct ttp_site_seen *added = ttp_push(&r->allocator, &layout->sites, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_site_seen){
        .address = address,
        .module = find_module(layout, address),
        .kind = ttp_load32(bytes + 8),
        .line = ttp_load32(bytes + 12),
        .symbol = strndup(name, name_bytes),
        .file = strndup(file, size_bytes - SITE_BYTES - name_bytes),
        .id = TTAPE_NONE};
    return ttp_map_set(&r->allocator, &layout->by_address, address,
                       (uint32_t)(layout->sites.count - 1), err);
}

ttape_status ttp_image_message(ttape_recording *r, struct ttp_thread *thread, uint32_t kind,
                               const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_layout *layout;
    if (kind == TTP_MESSAGE_PROCESS)
        TTP_TRY(take_process(r, thread, bytes, size_bytes, err));
    TTP_TRY(layout_of(r, thread, &layout, err));
    TTP_TRY(ttp_journal_message(r, thread, kind, bytes, size_bytes, err));
    struct ttp_image *image = image_at(r, thread->image);
    if (kind == TTP_MESSAGE_MODULE)
        return take_module(r, image, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_SITE)
        return take_site(r, layout, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_MODULES_END) {
        ttape_status status = apply_modules(r, image, true, err);
        clear_incoming(r, image);
        return status;
    }
    return TTAPE_OK;
}

/* Again, in the file that follows a rotation: every id as it was, so that pieces can be joined. */
static ttape_status define_processes(ttape_recording *r, ttape_writer *w, ttape_error *err)
{
    uint32_t id;
    for (size_t i = 0; i < r->processes.count; i++) {
        ttape_process process;
        describe_process(r, ((const uint32_t *)r->processes.data)[i], &process);
        TTP_TRY(ttape_writer_add_process(w, &process, &id, err));
    }
    for (size_t i = 0; i < r->streams.count; i++) {
        ttape_stream stream;
        describe_stream(r, ((struct ttp_thread **)
                                r->threads.data)[((const uint32_t *)r->streams.data)[i]],
                        &stream);
        TTP_TRY(ttape_writer_add_stream(w, &stream, &id, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_images_define_again(ttape_recording *r, ttape_error *err)
{
    uint32_t id;
    ttape_writer *w = r->current->writer;
    const struct ttp_place *at = r->modules.data;
    for (uint32_t i = 0; i < r->layouts.count; i++)
        layout_at(r, i)->output = r->current;
    TTP_TRY(define_processes(r, w, err));
    for (size_t i = 0; i < r->modules.count; i++) {
        const struct ttp_module_seen *modules = layout_at(r, at[i].layout)->modules.data;
        TTP_TRY(ttape_writer_add_module(w, &modules[at[i].index].module, &id, err));
    }
    at = r->sites.data;
    for (size_t i = 0; i < r->sites.count; i++) {
        ttape_site site;
        describe_site(layout_at(r, at[i].layout), at[i].index, &site);
        TTP_TRY(ttape_writer_add_site(w, &site, &id, err));
    }
    return TTAPE_OK;
}

static void close_layout(ttape_recording *r, struct ttp_layout *layout)
{
    for (size_t i = 0; i < layout->modules.count; i++)
        free_module(r, (struct ttp_module_seen *)layout->modules.data + i);
    for (size_t i = 0; i < layout->sites.count; i++) {
        free(((struct ttp_site_seen *)layout->sites.data)[i].symbol);
        free(((struct ttp_site_seen *)layout->sites.data)[i].file);
    }
    ttp_grown_free(&r->allocator, &layout->modules);
    ttp_grown_free(&r->allocator, &layout->sites);
    ttp_map_free(&r->allocator, &layout->by_address);
}

void ttp_images_close(ttape_recording *r)
{
    for (uint32_t i = 0; i < r->images.count; i++) {
        clear_incoming(r, image_at(r, i));
        ttp_grown_free(&r->allocator, &image_at(r, i)->incoming);
        free(image_at(r, i)->path);
    }
    for (uint32_t i = 0; i < r->layouts.count; i++)
        close_layout(r, layout_at(r, i));
    for (size_t i = 0; i < r->threads.count; i++) {
        struct ttp_thread *thread = ((struct ttp_thread **)r->threads.data)[i];
        ttp_filter_close(r, thread);
        ttp_grown_free(&r->allocator, &thread->frames);
        r->allocator.release(r->allocator.context, thread, sizeof *thread);
    }
    struct ttp_growing *lists[] = {&r->images,  &r->layouts, &r->threads, &r->processes,
                                   &r->streams, &r->modules, &r->sites};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ttp_grown_free(&r->allocator, lists[i]);
    ttp_map_free(&r->allocator, &r->image_by_serial);
    ttp_map_free(&r->allocator, &r->thread_by_serial);
}
