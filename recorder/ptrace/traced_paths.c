/* Which call over which stack: each gets a key of its own, and is said in each thread's stream that
 * uses it, before its first use there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "recorder/ptrace/tracer.h"

#define PATHS_MOST (1u << 20) /* what comes then has no path */

struct ttp_traced_path {
    uint64_t hash, key, image;
    uint32_t number, count;
    bool is_cut;
    uint64_t frames[];
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}

/* Open addressing; slots of NULL are free. */
static bool grow(struct ttp_traced_paths *paths)
{
    if (paths->count * 2 < paths->capacity)
        return true;
    size_t capacity = paths->capacity > 0 ? 2 * paths->capacity : 1024;
    struct ttp_traced_path **slots =
        paths->count < PATHS_MOST ? calloc(capacity, sizeof(*slots)) : NULL;
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < paths->capacity; i++) {
        if (paths->slots[i] == NULL)
            continue;
        size_t at = paths->slots[i]->hash & (capacity - 1);
        while (slots[at] != NULL)
            at = (at + 1) & (capacity - 1);
        slots[at] = paths->slots[i];
    }
    free(paths->slots);
    paths->slots = slots;
    paths->capacity = capacity;
    return true;
}

static bool is_same(const struct ttp_traced_path *path, const struct ttp_traced_path *other,
                    const uint64_t *frames)
{
    return path->hash == other->hash && path->image == other->image &&
           path->number == other->number && path->count == other->count &&
           path->is_cut == other->is_cut &&
           memcmp(path->frames, frames, path->count * sizeof(*frames)) == 0;
}

static struct ttp_traced_path *find_path(struct ttp_tracer *tracer, uint64_t image, uint32_t number)
{
    struct ttp_traced_paths *paths = &tracer->paths;
    const struct ttp_traced_stack *stack = tracer->stack;
    struct ttp_traced_path wanted = {
        .image = image, .number = number, .count = stack->count, .is_cut = stack->is_cut};
    size_t bytes = stack->count * sizeof(*stack->frames);
    wanted.hash = mix(mix(image, number), stack->is_cut);
    for (uint32_t i = 0; i < stack->count; i++)
        wanted.hash = mix(wanted.hash, stack->frames[i]);
    if (!grow(paths))
        return NULL;
    size_t at = wanted.hash & (paths->capacity - 1);
    for (; paths->slots[at] != NULL; at = (at + 1) & (paths->capacity - 1))
        if (is_same(paths->slots[at], &wanted, stack->frames))
            return paths->slots[at];
    struct ttp_traced_path *path = malloc(sizeof(*path) + bytes);
    if (path == NULL)
        return NULL;
    *path = wanted;
    memcpy(path->frames, stack->frames, bytes);
    path->key = TTP_CALL_KEYS_PATH +
                __atomic_fetch_add(&tracer->outside.head->call_keys, 1, __ATOMIC_RELAXED);
    paths->slots[at] = path;
    paths->count++;
    return path;
}

void ttp_paths_free(struct ttp_traced_paths *paths)
{
    for (size_t i = 0; i < paths->capacity; i++)
        free(paths->slots[i]);
    free(paths->slots);
    *paths = (struct ttp_traced_paths){0};
}

/* ---- what was said in a stream ---- */

static bool was_said(struct ttp_traced *thread, uint64_t key)
{
    if (thread->said_count * 2 >= thread->said_capacity) {
        size_t capacity = thread->said_capacity > 0 ? 2 * thread->said_capacity : 64;
        uint64_t *said = calloc(capacity, sizeof(*said));
        if (said == NULL)
            return false; /* it is said once more */
        for (size_t i = 0; i < thread->said_capacity; i++) {
            size_t at = mix(0, thread->said[i]) & (capacity - 1);
            while (thread->said[i] != 0 && said[at] != 0)
                at = (at + 1) & (capacity - 1);
            if (thread->said[i] != 0)
                said[at] = thread->said[i];
        }
        free(thread->said);
        thread->said = said;
        thread->said_capacity = capacity;
    }
    size_t at = mix(0, key) & (thread->said_capacity - 1);
    for (; thread->said[at] != 0; at = (at + 1) & (thread->said_capacity - 1))
        if (thread->said[at] == key)
            return true;
    thread->said[at] = key;
    thread->said_count++;
    return false;
}

