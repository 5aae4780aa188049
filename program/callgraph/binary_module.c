/* One file: its functions, and what their code does, as relations. */
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "program/binary/plans/plan_module.h"
#include "program/callgraph/binary_strings.h"

#define SHORT     "it would take too much memory"
#define PAGE_MASK (~(uint64_t)4095)

struct reading {
    struct tool_binary_graph *graph;
    uint32_t module, machine; /* that is followed */
};

uint64_t tool_binary_name_hash(struct tool_binary_graph *graph, const char *name, size_t size_bytes)
{
    struct ttp_hash hash = ttp_key_map_hash(&graph->exported);
    ttp_hash_bytes(&hash, name, size_bytes);
    return hash.low ^ hash.high;
}

uint32_t tool_binary_machine_at(const struct tool_binary_graph *graph, uint32_t module,
                                uint64_t address)
{
    const struct tool_code *code = &graph->modules[module]->code;
    if (!tool_code_holds(code, address))
        return TTAPE_NONE;
    size_t number = tool_code_function_at(code, (uint32_t)address);
    return number < code->function_count && code->functions[number].start == address
               ? tool_binary_machine(graph, module, (uint32_t)number)
               : TTAPE_NONE;
}

static void name_hooked(struct ttp_region *region, struct tool_edge_function *function,
                        const char *name, const char *path, uint64_t offset)
{
    char text[300];
    if (function->name != NULL)
        return;
    if (name == NULL) {
        (void)snprintf(text, sizeof text, "%.200s+0x%llx", ttp_base_name(path),
                       (unsigned long long)offset);
        name = text;
    }
    size_t size = strlen(name);
    function->name = ttp_region_take(region, size * TTP_ESCAPE_MAX + 1, 1);
    if (function->name != NULL)
        (void)ttp_escape(function->name, TTP_ESCAPE_TERMINAL, name, size);
}

struct tool_hooked *tool_binary_hooked(struct tool_binary_graph *graph, uint32_t module,
                                       uint32_t address)
{
    const struct tool_binary_module *of = graph->modules[module];
    struct ttp_region *region = &graph->edges->region;
    uint32_t *number = ttp_region_at(region, &graph->hooked_by_place,
                                     (uint64_t)module << 32 | address, TTAPE_NONE);
    if (*number != TTAPE_NONE)
        return &graph->hooked[*number];
    size_t machine = tool_code_function_at(&of->code, address);
    uint64_t offset = address - of->start;
    uint32_t function = tool_edges_function(graph->edges, ttape_context_id(of->seed, offset));
    struct tool_edge_function *edge = &graph->edges->functions[function];
    name_hooked(region, edge,
                machine < of->code.function_count ? of->code.functions[machine].name : NULL,
                of->path, offset);
    edge->module = module + 1;
    if (graph->ids == TTAPE_CONTEXT_IDS_ADDRESS && of->is_mapped)
        edge->id = of->mapped + offset;
    struct tool_hooked *hooked = ttp_region_add(region, &graph->hooked, &graph->hooked_count,
                                                &graph->hooked_capacity, sizeof *hooked);
    if (hooked == NULL)
        return &graph->hooked[0];
    *number = (uint32_t)graph->hooked_count - 1;
    *hooked = (struct tool_hooked){.module = module, .address = address, .function = function};
    return hooked;
}

/* ---- relations ---- */

/* Of the hooked function `in`, or of the machine function where none is open; each once. */
static uint32_t relate(struct reading *reading, uint32_t in, enum tool_relation_kind kind,
                       uint32_t to, uint32_t edge_kinds)
{
    struct tool_binary_graph *graph = reading->graph;
    uint32_t *first = &graph->machines[reading->machine].first_relation;
    uint64_t who = (uint64_t)reading->machine << 1;
    if (in != TOOL_FLOW_NONE_OPEN) {
        struct tool_hooked *hooked = tool_binary_hooked(graph, reading->module, in);
        first = &hooked->first_relation;
        who = (uint64_t)(hooked - graph->hooked) << 1 | 1;
    }
    struct ttp_hash hash = ttp_key_map_hash(&graph->relation_by_what);
    ttp_hash_word(&hash, who);
    ttp_hash_word(&hash, (uint64_t)kind << 32 | to);
    uint32_t *number = ttp_region_at(&graph->edges->region, &graph->relation_by_what,
                                     hash.low ^ hash.high, TTAPE_NONE);
    if (*number != TTAPE_NONE) {
        graph->relations[*number].edge_kinds |= edge_kinds;
        return *number;
    }
    struct tool_relation *relation =
        ttp_region_add(&graph->edges->region, &graph->relations, &graph->relation_count,
                       &graph->relation_capacity, sizeof *relation);
    if (relation == NULL)
        return 0;
    *relation = (struct tool_relation){
        .next = *first, .to = to, .edge_kinds = edge_kinds, .kind = (uint8_t)kind};
    *first = (uint32_t)graph->relation_count;
    return *number = *first - 1;
}

