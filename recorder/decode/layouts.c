/* Address spaces: the modules that are mapped in them, as programs tell of them, or as the kernel's
 * list shows them when a program calls code that it never told of. */
#include "recorder/decode/layouts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recorder/state/build_id.h"
#include "recorder/state/proc_maps.h"

#define SCAN_PAUSE_MS    50u
#define MODULES_TOLD_MAX 8192u /* in one list: a program that never ends one costs no more */

ttape_status ttp_layout_new(struct ttp_encode *e, uint32_t pid, uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout = ttp_push(&e->allocator, &e->layouts, sizeof *layout, err);
    if (layout == NULL)
        return TTAPE_E_MEMORY;
    layout->users = 1;
    layout->output = e->current;
    layout->root = *index = (uint32_t)(e->layouts.count - 1);
    return e->current != NULL ? TTAPE_OK : ttp_output_begin(e, pid, &layout->output, err);
}

ttape_status ttp_layout_of(struct ttp_encode *e, struct ttp_thread *thread, struct ttp_layout **out,
                           ttape_error *err)
{
    struct ttp_image *image = ttp_image_at(e, thread->image);
    if (image->layout == TTAPE_NONE)
        TTP_TRY(ttp_layout_new(e, image->pid, &image->layout, err));
    *out = ttp_layout_at(e, image->layout);
    return TTAPE_OK;
}

static void free_module(struct ttp_encode *e, struct ttp_module_seen *module)
{
    (void)e;
    free((void *)module->module.path.data);
    free((void *)module->module.build_id.data);
}

ttape_status ttp_keep_bytes(ttape_string *out, const void *data, size_t size_bytes,
                            ttape_error *err)
{
    char *copy = malloc(size_bytes + 1);
    *out = (ttape_string){copy, size_bytes};
    if (copy == NULL)
        return ttp_fail_memory(err);
    if (size_bytes != 0)
        memcpy(copy, data, size_bytes);
    copy[size_bytes] = '\0';
    return TTAPE_OK;
}

ttape_status ttp_keep_text(char **out, ttape_string text, ttape_error *err)
{
    ttape_string copy;
    TTP_TRY(ttp_keep_bytes(&copy, text.data, (size_t)text.size_bytes, err));
    *out = (char *)(uintptr_t)copy.data;
    return TTAPE_OK;
}

ttape_status ttp_modules_add(struct ttp_encode *e, struct ttp_growing *list,
                             const ttape_module *module, ttape_error *err)
{
    struct ttp_module_seen *added = ttp_push(&e->allocator, list, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_module_seen){.module = {.start = module->start, .end = module->end},
                                      .id = TTAPE_NONE};
    TTP_TRY(ttp_keep_bytes(&added->module.path, module->path.data, module->path.size_bytes, err));
    return ttp_keep_bytes(&added->module.build_id, module->build_id.data,
                          module->build_id.size_bytes, err);
}

static bool same_module(const struct ttp_module_seen *a, const struct ttp_module_seen *b)
{
    return a->module.start == b->module.start && a->module.end == b->module.end &&
           ttp_is_same_text(a->module.path, b->module.path) &&
           ttp_is_same_text(a->module.build_id, b->module.build_id);
}

/* One that is gone is another when it comes back: both times are in the trace. */
static bool holds_module(const struct ttp_growing *list, const struct ttp_module_seen *module)
{
    const struct ttp_module_seen *modules = list->data;
    for (size_t i = 0; i < list->count; i++)
        if (!modules[i].is_gone && same_module(&modules[i], module))
            return true;
    return false;
}

static size_t count_present(const struct ttp_growing *list)
{
    const struct ttp_module_seen *modules = list->data;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += !modules[i].is_gone;
    return count;
}

/* Modules never leave the list: sites and files refer to them. One that is gone has no addresses.
 */
static void unmap_missing(struct ttp_layout *layout, const struct ttp_growing *complete,
                          uint64_t told_ns)
{
    struct ttp_module_seen *modules = layout->modules.data;
    for (size_t i = 0; i < layout->modules.count; i++) {
        if (modules[i].is_gone || holds_module(complete, &modules[i]))
            continue;
        modules[i].is_gone = true;
        modules[i].gone_ns = told_ns;
    }
}

/* Which site an address means now: not one in a module that is gone, nor one of which nothing was
 * known and that is in a module now. Those that the program named itself stay what they are. */
