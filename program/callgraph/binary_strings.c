/* Strings are read where code points: into the middle of one, too, as linkers merge the ends of
 * strings. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "program/callgraph/binary_strings.h"

#define TABLE_WORDS  4096u
#define USES_MOST    (1u << 24)
#define BYTES_MOST   (UINT64_C(64) << 20)
#define STEPS_MOST   UINT64_C(1000000000) /* bytes that are looked at: a second or two */
#define PASSED_DEPTH 3u                   /* functions without hooks, one in another */
#define PASSED_MOST  256u

/* Something of a module that points to its data. */
struct pointer {
    uint32_t place, target;
};

struct module_data {
    struct ttp_region *region;
    const struct tool_code *code;
    struct pointer *pointers; /* by place */
    size_t pointer_count, pointer_capacity;
    uint32_t *bases; /* addresses that code takes, sorted: a table ends there */
    size_t base_count, base_capacity;
};

/* Strings of a place: a part of the list of all. */
struct part {
    size_t first, count;
};

struct settling {
    struct tool_strings *strings;
    struct tool_binary_graph *graph;
    struct module_data *modules;
    uint32_t *found;
    size_t found_count, found_capacity;
    struct part *parts;
    size_t part_count, part_capacity;
    struct ttp_key_map part_by_place;
};

void tool_strings_put(struct tool_strings *strings, const struct tool_string_place *place)
{
    struct ttp_region *region = &strings->region;
    struct ttp_hash hash = ttp_key_map_hash(&strings->place_by_what);
    ttp_hash_word(&hash, (uint64_t)place->who << 2 | (uint64_t)place->is_hooked << 1 |
                             (uint64_t)place->reads);
    ttp_hash_word(&hash, (uint64_t)place->around << 32 | place->to);
    ttp_hash_word(&hash, (uint64_t)place->inner << 32 | place->to_kind);
    ttp_hash_word(&hash, (uint64_t)place->module << 32 | place->address);
    uint32_t *is_known = ttp_region_at(region, &strings->place_by_what, hash.low ^ hash.high, 0);
    if (*is_known != 0)
        return;
    *is_known = 1;
    struct tool_string_place *kept = ttp_region_add(region, &strings->places, &strings->place_count,
                                                    &strings->place_capacity, sizeof *kept);
    if (kept != NULL)
        *kept = *place;
}

/* ---- strings of a place ---- */

static bool is_text(uint8_t c)
{
    return (c >= 0x20 && c != 0x7F) || (c >= '\a' && c <= '\r') || c == 0x1B;
}

static bool is_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* The bytes of a text that begins there; 0: none does. */
static size_t text_bytes(struct settling *settling, const uint8_t *bytes, size_t available)
{
    size_t most = available < TOOL_STRING_MOST ? available : TOOL_STRING_MOST, at = 0, letters = 0;
    while (at < most && bytes[at] != 0 && is_text(bytes[at])) {
        letters += is_letter(bytes[at]) || bytes[at] >= 0x80;
        at++;
    }
    uint64_t *left = &settling->strings->steps_left;
    *left = *left > at + 1 ? *left - at - 1 : 0;
    bool is_whole = at == TOOL_STRING_MOST || (at < most && bytes[at] == 0);
    return is_whole && letters >= TOOL_STRING_LETTERS ? at : 0;
}

static void add_text(struct settling *settling, const uint8_t *bytes, size_t size)
{
    struct tool_strings *strings = settling->strings;
    struct ttp_hash hash = ttp_key_map_hash(&strings->string_by_text);
    ttp_hash_bytes(&hash, bytes, size);
    struct ttp_region *region = &strings->region;
    uint32_t *number =
        ttp_region_at(region, &strings->string_by_text, hash.low ^ hash.high, TTAPE_NONE);
    if (*number == TTAPE_NONE) {
        if (size > strings->bytes_left) {
            strings->is_cut = true;
            return;
        }
        strings->bytes_left -= size;
        struct tool_string *kept = ttp_region_add(region, &strings->strings, &strings->string_count,
                                                  &strings->string_capacity, sizeof *kept);
        if (kept == NULL)
            return;
        *number = (uint32_t)strings->string_count - 1;
        *kept = (struct tool_string){ttp_region_copy(region, (const char *)bytes, size), size};
    }
    uint32_t *found =
        ttp_region_add(&settling->graph->edges->region, &settling->found, &settling->found_count,
                       &settling->found_capacity, sizeof *found);
    if (found != NULL)
        *found = *number;
}

