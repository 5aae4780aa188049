/* Where records come from: process images, their threads and address spaces, the sites in them.
 *
 *   thread --> image (one run of one program) --> layout (modules and sites; forked children share
 * it)
 *
 * Ids in the trace file are given when an event first needs them. */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "writer/arena/record.h"
#include "writer/events/stream_names.h"
#include "writer/recording/decode/layouts.h"
#include "writer/recording/journal.h"

#define PROCESS_BYTES 32u
#define MODULE_BYTES  20u

static ttape_string text(const char *s) { return (ttape_string){s, s == NULL ? 0 : strlen(s)}; }

static ttape_status new_image(struct ttp_encode *e, const struct ttp_block_head *block,
                              uint32_t *index, ttape_error *err)
{
    struct ttp_image *image = ttp_push(&e->allocator, &e->images, sizeof *image, err);
    if (image == NULL)
        return TTAPE_E_MEMORY;
    *image = (struct ttp_image){.serial = block->image,
                                .started = block->started,
                                .pid = block->process_id,
                                .parent = TTAPE_NONE,
                                .layout = TTAPE_NONE,
                                .process = TTAPE_NONE};
    *index = (uint32_t)(e->images.count - 1);
    return ttp_map_set(&e->allocator, &e->image_by_serial, block->image, *index, err);
}

ttape_status ttp_thread_of(struct ttp_encode *e, const struct ttp_block_head *block,
                           struct ttp_thread **out, ttape_error *err)
{
    uint32_t index = ttp_map_find(&e->thread_by_serial, block->serial);
    if (index != TTAPE_NONE) {
        *out = ttp_thread_at(e, index);
        return TTAPE_OK;
    }
    uint32_t image = ttp_map_find(&e->image_by_serial, block->image);
    if (image == TTAPE_NONE)
        TTP_TRY(new_image(e, block, &image, err));
    struct ttp_thread **place = ttp_push(&e->allocator, &e->threads, sizeof *place, err);
    struct ttp_thread *thread =
        place == NULL ? NULL : e->allocator.allocate(e->allocator.context, sizeof *thread);
    if (thread == NULL) {
        e->threads.count -= place != NULL;
        return ttp_fail_memory(err);
    }
    *thread = (struct ttp_thread){.serial = block->serial,
                                  .image = image,
                                  .tid = block->thread_id,
                                  .stream = TTAPE_NONE,
                                  .started = block->started};
    memcpy(thread->name, block->name, sizeof thread->name);
    *place = *out = thread;
    return ttp_map_set(&e->allocator, &e->thread_by_serial, block->serial,
                       (uint32_t)(e->threads.count - 1), err);
}