static ttape_status index_sites(struct ttp_encode *e, struct ttp_layout *layout, ttape_error *err)
{
    const struct ttp_site_seen *sites = layout->sites.data;
    const struct ttp_module_seen *modules = layout->modules.data;
    ttp_plain_forget(&e->plain);
    ttp_map_free(&e->allocator, &layout->by_address);
    ttp_map_free(&e->allocator, &layout->by_frame);
    ttp_map_free(&e->allocator, &layout->by_target);
    ttp_map_free(&e->allocator, &layout->by_call);
    for (size_t i = 0; i < layout->sites.count; i++) {
        bool is_stale = sites[i].module != TTAPE_NONE
                            ? modules[sites[i].module].is_gone
                            : sites[i].symbol == NULL &&
                                  ttp_module_find(layout, ttp_site_place(&sites[i])) != TTAPE_NONE;
        if (!is_stale)
            TTP_TRY(ttp_map_set(&e->allocator, ttp_layout_map(layout, sites[i].kind),
                                sites[i].address, (uint32_t)i, err));
    }
    return TTAPE_OK;
}

static char *copy_text(const char *s) { return s == NULL ? NULL : strdup(s); }

static ttape_status copy_texts(struct ttp_site_seen *to, const struct ttp_site_seen *from,
                               ttape_error *err)
{
    to->symbol = copy_text(from->symbol);
    to->file = copy_text(from->file);
    bool is_whole =
        (from->symbol == NULL || to->symbol != NULL) && (from->file == NULL || to->file != NULL);
    return is_whole ? TTAPE_OK : ttp_fail_memory(err);
}

static ttape_status copy_modules(struct ttp_encode *e, struct ttp_layout *to,
                                 const struct ttp_layout *from, ttape_error *err)
{
    const struct ttp_module_seen *modules = from->modules.data;
    for (size_t i = 0; i < from->modules.count; i++) {
        TTP_TRY(ttp_modules_add(e, &to->modules, &modules[i].module, err));
        struct ttp_module_seen *copy = (struct ttp_module_seen *)to->modules.data + i;
        copy->is_gone = modules[i].is_gone;
        copy->gone_ns = modules[i].gone_ns;
        if (to->output == from->output) {
            copy->id = modules[i].id;
            copy->module.process = modules[i].module.process;
        }
    }
    return TTAPE_OK;
}

static ttape_status copy_sites(struct ttp_encode *e, struct ttp_layout *to, struct ttp_layout *from,
                               ttape_error *err)
{
    const struct ttp_site_seen *sites = from->sites.data;
    TTP_TRY(ttp_grow(&e->allocator, &to->frames, sizeof(uint64_t), from->frames.count, err));
    to->frames.count = from->frames.count;
    if (from->frames.count != 0)
        memcpy(to->frames.data, from->frames.data, from->frames.count * sizeof(uint64_t));
    for (size_t i = 0; i < from->sites.count; i++) {
        struct ttp_site_seen *copy = ttp_push(&e->allocator, &to->sites, sizeof *copy, err);
        if (copy == NULL)
            return TTAPE_E_MEMORY;
        *copy = sites[i];
        TTP_TRY(copy_texts(copy, &sites[i], err));
        if (to->output != from->output)
            copy->id = TTAPE_NONE;
        if (ttp_map_find(ttp_layout_map(from, sites[i].kind), sites[i].address) == i)
            TTP_TRY(ttp_map_set(&e->allocator, ttp_layout_map(to, sites[i].kind), sites[i].address,
                                (uint32_t)i, err));
    }
    return TTAPE_OK;
}

/* What was not given an id before they parted gets one from the root, whoever needs it first: a
 * function of the file is one, for recovery, too. */
static void share_layout(struct ttp_layout *layout, const struct ttp_layout *from,
                         uint32_t from_index)
{
    if (layout->output != from->output)
        return;
    layout->root = from->root;
    layout->shared = from->root == from_index ? (uint32_t)from->modules.count : from->shared;
}

/* In the same file all keeps its place and its id: calls that are open now end as what they were
 * entered as, and filters know them by their places. */
ttape_status ttp_layout_separate(struct ttp_encode *e, struct ttp_image *image, ttape_error *err)
{
    uint32_t index, old = image->layout;
    TTP_TRY(ttp_layout_new(e, image->pid, &index, err));
    TTP_TRY(copy_modules(e, ttp_layout_at(e, index), ttp_layout_at(e, old), err));
    TTP_TRY(copy_sites(e, ttp_layout_at(e, index), ttp_layout_at(e, old), err));
    share_layout(ttp_layout_at(e, index), ttp_layout_at(e, old), old);
    image->layout = index;
    ttp_layout_at(e, old)->users--;
    return TTAPE_OK;
}

