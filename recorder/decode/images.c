/* Where records come from: process images, their threads and address spaces, the sites in them.
 *
 *   thread --> image (one run of one program) --> layout (modules and sites; forked children share
 * it)
 *
 * Ids in the trace file are given when an event first needs them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/base/bytes.h"
#include "recorder/arena/record.h"
#include "recorder/decode/layouts.h"
#include "recorder/decode/thread_names.h"
#include "recorder/state/journal.h"

#define PROCESS_BYTES 32u
#define MODULE_BYTES  20u

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
    ttp_thread_take_name(e, thread);
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

/* What people call the program. */
static const char *called(const struct ttp_image *image)
{
    return image->link != NULL ? image->link : image->path;
}

static void describe_process(struct ttp_encode *e, uint32_t index, ttape_process *process)
{
    const struct ttp_image *image = ttp_image_at(e, index);
    const char *path = called(image), *slash = path == NULL ? NULL : strrchr(path, '/');
    *process = (ttape_process){.pid = image->pid,
                               .parent = TTAPE_NONE,
                               .start_time_ns = ttp_clock_ns(&e->clock, image->started),
                               .name = ttp_text_of(slash != NULL ? slash + 1 : path)};
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
    TTP_TRY(ttp_layout_of(e, thread, &layout, err));
    TTP_TRY(define_process(e, thread->image, err));
    describe_stream(e, thread, &stream);
    TTP_TRY(ttape_writer_add_stream(layout->output->writer, &stream, &thread->stream, err));
    thread->first_file = e->outputs.count;
    e->thread_count++;
    return note_id(e, &e->streams, ttp_map_find(&e->thread_by_serial, thread->serial), err);
}

/* Messages */

/* A parent has said what it is, or has events, before its child says that it is: no image is an
 * ancestor of its own. */
static bool is_told(const struct ttp_encode *e, uint32_t image)
{
    return ttp_image_at(e, image)->layout != TTAPE_NONE;
}

/* A link of the kernel's own (/proc/self/exe) means another file to each who asks. */
static bool is_name(const char *link, size_t size_bytes)
{
    static const char *const kernels[] = {"/proc/", "/dev/"};
    bool is_kernels = false;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        is_kernels = is_kernels || (size_bytes > strlen(kernels[i]) &&
                                    memcmp(link, kernels[i], strlen(kernels[i])) == 0);
    return size_bytes > 0 && link[0] == '/' && !is_kernels;
}

/* The program's path; behind a 0 byte that of a link. */
static ttape_status take_path(struct ttp_image *image, const char *text, size_t size_bytes,
                              ttape_error *err)
{
    const char *end = memchr(text, '\0', size_bytes);
    image->path = strndup(text, size_bytes);
    if (image->path == NULL)
        return ttp_fail_memory(err);
    size_t link_bytes = end == NULL ? 0 : size_bytes - (size_t)(end + 1 - text);
    if (end == NULL || !is_name(end + 1, link_bytes))
        return TTAPE_OK;
    image->link = strndup(end + 1, link_bytes);
    return image->link == NULL ? ttp_fail_memory(err) : TTAPE_OK;
}

/* A forked child is called as its parent is. */
static ttape_status inherit_link(struct ttp_image *image, const struct ttp_image *parent,
                                 ttape_error *err)
{
    if (image->link != NULL || parent->link == NULL || parent->path == NULL ||
        strcmp(parent->path, image->path) != 0)
        return TTAPE_OK;
    image->link = strdup(parent->link);
    return image->link == NULL ? ttp_fail_memory(err) : TTAPE_OK;
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
    TTP_TRY(take_path(image, (const char *)bytes + PROCESS_BYTES, size_bytes - PROCESS_BYTES, err));
    if (parent != TTAPE_NONE && is_told(e, parent)) {
        image->parent = parent;
        TTP_TRY(inherit_link(image, ttp_image_at(e, parent), err));
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

/* A link may lead elsewhere later: without a build id nobody would know. */
ttape_string ttp_image_executable(const struct ttp_image *image, bool has_build_id)
{
    return ttp_text_of(has_build_id ? called(image) : image->path);
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
        module.path = ttp_text_of(image->path);
    if (ttp_is_same_text(module.path, ttp_text_of(image->path)))
        module.path = ttp_image_executable(image, id_bytes != 0);
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
    uint8_t part[TTP_PATH_PART_BYTES];
    e->told_ns = thread->last_ns;
    if (kind == TTP_MESSAGE_PROCESS)
        TTP_TRY(take_process(e, thread, bytes, size_bytes, err));
    TTP_TRY(ttp_layout_of(e, thread, &layout, err));
    if (kind == TTP_MESSAGE_SITE && !ttp_told_site_is_new(layout, bytes, size_bytes))
        return TTAPE_OK;
    if (kind == TTP_MESSAGE_PATH) {
        if (!ttp_told_path_is_new(layout, bytes, size_bytes))
            return TTAPE_OK;
        TTP_TRY(ttp_path_application(e, thread, &bytes, &size_bytes, part, err));
        TTP_TRY(ttp_layout_of(e, thread, &layout, err));
    }
    TTP_TRY(ttp_journal_message(e, thread, kind, bytes, size_bytes, err));
    struct ttp_image *image = ttp_image_at(e, thread->image);
    if (kind == TTP_MESSAGE_MODULE)
        return take_module(e, image, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_SITE)
        return ttp_told_site_take(e, layout, bytes, size_bytes, err);
    if (kind == TTP_MESSAGE_PATH)
        return ttp_told_path_take(e, layout, bytes, size_bytes, err);
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
    return ttp_sites_define_again(e, w, err);
}

void ttp_images_close(struct ttp_encode *e)
{
    for (uint32_t i = 0; i < e->images.count; i++) {
        ttp_modules_clear(e, ttp_image_at(e, i));
        ttp_grown_free(&e->allocator, &ttp_image_at(e, i)->incoming);
        free(ttp_image_at(e, i)->path);
        free(ttp_image_at(e, i)->link);
    }
    for (uint32_t i = 0; i < e->layouts.count; i++)
        ttp_layout_close(e, ttp_layout_at(e, i));
    for (size_t i = 0; i < e->threads.count; i++) {
        struct ttp_thread *thread = ttp_thread_at(e, i);
        ttp_filter_close(e, thread);
        ttp_grown_free(&e->allocator, &thread->frames);
        e->allocator.release(e->allocator.context, thread, sizeof *thread);
    }
    struct ttp_growing *lists[] = {&e->changes, &e->images,    &e->layouts,           &e->threads,
                                   &e->names,   &e->processes, &e->streams,           &e->modules,
                                   &e->sites,   &e->paths,     &e->judging.conditions};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ttp_grown_free(&e->allocator, lists[i]);
    ttp_map_free(&e->allocator, &e->image_by_serial);
    ttp_map_free(&e->allocator, &e->thread_by_serial);
    ttp_map_free(&e->allocator, &e->call_by_key);
    ttp_map_free(&e->allocator, &e->call_by_path);
}
