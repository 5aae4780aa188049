/* Calls become counts and times of nodes, functions and modules. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/time_sum.h"
#include "tools/command/tool.h"
#include "tools/kernel/system_module.h"
#include "tools/syscalls/syscalls_view.h"

/* ---- whose a module is ---- */

static bool matches(const regex_t *regex, ttape_string text)
{
    char *copy = tool_copy_text(text.data, text.size_bytes);
    bool found = regexec(regex, copy, 0, NULL, 0) == 0;
    free(copy);
    return found;
}

/* Of whatever run in the file. */
static bool is_executable(const ttape_reader *reader, ttape_string path)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (ttp_is_same_text(entry.key, (ttape_string){"executable", 10}) &&
            ttp_is_same_text(entry.text, path))
            return true;
    return false;
}

/* Libraries that come with the system are not the application; what nobody knows is. */
static bool is_own_module(const struct tool_sys *view, ttape_string path)
{
    if (view->asked.own != NULL)
        return matches(view->asked.own, path);
    return !tool_is_system_module(path) || is_executable(view->reader, path);
}

static void find_own(struct tool_sys *view)
{
    bool *own = tool_allocate(view->module_count + 1u, sizeof(bool));
    for (uint32_t i = 0; i < view->module_count; i++)
        own[i] = is_own_module(view, tool_module_path(view->reader, i));
    own[view->module_count] = is_own_module(view, (ttape_string){"", 0});
    view->is_own = tool_allocate(view->functions.count, sizeof(bool));
    for (uint32_t i = 0; i < view->functions.count; i++) {
        uint32_t module = view->functions.functions[i].module;
        view->is_own[i] = own[module < view->module_count ? module : view->module_count];
    }
    free(own);
}

/* Processes have modules of their own that are one file. */
static void join_modules(struct tool_sys *view)
{
    struct ttp_key_map map = {0};
    view->module_of = tool_allocate(view->module_count + 1u, sizeof(uint32_t));
    for (uint32_t i = 0; i < view->module_count; i++) {
        ttape_string path = tool_module_path(view->reader, i);
        struct ttp_hash hash = ttp_key_map_hash(&map);
        ttp_hash_bytes(&hash, path.data, path.size_bytes);
        uint32_t *place;
        uint64_t key = hash.low ^ hash.high;
        while (*(place = tool_map_at(&map, key, i)) != i &&
               !ttp_is_same_text(path, tool_module_path(view->reader, *place)))
            key++;
        view->module_of[i] = *place;
    }
    tool_map_close(&map);
}

/* `count` grows to `to`; the last one stays the last. */
static struct tool_sys_sum *grow_sums(struct tool_sys_sum *sums, uint32_t count, uint32_t to)
{
    struct tool_sys_sum *grown = tool_allocate(to, sizeof(*grown));
    if (count > 0) {
        memcpy(grown, sums, (count - 1) * sizeof(*grown));
        grown[to - 1] = sums[count - 1];
    }
    free(sums);
    return grown;
}

static void grow_paths(struct tool_sys *view, uint32_t count)
{
    uint32_t *grown = tool_allocate(count + 1u, sizeof(*grown));
    if (view->path_nodes != NULL)
        memcpy(grown, view->path_nodes, (view->path_count + 1u) * sizeof(*grown));
    free(view->path_nodes);
    view->path_nodes = grown;
    view->path_count = count;
}

/* The unknown function has the last number always. */
static void renumber_unknown(struct tool_sys *view, uint32_t before)
{
    tool_map_close(&view->children);
    view->children = (struct ttp_key_map){0};
    for (uint32_t i = 1; i < view->node_count; i++) {
        struct tool_sys_node *node = &view->nodes[i];
        if (node->function == before)
            node->function = view->functions.count - 1;
        *tool_map_at(&view->children, (uint64_t)node->parent << 32 | node->function, i) = i;
    }
    for (size_t i = 0; i < view->left_count; i++)
        if (view->left[i].call.function == before)
            view->left[i].call.function = view->functions.count - 1;
}