/* `complete`: the list says all; otherwise it adds. */
ttape_status ttp_modules_apply(struct ttp_encode *e, struct ttp_image *image, bool complete,
                               ttape_error *err)
{
    const struct ttp_module_seen *incoming = image->incoming.data;
    struct ttp_layout *layout = ttp_layout_at(e, image->layout);
    bool equal = !complete || count_present(&layout->modules) == image->incoming.count;
    for (size_t i = 0; i < image->incoming.count; i++)
        equal &= holds_module(&layout->modules, &incoming[i]);
    if (equal)
        return TTAPE_OK;
    if (layout->users > 1 && layout->modules.count != 0)
        TTP_TRY(ttp_layout_separate(e, image, err));
    layout = ttp_layout_at(e, image->layout);
    if (complete)
        unmap_missing(layout, &image->incoming, e->told_ns);
    for (size_t i = 0; i < image->incoming.count; i++)
        if (!holds_module(&layout->modules, &incoming[i]))
            TTP_TRY(ttp_modules_add(e, &layout->modules, &incoming[i].module, err));
    return index_sites(e, layout, err);
}

bool ttp_modules_keep_last(struct ttp_encode *e, struct ttp_image *image, uint32_t count)
{
    struct ttp_module_seen *incoming = image->incoming.data;
    if (count > image->incoming.count)
        return false;
    size_t dropped = image->incoming.count - count;
    for (size_t i = 0; i < dropped; i++)
        free_module(e, &incoming[i]);
    if (dropped != 0 && count != 0)
        memmove(incoming, incoming + dropped, count * sizeof *incoming);
    image->incoming.count = count;
    return true;
}

void ttp_modules_clear(struct ttp_encode *e, struct ttp_image *image)
{
    (void)ttp_modules_keep_last(e, image, 0);
}

/* A list names each module once. Where one comes again, another list has begun, and the end of the
 * one before is missing. */
