/* The order of attaching.
 *
 *     look: refusals, code as in the file, windows, a place for the segment
 *     stops: the segment is mapped; gets its rights; the agent begins; room for stubs elsewhere
 *     stubs and the list of changes go into it, while the process runs
 *     a stop: jumps are written, but where somebody is; again for those, a few times
 *     ...
 *     end: recording is switched off, then attach_leave.c, for children of the process as well */
#define _GNU_SOURCE
#include "recorder/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_handle.h"

#define FAULT_SIGNALS                                                                              \
    (UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(1) << 7 | UINT64_C(1) << 10) /* ILL .. SEGV */

static const char no_place[] = "its code has no place from which a system call can be made";

static uint64_t caught_faults(const char *status)
{
    return ttp_look_number(status, "SigCgt:", 16, 0) & FAULT_SIGNALS;
}

static bool look_at_program(uint32_t pid, struct stat *about)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%u/exe", ttp_living_task(pid));
    return stat(path, about) == 0;
}

ttape_status ttp_attach_refuse_it(const struct ttp_attach *a, const char *why, ttape_error *err)
{
    return ttp_attach_refuse(err, a->options.pid, "%s", why);
}

/* ---- which modules ---- */

static struct ttp_attach_wish *find_wish(const struct ttp_wishes *wishes, const char *path)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (strcmp(wishes->list[i].module, path) == 0)
            return &wishes->list[i];
    return NULL;
}

bool ttp_wishes_make(struct ttp_wishes *wishes, const struct ttp_attach_options *options,
                     const struct ttp_traced_modules *modules, bool has_calls)
{
    size_t room = options->wish_count + modules->count + 1;
    *wishes = (struct ttp_wishes){.list = calloc(room, sizeof *wishes->list)};
    if (wishes->list == NULL)
        return false;
    memcpy(wishes->list, options->wishes, options->wish_count * sizeof *wishes->list);
    wishes->count = options->wish_count;
    for (size_t i = 0; has_calls && i < modules->count; i++) {
        const struct ttp_traced_module *module = &modules->modules[i];
        struct ttp_attach_wish *wish = find_wish(wishes, module->path);
        if (module->plan == NULL || module->plan->site_count == 0)
            continue;
        if (wish == NULL) {
            wish = &wishes->list[wishes->count++];
            *wish = (struct ttp_attach_wish){.module = module->path};
        }
        wish->calls = module->plan;
    }
    return true;
}

void ttp_wishes_free(struct ttp_wishes *wishes)
{
    free(wishes->list);
    *wishes = (struct ttp_wishes){0};
}

uint32_t ttp_wishes_loaded(const struct ttp_traced_modules *modules, uint32_t pid)
{
    struct ttp_maps maps;
    const char *last = "";
    uint32_t count = 0;
    bool is_read = modules->count != 0 && ttp_maps_read(&maps, pid);
    for (size_t i = 0; is_read && i < maps.count; i++) {
        const struct ttp_map *map = &maps.list[i];
        if (!map->can_execute || map->path[0] != '/' || strcmp(map->path, last) == 0)
            continue;
        last = map->path;
        count += !ttp_modules_have(modules, map->path);
    }
    if (is_read)
        ttp_maps_free(&maps);
    return count;
}

/* ---- looking ---- */

/* What another one has left is put back first. */
static ttape_status adopt(struct ttp_attach *a, int memory, ttape_error *err)
{
    struct ttp_segment left;
    for (size_t i = 0; i < a->maps.count; i++)
        if (strstr(a->maps.list[i].path, "/libtracetape-rt.so") != NULL)
            return ttp_attach_refuse_it(a, "it is recorded already, or was started for recording",
                                        err);
    while (ttp_segment_find(&left, a->shared, &a->maps, memory)) {
        struct ttp_leaving leaving = {.pid = a->options.pid};
        if (a->shared->region == 0) { /* it has just begun, or the recorder was killed just then */
            TTP_TRY(ttp_look(a->options.pid, err));
            (void)ttp_segment_find(&left, a->shared, &a->maps, memory);
        }
        if (ttp_segment_is_used(a->shared, memory))
            return ttp_attach_refuse_it(a, "another recorder is attached to it", err);
        TTP_TRY(ttp_leave(&leaving, &left, err));
        ttp_stood_add(&a->counts->stood, &leaving.stood);
        ttp_maps_free(&a->maps);
        if (!leaving.is_unmapped || !ttp_maps_read(&a->maps, a->options.pid))
            return ttp_attach_refuse_it(a, "what an earlier recorder left in it cannot be put back",
                                        err);
    }
    *a->shared = (struct ttp_agent_shared){0};
    return TTAPE_OK;
}