ttape_status ttp_thread_touch(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    if (thread->is_touched)
        return TTAPE_OK;
    struct ttp_thread **place = ttp_push(&e->allocator, &e->touched, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = thread;
    thread->is_touched = true;
    return TTAPE_OK;
}

static ttape_status layout_of(struct ttp_encode *e, struct ttp_thread *thread,
                              struct ttp_layout **out, ttape_error *err)
{
    struct ttp_image *image = ttp_image_at(e, thread->image);
    if (image->layout == TTAPE_NONE)
        TTP_TRY(ttp_layout_new(e, image->pid, &image->layout, err));
    *out = ttp_layout_at(e, image->layout);
    return TTAPE_OK;
}

struct ttp_output *ttp_output_of(struct ttp_encode *e, const struct ttp_thread *thread)
{
    return ttp_layout_at(e, ttp_image_at(e, thread->image)->layout)->output;
}

/* The parent in the same file; TTAPE_NONE: there is none. */
static uint32_t parent_here(const struct ttp_encode *e, uint32_t index)
{
    const struct ttp_image *image = ttp_image_at(e, index);
    if (image->parent == TTAPE_NONE || ttp_image_at(e, image->parent)->layout == TTAPE_NONE ||
        ttp_layout_at(e, ttp_image_at(e, image->parent)->layout)->output !=
            ttp_layout_at(e, image->layout)->output)
        return TTAPE_NONE;
    return image->parent;
}

static void describe_process(struct ttp_encode *e, uint32_t index, ttape_process *process)
{
    const struct ttp_image *image = ttp_image_at(e, index);
    const char *slash = image->path == NULL ? NULL : strrchr(image->path, '/');
    *process = (ttape_process){.pid = image->pid,
                               .parent = TTAPE_NONE,
                               .start_time_ns = ttp_clock_ns(&e->clock, image->started),
                               .name = text(slash != NULL ? slash + 1 : image->path)};
    if (parent_here(e, index) != TTAPE_NONE)
        process->parent = ttp_image_at(e, image->parent)->process;
}

/* Keeps the order in which things got their ids, where the file may be followed by another. */
static ttape_status note_id(struct ttp_encode *e, struct ttp_growing *list, uint32_t number,
                            ttape_error *err)
{
    uint32_t *place = ttp_push(&e->allocator, list, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = number;
    return TTAPE_OK;
}

static ttape_status note_place(struct ttp_encode *e, struct ttp_growing *list, uint32_t layout,
                               uint32_t index, ttape_error *err)
{
    struct ttp_place *place = ttp_push(&e->allocator, list, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = (struct ttp_place){layout, index};
    return TTAPE_OK;
}

static ttape_status define_one(struct ttp_encode *e, uint32_t index, ttape_error *err)
{
    ttape_process process;
    struct ttp_image *image = ttp_image_at(e, index);
    describe_process(e, index, &process);
    TTP_TRY(ttape_writer_add_process(ttp_layout_at(e, image->layout)->output->writer, &process,
                                     &image->process, err));
    e->process_count++;
    return note_id(e, &e->processes, index, err);
}

/* Parents first; a line of them may be as long as there are images. */
static ttape_status define_process(struct ttp_encode *e, uint32_t index, ttape_error *err)
{
    struct ttp_growing line = {0};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = index; status == TTAPE_OK && i != TTAPE_NONE; i = parent_here(e, i)) {
        if (ttp_image_at(e, i)->process != TTAPE_NONE)
            break;
        status = note_id(e, &line, i, err);
    }
    while (status == TTAPE_OK && line.count > 0)
        status = define_one(e, ((const uint32_t *)line.data)[--line.count], err);
    ttp_grown_free(&e->allocator, &line);
    return status;
}

static void describe_stream(struct ttp_encode *e, const struct ttp_thread *thread,
                            ttape_stream *stream)
{
    *stream = (ttape_stream){.process = ttp_image_at(e, thread->image)->process,
                             .tid = thread->tid,
                             .start_time_ns = ttp_clock_ns(&e->clock, thread->started),
                             .name = {thread->name, strnlen(thread->name, sizeof thread->name)}};
}

ttape_status ttp_stream_ready(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_layout *layout;
    ttape_stream stream;
    if (thread->stream != TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(layout_of(e, thread, &layout, err));
    TTP_TRY(define_process(e, thread->image, err));
    describe_stream(e, thread, &stream);
    TTP_TRY(ttape_writer_add_stream(layout->output->writer, &stream, &thread->stream, err));
    e->thread_count++;
    return note_id(e, &e->streams, ttp_map_find(&e->thread_by_serial, thread->serial), err);
}

/* Every file of the recording has the same name of a stream, so that they can be joined. */
static bool may_rename(const struct ttp_encode *e)
{
    const ttape_recording_options *o = &e->options;
    return o->rotate_bytes == 0 && o->keep_bytes == 0 && o->keep_ns == 0;
}

static struct ttp_thread *find_named(struct ttp_encode *e, uint32_t image, uint32_t tid)
{
    for (size_t i = e->threads.count; i-- > 0;)
        if (ttp_thread_at(e, i)->tid == tid && ttp_thread_at(e, i)->image == image)
            return ttp_thread_at(e, i);
    return NULL;
}

void ttp_thread_named(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                      const uint8_t *bytes, size_t size_bytes)
{
    if (kind == TTP_MESSAGE_NAMED) {
        if (size_bytes < sizeof(uint32_t))
            return;
        thread = find_named(e, thread->image, ttp_load32(bytes));
        bytes += sizeof(uint32_t);
        size_bytes -= sizeof(uint32_t);
    }
    size_bytes = size_bytes < sizeof thread->name ? size_bytes : sizeof thread->name - 1;
    ttape_string name = {(const char *)bytes, size_bytes};
    if (thread == NULL || (thread->stream != TTAPE_NONE &&
                           (!may_rename(e) || !ttp_stream_rename(ttp_output_of(e, thread)->writer,
                                                                 thread->stream, name))))
        return;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, bytes, size_bytes);
}

static ttape_status define_module(struct ttp_encode *e, const struct ttp_image *image,
                                  struct ttp_layout *layout, uint32_t index, ttape_error *err)
{
    struct ttp_module_seen *seen = (struct ttp_module_seen *)layout->modules.data + index;
    if (seen->id != TTAPE_NONE)
        return TTAPE_OK;
    struct ttp_layout *root = ttp_layout_root(e, layout, index);
    struct ttp_module_seen *first =
        root == NULL ? seen : (struct ttp_module_seen *)root->modules.data + index;
    if (first->id == TTAPE_NONE) {
        first->module.process = image->process;
        TTP_TRY(ttape_writer_add_module(layout->output->writer, &first->module, &first->id, err));
        TTP_TRY(
            note_place(e, &e->modules, root == NULL ? image->layout : layout->root, index, err));
    }
    seen->module.process = first->module.process;
    seen->id = first->id;
    return TTAPE_OK;
}

static void describe_site(const struct ttp_layout *layout, uint32_t index, ttape_site *site)
{
    const struct ttp_site_seen *seen = (const struct ttp_site_seen *)layout->sites.data + index;
    const struct ttp_module_seen *modules = layout->modules.data;
    *site =
        (ttape_site){.address = seen->address,
                     .module = seen->module == TTAPE_NONE ? TTAPE_NONE : modules[seen->module].id,
                     .line = seen->line,
                     .kind = seen->kind,
                     .symbol = text(seen->symbol),
                     .file = text(seen->file)};
    if (seen->kind == TTAPE_SITE_SYSCALL && ttp_is_call_key(seen->address)) {
        site->address = seen->line; /* its number */
        site->line = 0;
    }
}

/* Asks for the name, once, and whether its calls are wanted. */
static ttape_status name_site(struct ttp_encode *e, const struct ttp_layout *layout,
                              struct ttp_site_seen *seen, ttape_site *site, ttape_error *err)
{
    const ttape_site_rules *rules = &e->options.rules;
    const ttape_module *module =
        seen->module == TTAPE_NONE
            ? NULL
            : &((const struct ttp_module_seen *)layout->modules.data)[seen->module].module;
    if (rules->name != NULL && seen->symbol == NULL) {
        char *file;
        rules->name(rules->context, site, module);
        TTP_TRY(ttp_keep_text(&seen->symbol, site->symbol, err));
        TTP_TRY(ttp_keep_text(&file, site->file, err));
        free(seen->file);
        seen->file = file;
        seen->line = site->line;
    }
    if (rules->select != NULL)
        seen->select = rules->select(rules->context, site, module);
    if (e->options.is_checkpoint != NULL)
        seen->is_checkpoint = e->options.is_checkpoint(rules->context, site, module);
    return TTAPE_OK;
}

/* The same system call in another layout of the same file: a key means the same everywhere. */
static bool share_call(const struct ttp_encode *e, struct ttp_site_seen *seen)
{
    uint32_t found = ttp_is_call_key(seen->address) && !e->options.separate_files
                         ? ttp_map_find(&e->call_by_key, seen->address)
                         : TTAPE_NONE;
    if (found == TTAPE_NONE)
        return false;
    const struct ttp_place *at = (const struct ttp_place *)e->sites.data + found;
    const struct ttp_site_seen *first =
        (const struct ttp_site_seen *)ttp_layout_at(e, at->layout)->sites.data + at->index;
    seen->id = first->id;
    seen->select = first->select;
    seen->is_checkpoint = first->is_checkpoint;
    return true;
}

static ttape_status define_site(struct ttp_encode *e, struct ttp_thread *thread,
                                struct ttp_layout *layout, uint32_t index, ttape_error *err)
{
    ttape_site site;
    struct ttp_site_seen *seen = (struct ttp_site_seen *)layout->sites.data + index;
    TTP_TRY(ttp_stream_ready(e, thread, err));
    if (share_call(e, seen))
        return TTAPE_OK;
    const struct ttp_image *image = ttp_image_at(e, thread->image);
    if (seen->module != TTAPE_NONE)
        TTP_TRY(define_module(e, image, layout, seen->module, err));
    struct ttp_layout *root = ttp_layout_root(e, layout, seen->module);
    const struct ttp_site_seen *first = root == NULL ? NULL : ttp_root_find(root, seen);
    if (first != NULL && first->id != TTAPE_NONE) {
        seen->id = first->id;
        seen->select = first->select;
        seen->is_checkpoint = first->is_checkpoint;
        return TTAPE_OK;
    }
    describe_site(layout, index, &site);
    TTP_TRY(name_site(e, layout, seen, &site, err));
    describe_site(layout, index, &site);
    TTP_TRY(ttape_writer_add_site(layout->output->writer, &site, &seen->id, err));
    TTP_TRY(note_place(e, &e->sites, image->layout, index, err));
    if (ttp_is_call_key(seen->address))
        TTP_TRY(ttp_map_set(&e->allocator, &e->call_by_key, seen->address,
                            (uint32_t)(e->sites.count - 1), err));
    return root == NULL ? TTAPE_OK : ttp_root_put(e, root, seen, err);
}

static uint32_t find_here(const struct ttp_encode *e, const struct ttp_thread *thread,
                          uint64_t address)
{
    return ttp_module_find(ttp_layout_at(e, ttp_image_at(e, thread->image)->layout), address);
}

/* Best first: the modules of messages; those that are mapped now; those of messages that are still
 * to be read; those that were mapped at the time. */
static ttape_status module_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                              uint32_t *module, ttape_error *err)
{
    *module = find_here(e, thread, address);
    if (*module == TTAPE_NONE) {
        TTP_TRY(ttp_modules_scan(e, ttp_image_at(e, thread->image), err));
        *module = find_here(e, thread, address);
    }
    if (*module == TTAPE_NONE) {
        TTP_TRY(ttp_decode_peek_modules(e, thread, err));
        *module = find_here(e, thread, address);
    }
    if (*module == TTAPE_NONE)
        *module = ttp_module_find_gone(ttp_layout_at(e, ttp_image_at(e, thread->image)->layout),
                                       address, thread->last_ns);
    return TTAPE_OK;
}

ttape_status ttp_site_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout;
    TTP_TRY(layout_of(e, thread, &layout, err));
    *index = ttp_map_find(&layout->by_address, address);
    if (*index == TTAPE_NONE) {
        uint32_t module;
        TTP_TRY(module_of(e, thread, address, &module, err));
        layout = ttp_layout_at(
            e, ttp_image_at(e, thread->image)->layout); /* it may have its own by now */
        struct ttp_site_seen *added = ttp_push(&e->allocator, &layout->sites, sizeof *added, err);
        if (added == NULL)
            return TTAPE_E_MEMORY;
        *added = (struct ttp_site_seen){.address = address, .module = module, .id = TTAPE_NONE};
        *index = (uint32_t)(layout->sites.count - 1);
        TTP_TRY(ttp_map_set(&e->allocator, &layout->by_address, address, *index, err));
    }
    const struct ttp_site_seen *seen = (const struct ttp_site_seen *)layout->sites.data + *index;
    return seen->id != TTAPE_NONE ? TTAPE_OK : define_site(e, thread, layout, *index, err);
}