ttape_status ttp_modules_told(struct ttp_encode *e, struct ttp_image *image,
                              const ttape_module *module, ttape_error *err)
{
    struct ttp_module_seen told = {.module = *module};
    if (holds_module(&image->incoming, &told))
        ttp_modules_clear(e, image);
    if (image->incoming.count >= MODULES_TOLD_MAX) /* its end will find that some are missing */
        return TTAPE_OK;
    return ttp_modules_add(e, &image->incoming, module, err);
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

/* One line of /proc/PID/maps: mappings of one file that lie together are one module. Only where
 * nothing is known to be is its file looked at: the rest is left out in the end. */
static ttape_status take_mapping(struct ttp_encode *e, struct ttp_image *image, uint32_t task,
                                 char *line, ttape_error *err)
{
    struct ttp_mapping m;
    if (!ttp_mapping_parse(line, &m) || m.path[0] != '/')
        return TTAPE_OK;
    ttape_string path = {m.path, strlen(m.path)};
    struct ttp_module_seen *modules = image->incoming.data;
    struct ttp_module_seen *last =
        image->incoming.count == 0 ? NULL : &modules[image->incoming.count - 1];
    if (last != NULL && m.offset != 0 && ttp_is_same_text(last->module.path, path)) {
        last->module.end = m.end;
        return TTAPE_OK;
    }
    uint8_t id[TTP_BUILD_ID_BYTES];
    ttape_module module = {.start = m.start, .end = m.end, .path = path};
    if (!overlaps(&ttp_layout_at(e, image->layout)->modules, &module))
        module.build_id = (ttape_string){(const char *)id, ttp_build_id_read(task, &m, id)};
    return ttp_modules_add(e, &image->incoming, &module, err);
}

/* Of image->incoming, what lies where nothing is known to be; empties it. */
ttape_status ttp_modules_add_new(struct ttp_encode *e, struct ttp_image *image, ttape_error *err)
{
    struct ttp_module_seen *found = image->incoming.data;
    size_t kept = 0;
    for (size_t i = 0; i < image->incoming.count; i++)
        if (overlaps(&ttp_layout_at(e, image->layout)->modules, &found[i].module))
            free_module(e, &found[i]);
        else
            found[kept++] = found[i];
    image->incoming.count = kept;
    ttape_status status = kept == 0 ? TTAPE_OK : ttp_modules_apply(e, image, false, err);
    ttp_modules_clear(e, image);
    return status;
}

/* The program called code of a module without a message: of a library it opened just now. */
ttape_status ttp_modules_scan(struct ttp_encode *e, struct ttp_image *image, ttape_error *err)
{
    char path[32], *line = NULL;
    size_t capacity = 0;
    uint64_t now = ttp_now_ms();
    ttape_status status = TTAPE_OK;
    if (image->scanned_ms != 0 && now - image->scanned_ms < SCAN_PAUSE_MS)
        return TTAPE_OK;
    image->scanned_ms = now;
    uint32_t task = ttp_living_task(image->pid);
    (void)snprintf(path, sizeof path, "/proc/%u/maps", task);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return TTAPE_OK;
    struct ttp_growing told = image->incoming;
    image->incoming = (struct ttp_growing){0};
    while (status == TTAPE_OK && getline(&line, &capacity, maps) > 0)
        status = take_mapping(e, image, task, line, err);
    free(line);
    (void)fclose(maps);
    if (status == TTAPE_OK)
        status = ttp_modules_add_new(e, image, err);
    ttp_modules_clear(e, image);
    ttp_grown_free(&e->allocator, &image->incoming);
    image->incoming = told;
    return status;
}

uint32_t ttp_module_find(const struct ttp_layout *layout, uint64_t address)
{
    const struct ttp_module_seen *modules = layout->modules.data;
    for (size_t i = layout->modules.count; i-- > 0;)
        if (!modules[i].is_gone && address >= modules[i].module.start &&
            address < modules[i].module.end)
            return (uint32_t)i;
    return TTAPE_NONE;
}

uint32_t ttp_module_find_gone(const struct ttp_layout *layout, uint64_t address, uint64_t ns)
{
    const struct ttp_module_seen *modules = layout->modules.data;
    for (size_t i = layout->modules.count; i-- > 0;)
        if (modules[i].is_gone && ns <= modules[i].gone_ns && ns != 0 &&
            address >= modules[i].module.start && address < modules[i].module.end)
            return (uint32_t)i;
    return TTAPE_NONE;
}

struct ttp_layout *ttp_layout_root(const struct ttp_encode *e, const struct ttp_layout *layout,
                                   uint32_t module)
{
    return module < layout->shared ? ttp_layout_at(e, layout->root) : NULL;
}

struct ttp_site_seen *ttp_root_find(struct ttp_layout *root, const struct ttp_site_seen *seen)
{
    uint32_t index = ttp_map_find(ttp_layout_map(root, seen->kind), seen->address);
    if (index == TTAPE_NONE)
        return NULL;
    struct ttp_site_seen *site = (struct ttp_site_seen *)root->sites.data + index;
    if (site->module != seen->module || site->kind != seen->kind)
        return NULL;
    bool is_named = site->symbol != NULL && seen->symbol != NULL; /* lines may come with names */
    return is_named && strcmp(site->symbol, seen->symbol) != 0 ? NULL : site;
}

ttape_status ttp_root_put(struct ttp_encode *e, struct ttp_layout *root,
                          const struct ttp_site_seen *seen, ttape_error *err)
{
    struct ttp_site_seen *site = ttp_root_find(root, seen);
    if (site != NULL) {
        site->id = seen->id;
        site->select = seen->select;
        return TTAPE_OK;
    }
    if (((const struct ttp_module_seen *)root->modules.data)[seen->module].is_gone ||
        ttp_map_find(ttp_layout_map(root, seen->kind), seen->address) != TTAPE_NONE)
        return TTAPE_OK;
    site = ttp_push(&e->allocator, &root->sites, sizeof *site, err);
    if (site == NULL)
        return TTAPE_E_MEMORY;
    *site = (struct ttp_site_seen){.address = seen->address,
                                   .module = seen->module,
                                   .kind = seen->kind,
                                   .line = seen->line,
                                   .id = seen->id,
                                   .select = seen->select};
    TTP_TRY(copy_texts(site, seen, err));
    return ttp_map_set(&e->allocator, ttp_layout_map(root, seen->kind), seen->address,
                       (uint32_t)(root->sites.count - 1), err);
}

void ttp_layout_close(struct ttp_encode *e, struct ttp_layout *layout)
{
    for (size_t i = 0; i < layout->modules.count; i++)
        free_module(e, (struct ttp_module_seen *)layout->modules.data + i);
    for (size_t i = 0; i < layout->sites.count; i++) {
        free(((struct ttp_site_seen *)layout->sites.data)[i].symbol);
        free(((struct ttp_site_seen *)layout->sites.data)[i].file);
    }
    ttp_grown_free(&e->allocator, &layout->modules);
    ttp_grown_free(&e->allocator, &layout->sites);
    ttp_grown_free(&e->allocator, &layout->frames);
    ttp_map_free(&e->allocator, &layout->by_address);
    ttp_map_free(&e->allocator, &layout->by_frame);
    ttp_map_free(&e->allocator, &layout->by_target);
    ttp_map_free(&e->allocator, &layout->by_call);
}