static void relate_call(struct reading *reading, uint32_t in, uint32_t machine, uint32_t edge_kinds)
{
    uint64_t both = (uint64_t)reading->machine << 32 | machine;
    uint32_t number = relate(reading, in, TOOL_RELATION_CALLS, machine, edge_kinds);
    *ttp_region_at(&reading->graph->edges->region, &reading->graph->by_call, both, 0) = number + 1;
}

void tool_binary_called(struct tool_binary_graph *graph, uint32_t from, uint32_t to,
                        uint32_t edge_kinds)
{
    uint32_t number = ttp_key_map_find(&graph->by_call, (uint64_t)from << 32 | to, 0);
    struct reading reading = {.graph = graph, .machine = from};
    if (number != 0) {
        graph->relations[number - 1].edge_kinds |= edge_kinds;
        return;
    }
    while (from - graph->modules[reading.module]->first_machine >=
           graph->modules[reading.module]->code.function_count)
        reading.module++;
    const struct tool_binary_module *module = graph->modules[reading.module];
    uint32_t start = module->code.functions[from - module->first_machine].start;
    bool is_hooked =
        ttp_key_map_find(&graph->hooked_by_place, (uint64_t)reading.module << 32 | start,
                         TTAPE_NONE) != TTAPE_NONE;
    relate_call(&reading, is_hooked ? start : TOOL_FLOW_NONE_OPEN, to, edge_kinds);
}

static uint32_t hooked_at(const struct reading *reading, uint32_t address)
{
    return (uint32_t)(tool_binary_hooked(reading->graph, reading->module, address) -
                      reading->graph->hooked);
}

static void enter_function(void *context, uint32_t in, uint32_t address)
{
    struct reading *reading = context;
    relate(reading, in, TOOL_RELATION_ENTERS, hooked_at(reading, address),
           in == TOOL_FLOW_NONE_OPEN ? TOOL_EDGE_DIRECT : TOOL_EDGE_INLINED);
}

static uint32_t name_number(struct tool_binary_graph *graph, const char *name)
{
    struct ttp_region *region = &graph->edges->region;
    uint32_t *number = ttp_region_at(region, &graph->name_by_hash,
                                     tool_binary_name_hash(graph, name, strlen(name)), 0);
    const char *copy = *number == 0 ? ttp_region_copy(region, name, strlen(name)) : NULL;
    if (copy != NULL && ttp_region_grow(region, &graph->names, &graph->name_capacity,
                                        graph->name_count + 1, sizeof *graph->names)) {
        *number = (uint32_t)graph->name_count;
        graph->names[graph->name_count++] = copy;
    }
    return *number;
}

/* What debug information says that a call calls; NULL: nothing. */
static const struct tool_known_call *known_of(const struct reading *reading,
                                              const struct tool_code_call *made)
{
    return tool_known_call_at(&reading->graph->modules[reading->module]->known, made->address,
                              made->address + made->length);
}

/* False: it is a call through a pointer to who knows what. */
static bool name_pointer(struct reading *reading, const struct tool_flow_call *told,
                         const struct tool_known_call *known, uint32_t edge_kinds)
{
    struct tool_binary_graph *graph = reading->graph;
    const char *name = graph->modules[reading->module]->known.names + known->name;
    uint32_t machine = tool_binary_machine_at(graph, reading->module, known->callee);
    if (known->callee != 0 && machine != TTAPE_NONE)
        relate_call(reading, told->in, machine, TOOL_EDGE_DIRECT | edge_kinds);
    else if (known->callee == 0 && name[0] != '\0')
        relate(reading, told->in, TOOL_RELATION_UNKNOWN, name_number(graph, name),
               TOOL_EDGE_LINKED | edge_kinds);
    else
        return false;
    return true;
}