struct ttp_site_seen *ttp_site_at(struct ttp_encode *e, const struct ttp_thread *thread,
                                  uint32_t index)
{
    return (struct ttp_site_seen *)ttp_layout_at(e, ttp_image_at(e, thread->image)->layout)
               ->sites.data +
           index;
}

/* Messages */

/* A parent has said what it is, or has events, before its child says that it is: no image is an
 * ancestor of its own. */
static bool is_told(const struct ttp_encode *e, uint32_t image)
{
    return ttp_image_at(e, image)->layout != TTAPE_NONE;
}

static ttape_status take_process(struct ttp_encode *e, struct ttp_thread *thread,
                                 const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_image *image = ttp_image_at(e, thread->image);
    if (size_bytes < PROCESS_BYTES || image->layout != TTAPE_NONE)
        return TTAPE_OK;
    uint32_t parent = ttp_map_find(&e->image_by_serial, ttp_load64(bytes + 8));
    image->started = ttp_load64(bytes + 16);
    image->pid = ttp_load32(bytes + 24);
    image->parent_pid = ttp_load32(bytes + 28);
    image->path = strndup((const char *)bytes + PROCESS_BYTES, size_bytes - PROCESS_BYTES);
    if (image->path == NULL)
        return ttp_fail_memory(err);
    if (parent != TTAPE_NONE && is_told(e, parent)) {
        image->parent = parent;
        image->layout = ttp_image_at(e, parent)->layout;
        ttp_layout_at(e, image->layout)->users++;
        return e->options.separate_files ? ttp_layout_separate(e, image, err) : TTAPE_OK;
    }
    for (uint32_t i = (uint32_t)e->images.count; parent == TTAPE_NONE && i-- > 0;)
        if (is_told(e, i) && (ttp_image_at(e, i)->pid == image->parent_pid ||
                              ttp_image_at(e, i)->pid == image->pid)) {
            image->parent = i; /* it was executed by this one */
            break;
        }
    return ttp_layout_new(e, image->pid, &image->layout, err);
}