bool tool_sys_grow_view(struct tool_sys *view)
{
    ttape_info info;
    ttape_reader_get_info(view->reader, &info);
    uint32_t functions = view->functions.count, modules = view->module_count;
    uint32_t sums = view->by_module != NULL ? modules + 1u : 0;
    bool has_paths = ttape_reader_path_count(view->reader) != view->path_count;
    if (has_paths || view->path_nodes == NULL)
        grow_paths(view, ttape_reader_path_count(view->reader));
    if (sums > 0 && info.site_count == view->functions.site_count && info.module_count == modules)
        return has_paths;
    tool_functions_close(&view->functions);
    tool_site_names_close(&view->names);
    free(view->is_own);
    free(view->module_of);
    view->module_count = info.module_count;
    tool_functions_open(&view->functions, view->reader);
    tool_site_names_open_as(&view->names, view->reader, view->name_style);
    find_own(view);
    join_modules(view);
    view->by_function = grow_sums(view->by_function, functions, view->functions.count);
    if (view->asked.by == TOOL_SYS_BY_CALL)
        tool_sys_sizes_grow(&view->sizes, view->functions.count);
    view->by_module = grow_sums(view->by_module, sums, view->module_count + 1u);
    for (size_t i = 0; i < view->left_count; i++)
        if (view->left[i].call.module == modules)
            view->left[i].call.module = view->module_count;
    if (functions > 0 && functions != view->functions.count)
        renumber_unknown(view, functions - 1);
    return true;
}

void tool_sys_open_view(struct tool_sys *view, const struct tool_input *input,
                        const struct tool_sys_asked *asked, enum tool_name_style names)
{
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    *view = (struct tool_sys){.input = input,
                              .reader = input->reader,
                              .asked = *asked,
                              .name_style = names,
                              .start_ns = info.time_first_ns};
    (void)tool_sys_grow_view(view);
    tool_grow((void **)&view->nodes, &view->node_capacity, 1, sizeof(*view->nodes));
    view->nodes[view->node_count++] = (struct tool_sys_node){.function = TOOL_SYS_CUT};
}

void tool_sys_close_view(struct tool_sys *view)
{
    tool_functions_close(&view->functions);
    tool_site_names_close(&view->names);
    tool_map_close(&view->children);
    tool_sys_list_free(view);
    free(view->is_own);
    free(view->module_of);
    free(view->nodes);
    free(view->path_nodes);
    free(view->open);
    free(view->left);
    free(view->by_function);
    free(view->by_module);
    tool_sys_sizes_close(&view->sizes);
    *view = (struct tool_sys){0};
}

/* ---- the tree of paths ---- */

uint32_t tool_sys_child(struct tool_sys *view, uint32_t node, uint32_t function)
{
    uint32_t *place = tool_map_at(&view->children, (uint64_t)node << 32 | function, TOOL_SYS_ROOT);
    if (*place == TOOL_SYS_ROOT) {
        *place = (uint32_t)view->node_count;
        tool_grow((void **)&view->nodes, &view->node_capacity, view->node_count + 1,
                  sizeof(*view->nodes));
        view->nodes[view->node_count++] = (struct tool_sys_node){
            .parent = node, .depth = view->nodes[node].depth + 1, .function = function};
    }
    return *place;
}