static void call(void *context, const struct tool_flow_call *told)
{
    struct reading *reading = context;
    struct tool_binary_graph *graph = reading->graph;
    const struct tool_code_call *made = told->call;
    const struct tool_known_call *known = known_of(reading, made);
    uint32_t tail = (made->is_tail ? TOOL_EDGE_TAIL : 0) | (known != NULL ? TOOL_EDGE_DEBUG : 0);
    graph->modules[reading->module]->call_count++;
    if (made->kind == TOOL_CALL_POINTER && known != NULL &&
        name_pointer(reading, told, known, tail))
        return;
    if (made->kind == TOOL_CALL_POINTER) {
        relate(reading, told->in, TOOL_RELATION_POINTER, 0, TOOL_EDGE_POINTER | tail);
        return;
    }
    if (made->callee != UINT32_MAX) {
        relate_call(reading, told->in, tool_binary_machine(graph, reading->module, made->callee),
                    (made->kind == TOOL_CALL_LINKED ? TOOL_EDGE_LINKED : TOOL_EDGE_DIRECT) | tail);
        return;
    }
    if (made->name != NULL)
        relate(reading, told->in, TOOL_RELATION_UNKNOWN, name_number(graph, made->name),
               TOOL_EDGE_LINKED | tail);
    for (size_t i = 0; i < TOOL_FLOW_GIVEN; i++) {
        uint32_t machine = told->given[i] != 0
                               ? tool_binary_machine_at(graph, reading->module, told->given[i])
                               : TTAPE_NONE;
        if (machine != TTAPE_NONE)
            relate(reading, told->in, TOOL_RELATION_CALLS, machine, TOOL_EDGE_OUTSIDE | tail);
    }
}

static void take_address(void *context, uint32_t address)
{
    const struct reading *reading = context;
    uint32_t machine = tool_binary_machine_at(reading->graph, reading->module, address);
    if (machine != TTAPE_NONE)
        reading->graph->machines[machine].is_taken = true;
}

static void refer(void *context, const struct tool_flow_datum *datum)
{
    const struct reading *reading = context;
    struct tool_binary_graph *graph = reading->graph;
    const struct tool_code_call *to = datum->given_to;
    struct tool_string_place place = {.who = reading->machine,
                                      .module = reading->module,
                                      .address = datum->address,
                                      .reads = datum->reads,
                                      .is_hooked = datum->in != TOOL_FLOW_NONE_OPEN};
    if (graph->strings == NULL)
        return;
    if (place.is_hooked)
        place.who = hooked_at(reading, datum->in);
    if (datum->around != TOOL_FLOW_NONE_OPEN)
        place.around = hooked_at(reading, datum->around) + 1;
    if (datum->inner != TOOL_FLOW_NONE_OPEN)
        place.inner = hooked_at(reading, datum->inner) + 1;
    if (to != NULL && to->kind == TOOL_CALL_POINTER) {
        place.to_kind = TOOL_RELATION_POINTER;
    } else if (to != NULL && to->callee != UINT32_MAX) {
        place.to_kind = TOOL_RELATION_CALLS;
        place.to = tool_binary_machine(graph, reading->module, to->callee);
    } else if (to != NULL && to->name != NULL) {
        place.to_kind = TOOL_RELATION_UNKNOWN;
        place.to = name_number(graph, to->name);
    }
    tool_strings_put(graph->strings, &place);
}

static void export(struct tool_binary_graph *graph, uint32_t module)
{
    const struct tool_image *image = &graph->modules[module]->image;
    struct tool_image_symbol symbol;
    for (size_t i = 0;
         tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names, i, &symbol); i++) {
        uint32_t machine = symbol.section != 0 && symbol.name[0] != 0
                               ? tool_binary_machine_at(graph, module, symbol.address)
                               : TTAPE_NONE;
        if (machine == TTAPE_NONE)
            continue;
        uint32_t *first =
            ttp_region_at(&graph->edges->region, &graph->exported,
                          tool_binary_name_hash(graph, symbol.name, strlen(symbol.name)), 0);
        *first =
            *first != 0 ? *first : machine + 1; /* the first module that has it, as loaders do */
    }
}

