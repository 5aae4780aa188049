/* From addresses to sites: a hash table per session, filled as addresses appear. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "base/secret.h"
#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"

#define FIRST_CAPACITY 1024u
#define BUILD_ID_BYTES 32u

static struct tool_uft_slot *make_slots(size_t capacity)
{
    struct tool_uft_slot *slots = tool_allocate(capacity, sizeof(struct tool_uft_slot));
    for (size_t i = 0; i < capacity; i++)
        slots[i].site = UINT32_MAX;
    return slots;
}

static uint32_t shift_of(size_t capacity) { return (uint32_t)__builtin_clzll(capacity) + 1; }

void tool_uft_sites_open(struct tool_uft_sites *sites)
{
    /* Never written to: the first addition makes a table of its own. */
    static struct tool_uft_slot nothing[2] = {{0, UINT32_MAX, 0}, {0, UINT32_MAX, 0}};
    *sites = (struct tool_uft_sites){.slots = nothing, .capacity = 2, .shift = 63, .key = 1};
}

void tool_uft_sites_close(struct tool_uft_sites *sites)
{
    if (sites->capacity > 2)
        free(sites->slots);
    tool_uft_sites_open(sites);
}

static void insert(struct tool_uft_sites *sites, struct tool_uft_slot slot)
{
    size_t mask = sites->capacity - 1;
    size_t at = tool_uft_place(sites, slot.address);
    while (sites->slots[at].site != UINT32_MAX)
        at = (at + 1) & mask;
    sites->slots[at] = slot;
    sites->count++;
}

static void add_slot(struct tool_uft_sites *sites, struct tool_uft_slot slot)
{
    if (sites->capacity <= 2 || (sites->count + 1) * 2 > sites->capacity) {
        size_t capacity = sites->capacity > 2 ? sites->capacity * 2 : FIRST_CAPACITY;
        struct tool_uft_sites bigger = {.slots = make_slots(capacity),
                                        .capacity = capacity,
                                        .shift = shift_of(capacity),
                                        .key = ttp_secret_key()};
        for (size_t i = 0; i < sites->capacity; i++)
            if (sites->slots[i].site != UINT32_MAX)
                insert(&bigger, sites->slots[i]);
        tool_uft_sites_close(sites);
        *sites = bigger;
    }
    insert(sites, slot);
}

static size_t parse_build_id(const char *hex, char *bytes)
{
    size_t count = 0;
    unsigned value;
    while (count < BUILD_ID_BYTES && hex[2 * count] != '\0' && hex[2 * count + 1] != '\0' &&
           sscanf(hex + 2 * count, "%2x", &value) == 1)
        bytes[count++] = (char)value;
    return count;
}

static ttape_status add_module(struct tool_uft_recording *recording,
                               const struct tool_uft_session *session, struct tool_uft_map *map,
                               ttape_error *err)
{
    char build_id[BUILD_ID_BYTES];
    const struct tool_uft_module *module = &recording->modules[map->module];
    const struct tool_uft_process *process = tool_uft_find_process(recording, session->pid);
    ttape_module out = {.start = map->start,
                        .end = map->end,
                        .process = process != NULL ? process->id : TTAPE_NONE,
                        .path = {module->path, strlen(module->path)},
                        .build_id = {build_id, parse_build_id(module->build_id, build_id)}};
    return ttape_writer_add_module(recording->conversion->writer, &out, &map->id, err);
}

/* Adds the site of an address at a place to the trace. */
static ttape_status add_site(struct tool_uft_recording *recording, struct tool_uft_session *session,
                             uint32_t map_index, uint64_t address, uint32_t *number,
                             ttape_error *err)
{
    struct tool_uft_symbol symbol = {0};
    ttape_status status = TTAPE_OK;
    ttape_site site = {.address = address, .module = TTAPE_NONE, .kind = TTAPE_SITE_FUNCTION};
    if (map_index == TOOL_UFT_PYTHON) {
        tool_uft_find_symbol(recording, &recording->modules[recording->python], address, &symbol);
    } else if (map_index != TTAPE_NONE) {
        struct tool_uft_map *map = &session->maps[map_index];
        tool_uft_find_symbol(recording, &recording->modules[map->module], address - map->start,
                             &symbol);
        if (map->id == TTAPE_NONE)
            status = add_module(recording, session, map, err);
        site.module = map->id;
    }
    site.line = symbol.line;
    site.symbol = (ttape_string){symbol.name, symbol.name != NULL ? strlen(symbol.name) : 0};
    site.file = (ttape_string){symbol.file, symbol.file != NULL ? strlen(symbol.file) : 0};
    if (status == TTAPE_OK)
        status = ttape_writer_add_site(recording->conversion->writer, &site, number, err);
    recording->site_count += status == TTAPE_OK;
    tool_uft_symbol_reset(&symbol);
    return status;
}

