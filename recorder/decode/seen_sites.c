/* Sites: functions by their addresses, what programs name themselves, the frames of paths. An id is
 * given when an event first needs it. */
#include "recorder/decode/layouts.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/arena/record.h"

#define TARGETS_MOST    4096u      /* of an address space */
#define CALL_SITES_MOST (1u << 20) /* the same of places of calls */

static ttape_status note_place(struct ttp_encode *e, struct ttp_growing *list, uint32_t layout,
                               uint32_t index, ttape_error *err)
{
    struct ttp_place *place = ttp_push(&e->allocator, list, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = (struct ttp_place){layout, index};
    return TTAPE_OK;
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
                     .symbol = ttp_text_of(seen->symbol),
                     .file = ttp_text_of(seen->file),
                     .path = seen->path};
    if (!ttp_site_is_call(seen))
        return;
    site->address = seen->line; /* F-SIT-11 */
    site->line = 0;
}

/* Asks for the name, once, and whether its calls are wanted. A frame is named by the call in it,
 * which is right before the place where it goes on. What system calls are recorded is chosen in the
 * program. */
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
        if (rules->expect != NULL && module != NULL && seen->kind == TTAPE_SITE_FUNCTION)
            ttp_decode_expect(e, layout, seen->module);
        site->address = seen->kind == TTAPE_SITE_FRAME ? ttp_site_place(seen) : site->address;
        rules->name(rules->context, site, module);
        TTP_TRY(ttp_keep_text(&seen->symbol, site->symbol, err));
        TTP_TRY(ttp_keep_text(&file, site->file, err));
        free(seen->file);
        seen->file = file;
        seen->line = site->line;
    }
    bool is_call = ttp_site_is_call(seen);
    if (ttp_site_is_passive(seen) || ttp_site_is_wait(seen))
        return TTAPE_OK;
    if (rules->select != NULL && (!is_call || rules->of_calls))
        seen->select = rules->select(rules->context, site, module);
    if (!is_call && e->options.is_checkpoint != NULL)
        seen->is_checkpoint = e->options.is_checkpoint(rules->context, site, module);
    if (!is_call && e->options.has_call_site != NULL)
        seen->has_call_site = e->options.has_call_site(rules->context, site, module);
    return TTAPE_OK;
}

static bool find_values(const struct ttp_encode *e, const struct ttp_layout *layout,
                        const struct ttp_site_seen *seen, ttape_site_values *values)
{
    ttape_site site;
    const struct ttp_module_seen *modules = layout->modules.data;
    if (e->options.name_values == NULL || seen->kind != TTAPE_SITE_FUNCTION ||
        seen->module == TTAPE_NONE)
        return false;
    describe_site(layout, (uint32_t)(seen - (const struct ttp_site_seen *)layout->sites.data),
                  &site);
    return e->options.name_values(e->options.values_context, &site, &modules[seen->module].module,
                                  values);
}

static ttape_status name_values(const struct ttp_encode *e, const struct ttp_layout *layout,
                                const struct ttp_site_seen *seen, ttape_writer *writer, uint32_t id,
                                ttape_error *err)
{
    ttape_site_values values = {.enter_count = 0};
    return find_values(e, layout, seen, &values)
               ? ttape_writer_name_values(writer, id, &values, err)
               : TTAPE_OK;
}

/* What rules of a filter say of its calls; once, as name_site. */
static ttape_status judge_site(struct ttp_encode *e, const struct ttp_layout *layout,
                               struct ttp_site_seen *seen, ttape_error *err)
{
    ttape_site site;
    ttape_site_values values = {.enter_count = 0};
    const struct ttp_module_seen *modules = layout->modules.data;
    if (!ttp_judging_is_on(&e->options.conditions))
        return TTAPE_OK;
    describe_site(layout, (uint32_t)(seen - (const struct ttp_site_seen *)layout->sites.data),
                  &site);
    bool has_values = find_values(e, layout, seen, &values);
    return ttp_judging_take(e, seen, &site,
                            seen->module == TTAPE_NONE ? NULL : &modules[seen->module].module,
                            has_values ? &values : NULL, err);
}

/* Another one of the same function, of which this is known already. */
static void share_choice(struct ttp_site_seen *seen, const struct ttp_site_seen *first)
{
    seen->id = first->id;
    seen->select = first->select;
    seen->rules = first->rules;
    seen->first_condition = first->first_condition;
    seen->condition_count = first->condition_count;
    seen->is_checkpoint = first->is_checkpoint;
    seen->has_call_site = first->has_call_site;
}