static bool add_string(struct settling *settling, const struct module_data *data, uint64_t address)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(data->code->image, address, &available);
    size_t size = bytes != NULL ? text_bytes(settling, bytes, available) : 0;
    if (size != 0)
        add_text(settling, bytes, size);
    return size != 0;
}

/* The first of sorted places that is not below an address. */
static size_t pointer_at(const struct module_data *data, uint32_t address)
{
    struct ttp_bisect s = {.end = data->pointer_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, data->pointers[s.middle].place < address);
    return s.first;
}

static uint32_t base_behind(const struct module_data *data, uint32_t address)
{
    struct ttp_bisect s = {.end = data->base_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, data->bases[s.middle] <= address);
    return s.first < data->base_count ? data->bases[s.first] : UINT32_MAX;
}

/* Compilers make tables of distances from the table. */
static void add_distances(struct settling *settling, const struct module_data *data, uint32_t table,
                          uint64_t end)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(data->code->image, table, &available);
    for (uint32_t at = 0; bytes != NULL && at + 4 <= available && table + (uint64_t)at + 4 <= end;
         at += 4) {
        uint64_t target = table + (uint64_t)(int64_t)(int32_t)tool_le32(bytes + at);
        if (target > UINT32_MAX || tool_image_is_code(data->code->image, target) ||
            !add_string(settling, data, target))
            return;
    }
}

/* A text, or a table whose words lead to texts; of a pointer that is read, that one. */
static struct part strings_of(struct settling *settling, const struct tool_string_place *place)
{
    const struct module_data *data = &settling->modules[place->module];
    uint64_t key =
        (uint64_t)place->module << 33 | (uint64_t)place->address << 1 | (uint64_t)place->reads;
    struct ttp_region *region = &settling->graph->edges->region;
    uint32_t *number = ttp_region_at(region, &settling->part_by_place, key, TTAPE_NONE);
    if (*number != TTAPE_NONE)
        return settling->parts[*number];
    struct part part = {.first = settling->found_count};
    if (!add_string(settling, data, place->address)) {
        uint64_t end = place->address + (uint64_t)(place->reads ? 8 : (uint64_t)TABLE_WORDS * 8);
        uint32_t base = base_behind(data, place->address);
        end = !place->reads && base < end ? base : end;
        for (size_t i = pointer_at(data, place->address);
             i < data->pointer_count && data->pointers[i].place < end; i++)
            (void)add_string(settling, data, data->pointers[i].target);
        if (!place->reads && settling->found_count == part.first)
            add_distances(settling, data, place->address, end);
    }
    part.count = settling->found_count - part.first;
    struct part *kept_part = ttp_region_add(region, &settling->parts, &settling->part_count,
                                            &settling->part_capacity, sizeof *kept_part);
    if (kept_part == NULL)
        return (struct part){0};
    *number = (uint32_t)settling->part_count - 1;
    return *kept_part = part;
}

/* ---- functions ---- */

static int compare_places(const void *a, const void *b)
{
    const struct tool_string_place *one = a, *other = b;
    if (one->is_hooked != other->is_hooked)
        return one->is_hooked ? -1 : 1;
    return one->who < other->who ? -1 : one->who > other->who;
}

/* The uses of one who has places, as a hooked function's. */
struct using
{
    uint32_t function, who;
    bool is_hooked;
};

static void add_use(struct settling *settling, struct part part, struct tool_string_use use)
{
    struct tool_strings *strings = settling->strings;
    strings->steps_left -= strings->steps_left > part.count ? part.count : strings->steps_left;
    if (part.count > USES_MOST - strings->use_count) {
        strings->is_cut = true;
        return;
    }
    if (!ttp_region_grow(&strings->region, &strings->uses, &strings->use_capacity,
                         strings->use_count + part.count, sizeof *strings->uses))
        return;
    for (size_t i = part.first; i < part.first + part.count; i++) {
        use.string = settling->found[i];
        strings->uses[strings->use_count++] = use;
    }
}

/* Functions without hooks, one in another, from a relation on. */
struct passing {
    struct tool_binary_graph *graph;
    uint32_t machines[PASSED_MOST], count;
};

static uint32_t machine_of(struct tool_binary_graph *graph, uint8_t kind, uint32_t to)
{
    return kind == TOOL_RELATION_CALLS     ? to
           : kind == TOOL_RELATION_UNKNOWN ? tool_binary_named(graph, to)
                                           : TTAPE_NONE;
}