static void read_code(struct tool_binary_graph *graph, uint32_t module)
{
    static const struct tool_flow_handler handler = {enter_function, call, take_address, refer};
    struct tool_binary_module *of = graph->modules[module];
    struct reading reading = {.graph = graph, .module = module};
    struct tool_flow flow;
    size_t count = of->code.function_count;
    of->first_machine = (uint32_t)graph->machine_count;
    if (!ttp_region_grow(&graph->edges->region, &graph->machines, &graph->machine_capacity,
                         graph->machine_count + count + 1, sizeof *graph->machines))
        return;
    memset(&graph->machines[graph->machine_count], 0, (count + 1) * sizeof *graph->machines);
    graph->machine_count += count;
    export(graph, module);
    tool_binary_taken(graph, module);
    if (tool_flow_open(&flow, &of->code, &handler, &graph->edges->region, &reading)) {
        of->has_hooks = flow.has_hooks;
        for (uint32_t i = 0; i < count; i++) {
            reading.machine = of->first_machine + i;
            tool_flow_follow(&flow, i);
        }
        of->unknown_hooks = flow.unknown_hooks;
    }
    tool_flow_close(&flow);
}

static void set_seed(struct tool_binary_module *module)
{
    char name[5 + 256] = "file:";
    const char *base = ttp_base_name(module->path);
    size_t size = strlen(base) < sizeof name - 5 ? strlen(base) : sizeof name - 5;
    memcpy(name + 5, base, size);
    module->seed = module->image.build_id_bytes != 0
                       ? ttape_context_seed(module->image.build_id, module->image.build_id_bytes)
                       : ttape_context_seed(name, 5 + size);
    module->start = UINT64_MAX;
    for (uint32_t i = 0; i < module->image.segment_count; i++)
        if (module->image.segments[i].address < module->start)
            module->start = module->image.segments[i].address;
    module->start &= PAGE_MASK;
}

static bool is_build(const struct tool_image *image, ttape_string build_id)
{
    return build_id.size_bytes == 0 ||
           (build_id.size_bytes == image->build_id_bytes &&
            memcmp(build_id.data, image->build_id, build_id.size_bytes) == 0);
}

/* With ids that are addresses: where the process had it. */
static void place(const struct tool_binary_graph *graph, struct tool_binary_module *module)
{
    const ttape_string path = {module->path, strlen(module->path)},
                       build_id = {(const char *)module->image.build_id,
                                   module->image.build_id_bytes};
    module->mapped = module->start;
    module->is_mapped = module->image.is_fixed ||
                        (graph->find_start != NULL &&
                         graph->find_start(graph->find_context, path, build_id, &module->mapped));
    if (!module->is_mapped && graph->ids == TTAPE_CONTEXT_IDS_ADDRESS && graph->tell != NULL)
        graph->tell(&(struct tool_binary_trouble){TOOL_BINARY_NOT_MAPPED, .path = module->path});
}

const char *tool_binary_graph_add_build(struct tool_binary_graph *graph, const char *path,
                                        ttape_string build_id)
{
    struct ttp_region *region = &graph->edges->region;
    struct tool_plan_input input;
    const char *reason = tool_plan_input_open(&input, path);
    if (reason != NULL) {
        tool_plan_input_close(&input);
        return reason;
    }
    struct tool_binary_module *module = ttp_region_take(region, 1, sizeof *module);
    const char *copy = ttp_region_copy(region, path, strlen(path));
    if (!ttp_region_grow(region, &graph->modules, &graph->module_capacity, graph->module_count + 1,
                         sizeof *graph->modules) ||
        region->is_short) {
        tool_plan_input_close(&input);
        return SHORT;
    }
    graph->modules[graph->module_count] = module;
    *module = (struct tool_binary_module){.path = copy,
                                          .bytes = input.bytes,
                                          .size_bytes = input.size_bytes,
                                          .known = {.region = region}};
    input.bytes = NULL;
    tool_plan_input_close(&input);
    reason = tool_image_open(&module->image, module->bytes, module->size_bytes);
    if (reason == NULL && !is_build(&module->image, build_id))
        reason = "it is another build";
    if (reason == NULL)
        reason = tool_code_open_whole(&module->code, &module->image);
    graph->module_count++;
    if (reason != NULL)
        return reason;
    set_seed(module);
    place(graph, module);
    module->is_open = true;
    if (graph->symbols != NULL)
        tool_known_calls_read(
            &module->known, graph->symbols, (ttape_string){path, strlen(path)},
            (ttape_string){(const char *)module->image.build_id, module->image.build_id_bytes});
    read_code(graph, (uint32_t)graph->module_count - 1);
    return region->is_short ? SHORT : NULL;
}

const char *tool_binary_graph_add(struct tool_binary_graph *graph, const char *path)
{
    return tool_binary_graph_add_build(graph, path, (ttape_string){0});
}