uint32_t tool_sys_path_node(struct tool_sys *view, uint32_t path)
{
    ttape_path found = {0};
    uint32_t count = 0, at = path, node = TOOL_SYS_ROOT;
    if (ttape_reader_get_path(view->reader, path, &found) != TTAPE_OK)
        return TOOL_SYS_ROOT;
    uint32_t depth = found.depth, *steps = tool_allocate(depth + 1u, sizeof(*steps));
    for (; at != 0 && view->path_nodes[at] == 0 && count < depth; at = found.parent) {
        (void)ttape_reader_get_path(view->reader, at, &found);
        steps[count++] = at;
    }
    node = at == 0 ? TOOL_SYS_ROOT : view->path_nodes[at] - 1;
    while (count > 0) {
        (void)ttape_reader_get_path(view->reader, steps[--count], &found);
        uint32_t function = found.site == TTAPE_NONE
                                ? TOOL_SYS_CUT
                                : tool_function_of(&view->functions, found.site);
        if (!view->asked.application || (function != TOOL_SYS_CUT && view->is_own[function]))
            node = tool_sys_child(view, node, function);
        view->path_nodes[steps[count]] = node + 1;
    }
    free(steps);
    return node;
}

/* ---- calls ---- */

static void add_sum(struct tool_sys_sum *sum, int64_t time_ns, int64_t duration_ns, bool is_error)
{
    sum->calls++;
    sum->errors += is_error;
    ttp_sum_ns(&sum->time_ns, time_ns);
    sum->longest_ns = duration_ns > sum->longest_ns ? duration_ns : sum->longest_ns;
}

/* How deep two paths are the same. */
static uint32_t common_depth(const struct tool_sys *view, uint32_t a, uint32_t b)
{
    while (a != b)
        if (view->nodes[a].depth >= view->nodes[b].depth)
            a = view->nodes[a].parent;
        else
            b = view->nodes[b].parent;
    return view->nodes[a].depth;
}

/* The module in which the path leaves the application: that of its last frame there; of a call
 * without a path its own. */
static uint32_t module_of(const struct tool_sys *view, uint32_t node, uint32_t function)
{
    for (; node != TOOL_SYS_ROOT; node = view->nodes[node].parent) {
        uint32_t step = view->nodes[node].function;
        if (step < view->functions.count && view->is_own[step]) {
            function = step;
            break;
        }
    }
    uint32_t module = view->functions.functions[function].module;
    return module < view->module_count ? view->module_of[module] : view->module_count;
}

/* The path from the outermost function on that is asked for; false: it has none. */
static bool cut_through(struct tool_sys *view, uint32_t *node)
{
    uint32_t first = TOOL_SYS_ROOT, at;
    if (view->asked.through == NULL)
        return true;
    for (at = *node; at != TOOL_SYS_ROOT; at = view->nodes[at].parent)
        if (view->nodes[at].function < view->functions.count &&
            view->asked.through[view->nodes[at].function] != 0)
            first = at;
    if (first == TOOL_SYS_ROOT)
        return false;
    uint32_t depth = view->nodes[*node].depth - view->nodes[first].depth + 1;
    uint32_t *steps = tool_allocate(depth, sizeof(*steps));
    at = *node;
    for (uint32_t i = depth; i > 0; i--, at = view->nodes[at].parent)
        steps[i - 1] = view->nodes[at].function;
    *node = TOOL_SYS_ROOT;
    for (uint32_t i = 0; i < depth; i++)
        *node = tool_sys_child(view, *node, steps[i]);
    free(steps);
    return true;
}

/* Whether they are called the same: a library's function, and the call that it makes. */
static bool is_namesake(struct tool_sys *view, uint32_t step, uint32_t function)
{
    const ttape_function *functions = view->functions.functions;
    if (step >= view->functions.count || function >= view->functions.count)
        return false;
    ttape_string a = tool_site_text(&view->names, functions[step].site);
    ttape_string b = tool_site_text(&view->names, functions[function].site);
    return a.size_bytes != 0 && ttp_is_same_text(a, b);
}

/* The stack that led to a call within another one does not know that one: it has the library's
 * function at most. So the path goes through the call, in the place of that. */