static ttape_status take_module(struct ttp_encode *e, struct ttp_image *image, const uint8_t *bytes,
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
    return ttp_modules_told(e, image, &module, err);
}

ttape_status ttp_image_early_module(struct ttp_encode *e, struct ttp_thread *thread,
                                    const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_image *image = ttp_image_at(e, thread->image);
    struct ttp_growing told = image->incoming;
    image->incoming = (struct ttp_growing){0};
    ttape_status status = take_module(e, image, bytes, size_bytes, err);
    if (status == TTAPE_OK)
        status = ttp_modules_add_new(e, image, err);
    ttp_grown_free(&e->allocator, &image->incoming);
    image->incoming = told;
    return status;
}

/* Modules before the last `count` are of a list that was cut off. If there are fewer, it is not
 * known which modules are gone. */
static ttape_status end_modules(struct ttp_encode *e, struct ttp_image *image, uint32_t count,
                                ttape_error *err)
{
    bool is_complete = ttp_modules_keep_last(e, image, count);
    e->has_peeked = false;
    ttape_status status = ttp_modules_apply(e, image, is_complete, err);
    ttp_modules_clear(e, image);
    return status;
}

ttape_status ttp_image_message(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                               const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_layout *layout;
    e->told_ns = thread->last_ns;
    if (kind == TTP_MESSAGE_PROCESS)
        TTP_TRY(take_process(e, thread, bytes, size_bytes, err));
    TTP_TRY(layout_of(e, thread, &layout, err));
    if (kind == TTP_MESSAGE_SITE && !ttp_told_site_is_new(layout, bytes, size_bytes))
        return TTAPE_OK;
    TTP_TRY(ttp_journal_message(e, thread, kind, bytes, size_bytes, err));
    struct ttp_image *image = ttp_image_at(e, thread->image);
    if (kind == TTP_MESSAGE_MODULE)
        return take_module(e, image, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_SITE)
        return ttp_told_site_take(e, layout, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_MODULES_END && size_bytes >= sizeof(uint32_t))
        return end_modules(e, image, ttp_load32(bytes), err);
    return TTAPE_OK;
}