void ttp_traced_forget(struct ttp_traced *thread)
{
    free(thread->said);
    thread->said = NULL;
    thread->said_count = thread->said_capacity = 0;
    thread->space_version = 0;
}

/* ---- a call's path ---- */

static void say_modules(struct ttp_tracer *tracer, struct ttp_traced *thread,
                        const struct ttp_traced_modules *modules)
{
    uint32_t count = 0;
    for (size_t i = 0; i < modules->count; i++) {
        const struct ttp_traced_module *module = &modules->modules[i];
        const struct ttp_plan_head *plan = module->plan;
        uint64_t range[2] = {module->start, module->end};
        uint32_t id_bytes = plan != NULL ? plan->build_id_bytes : 0;
        const struct ttp_outside_field fields[4] = {
            {range, sizeof(range)},
            {&id_bytes, sizeof(id_bytes)},
            {plan != NULL ? plan->build_id : NULL, id_bytes},
            {module->path, strlen(module->path)}};
        count += module->code_end != 0 &&
                 ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_MODULE, fields, 4);
    }
    const struct ttp_outside_field last = {&count, sizeof(count)};
    (void)ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_MODULES_END, &last, 1);
}

static struct ttp_traced_space *space_of(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    for (size_t i = 0; i < tracer->space_count; i++)
        if (tracer->spaces[i].pid == thread->pid)
            return &tracer->spaces[i];
    void *grown = realloc(tracer->spaces, (tracer->space_count + 1) * sizeof(*tracer->spaces));
    if (grown == NULL)
        return NULL;
    tracer->spaces = grown;
    struct ttp_traced_space *space = &tracer->spaces[tracer->space_count++];
    *space = (struct ttp_traced_space){.pid = thread->pid, .is_stale = true};
    return space;
}

void ttp_space_changed(struct ttp_tracer *tracer, uint32_t pid)
{
    for (size_t i = 0; i < tracer->space_count; i++)
        if (tracer->spaces[i].pid == pid)
            tracer->spaces[i].is_stale = true;
}

void ttp_space_end(struct ttp_tracer *tracer, uint32_t pid)
{
    for (size_t i = 0; i < tracer->space_count; i++)
        if (tracer->spaces[i].pid == pid) {
            ttp_modules_free(&tracer->spaces[i].modules);
            tracer->spaces[i] = tracer->spaces[--tracer->space_count];
            return;
        }
}

uint64_t ttp_traced_key(struct ttp_tracer *tracer, struct ttp_traced *thread, uint32_t number)
{
    struct user_regs_struct registers;
    struct ttp_traced_space *space = space_of(tracer, thread);
    if (space == NULL || ptrace(PTRACE_GETREGS, (pid_t)thread->tid, NULL, &registers) != 0)
        return 0;
    if (space->is_stale || space->image != thread->out.image) {
        ttp_modules_read(&space->modules, &tracer->plans, thread->pid, tracer->options);
        space->is_stale = false;
        space->image = thread->out.image;
        space->version++;
    }
    /* In each stream, as they are read in any order. */
    if (thread->space_version != space->version)
        say_modules(tracer, thread, &space->modules);
    thread->space_version = space->version;
    ttp_stack_walk(tracer->stack, &space->modules, thread->tid, registers.rip, registers.rsp,
                   registers.rbp);
    const struct ttp_traced_path *path = find_path(tracer, thread->out.image, number);
    if (path == NULL)
        return 0;
    if (was_said(thread, path->key))
        return path->key;
    uint32_t numbers[2] = {TTAPE_SITE_SYSCALL, number};
    uint16_t name_bytes = 0,
             about[2] = {(uint16_t)path->count, path->is_cut ? (uint16_t)TTP_PATH_CUT : 0};
    const struct ttp_outside_field site[3] = {{&path->key, sizeof(path->key)},
                                              {numbers, sizeof(numbers)},
                                              {&name_bytes, sizeof(name_bytes)}};
    const struct ttp_outside_field frames[3] = {
        {&path->key, sizeof(path->key)},
        {about, sizeof(about)},
        {path->frames, path->count * sizeof(*path->frames)}};
    (void)ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_SITE, site, 3);
    (void)ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_PATH, frames, 3);
    return path->key;
}
