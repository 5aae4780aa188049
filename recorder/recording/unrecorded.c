/* Programs that were executed, those of them that came, those that record: from the notes that
 * processes write (spec/recording.md, 2.7). For each process there is the program that came last,
 * and the one that was executed after it and has not come. */
#define _GNU_SOURCE /* asprintf */
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/state/recording_internal.h"

#define PATHS_MAX     256u /* folders of PATH that are looked into */
#define STATUS_ABSENT 127  /* of what a loader could not start */

/* A program of a process. */
struct program {
    bool is_there;
    bool is_let_go; /* by its tracer */
    bool is_aside;  /* it recorded until it made threads of its own, or nothing */
    uint32_t turn;  /* when it came */
    uint64_t image; /* its number as a process image, 0: none is known */
    uint32_t reason;
    char *path; /* only while nobody is an example of that reason */
};

struct process {
    uint32_t pid;
    struct program came, executed;
};

const char *ttp_unrecorded_key(uint32_t reason)
{
    static const char *const keys[TTAPE_UNRECORDED_COUNT] = {
        "unrecorded_not_instrumented", "unrecorded_no_calls",    "unrecorded_static",
        "unrecorded_set_uid",          "unrecorded_other_user",  "unrecorded_other_namespace",
        "unrecorded_sanitizer",        "unrecorded_environment", "unrecorded_other_machine",
        "unrecorded_unknown",          "unrecorded_other_libc",  "unrecorded_older_libc",
        "unrecorded_own_threads",      "unrecorded_not_started", "unrecorded_unreachable",
        "unrecorded_sandbox"};
    return keys[reason];
}

static void count(struct ttp_unrecorded *u, struct program *program)
{
    if (program->is_there && program->reason == TTAPE_UNRECORDED_UNKNOWN && program->path != NULL &&
        ttp_program_lacks_library(program->path))
        program->reason = TTAPE_UNRECORDED_NOT_STARTED;
    bool is_traced = u->options->syscalls.traced && !program->is_let_go; /* its calls were seen */
    if (program->is_there && !is_traced) {
        u->counts[program->reason]++;
        if (u->examples[program->reason] == NULL) {
            u->examples[program->reason] = program->path;
            program->path = NULL;
        }
    }
    free(program->path);
    *program = (struct program){0};
}

/* Whether it recorded is known when all is decoded. */
static void put_off(struct ttp_unrecorded *u, const ttape_allocator *a, struct program *program)
{
    struct program *place = program->is_there ? ttp_push(a, &u->came, sizeof *place, NULL) : NULL;
    if (place != NULL)
        *place = *program;
    else
        free(program->path);
    *program = (struct program){0};
}

static void set(struct ttp_unrecorded *u, struct program *program, uint32_t reason,
                const char *path)
{
    free(program->path);
    *program = (struct program){.is_there = true, .reason = reason};
    if (u->examples[reason] == NULL || reason == TTAPE_UNRECORDED_UNKNOWN)
        program->path = strdup(path); /* NULL: an example less */
}

/* NULL: there is no memory, and the process is not counted. */
static struct process *find_process(struct ttp_unrecorded *u, const ttape_allocator *a,
                                    uint32_t pid)
{
    uint32_t at = ttp_map_find(&u->by_pid, pid);
    if (at != TTAPE_NONE)
        return (struct process *)u->processes.data + at;
    struct process *added = ttp_push(a, &u->processes, sizeof *added, NULL);
    if (added == NULL)
        return NULL;
    *added = (struct process){.pid = pid};
    if (ttp_map_set(a, &u->by_pid, pid, (uint32_t)(u->processes.count - 1), NULL) != TTAPE_OK)
        return NULL;
    return added;
}

/* The path is relative to where the process was when it executed it. Its folder may be another one
 * by now, and it may be gone: then ours counts. */
static char *find_relative(uint32_t pid, const char *path)
{
    char *found = NULL;
    if (*path == '/')
        return strdup(path);
    if (asprintf(&found, "/proc/%u/cwd/%s", pid, path) < 0)
        return NULL;
    if (access(found, F_OK) == 0)
        return found;
    free(found);
    return strdup(path);
}

static char *find_in_path(uint32_t pid, const char *name)
{
    const char *at = getenv("PATH");
    for (uint32_t i = 0; at != NULL && i < PATHS_MAX; i++) {
        char *found = NULL;
        size_t size = strcspn(at, ":");
        if (asprintf(&found, "%.*s%s%s", (int)size, at, size == 0 ? "" : "/", name) < 0)
            return NULL;
        if (access(found, X_OK) == 0)
            return found;
        free(found);
        at = at[size] == '\0' ? NULL : at + size + 1;
    }
    return find_relative(pid, name);
}