static uint32_t path_through(struct tool_sys *view, uint32_t node,
                             const struct tool_sys_open *around)
{
    uint32_t base = view->nodes[around->whole].parent, at, first = node;
    uint32_t base_depth = view->nodes[base].depth, depth = view->nodes[node].depth;
    if (view->asked.application || around->is_unsampled || depth < base_depth ||
        (base == TOOL_SYS_ROOT && depth > 0))
        return node;
    uint32_t *steps = tool_allocate(depth + 1u, sizeof(*steps)), count = 0;
    for (at = node; view->nodes[at].depth > base_depth; at = view->nodes[at].parent) {
        first = at;
        steps[count++] = view->nodes[at].function;
    }
    if (at == base && (count == 0 || first != around->whole)) {
        node = around->whole;
        if (count > 0 && is_namesake(view, steps[count - 1], around->function))
            count--;
        while (count > 0)
            node = tool_sys_child(view, node, steps[--count]);
    }
    free(steps);
    return node;
}

uint64_t tool_sys_begin(struct tool_sys *view, uint32_t node, uint32_t site, bool has_stack)
{
    uint32_t function = tool_function_of(&view->functions, site);
    struct tool_sys_open call = {.number = ++view->begin_count,
                                 .function = function,
                                 .is_unsampled = view->needs_stacks && !has_stack};
    call.module = module_of(view, node, function);
    if (view->open_count > 0)
        node = path_through(view, node, &view->open[view->open_count - 1]);
    call.whole = view->asked.application ? node : tool_sys_child(view, node, function);
    call.node = call.whole;
    call.counts = !call.is_unsampled && (view->asked.to == NULL || view->asked.to[function] != 0) &&
                  cut_through(view, &call.node);
    for (size_t i = 0; i < view->open_count; i++) {
        const struct tool_sys_open *around = &view->open[i];
        call.is_inner |= around->is_unsampled == call.is_unsampled;
        if (!around->counts)
            continue;
        uint32_t common = common_depth(view, call.node, around->node);
        call.fresh = common > call.fresh ? common : call.fresh;
        call.is_same_call |= around->function == function;
        call.is_same_module |= around->module == call.module;
        call.is_shown_inner = true;
    }
    tool_grow((void **)&view->open, &view->open_capacity, view->open_count + 1,
              sizeof(*view->open));
    view->open[view->open_count++] = call;
    return call.number;
}

static void add_shown(struct tool_sys *view, const struct tool_sys_open *call, int64_t duration_ns,
                      bool is_error)
{
    int64_t own_ns = ttp_change_ns(call->nested_ns, duration_ns);
    add_sum(&view->shown, call->is_shown_inner ? 0 : duration_ns, duration_ns, is_error);
    add_sum(&view->by_function[call->function], call->is_same_call ? 0 : duration_ns, duration_ns,
            is_error);
    tool_sys_sizes_add(&view->sizes, call->function, duration_ns);
    add_sum(&view->by_module[call->module], call->is_same_module ? 0 : duration_ns, duration_ns,
            is_error);
    add_sum(&view->nodes[call->node].exact, own_ns, duration_ns, is_error);
    for (uint32_t at = call->node;; at = view->nodes[at].parent) {
        struct tool_sys_node *node = &view->nodes[at];
        bool is_fresh = !call->is_shown_inner || node->depth > call->fresh;
        add_sum(&node->within, is_fresh ? duration_ns : 0, duration_ns, is_error);
        if (at == TOOL_SYS_ROOT)
            break;
    }
}

void tool_sys_end(struct tool_sys *view, uint64_t number, int64_t duration_ns, bool is_error)
{
    size_t at = view->open_count;
    while (at > 0 && view->open[at - 1].number != number)
        at--;
    if (at-- == 0)
        return;
    struct tool_sys_open call = view->open[at];
    view->open_count--;
    memmove(&view->open[at], &view->open[at + 1], (view->open_count - at) * sizeof(call));
    if (at > 0)
        ttp_sum_ns(&view->open[at - 1].nested_ns, duration_ns);
    add_sum(call.is_unsampled ? &view->without_stack : &view->all, call.is_inner ? 0 : duration_ns,
            duration_ns, is_error);
    if (call.counts && (!view->asked.failed || is_error))
        add_shown(view, &call, duration_ns, is_error);
}
