/* Whose records these are: process images, their threads and address spaces, and the sites in them.
 *
 *   thread --> image (one run of one program) --> layout (modules and sites; forked children share
 * it)
 *
 * Ids in the trace file are given when an event first needs them. */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "writer/arena/record.h"
#include "writer/recording/decode/layouts.h"
#include "writer/recording/journal.h"

#define PROCESS_BYTES 32u
#define MODULE_BYTES  20u
#define KIND_MAX      0xFFFFu /* that a trace can hold */
#define SITE_BYTES    18u

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
    if (thread == NULL) {
        r->threads.count -= place != NULL;
        return no_memory(err);
    }
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
        TTP_TRY(ttp_layout_new(r, image->pid, &image->layout, err));
    *out = layout_at(r, image->layout);
    return TTAPE_OK;
}

struct ttp_output *ttp_output_of(ttape_recording *r, const struct ttp_thread *thread)
{
    return layout_at(r, image_at(r, thread->image)->layout)->output;
}

/* The parent in the same file; TTAPE_NONE: there is none. */
static uint32_t parent_here(const ttape_recording *r, uint32_t index)
{
    const struct ttp_image *image = image_at(r, index);
    if (image->parent == TTAPE_NONE || image_at(r, image->parent)->layout == TTAPE_NONE ||
        layout_at(r, image_at(r, image->parent)->layout)->output !=
            layout_at(r, image->layout)->output)
        return TTAPE_NONE;
    return image->parent;
}