char *ttp_program_find(const char *command)
{
    return strchr(command, '/') != NULL ? strdup(command)
                                        : find_in_path((uint32_t)getpid(), command);
}

static char *find_file(const struct ttp_note *note)
{
    bool is_searched = (note->flags & TTP_NOTE_SEARCHED) != 0 && strchr(note->path, '/') == NULL;
    return is_searched ? find_in_path(note->pid, note->path) : find_relative(note->pid, note->path);
}

/* Why a program does not come. */
static uint32_t why_not(const struct ttp_program_file *file, uint32_t flags)
{
    if (file->is_set_uid)
        return TTAPE_UNRECORDED_SET_UID;
    if (file->is_other_machine)
        return TTAPE_UNRECORDED_OTHER_MACHINE;
    if (file->is_static)
        return TTAPE_UNRECORDED_STATIC;
    if (file->is_other_libc)
        return TTAPE_UNRECORDED_OTHER_LIBC;
    if (file->is_go && !file->makes_threads)
        return TTAPE_UNRECORDED_OWN_THREADS;
    if ((flags & TTP_NOTE_UNREACHABLE) != 0)
        return TTAPE_UNRECORDED_UNREACHABLE;
    if ((flags & TTP_NOTE_ENVIRONMENT) != 0)
        return TTAPE_UNRECORDED_ENVIRONMENT;
    if ((flags & TTP_NOTE_NAMESPACE) != 0) /* it may call the same user by another number */
        return TTAPE_UNRECORDED_OTHER_NAMESPACE;
    if ((flags & TTP_NOTE_USER) != 0)
        return TTAPE_UNRECORDED_OTHER_USER;
    return file->has_sanitizer ? TTAPE_UNRECORDED_SANITIZER : TTAPE_UNRECORDED_UNKNOWN;
}

static void take_exec(struct ttp_unrecorded *u, const ttape_allocator *a, struct process *process,
                      const struct ttp_note *note)
{
    struct ttp_program_file file;
    bool is_let_go = (note->flags & TTP_NOTE_LET_GO) != 0;
    if (is_let_go) /* of the same call somebody else has told, or what there was was traced */
        process->executed.is_there = false;
    if (process->executed.is_there) { /* another process had the number */
        put_off(u, a, &process->came);
        count(u, &process->executed);
    }
    if (process->came.is_there && (int32_t)(process->came.turn - note->turn) > 0)
        return; /* posix_spawn tells of it when it is there already */
    char *path = find_file(note);
    ttp_program_file_look(path == NULL ? note->path : path, &file);
    const char *shown = path == NULL || strncmp(path, "/proc/", 6) == 0 ? note->path : path;
    set(u, &process->executed, is_let_go ? TTAPE_UNRECORDED_SET_UID : why_not(&file, note->flags),
        shown);
    process->executed.is_let_go = is_let_go;
    free(path);
}

static void take_came(struct ttp_unrecorded *u, const ttape_allocator *a, struct process *process,
                      const struct ttp_note *note)
{
    char own[sizeof "/proc//exe" + 10];
    struct ttp_program_file file;
    ttp_program_file_look(note->path, &file);
    if (!file.is_readable) {
        (void)snprintf(own, sizeof own, "/proc/%u/exe", note->pid);
        ttp_program_file_look(own, &file);
    }
    process->executed.is_there = false;
    count(u, &process->executed); /* this is it */
    put_off(u, a, &process->came);
    bool is_sandboxed =
        (note->flags & TTP_NOTE_SANDBOX) != 0 && u->options->patch.choice != 0 && !file.has_hooks;
    set(u, &process->came,
        is_sandboxed         ? TTAPE_UNRECORDED_SANDBOX
        : !file.is_readable  ? TTAPE_UNRECORDED_UNKNOWN
        : file.has_hooks     ? TTAPE_UNRECORDED_NO_CALLS
        : file.is_older_libc ? TTAPE_UNRECORDED_OLDER_LIBC
                             : TTAPE_UNRECORDED_NOT_INSTRUMENTED,
        note->path);
    process->came.turn = note->turn;
}

