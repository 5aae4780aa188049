/* A recording has each context that it entered: one step of arithmetic a call, and a look whether
 * the value is wanted. */
#include <stdlib.h>
#include <string.h>

#include "program/callgraph/edges.h"
#include "tools/callgraph/calls_walk.h"
#include "tools/callgraph/edges_seen.h"
#include "tools/callgraph/graph_functions.h"
#include "tools/calls/losses.h"
#include "tools/context/context_view.h"

/* In the words of a call that are ours. */
enum { VALUE, DEPTH };

struct site {
    uint64_t id;
    bool is_known, is_function;
};

struct walk {
    struct tool_contexts *contexts;
    const struct tool_context_recording *recording;
    const ttape_reader *reader;
    struct tool_site_names names;
    struct site *sites;
    uint32_t site_count;
    uint64_t start_ns;
    uint64_t *ids;
    size_t id_capacity;
};

static const struct site *look_up(struct walk *walk, uint32_t number)
{
    struct site *site = &walk->sites[number];
    ttape_site found;
    ttape_module module;
    if (site->is_known)
        return site;
    site->is_known = true;
    if (ttape_reader_get_site(walk->reader, number, &found) != TTAPE_OK ||
        found.kind != TTAPE_SITE_FUNCTION)
        return site;
    bool has_module = ttape_reader_get_module(walk->reader, found.module, &module) == TTAPE_OK;
    if (!has_module)
        module = (ttape_module){0};
    site->is_function = !tool_is_library_call(walk->reader, &module);
    uint64_t seed = has_module ? tool_module_seed(&module) : 0,
             start = has_module ? module.start : 0;
    site->id = walk->recording->ids == TTAPE_CONTEXT_IDS_ADDRESS
                   ? tool_module_map_address(walk->recording->map, &module, found.address)
                   : ttape_context_id(seed, found.address - start);
    return site;
}

/* Functions of the stack, outermost first; returns how many. */
static uint32_t list_functions(struct walk *walk, const ttape_call *call, uint32_t *sites)
{
    uint32_t count = 0;
    tool_grow((void **)&walk->ids, &walk->id_capacity, call->height + 1u, sizeof *walk->ids);
    for (uint32_t i = 0; i <= call->height; i++) {
        uint32_t number = (call - call->height + i)->site;
        if (number >= walk->site_count || !look_up(walk, number)->is_function)
            continue;
        sites[count] = number;
        walk->ids[count++] = walk->sites[number].id;
    }
    return count;
}

static void tell_answer(struct walk *walk, struct tool_context_wanted *wanted,
                        const ttape_call *call)
{
    uint32_t *sites = tool_allocate(call->height + 1u, sizeof *sites);
    uint32_t count = list_functions(walk, call, sites);
    for (; wanted != NULL;
         wanted = wanted->next == TTAPE_NONE ? NULL : &walk->contexts->wanted[wanted->next]) {
        bool fits = wanted->depth == TOOL_CONTEXT_ANY_DEPTH || wanted->depth == count;
        struct tool_context_answer *found =
            fits ? tool_context_answer(wanted, walk->ids, count) : NULL;
        if (found == NULL)
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (found->names[i] == NULL) {
                const char *name = tool_site_name(&walk->names, sites[i]);
                found->names[i] = tool_copy_text(name, strlen(name));
            }
        if (!found->is_in_recording) {
            found->first_stream = call->stream;
            found->first_event = call->enter_number;
            found->first_ns = (int64_t)(call->enter_ns - walk->start_ns);
        }
        found->is_in_recording = true;
        found->is_xor = walk->recording->operation == TTAPE_CONTEXT_XOR;
        found->entered += tool_call_counts(call);
    }
    free(sites);
}

static void enter_call(void *context, ttape_call *call)
{
    struct walk *walk = context;
    const ttape_call *around = tool_call_around(call);
    uint64_t value =
        around != NULL ? around->user[VALUE] : ttape_context_first(walk->recording->operation);
    uint64_t depth = around != NULL ? around->user[DEPTH] : 0;
    const struct site *site = call->site < walk->site_count ? look_up(walk, call->site) : NULL;
    bool is_function = site != NULL && site->is_function;
    call->user[VALUE] =
        is_function ? ttape_context_enter(walk->recording->operation, value, site->id) : value;
    call->user[DEPTH] = depth + is_function;
    struct tool_context_wanted *wanted =
        is_function ? tool_context_find(walk->contexts, call->user[VALUE]) : NULL;
    if (wanted != NULL)
        tell_answer(walk, wanted, call);
}

static int walk_all(void *context, const struct tool_input *input)
{
    struct walk *walk = context;
    ttape_info info;
    tool_losses_warn(input);
    ttape_reader_get_info(input->reader, &info);
    walk->reader = input->reader;
    walk->start_ns = info.time_first_ns;
    walk->site_count = info.site_count;
    walk->sites = tool_allocate((size_t)info.site_count + 1, sizeof *walk->sites);
    tool_site_names_open_as(&walk->names, input->reader, walk->recording->names);
    int status = tool_calls_walk(input, enter_call, walk);
    tool_site_names_close(&walk->names);
    free(walk->sites);
    free(walk->ids);
    return status;
}

int tool_context_read_recording(struct tool_contexts *contexts,
                                const struct tool_context_recording *recording)
{
    struct walk walk = {.contexts = contexts, .recording = recording};
    return tool_input_run(recording->path, 1, recording->memory_bytes, walk_all, &walk);
}