static void pass(struct passing *passing, uint32_t machine)
{
    struct tool_binary_graph *graph = passing->graph;
    if (machine == TTAPE_NONE || passing->count == PASSED_MOST ||
        graph->machines[machine].stamp == graph->stamp)
        return;
    graph->machines[machine].stamp = graph->stamp;
    passing->machines[passing->count++] = machine;
}

static void pass_relations(struct passing *passing, uint32_t relation)
{
    struct tool_binary_graph *graph = passing->graph;
    for (; relation != 0; relation = graph->relations[relation - 1].next)
        pass(passing, machine_of(graph, graph->relations[relation - 1].kind,
                                 graph->relations[relation - 1].to));
}

/* What those that are there lead to. */
static void pass_on(struct passing *passing)
{
    uint32_t next = 0;
    for (uint32_t depth = 1; depth < PASSED_DEPTH; depth++)
        for (uint32_t end = passing->count; next < end; next++)
            pass_relations(passing,
                           passing->graph->machines[passing->machines[next]].first_relation);
}

/* Hooked functions that are called with a string, through any without hooks. */
static void add_given(struct settling *settling, const struct tool_string_place *place,
                      struct part part, struct tool_string_use use)
{
    struct tool_binary_graph *graph = settling->graph;
    struct passing passing = {.graph = graph};
    if (place->to_kind == TOOL_RELATION_POINTER) {
        use.to = TOOL_STRING_ANY;
        add_use(settling, part, use);
        return;
    }
    graph->stamp++;
    pass(&passing, machine_of(graph, place->to_kind, place->to));
    if (graph->all_functions && passing.count != 0) {
        use.to = tool_binary_function_of(graph, passing.machines[0]);
        add_use(settling, part, use);
        return;
    }
    pass_on(&passing);
    for (uint32_t i = 0; i < passing.count; i++)
        for (uint32_t r = graph->machines[passing.machines[i]].first_relation; r != 0;
             r = graph->relations[r - 1].next) {
            if (graph->relations[r - 1].kind != TOOL_RELATION_ENTERS)
                continue;
            use.to = graph->hooked[graph->relations[r - 1].to].function;
            add_use(settling, part, use);
        }
}

static void add_uses(struct settling *settling, const struct using *using)
{
    struct tool_strings *strings = settling->strings;
    const struct tool_string_place wanted = {.who = using->who, .is_hooked = using->is_hooked};
    struct ttp_bisect s = {.end = strings->place_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, compare_places(&strings->places[s.middle], &wanted) < 0);
    for (;
         s.first < strings->place_count && compare_places(&strings->places[s.first], &wanted) == 0;
         s.first++) {
        const struct tool_string_place *place = &strings->places[s.first];
        struct tool_string_use use = {.function = using->function};
        strings->is_cut |= strings->steps_left == 0;
        if (strings->is_cut)
            return;
        struct part part = strings_of(settling, place);
        if (place->around != 0)
            use.around = settling->graph->hooked[place->around - 1].function;
        if (place->inner != 0) {
            use.to = settling->graph->hooked[place->inner - 1].function;
            use.is_inlined = true;
        }
        add_use(settling, part, use);
        if (place->to_kind != TOOL_RELATION_ENTERS && part.count != 0)
            add_given(settling, place, part, use);
    }
}

/* Strings of functions without hooks that a function's calls lead to are its own: it is the one
 * that a value names. */
static void add_passed(struct settling *settling, const struct tool_hooked *hooked)
{
    struct passing passing = {.graph = settling->graph};
    settling->graph->stamp++;
    pass_relations(&passing, hooked->first_relation);
    pass_on(&passing);
    for (uint32_t i = 0; i < passing.count; i++)
        add_uses(settling, &(struct using){hooked->function, passing.machines[i], false});
}

static int compare_uses(const void *a, const void *b)
{
    const struct tool_string_use *one = a, *other = b;
    if (one->function != other->function)
        return one->function < other->function ? -1 : 1;
    if (one->string != other->string)
        return one->string < other->string ? -1 : 1;
    if (one->around != other->around)
        return one->around < other->around ? -1 : 1;
    if (one->to != other->to)
        return one->to < other->to ? -1 : 1;
    return (int)one->is_inlined - (int)other->is_inlined;
}