static void take_note(struct ttp_unrecorded *u, const ttape_allocator *a,
                      const struct ttp_note *note)
{
    if (note->pid == 0 || (u->only_first && u->first_pid != 0 && u->first_pid != note->pid))
        return;
    struct process *process = find_process(u, a, note->pid);
    if (process == NULL)
        return;
    switch (note->kind) {
    case TTP_NOTE_EXEC: take_exec(u, a, process, note); break;
    case TTP_NOTE_FAILED:
        process->executed.is_there = false;
        count(u, &process->executed);
        break;
    case TTP_NOTE_CAME: take_came(u, a, process, note); break;
    case TTP_NOTE_IMAGE: process->came.image = note->image; break;
    case TTP_NOTE_ASIDE:
        process->came.is_aside = true;
        process->came.reason = TTAPE_UNRECORDED_OWN_THREADS;
        break;
    default: break;
    }
}

static int by_turn(const void *a, const void *b)
{
    uint32_t x = ((const struct ttp_note *)a)->turn, y = ((const struct ttp_note *)b)->turn;
    return x == y ? 0 : (int32_t)(x - y) > 0 ? 1 : -1;
}

static bool free_note(struct ttp_note *note, uint32_t state)
{
    return __atomic_compare_exchange_n(&note->state, &state, TTP_NOTE_FREE, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

/* A program waits until its note is free, whether there is a plan then or not; it looks at it when
 * the turn changes. */
static void end_plans(struct ttp_arena_head *head, const struct ttp_growing *taken)
{
    struct ttp_note *notes = (void *)((uint8_t *)head + TTP_NOTES_AT);
    const struct ttp_note *plans = taken->data;
    for (size_t i = 0; i < taken->count; i++)
        if (plans[i].kind == TTP_NOTE_PLAN)
            free_note(&notes[plans[i].left], plans[i].state);
    __atomic_add_fetch(&head->plan_turn, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &head->plan_turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Programs that wait look at this process's processor time. */
static bool make_plan(const struct ttp_unrecorded *u, struct ttp_arena_head *head,
                      const struct ttp_note *note)
{
    const ttape_syscall_options *calls = &u->options->syscalls;
    const ttape_patch_options *patch = &u->options->patch;
    if (note->kind != TTP_NOTE_PLAN)
        return false;
    __atomic_store_n(&head->planner, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    if (calls->plan != NULL && (note->flags & TTP_NOTE_NO_CALLS) == 0)
        calls->plan(calls->plan_context, note->path);
    if ((note->flags & TTP_NOTE_FUNCTIONS) != 0 && patch->plan != NULL)
        patch->plan(patch->plan_context, note->path);
    return true;
}

static void look_at_unseen(struct ttp_unrecorded *u, const struct ttp_arena_head *head)
{
    const uint32_t *const counts[TTP_UNSEEN_COUNT] = {
        [TTP_UNSEEN_MODULES] = &head->unseen_modules,
        [TTP_UNSEEN_SITES] = &head->unseen_sites,
        [TTP_PATCHED_FUNCTIONS] = &head->patched_functions,
        [TTP_PATCHED_EXITS] = &head->patched_exits,
        [TTP_UNPATCHED_FUNCTIONS] = &head->unpatched_functions,
        [TTP_UNPATCHED_EXITS] = &head->unpatched_exits,
        [TTP_UNPATCHED_HOOKED] = &head->hooked_functions,
        [TTP_UNPATCHED_MODULES] = &head->unpatched_modules,
        [TTP_PATCHED_INLINED] = &head->patched_inlined,
        [TTP_UNPATCHED_INLINED] = &head->unpatched_inlined,
        [TTP_PATCHED_MARKS] = &head->patched_marks,
        [TTP_UNPATCHED_MARKS] = &head->unpatched_marks,
        [TTP_LATE_PLANS] = &head->late_plans};
    for (uint32_t i = 0; i < TTP_UNSEEN_COUNT; i++)
        u->unseen[i] = __atomic_load_n(counts[i], __ATOMIC_RELAXED);
}

void ttp_unrecorded_take(struct ttp_unrecorded *u, const ttape_allocator *a,
                         struct ttp_arena_head *head)
{
    struct ttp_note *notes = (void *)((uint8_t *)head + TTP_NOTES_AT);
    uint32_t now = __atomic_load_n(&head->note_count, __ATOMIC_ACQUIRE);
    look_at_unseen(u, head);
    if (now == u->notes_seen)
        return;
    u->notes_seen = now;
    u->taken.count = 0; /* not on the stack, which may be small */
    for (uint32_t i = 0; i < TTP_NOTES; i++) {
        uint32_t state = __atomic_load_n(&notes[i].state, __ATOMIC_ACQUIRE);
        if ((state & (TTP_NOTE_WRITING | TTP_NOTE_THERE)) != TTP_NOTE_THERE)
            continue;
        struct ttp_note *copy = ttp_push(a, &u->taken, sizeof *copy, NULL);
        if (copy == NULL) {
            u->notes_seen = now - 1; /* the others in the next round */
            break;
        }
        *copy = notes[i];
        copy->path[TTP_NOTE_PATH_BYTES - 1] = '\0';
        copy->state = state;
        if (copy->kind == TTP_NOTE_PLAN)
            copy->left = i;                    /* its place, for end_plans */
        else if (!free_note(&notes[i], state)) /* taken back meanwhile: it was not executed */
            u->taken.count--;
    }
    const struct ttp_note *taken = u->taken.data;
    bool has_plans = false;
    if (u->taken.count != 0)
        qsort(u->taken.data, u->taken.count, sizeof *taken, by_turn);
    for (size_t i = 0; i < u->taken.count; i++) {
        bool is_plan = make_plan(u, head, &taken[i]);
        has_plans |= is_plan;
        if (taken[i].kind == TTP_NOTE_PATCHED)
            ttp_patched_take(&u->patched, a, &taken[i]);
        else if (!is_plan)
            take_note(u, a, &taken[i]);
    }
    if (has_plans)
        end_plans(head, &u->taken);
}

void ttp_unrecorded_started(struct ttp_unrecorded *u, const ttape_allocator *a, uint32_t pid,
                            const char *command)
{
    struct ttp_note note = {.kind = TTP_NOTE_EXEC, .pid = pid, .flags = TTP_NOTE_SEARCHED};
    (void)snprintf(note.path, sizeof note.path, "%s", command);
    if (u->bare_pid == pid)
        note.flags |= TTP_NOTE_ENVIRONMENT;
    if (u->first_pid == 0)
        u->first_pid = pid;
    take_note(u, a, &note);
}

void ttape_recording_note_bare(ttape_recording *r, uint32_t pid)
{
    r->drain.unrecorded.bare_pid = pid;
}

/* A loader that does not find a library, a version or a name ends the program so, before anything
 * of it has run. */
void ttp_unrecorded_ended(struct ttp_unrecorded *u, uint32_t pid, int wait_status)
{
    uint32_t at = ttp_map_find(&u->by_pid, pid);
    struct process *processes = u->processes.data;
    if (at == TTAPE_NONE || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != STATUS_ABSENT)
        return;
    struct program *program = &processes[at].executed;
    if (program->is_there && program->reason == TTAPE_UNRECORDED_UNKNOWN)
        program->reason = TTAPE_UNRECORDED_NOT_STARTED;
}

/* Also those that a filter leaves out. */
static bool has_calls(const struct ttp_encode *e, uint64_t serial)
{
    uint32_t index = ttp_map_find(&e->image_by_serial, serial);
    if (index == TTAPE_NONE)
        return false;
    const struct ttp_image *image = ttp_image_at(e, index);
    return image->layout != TTAPE_NONE && ttp_layout_at(e, image->layout)->sites.count != 0;
}

void ttp_unrecorded_settle(struct ttp_unrecorded *u, const ttape_allocator *a,
                           const struct ttp_encode *e, const struct ttp_arena_head *head)
{
    struct process *processes = u->processes.data;
    bool is_whole = __atomic_load_n(&head->notes_missed, __ATOMIC_RELAXED) == 0;
    for (size_t i = 0; i < u->processes.count; i++) {
        put_off(u, a, &processes[i].came);
        count(u, &processes[i].executed);
    }
    if (!u->options->syscalls.traced) {
        u->counts[TTAPE_UNRECORDED_OTHER_NAMESPACE] += head->unknown_elsewhere;
        u->counts[TTAPE_UNRECORDED_SANDBOX] += head->unknown_sandboxed;
    }
    struct program *came = u->came.data;
    for (size_t i = 0; i < u->came.count; i++) {
        bool is_recorded = has_calls(e, came[i].image) || (came[i].image == 0 && !is_whole);
        if (is_recorded && !came[i].is_aside)
            came[i].is_there = false;
        count(u, &came[i]);
    }
}

void ttp_unrecorded_close(struct ttp_unrecorded *u, const ttape_allocator *a)
{
    struct process *processes = u->processes.data;
    struct program *came = u->came.data;
    for (size_t i = 0; i < u->processes.count; i++) {
        free(processes[i].came.path);
        free(processes[i].executed.path);
    }
    for (size_t i = 0; i < u->came.count; i++)
        free(came[i].path);
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        free(u->examples[i]);
    ttp_grown_free(a, &u->came);
    ttp_grown_free(a, &u->taken);
    ttp_patched_close(&u->patched, a);
    ttp_grown_free(a, &u->processes);
    ttp_map_free(a, &u->by_pid);
}