static uint64_t path_key(const struct ttp_site_seen *seen)
{
    return (uint64_t)seen->path << 32 | seen->line;
}

/* The same system call in another layout of the same file: a key means the same everywhere. Stacks
 * that differ have other keys, and may have the same frames of the application. */
static bool share_call(const struct ttp_encode *e, struct ttp_site_seen *seen)
{
    if (!ttp_is_call_key(seen->address) || e->options.separate_files)
        return false;
    uint32_t found = ttp_map_find(&e->call_by_key, seen->address);
    bool is_same_key = found != TTAPE_NONE;
    if (!is_same_key && seen->path != 0)
        found = ttp_map_find(&e->call_by_path, path_key(seen));
    if (found == TTAPE_NONE)
        return false;
    const struct ttp_place *at = (const struct ttp_place *)e->sites.data + found;
    const struct ttp_site_seen *first =
        (const struct ttp_site_seen *)ttp_layout_at(e, at->layout)->sites.data + at->index;
    if (!is_same_key && strcmp(first->symbol, seen->symbol) != 0)
        return false;
    share_choice(seen, first);
    return true;
}

/* The thread's layout as it is now: looking for a module may have given it one of its own, in which
 * all has its place. */
static struct ttp_layout *layout_now(const struct ttp_encode *e, const struct ttp_thread *thread)
{
    return ttp_layout_at(e, ttp_image_at(e, thread->image)->layout);
}

static struct ttp_site_seen *seen_at(const struct ttp_encode *e, const struct ttp_thread *thread,
                                     uint32_t index)
{
    return (struct ttp_site_seen *)layout_now(e, thread)->sites.data + index;
}