/* Bits of system calls; NULL: none is recorded. */
static const uint64_t *chosen_calls_of(const struct ttp_attach *a)
{
    const struct ttp_arena_head *head = a->outside.head;
    return (head->call_flags & TTP_CALLS_ON) != 0 ? head->chosen_calls : NULL;
}

struct ttp_target_look ttp_attach_target_look(const struct ttp_attach *a, int memory)
{
    return (struct ttp_target_look){.pid = a->options.pid,
                                    .memory = memory,
                                    .maps = &a->maps,
                                    .chosen_calls = chosen_calls_of(a),
                                    .minds_faults = a->caught != 0};
}

static ttape_status look_at_code(struct ttp_attach *a, int memory, ttape_error *err)
{
    char *status = ttp_look_read(a->options.pid, "status");
    a->caught = status == NULL ? FAULT_SIGNALS : caught_faults(status);
    free(status);
    (void)look_at_program(a->options.pid, &a->program);
    const uint64_t *chosen_calls = chosen_calls_of(a);
    if (!ttp_wishes_make(&a->wishes, &a->options, &a->modules, chosen_calls != NULL))
        return ttp_fail_memory(err);
    const struct ttp_target_look look = ttp_attach_target_look(a, memory);
    TTP_TRY(ttp_targets_open(&a->targets, &look, a->wishes.list, a->wishes.count, err));
    if (ttp_targets_have_values(&a->targets, false))
        ttp_constants_find(a->options.pid, memory, &a->maps, a->shared->constants);
    return ttp_call_places_find(&a->places, &a->maps, memory)
               ? TTAPE_OK
               : ttp_attach_refuse_it(a, no_place, err);
}

/* How stacks are walked, by module. */
static void look_at_rows(struct ttp_attach *a)
{
    const ttape_trace_options how = {.plan = a->options.rows, .context = a->options.context};
    if (a->options.rows != NULL)
        ttp_modules_read(&a->modules, &a->plans, a->options.pid, &how);
}

static ttape_status look(struct ttp_attach *a, ttape_error *err)
{
    char path[64];
    TTP_TRY(ttp_look(a->options.pid, err));
    (void)snprintf(path, sizeof path, "/proc/%u/mem", a->options.pid);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0 || !ttp_maps_read(&a->maps, a->options.pid)) {
        if (memory >= 0)
            (void)close(memory);
        return ttp_attach_refuse_it(
            a, "the kernel does not let us look into it (it has more rights than we)", err);
    }
    ttape_status status = adopt(a, memory, err);
    if (status == TTAPE_OK)
        look_at_rows(a);
    if (status == TTAPE_OK)
        status = look_at_code(a, memory, err);
    (void)close(memory);
    return status;
}

/* ---- the first stop ---- */

static bool is_named(const struct ttp_attach *a, uint32_t thread_id)
{
    for (size_t i = 0; i < a->options.thread_count; i++)
        if (a->options.threads[i] == thread_id)
            return true;
    return a->options.thread_count == 0;
}

static bool has_named(const struct ttp_attach *a, const struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++)
        if (is_named(a, (uint32_t)stop->tasks[i].tid))
            return true;
    return false;
}

bool ttp_attach_look_at_maps(struct ttp_attach *a)
{
    ttp_maps_free(&a->maps);
    return ttp_maps_read(&a->maps, a->options.pid);
}