static void describe_process(const ttape_recording *r, uint32_t index, ttape_process *process)
{
    const struct ttp_image *image = image_at(r, index);
    const char *slash = image->path == NULL ? NULL : strrchr(image->path, '/');
    *process = (ttape_process){.pid = image->pid,
                               .parent = TTAPE_NONE,
                               .start_time_ns = ttp_clock_ns(r, image->started),
                               .name = text(slash != NULL ? slash + 1 : image->path)};
    if (parent_here(r, index) != TTAPE_NONE)
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

static ttape_status define_one(ttape_recording *r, uint32_t index, ttape_error *err)
{
    ttape_process process;
    struct ttp_image *image = image_at(r, index);
    describe_process(r, index, &process);
    TTP_TRY(ttape_writer_add_process(layout_at(r, image->layout)->output->writer, &process,
                                     &image->process, err));
    r->process_count++;
    return note_id(r, &r->processes, index, err);
}

/* Parents first; a line of them may be as long as there are images. */
static ttape_status define_process(ttape_recording *r, uint32_t index, ttape_error *err)
{
    struct ttp_growing line = {0};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = index; status == TTAPE_OK && i != TTAPE_NONE; i = parent_here(r, i)) {
        if (image_at(r, i)->process != TTAPE_NONE)
            break;
        status = note_id(r, &line, i, err);
    }
    while (status == TTAPE_OK && line.count > 0)
        status = define_one(r, ((const uint32_t *)line.data)[--line.count], err);
    ttp_grown_free(&r->allocator, &line);
    return status;
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

static ttape_status define_module(ttape_recording *r, const struct ttp_image *image,
                                  struct ttp_layout *layout, uint32_t index, ttape_error *err)
{
    struct ttp_module_seen *seen = (struct ttp_module_seen *)layout->modules.data + index;
    if (seen->id != TTAPE_NONE)
        return TTAPE_OK;
    struct ttp_layout *root = ttp_layout_root(r, layout, index);
    struct ttp_module_seen *first =
        root == NULL ? seen : (struct ttp_module_seen *)root->modules.data + index;
    if (first->id == TTAPE_NONE) {
        first->module.process = image->process;
        TTP_TRY(ttape_writer_add_module(layout->output->writer, &first->module, &first->id, err));
        TTP_TRY(
            note_place(r, &r->modules, root == NULL ? image->layout : layout->root, index, err));
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
    struct ttp_layout *root = ttp_layout_root(r, layout, seen->module);
    const struct ttp_site_seen *first = root == NULL ? NULL : ttp_root_find(root, seen);
    if (first != NULL && first->id != TTAPE_NONE) {
        seen->id = first->id;
        seen->select = first->select;
        return TTAPE_OK;
    }
    describe_site(layout, index, &site);
    TTP_TRY(name_site(r, layout, seen, &site, err));
    describe_site(layout, index, &site);
    TTP_TRY(ttape_writer_add_site(layout->output->writer, &site, &seen->id, err));
    TTP_TRY(note_place(r, &r->sites, image->layout, index, err));
    return root == NULL ? TTAPE_OK : ttp_root_put(r, root, seen, err);
}

static uint32_t find_here(const ttape_recording *r, const struct ttp_thread *thread,
                          uint64_t address)
{
    return ttp_module_find(layout_at(r, image_at(r, thread->image)->layout), address);
}

/* Best first: what was told; what is mapped now; what messages that are still to be read tell; what
 * was mapped at the time. */
static ttape_status module_of(ttape_recording *r, struct ttp_thread *thread, uint64_t address,
                              uint32_t *module, ttape_error *err)
{
    *module = find_here(r, thread, address);
    if (*module == TTAPE_NONE) {
        TTP_TRY(ttp_modules_scan(r, image_at(r, thread->image), err));
        *module = find_here(r, thread, address);
    }
    if (*module == TTAPE_NONE) {
        TTP_TRY(ttp_decode_peek_modules(r, thread, err));
        *module = find_here(r, thread, address);
    }
    if (*module == TTAPE_NONE)
        *module = ttp_module_find_gone(layout_at(r, image_at(r, thread->image)->layout), address,
                                       thread->last_ns);
    return TTAPE_OK;
}

ttape_status ttp_site_of(ttape_recording *r, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout;
    TTP_TRY(layout_of(r, thread, &layout, err));
    *index = ttp_map_find(&layout->by_address, address);
    if (*index == TTAPE_NONE) {
        uint32_t module;
        TTP_TRY(module_of(r, thread, address, &module, err));
        layout = layout_at(r, image_at(r, thread->image)->layout); /* it may have its own by now */
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

/* A parent has said what it is, or has events, before its child says that it is: no image is an
 * ancestor of its own. */
static bool is_told(const ttape_recording *r, uint32_t image)
{
    return image_at(r, image)->layout != TTAPE_NONE;
}

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
    if (image->path == NULL)
        return no_memory(err);
    if (parent != TTAPE_NONE && is_told(r, parent)) {
        image->parent = parent;
        image->layout = image_at(r, parent)->layout;
        layout_at(r, image->layout)->users++;
        return r->options.separate_files ? ttp_layout_separate(r, image, err) : TTAPE_OK;
    }
    for (uint32_t i = (uint32_t)r->images.count; parent == TTAPE_NONE && i-- > 0;)
        if (is_told(r, i) &&
            (image_at(r, i)->pid == image->parent_pid || image_at(r, i)->pid == image->pid)) {
            image->parent = i; /* it was executed by this one */
            break;
        }
    return ttp_layout_new(r, image->pid, &image->layout, err);
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
    return ttp_modules_told(r, image, &module, err);
}

ttape_status ttp_image_early_module(ttape_recording *r, struct ttp_thread *thread,
                                    const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_image *image = image_at(r, thread->image);
    struct ttp_growing told = image->incoming;
    image->incoming = (struct ttp_growing){0};
    ttape_status status = take_module(r, image, bytes, size_bytes, err);
    if (status == TTAPE_OK)
        status = ttp_modules_add_new(r, image, err);
    ttp_grown_free(&r->allocator, &image->incoming);
    image->incoming = told;
    return status;
}

static bool is_text(const char *text, ttape_string string)
{
    return text != NULL && strlen(text) == string.size_bytes &&
           memcmp(text, string.data, string.size_bytes) == 0;
}

/* A message about a site; the strings are in the message. */
struct told_site {
    uint64_t address;
    uint32_t kind, line;
    ttape_string symbol, file;
};

static bool parse_site(struct told_site *told, const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < SITE_BYTES)
        return false;
    size_t name_bytes = ttp_load16(bytes + 16), text_bytes = size_bytes - SITE_BYTES;
    uint32_t kind = ttp_load32(bytes + 8);
    const char *text = (const char *)bytes + SITE_BYTES;
    if (name_bytes > text_bytes)
        return false;
    *told = (struct told_site){.address = ttp_load64(bytes),
                               .kind = kind <= KIND_MAX ? kind : TTAPE_SITE_FUNCTION,
                               .line = ttp_load32(bytes + 12),
                               .symbol = {text, name_bytes},
                               .file = {text + name_bytes, text_bytes - name_bytes}};
    return told->address != 0;
}

/* Every thread tells of the sites that it passes. */
static bool is_known(const struct ttp_layout *layout, const struct told_site *told)
{
    uint32_t known = ttp_map_find(&layout->by_address, told->address);
    if (known == TTAPE_NONE)
        return false;
    const struct ttp_site_seen *site = (const struct ttp_site_seen *)layout->sites.data + known;
    return site->kind == told->kind && site->line == told->line &&
           is_text(site->symbol, told->symbol) && is_text(site->file, told->file);
}

static ttape_status take_site(ttape_recording *r, struct ttp_layout *layout,
                              const struct told_site *told, ttape_error *err)
{
    struct ttp_site_seen *added = ttp_push(&r->allocator, &layout->sites, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_site_seen){.address = told->address,
                                    .module = ttp_module_find(layout, told->address),
                                    .kind = told->kind,
                                    .line = told->line,
                                    .id = TTAPE_NONE};
    TTP_TRY(ttp_keep_text(&added->symbol, told->symbol, err));
    TTP_TRY(ttp_keep_text(&added->file, told->file, err));
    return ttp_map_set(&r->allocator, &layout->by_address, told->address,
                       (uint32_t)(layout->sites.count - 1), err);
}

/* What came before so many modules is of a list that was cut off. Where it is not so many, nobody
 * knows what is gone. */
static ttape_status end_modules(ttape_recording *r, struct ttp_image *image, uint32_t count,
                                ttape_error *err)
{
    bool is_complete = ttp_modules_keep_last(r, image, count);
    r->has_peeked = false;
    ttape_status status = ttp_modules_apply(r, image, is_complete, err);
    ttp_modules_clear(r, image);
    return status;
}

ttape_status ttp_image_message(ttape_recording *r, struct ttp_thread *thread, uint32_t kind,
                               const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct ttp_layout *layout;
    struct told_site told = {0};
    r->told_ns = thread->last_ns;
    if (kind == TTP_MESSAGE_PROCESS)
        TTP_TRY(take_process(r, thread, bytes, size_bytes, err));
    TTP_TRY(layout_of(r, thread, &layout, err));
    if (kind == TTP_MESSAGE_SITE &&
        (!parse_site(&told, bytes, size_bytes) || is_known(layout, &told)))
        return TTAPE_OK;
    TTP_TRY(ttp_journal_message(r, thread, kind, bytes, size_bytes, err));
    struct ttp_image *image = image_at(r, thread->image);
    if (kind == TTP_MESSAGE_MODULE)
        return take_module(r, image, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_SITE)
        return take_site(r, layout, &told, err);
    if (kind == TTP_MESSAGE_MODULES_END && size_bytes >= sizeof(uint32_t))
        return end_modules(r, image, ttp_load32(bytes), err);
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
        describe_stream(
            r, ((struct ttp_thread **)r->threads.data)[((const uint32_t *)r->streams.data)[i]],
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

void ttp_images_close(ttape_recording *r)
{
    for (uint32_t i = 0; i < r->images.count; i++) {
        ttp_modules_clear(r, image_at(r, i));
        ttp_grown_free(&r->allocator, &image_at(r, i)->incoming);
        free(image_at(r, i)->path);
    }
    for (uint32_t i = 0; i < r->layouts.count; i++)
        ttp_layout_close(r, layout_at(r, i));
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