/* Gives a site its id, whose path has one. */
static ttape_status define_one(struct ttp_encode *e, const struct ttp_thread *thread,
                               uint32_t index, ttape_error *err)
{
    ttape_site site;
    struct ttp_layout *layout = layout_now(e, thread);
    struct ttp_site_seen *seen = (struct ttp_site_seen *)layout->sites.data + index;
    const struct ttp_image *image = ttp_image_at(e, thread->image);
    if (share_call(e, seen))
        return TTAPE_OK;
    if (seen->module != TTAPE_NONE)
        TTP_TRY(define_module(e, image, layout, seen->module, err));
    struct ttp_layout *root = ttp_layout_root(e, layout, seen->module);
    const struct ttp_site_seen *first = root == NULL ? NULL : ttp_root_find(root, seen);
    if (first != NULL && first->id != TTAPE_NONE) {
        share_choice(seen, first);
        return TTAPE_OK;
    }
    describe_site(layout, index, &site);
    TTP_TRY(name_site(e, layout, seen, &site, err));
    if (seen->kind == TTAPE_SITE_TARGET && (seen->symbol == NULL || *seen->symbol == '\0'))
        return TTAPE_OK;
    TTP_TRY(judge_site(e, layout, seen, err));
    describe_site(layout, index, &site);
    TTP_TRY(ttape_writer_add_site(layout->output->writer, &site, &seen->id, err));
    TTP_TRY(name_values(e, layout, seen, layout->output->writer, seen->id, err));
    TTP_TRY(note_place(e, &e->sites, image->layout, index, err));
    uint32_t place = (uint32_t)(e->sites.count - 1);
    if (ttp_is_call_key(seen->address))
        TTP_TRY(ttp_map_set(&e->allocator, &e->call_by_key, seen->address, place, err));
    if (ttp_is_call_key(seen->address) && seen->path != 0)
        TTP_TRY(ttp_map_set(&e->allocator, &e->call_by_path, path_key(seen), place, err));
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

/* The site of that kind at an address, made where there is none. */
static ttape_status find_or_add(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                                uint64_t address, uint32_t *index, ttape_error *err)
{
    struct ttp_layout *layout;
    uint32_t module;
    TTP_TRY(ttp_layout_of(e, thread, &layout, err));
    *index = ttp_map_find(ttp_layout_map(layout, kind), address);
    if (*index != TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(module_of(e, thread, address - (kind == TTAPE_SITE_FRAME), &module, err));
    layout = layout_now(e, thread);
    struct ttp_site_seen *added = ttp_push(&e->allocator, &layout->sites, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_site_seen){
        .address = address, .kind = kind, .module = module, .id = TTAPE_NONE};
    *index = (uint32_t)(layout->sites.count - 1);
    return ttp_map_set(&e->allocator, ttp_layout_map(layout, kind), address, *index, err);
}

ttape_status ttp_frame_module(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                              uint32_t *module, ttape_error *err)
{
    uint32_t index;
    TTP_TRY(find_or_add(e, thread, TTAPE_SITE_FRAME, address, &index, err));
    *module = seen_at(e, thread, index)->module;
    return TTAPE_OK;
}

/* One frame more; paths are kept in the order of their ids. */
static ttape_status add_step(struct ttp_encode *e, const struct ttp_thread *thread, uint32_t site,
                             uint32_t *path, ttape_error *err)
{
    const ttape_path step = {.parent = *path, .site = site};
    ttape_writer *w = ttp_output_of(e, thread)->writer;
    TTP_TRY(ttape_writer_add_path(w, &step, path, err));
    if (*path <= e->paths.count)
        return TTAPE_OK;
    ttape_path *kept = ttp_push(&e->allocator, &e->paths, sizeof *kept, err);
    if (kept == NULL)
        return TTAPE_E_MEMORY;
    *kept = step;
    return TTAPE_OK;
}

/* The path that the program told of a site, as ids of the trace. */
static ttape_status define_path(struct ttp_encode *e, struct ttp_thread *thread, uint32_t index,
                                ttape_error *err)
{
    const struct ttp_site_seen told = *seen_at(e, thread, index);
    uint32_t path = 0;
    if (told.is_cut)
        TTP_TRY(add_step(e, thread, TTAPE_NONE, &path, err));
    for (uint32_t i = told.frame_count; i-- > 0;) {
        uint32_t frame;
        const uint64_t *addresses = layout_now(e, thread)->frames.data;
        TTP_TRY(
            find_or_add(e, thread, TTAPE_SITE_FRAME, addresses[told.first_frame + i], &frame, err));
        if (seen_at(e, thread, frame)->id == TTAPE_NONE)
            TTP_TRY(define_one(e, thread, frame, err));
        TTP_TRY(add_step(e, thread, seen_at(e, thread, frame)->id, &path, err));
    }
    seen_at(e, thread, index)->path = path;
    return TTAPE_OK;
}

ttape_status ttp_site_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err)
{
    TTP_TRY(find_or_add(e, thread, TTAPE_SITE_FUNCTION, address, index, err));
    if (seen_at(e, thread, *index)->id != TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(ttp_stream_ready(e, thread, err));
    if (seen_at(e, thread, *index)->has_path)
        TTP_TRY(define_path(e, thread, *index, err));
    return define_one(e, thread, *index, err);
}

ttape_status ttp_block_site_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                               uint32_t *index, ttape_error *err)
{
    TTP_TRY(find_or_add(e, thread, TTAPE_SITE_BLOCK, address, index, err));
    if (seen_at(e, thread, *index)->id != TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(ttp_stream_ready(e, thread, err));
    return define_one(e, thread, *index, err);
}

/* Names what a pointer points to, where that lies in a module: a site of its own, once. A call site
 * is one whether it has a name or not. */
static ttape_status name_target(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                                uint64_t address, ttape_error *err)
{
    struct ttp_layout *layout = layout_now(e, thread);
    const struct ttp_word_map *known = ttp_layout_map(layout, kind);
    uint32_t index = ttp_map_find(known, address);
    if (index == TTAPE_NONE) {
        if (known->count == (kind == TTAPE_SITE_CALL ? CALL_SITES_MOST : TARGETS_MOST) ||
            ttp_module_find(layout, address) == TTAPE_NONE)
            return TTAPE_OK;
        TTP_TRY(find_or_add(e, thread, kind, address, &index, err));
    }
    const struct ttp_site_seen *seen = seen_at(e, thread, index);
    bool is_asked = seen->id != TTAPE_NONE || (kind == TTAPE_SITE_TARGET && seen->symbol != NULL &&
                                               *seen->symbol == '\0'); /* it has no name */
    return is_asked ? TTAPE_OK : define_one(e, thread, index, err);
}

static bool is_place(uint32_t type)
{
    return type == TTP_VALUE_CALL_SITE || type == TTP_VALUE_HOOK_SITE;
}

bool ttp_values_unasked(const struct ttp_encode *e, const struct ttp_thread *thread,
                        uint64_t record, const uint8_t *bytes, uint32_t size)
{
    if (e->options.has_call_site == NULL || size == 0 || bytes[0] != TTP_VALUE_HOOK_SITE ||
        ttp_record_tag(record) != TTP_TAG_ENTER)
        return false;
    uint32_t index = ttp_map_find(&layout_now(e, thread)->by_address, ttp_record_address(record));
    return index != TTAPE_NONE && !seen_at(e, thread, index)->has_call_site;
}

/* Only values with names have targets: system calls show their own as the kernel takes them. */
ttape_status ttp_values_name(struct ttp_encode *e, struct ttp_thread *thread, ttape_value *values,
                             uint32_t count, bool names_pointers, ttape_error *err)
{
    bool has_names = names_pointers && e->options.name_values != NULL;
    for (uint32_t i = 0; i < count; i++) {
        bool is_call = is_place((uint32_t)values[i].type);
        values[i].type = is_call ? TTAPE_VALUE_POINTER : values[i].type;
        if (values[i].number != 0 &&
            (is_call || (has_names && values[i].type == TTAPE_VALUE_POINTER)))
            TTP_TRY(name_target(e, thread, is_call ? TTAPE_SITE_CALL : TTAPE_SITE_TARGET,
                                values[i].number, err));
    }
    return TTAPE_OK;
}

const char *ttp_target_symbol(const struct ttp_encode *e, const struct ttp_thread *thread,
                              uint64_t address)
{
    const struct ttp_layout *layout = layout_now(e, thread);
    uint32_t index = ttp_map_find(&layout->by_call, address);
    index = index == TTAPE_NONE ? ttp_map_find(&layout->by_target, address) : index;
    if (index == TTAPE_NONE)
        return NULL;
    const struct ttp_site_seen *seen = seen_at(e, thread, index);
    struct ttp_layout *root = ttp_layout_root(e, layout, seen->module);
    const struct ttp_site_seen *first = root == NULL ? NULL : ttp_root_find(root, seen);
    const char *symbol = seen->symbol != NULL || first == NULL ? seen->symbol : first->symbol;
    return symbol != NULL && *symbol != '\0' ? symbol : NULL;
}

/* A site takes the choice of the same function elsewhere, as when it was first seen. */
static void share_again(struct ttp_encode *e, const struct ttp_layout *layout)
{
    struct ttp_site_seen *sites = layout->sites.data;
    for (size_t i = 0; i < layout->sites.count; i++) {
        struct ttp_layout *root = ttp_layout_root(e, layout, sites[i].module);
        const struct ttp_site_seen *first = root == NULL ? NULL : ttp_root_find(root, &sites[i]);
        if (sites[i].id == TTAPE_NONE)
            continue;
        if (first != NULL && first != &sites[i])
            share_choice(&sites[i], first);
        else if (sites[i].symbol != NULL || sites[i].path != 0)
            (void)share_call(e, &sites[i]);
    }
}

ttape_status ttp_sites_judge_again(struct ttp_encode *e, ttape_error *err)
{
    const struct ttp_place *at = e->sites.data;
    for (size_t i = 0; i < e->sites.count; i++) {
        ttape_site site;
        struct ttp_layout *layout = ttp_layout_at(e, at[i].layout);
        struct ttp_site_seen *seen = (struct ttp_site_seen *)layout->sites.data + at[i].index;
        seen->select = TTAPE_SELECT_KEEP;
        seen->rules = 0;
        seen->first_condition = seen->condition_count = 0;
        describe_site(layout, at[i].index, &site);
        TTP_TRY(name_site(e, layout, seen, &site, err));
        TTP_TRY(judge_site(e, layout, seen, err));
    }
    for (size_t i = 0; i < e->layouts.count; i++)
        share_again(e, ttp_layout_at(e, i));
    return TTAPE_OK;
}

struct ttp_site_seen *ttp_site_at(struct ttp_encode *e, const struct ttp_thread *thread,
                                  uint32_t index)
{
    return seen_at(e, thread, index);
}

/* A path stands before the sites that it led to, and behind those of its frames, as it did. */
ttape_status ttp_sites_define_again(struct ttp_encode *e, ttape_writer *w, ttape_error *err)
{
    const struct ttp_place *at = e->sites.data;
    const ttape_path *paths = e->paths.data;
    uint32_t id, path = 0;
    for (size_t i = 0; i < e->sites.count; i++) {
        ttape_site site;
        const struct ttp_layout *layout = ttp_layout_at(e, at[i].layout);
        describe_site(layout, at[i].index, &site);
        for (; path < site.path; path++)
            TTP_TRY(ttape_writer_add_path(w, &paths[path], &id, err));
        TTP_TRY(ttape_writer_add_site(w, &site, &id, err));
        TTP_TRY(name_values(
            e, layout, (const struct ttp_site_seen *)layout->sites.data + at[i].index, w, id, err));
    }
    return TTAPE_OK;
}