static void keep_each_once(struct tool_strings *strings)
{
    size_t kept = 0;
    if (strings->use_count > 1)
        qsort(strings->uses, strings->use_count, sizeof *strings->uses, compare_uses);
    for (size_t i = 0; i < strings->use_count; i++)
        if (kept == 0 || compare_uses(&strings->uses[kept - 1], &strings->uses[i]) != 0)
            strings->uses[kept++] = strings->uses[i];
    strings->use_count = kept;
}

/* ---- modules ---- */

static void take_pointer(void *context, uint64_t place, uint64_t target)
{
    struct module_data *data = context;
    size_t available;
    if (place > UINT32_MAX || target > UINT32_MAX ||
        tool_image_at(data->code->image, target, &available) == NULL ||
        tool_code_function_at(data->code, (uint32_t)target) != data->code->function_count)
        return;
    struct pointer *pointer = ttp_region_add(data->region, &data->pointers, &data->pointer_count,
                                             &data->pointer_capacity, sizeof *pointer);
    if (pointer != NULL)
        *pointer = (struct pointer){(uint32_t)place, (uint32_t)target};
}

static int compare_pointers(const void *a, const void *b)
{
    const struct pointer *one = a, *other = b;
    return one->place < other->place ? -1 : one->place > other->place;
}

static int compare_bases(const void *a, const void *b)
{
    const uint32_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

/* False: memory is short. */
static bool open_modules(struct settling *settling)
{
    const struct tool_binary_graph *graph = settling->graph;
    const struct tool_strings *strings = settling->strings;
    struct ttp_region *region = &graph->edges->region;
    settling->modules = ttp_region_take(region, graph->module_count + 1, sizeof *settling->modules);
    if (settling->modules == NULL)
        return false;
    for (size_t i = 0; i < strings->place_count; i++) {
        struct module_data *data = &settling->modules[strings->places[i].module];
        if (strings->places[i].reads)
            continue;
        uint32_t *base = ttp_region_add(region, &data->bases, &data->base_count,
                                        &data->base_capacity, sizeof *base);
        if (base != NULL)
            *base = strings->places[i].address;
    }
    for (size_t i = 0; i < graph->module_count; i++) {
        struct module_data *data = &settling->modules[i];
        data->code = &graph->modules[i]->code;
        data->region = region;
        if (!graph->modules[i]->is_open)
            continue;
        tool_binary_pointers(&graph->modules[i]->image, take_pointer, data);
        if (data->pointer_count > 1)
            qsort(data->pointers, data->pointer_count, sizeof *data->pointers, compare_pointers);
        if (data->base_count > 1)
            qsort(data->bases, data->base_count, sizeof *data->bases, compare_bases);
    }
    return !region->is_short;
}

static void close_all(struct settling *settling)
{
    struct ttp_region *region = &settling->graph->edges->region;
    for (size_t i = 0; i < settling->graph->module_count; i++) {
        ttp_region_give(region, settling->modules[i].pointers);
        ttp_region_give(region, settling->modules[i].bases);
    }
    ttp_region_give(region, settling->modules);
    ttp_region_give(region, settling->found);
    ttp_region_give(region, settling->parts);
    ttp_region_close_map(region, &settling->part_by_place);
}

bool tool_strings_settle(struct tool_strings *strings, struct tool_binary_graph *graph)
{
    struct settling settling = {.strings = strings, .graph = graph};
    strings->bytes_left = BYTES_MOST;
    strings->steps_left = STEPS_MOST;
    if (!open_modules(&settling))
        return false;
    if (strings->place_count > 1)
        qsort(strings->places, strings->place_count, sizeof *strings->places, compare_places);
    for (uint32_t i = 0; !graph->all_functions && i < graph->hooked_count; i++) {
        const struct tool_hooked *hooked = &graph->hooked[i];
        uint32_t machine = tool_binary_machine_at(graph, hooked->module, hooked->address);
        add_uses(&settling, &(struct using){hooked->function, i, true});
        if (machine != TTAPE_NONE) /* what it does before its hook */
            add_uses(&settling, &(struct using){hooked->function, machine, false});
        add_passed(&settling, hooked);
    }
    for (uint32_t i = 0; graph->all_functions && i < graph->machine_count; i++)
        add_uses(&settling, &(struct using){tool_binary_function_of(graph, i), i, false});
    keep_each_once(strings);
    close_all(&settling);
    return !strings->region.is_short && !graph->edges->region.is_short;
}