/* What is known of a shared address in a process, made when it is new. */
static struct tool_uft_shared_site *find_shared(struct tool_uft_session *session, uint64_t address,
                                                uint64_t pid)
{
    const uint64_t key[] = {address, pid};
    bool is_new;
    uint32_t *known = tool_names_find(&session->shared_of, key, sizeof(key), &is_new);
    if (is_new) {
        *known = (uint32_t)session->shared_count;
        tool_grow((void **)&session->shared, &session->shared_capacity, session->shared_count + 1,
                  sizeof(struct tool_uft_shared_site));
        session->shared[session->shared_count++] = (struct tool_uft_shared_site){0};
    }
    return &session->shared[*known];
}

/* An address in a map has one site, however often it lies there. */
static ttape_status site_in_map(struct tool_uft_recording *recording,
                                struct tool_uft_session *session, uint32_t map, uint64_t address,
                                uint32_t *number, ttape_error *err)
{
    const uint64_t key[] = {address, map, 0};
    bool is_new;
    uint32_t *known = tool_names_find(&session->shared_of, key, sizeof(key), &is_new);
    ttape_status status =
        is_new ? add_site(recording, session, map, address, known, err) : TTAPE_OK;
    *number = *known;
    return status;
}

ttape_status tool_uft_get_site(struct tool_uft_recording *recording,
                               const struct tool_uft_task *task, uint64_t time_ns, uint64_t address,
                               struct tool_uft_site *site, ttape_error *err)
{
    struct tool_uft_session *session = &recording->sessions[task->session];
    struct tool_uft_shared_site *shared =
        session->range_count > 0 ? find_shared(session, address, task->pid) : NULL;
    if (shared != NULL && shared->place.from_ns <= time_ns && time_ns < shared->place.until_ns) {
        *site = (struct tool_uft_site){shared->site, shared->place.map};
        return TTAPE_OK;
    }
    const struct tool_uft_place place =
        tool_uft_find_place(recording, session, task->pid, time_ns, address);
    ttape_status status;
    if (place.is_shared) {
        status = site_in_map(recording, session, place.map, address, &site->number, err);
        *shared = (struct tool_uft_shared_site){place, site->number};
    } else {
        status = add_site(recording, session, place.map, address, &site->number, err);
        if (status == TTAPE_OK)
            add_slot(&session->sites, (struct tool_uft_slot){address, site->number, place.map});
    }
    site->map = place.map;
    return status;
}

static int compare_user_events(const void *a, const void *b)
{
    const struct tool_uft_user_event *one = a, *two = b;
    if (one->id != two->id)
        return one->id < two->id ? -1 : 1;
    return one->place < two->place ? -1 : 1;
}

/* "EVENT: ID PROVIDER:NAME" of events.txt, all at once: a recording may name as many as it likes.
 */
static void read_user_events(struct tool_uft_recording *recording)
{
    struct tool_lines lines;
    struct tool_line line = {0};
    int fd = tool_uft_open(recording, "events.txt");
    recording->has_user_events = true;
    if (fd < 0)
        return;
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line)) {
        const char *text = tool_after(line.text, "EVENT: ");
        char *end = NULL;
        uint64_t id = text != NULL ? strtoull(text, &end, 10) : 0;
        if (text == NULL || *end != ' ')
            continue;
        tool_grow((void **)&recording->user_events, &recording->user_event_capacity,
                  recording->user_event_count + 1, sizeof(struct tool_uft_user_event));
        recording->user_events[recording->user_event_count] = (struct tool_uft_user_event){
            id, recording->user_event_count, tool_copy_text(end + 1, strlen(end + 1))};
        recording->user_event_count++;
    }
    tool_uft_close_lines(recording, &lines, "events.txt");
    if (recording->user_event_count > 0) {
        qsort(recording->user_events, recording->user_event_count,
              sizeof(struct tool_uft_user_event), compare_user_events);
    }
}

/* The name that the first line about an event gives it; NULL: there is none. */
static const char *find_user_event(struct tool_uft_recording *recording, uint64_t event_id)
{
    if (!recording->has_user_events)
        read_user_events(recording);
    struct ttp_bisect s = {.end = recording->user_event_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, recording->user_events[s.middle].id < event_id);
    bool found =
        s.first < recording->user_event_count && recording->user_events[s.first].id == event_id;
    return found ? recording->user_events[s.first].name : NULL;
}

ttape_status tool_uft_add_event(struct tool_uft_recording *recording, uint64_t event_id,
                                ttape_error *err)
{
    char number[32];
    struct tool_uft_slot slot = {.address = event_id, .map = TTAPE_NONE};
    const char *name = tool_uft_event_name(event_id);
    const char *user = name == NULL ? find_user_event(recording, event_id) : NULL;
    if (name == NULL) {
        snprintf(number, sizeof(number), "event:%llu", (unsigned long long)event_id);
        name = user != NULL ? user : number;
    }
    ttape_site site = {.address = event_id,
                       .module = TTAPE_NONE,
                       .kind = TTAPE_SITE_MARKER,
                       .symbol = {name, strlen(name)}};
    ttape_status status =
        ttape_writer_add_site(recording->conversion->writer, &site, &slot.site, err);
    if (status == TTAPE_OK) {
        add_slot(&recording->events, slot);
        recording->site_count++;
    }
    return status;
}