void ttp_attach_note_threads(struct ttp_attach *a, const struct ttp_stop *stop)
{
    struct ttp_agent_shared *shared = a->shared;
    struct ttp_agent_known first = {0}; /* whose stream has begun */
    for (uint32_t i = 0; i < shared->known_count; i++)
        if (shared->known[i].serial != 0)
            first = shared->known[i];
    a->counts->threads = (uint32_t)stop->count;
    shared->known_count = 0;
    for (size_t i = 0; i < stop->count && shared->known_count < TTP_AGENT_KNOWN; i++) {
        if (!is_named(a, (uint32_t)stop->tasks[i].tid))
            continue;
        const struct ttp_map *map = ttp_threads_stack(&a->maps, a->options.pid, &stop->tasks[i]);
        struct ttp_agent_known *known = &shared->known[shared->known_count++];
        uint32_t id = (uint32_t)stop->tasks[i].tid;
        *known = id == first.thread_id ? first : (struct ttp_agent_known){.thread_id = id};
        ttp_threads_name(a->names, a->name_count, a->options.pid, known->thread_id, known->name);
        if (map == NULL)
            continue;
        bool is_first = strcmp(map->path, "[stack]") == 0;
        known->is_stack_whole = is_first || ttp_maps_is_guarded(&a->maps, map);
        known->stack_low = map->start - (is_first ? 0x800000 : 0);
        known->stack_high = map->end;
    }
}

/* It is begun by the first thread, unless that has ended. */
static void begin_image(struct ttp_attach *a)
{
    struct ttp_agent_shared *shared = a->shared;
    for (uint32_t i = shared->known_count; i-- > 0;)
        if (shared->image == 0 && (shared->known[i].thread_id == a->options.pid || i == 0))
            ttp_told_give(&a->outside, a->options.pid, &shared->known[i], &shared->image);
}

/* The agent is told where things are in the segment, by the distances. */
static void tell_places(struct ttp_attach *a, const struct ttp_stop *stop)
{
    const struct ttp_segment *s = &a->segment;
    struct ttp_agent_shared *shared = a->shared;
    const struct ttp_map *libc = ttp_maps_at(&a->maps, a->places.restore);
    shared->region = s->at;
    shared->region_bytes = s->bytes;
    shared->states = s->at + s->states;
    shared->pages = s->at + s->pages;
    shared->changes = s->at + s->changes;
    shared->calls = s->at + s->calls;
    shared->blocks = s->at + s->blocks;
    shared->areas[0] = (struct ttp_agent_area){s->at + s->area, a->targets.clusters[0].bytes};
    shared->state_count = s->state_count;
    shared->state_bytes = s->state_bytes;
    shared->memory_at = s->memory_at;
    shared->calls_have_values = ttp_targets_have_values(&a->targets, true);
    shared->frame_count = s->frame_count;
    shared->block_count = s->block_count;
    shared->blocks_offset = a->outside.head->blocks_offset;
    shared->file_bytes = s->file_bytes;
    shared->process_id = a->options.pid;
    shared->thread_id_at = ttp_threads_id_place(stop);
    shared->libc_low = libc->start;
    shared->libc_high = libc->end - sizeof(uint64_t);
    shared->result = TTP_AGENT_NOT_YET;
    shared->module_count = (uint32_t)a->targets.count;
    shared->thread_count = (uint32_t)a->options.thread_count;
    for (size_t i = 0; i < a->options.thread_count && i < TTP_AGENT_THREADS; i++)
        shared->threads[i] = a->options.threads[i];
    (void)snprintf(shared->path, sizeof shared->path, "%s", a->options.arena);
}

static const char *check_threads(struct ttp_attach *a, struct ttp_stop *stop)
{
    const char *why = ttp_threads_check(stop);
    if (why == NULL && !has_named(a, stop))
        why = "none of the threads that were named is there";
    if (why == NULL && a->targets.chosen_calls != NULL && ttp_calls_are_dispatched(stop))
        why = "it has its system calls dispatched to a handler, by where they are made";
    return why;
}

static const char *map_segment(struct ttp_attach *a, struct ttp_stop *stop)
{
    const char *why = check_threads(a, stop);
    if (why == NULL && !ttp_call_places_find(&a->places, &a->maps, stop->memory))
        why = no_place;
    if (why != NULL)
        return why;
    const struct ttp_cluster *first = &a->targets.clusters[0];
    const struct ttp_segment_wish wish = {.threads = stop->count,
                                          .changes = ttp_targets_changes(&a->targets),
                                          .area_bytes = first->bytes,
                                          .has_values =
                                              ttp_targets_have_values(&a->targets, false)};
    ttp_segment_lay(&a->segment, &wish, a->outside.head);
    a->segment.at = ttp_maps_place(&a->maps, first->low, first->high, a->segment.bytes);
    if (a->segment.at == 0)
        return "there is no room near its code";
    tell_places(a, stop);
    ttp_targets_name(&a->targets, &a->maps, a->shared->modules);
    ttp_attach_note_threads(a, stop);
    why = ttp_segment_map(&a->segment, stop, &a->places, a->shared);
    a->is_mapped = why == NULL;
    return why;
}