/* Again, in the file that follows a rotation: every id as it was, so that pieces can be joined. */
static ttape_status define_processes(struct ttp_encode *e, ttape_writer *w, ttape_error *err)
{
    uint32_t id;
    for (size_t i = 0; i < e->processes.count; i++) {
        ttape_process process;
        describe_process(e, ((const uint32_t *)e->processes.data)[i], &process);
        TTP_TRY(ttape_writer_add_process(w, &process, &id, err));
    }
    for (size_t i = 0; i < e->streams.count; i++) {
        ttape_stream stream;
        describe_stream(e, ttp_thread_at(e, ((const uint32_t *)e->streams.data)[i]), &stream);
        TTP_TRY(ttape_writer_add_stream(w, &stream, &id, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_images_define_again(struct ttp_encode *e, ttape_error *err)
{
    uint32_t id;
    ttape_writer *w = e->current->writer;
    const struct ttp_place *at = e->modules.data;
    for (uint32_t i = 0; i < e->layouts.count; i++)
        ttp_layout_at(e, i)->output = e->current;
    TTP_TRY(define_processes(e, w, err));
    for (size_t i = 0; i < e->modules.count; i++) {
        const struct ttp_module_seen *modules = ttp_layout_at(e, at[i].layout)->modules.data;
        TTP_TRY(ttape_writer_add_module(w, &modules[at[i].index].module, &id, err));
    }
    at = e->sites.data;
    for (size_t i = 0; i < e->sites.count; i++) {
        ttape_site site;
        describe_site(ttp_layout_at(e, at[i].layout), at[i].index, &site);
        TTP_TRY(ttape_writer_add_site(w, &site, &id, err));
    }
    return TTAPE_OK;
}

void ttp_images_close(struct ttp_encode *e)
{
    for (uint32_t i = 0; i < e->images.count; i++) {
        ttp_modules_clear(e, ttp_image_at(e, i));
        ttp_grown_free(&e->allocator, &ttp_image_at(e, i)->incoming);
        free(ttp_image_at(e, i)->path);
    }
    for (uint32_t i = 0; i < e->layouts.count; i++)
        ttp_layout_close(e, ttp_layout_at(e, i));
    for (size_t i = 0; i < e->threads.count; i++) {
        struct ttp_thread *thread = ttp_thread_at(e, i);
        ttp_filter_close(e, thread);
        ttp_grown_free(&e->allocator, &thread->frames);
        e->allocator.release(e->allocator.context, thread, sizeof *thread);
    }
    struct ttp_growing *lists[] = {&e->images,  &e->layouts, &e->threads, &e->processes,
                                   &e->streams, &e->modules, &e->sites};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ttp_grown_free(&e->allocator, lists[i]);
    ttp_map_free(&e->allocator, &e->image_by_serial);
    ttp_map_free(&e->allocator, &e->thread_by_serial);
    ttp_map_free(&e->allocator, &e->call_by_key);
}