static const char *open_segment(struct ttp_attach *a, struct ttp_stop *stop)
{
    return ttp_segment_open(&a->segment, stop, &a->places);
}

static const char *begin_agent(struct ttp_attach *a, struct ttp_stop *stop)
{
    return ttp_segment_begin(&a->segment, stop);
}

const char *ttp_attach_map_area(struct ttp_attach *a, struct ttp_stop *stop)
{
    return ttp_targets_map(a->now, a->area, &a->maps, &a->segment, stop, &a->places);
}

/* One step while it stands still. */
static ttape_status stop_for(struct ttp_attach *a,
                             const char *(*do_it)(struct ttp_attach *, struct ttp_stop *),
                             ttape_error *err)
{
    struct ttp_stop stop;
    TTP_TRY(ttp_stop_all(&stop, a->options.pid, &a->counts->stood, err));
    const char *why = do_it(a, &stop);
    ttp_stop_end(&stop, &a->counts->stood);
    a->is_retried = why == ttp_segment_no_room;
    return why == NULL ? TTAPE_OK : ttp_attach_refuse_it(a, why, err);
}

/* What is mapped is looked at while it runs: that may take longer than all that is done then. */
ttape_status ttp_attach_stop_where_room(struct ttp_attach *a,
                                        const char *(*map)(struct ttp_attach *, struct ttp_stop *),
                                        ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    a->is_retried = true;
    for (uint32_t round = 0; round < TTP_ATTACH_ROUNDS && a->is_retried; round++) {
        if (!ttp_attach_look_at_maps(a))
            return ttp_attach_refuse_it(a, "its mappings cannot be read", err);
        status = stop_for(a, map, err);
    }
    return status;
}

/* ---- between the stops ---- */

static const char *put_agent(struct ttp_attach *a, int memory)
{
    return ttp_segment_put(&a->segment, memory, a->shared);
}

static ttape_status make_segment(struct ttp_attach *a, ttape_error *err)
{
    a->name_count = ttp_threads_names(a->names, a->options.pid);
    TTP_TRY(stop_for(a, check_threads, err)); /* the first one takes longest, for what it wakes */
    TTP_TRY(ttp_attach_stop_where_room(a, map_segment, err));
    begin_image(a);
    const char *why = ttp_attach_put(a, put_agent);
    if (why != NULL)
        return ttp_attach_refuse_it(a, why, err);
    TTP_TRY(stop_for(a, open_segment, err));
    TTP_TRY(stop_for(a, begin_agent, err));
    a->now = &a->targets;
    for (a->area = 1; a->area < a->targets.cluster_count; a->area++)
        TTP_TRY(ttp_attach_stop_where_room(a, ttp_attach_map_area, err));
    ttp_targets_place(&a->targets, &a->segment);
    a->area_count = a->targets.cluster_count;
    a->module_count = (uint32_t)a->targets.count;
    return TTAPE_OK;
}

/* ---- all of it ---- */

static void close_handle(struct ttp_attach *a)
{
    ttp_outside_close(&a->outside);
    ttp_modules_free(&a->modules);
    ttp_plans_free(&a->plans);
    if (a->options.rows != NULL)
        (void)a->options.rows(a->options.context, NULL, NULL);
    ttp_maps_free(&a->maps);
    ttp_targets_close(&a->targets);
    ttp_later_close(a);
    ttp_wishes_free(&a->wishes);
    free(a->shared);
    free(a);
}

ttape_status ttp_attach_begin(struct ttp_attach **out, const struct ttp_attach_options *options,
                              struct ttp_attach_counts *counts, ttape_error *err)
{
    *out = NULL;
    *counts = (struct ttp_attach_counts){0};
    struct ttp_attach *a = calloc(1, sizeof *a);
    if (a == NULL)
        return ttp_fail_memory(err);
    *a = (struct ttp_attach){.options = *options, .counts = counts};
    a->shared = calloc(1, sizeof *a->shared);
    ttape_status status = a->shared == NULL || strlen(options->arena) >= TTP_AGENT_PATH
                              ? ttp_fail_memory(err)
                              : ttp_outside_open(&a->outside, options->arena, err);
    if (status == TTAPE_OK && stat(options->arena, &a->arena) != 0)
        status = ttp_fail_plain(err, TTAPE_E_IO, "cannot look at '%s'", options->arena);
    if (status == TTAPE_OK && a->outside.head->clock != TTP_CLOCK_TSC)
        status =
            ttp_attach_refuse_it(a,
                                 "it can be recorded with the time stamp counter only, which this "
                                 "machine or --clock does not have",
                                 err);
    if (status == TTAPE_OK)
        status = look(a, err);
    if (status == TTAPE_OK)
        status = make_segment(a, err);
    if (status == TTAPE_OK)
        status = ttp_attach_change(a, err);
    if (status != TTAPE_OK && a->is_mapped) {
        struct ttp_leaving leaving = {.pid = options->pid};
        (void)ttp_leave(&leaving, &a->segment, NULL);
        ttp_stood_add(&counts->stood, &leaving.stood);
    }
    if (status != TTAPE_OK)
        close_handle(a);
    else
        *out = a;
    return status;
}

/* It has executed a program, which may be the same one. */
static bool has_lost_segment(const struct ttp_attach *a)
{
    uint64_t magic = 0;
    const struct iovec to = {&magic, sizeof magic},
                       from = {(void *)(uintptr_t)a->segment.at, sizeof magic};
    ssize_t got = process_vm_readv((pid_t)a->options.pid, &to, 1, &from, 1, 0);
    return got < 0 ? errno == EFAULT : magic != TTP_AGENT_MAGIC;
}

/* It has ended, or executed another program; a debugger has come, or a handler of faults, which
 * would find them in our code. */
bool ttp_attach_is_over(struct ttp_attach *a)
{
    struct stat program;
    char *text = ttp_look_read(ttp_living_task(a->options.pid), "status");
    const char *state = text == NULL ? NULL : strstr(text, "State:");
    a->was_debugged = text != NULL && ttp_look_number(text, "TracerPid:", 10, 0) != 0;
    bool is_over = a->was_debugged || state == NULL || state[7] == 'Z' || state[7] == 'X' ||
                   (caught_faults(text) & ~a->caught) != 0 || has_lost_segment(a) ||
                   !look_at_program(a->options.pid, &program) ||
                   program.st_ino != a->program.st_ino || program.st_dev != a->program.st_dev;
    free(text);
    return is_over;
}

ttape_status ttp_attach_end(struct ttp_attach *a, struct ttp_attach_counts *counts,
                            ttape_error *err)
{
    struct ttp_leaving leaving = {.pid = a->options.pid};
    a->counts = counts;
    ttp_arena_note_off(a->outside.head, ttp_outside_clock(&a->outside));
    __atomic_store_n(&a->outside.head->mode, TTP_MODE_STOPPED, __ATOMIC_RELAXED);
    uint32_t loaded = ttp_wishes_loaded(&a->modules, a->options.pid);
    counts->loaded = loaded > counts->followed ? loaded - counts->followed : 0;
    ttape_status status = ttp_leave(&leaving, &a->segment, err);
    ttp_stood_add(&counts->stood, &leaving.stood);
    counts->has_ended = leaving.is_gone;
    counts->is_left = !leaving.is_gone && !leaving.is_unmapped;
    counts->was_debugged = a->was_debugged && counts->is_left && leaving.is_back;
    uint32_t there = ttp_leave_children(&a->segment, a->options.pid, (uint64_t)a->arena.st_ino);
    uint32_t called = __atomic_load_n(&a->outside.head->children_left, __ATOMIC_RELAXED);
    counts->children = there > called ? there : called;
    if (status == TTAPE_OK && leaving.foreign != 0)
        status = ttp_attach_refuse(err, a->options.pid,
                                   "%u places in its code were changed by somebody else meanwhile: "
                                   "they were left as they are",
                                   leaving.foreign);
    close_handle(a);
    return status;
}
