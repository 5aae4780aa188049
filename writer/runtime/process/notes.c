/* Notes for the recorder: which programs are executed, which of them came, which record. A program
 * that never comes cannot say so: the one that executes it does. Safe in signal handlers and in a
 * vfork child. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/runtime/slow.h"

#define PAGE_BYTES ((uintptr_t)4096)
#define NO_PAGE    ((uintptr_t)1)

typedef uintptr_t __attribute__((aligned(1), may_alias)) loose_pointer;

static uint32_t word(uint32_t turn, enum ttp_note_state state)
{
    return turn << TTP_NOTE_TURN_SHIFT | state;
}

uint32_t ttp_note_turn(void)
{
    return __atomic_add_fetch(&ttp_arena.head.note_turn, 1, __ATOMIC_RELAXED);
}

static struct ttp_note *take(const struct ttp_note *content)
{
    uint32_t turn = content->turn, first = content->kind == TTP_NOTE_PATCHED ? TTP_NOTES_KEPT : 0;
    uint32_t count = TTP_NOTES - first;
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_note *note = &ttp_process.notes[first + (turn + i) % count];
        uint32_t before = __atomic_load_n(&note->state, __ATOMIC_RELAXED);
        if ((before & (TTP_NOTE_WRITING | TTP_NOTE_THERE)) == 0 &&
            __atomic_compare_exchange_n(&note->state, &before, word(turn, TTP_NOTE_WRITING), false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return note;
    }
    if (content->kind != TTP_NOTE_PATCHED) /* of it the head has the sums */
        __atomic_add_fetch(&ttp_arena.head.notes_missed, 1, __ATOMIC_RELAXED);
    return NULL;
}

static struct ttp_note *put(const struct ttp_note *content, const char *path)
{
    struct ttp_note *note = ttp_process.notes == NULL ? NULL : take(content);
    uint32_t size = 0;
    if (note == NULL)
        return NULL;
    note->kind = content->kind;
    note->pid = content->pid;
    note->flags = content->flags;
    note->image = content->image;
    note->turn = content->turn;
    note->left = content->left;
    for (; path != NULL && size < TTP_NOTE_PATH_BYTES - 1 && path[size] != '\0'; size++)
        note->path[size] = path[size];
    note->path[size] = '\0';
    __atomic_store_n(&note->state, word(content->turn, TTP_NOTE_THERE), __ATOMIC_RELEASE);
    __atomic_add_fetch(&ttp_arena.head.note_count, 1, __ATOMIC_RELEASE);
    return note;
}

void ttp_note_came(void)
{
    char path[TTP_NOTE_PATH_BYTES];
    path[ttp_program_path(path, sizeof(path) - 1)] = '\0';
    struct ttp_note note = {
        .kind = TTP_NOTE_CAME, .pid = ttp_process.page->process_id, .turn = ttp_note_turn()};
    put(&note, path);
}

void ttp_note_plan(const char *path, uint32_t flags)
{
    struct ttp_note note = {.kind = TTP_NOTE_PLAN,
                            .pid = ttp_process.page->process_id,
                            .flags = flags,
                            .turn = ttp_note_turn()};
    put(&note, path);
}

void ttp_note_patched(const char *path, uint32_t functions, uint32_t exits, uint32_t left)
{
    struct ttp_note note = {.kind = TTP_NOTE_PATCHED,
                            .pid = ttp_process.page->process_id,
                            .image = functions | (uint64_t)exits << 32,
                            .turn = ttp_note_turn(),
                            .left = left};
    put(&note, path);
}

void ttp_note_image(void)
{
    struct ttp_note note = {.kind = TTP_NOTE_IMAGE,
                            .pid = ttp_thread.process_id,
                            .image = ttp_process.page->image,
                            .turn = ttp_note_turn()};
    put(&note, NULL);
}

/* The program may give anything for an environment, and the kernel refuses what it cannot read. So
 * nothing is read here before the kernel was asked, page by page: it copies the set of signals, and
 * then finds that there is no such operation. */
static bool can_read(uintptr_t *known_page, uintptr_t at, size_t size)
{
    for (uintptr_t page = at & ~(PAGE_BYTES - 1); page <= ((at + size - 1) & ~(PAGE_BYTES - 1));
         page += PAGE_BYTES) {
        if (page == *known_page)
            continue;
        if (ttp_syscall(SYS_rt_sigprocmask, -1, (long)page, 0, sizeof(uint64_t), 0, 0) != -EINVAL)
            return false;
        *known_page = page;
    }
    return true;
}

/* Whether an entry sets a variable; *is_readable becomes false where that cannot be seen. */
static bool sets(uintptr_t entry, const char *name, uintptr_t *known_page, bool *is_readable)
{
    for (;; entry++, name++) {
        *is_readable = can_read(known_page, entry, 1);
        if (!*is_readable)
            return false;
        char letter = *(const char *)entry;
        if (*name == '\0' || letter != *name)
            return *name == '\0' && letter == '=';
    }
}

/* False: the environment cannot be read, so nothing will be executed. */
static bool look_around(char *const *environment, uint32_t *flags)
{
    uintptr_t entry, at = (uintptr_t)environment, pages[2] = {NO_PAGE, NO_PAGE};
    bool has_arena = false, has_runtime = false, is_readable = true;
    for (; at != 0; at += sizeof(entry)) {
        if (!can_read(&pages[0], at, sizeof(entry)))
            return false;
        entry = *(const loose_pointer *)at;
        if (entry == 0)
            break;
        has_arena = has_arena || sets(entry, TTP_ENV_ARENA, &pages[1], &is_readable);
        has_runtime =
            has_runtime || (is_readable && sets(entry, "LD_PRELOAD", &pages[1], &is_readable));
        if (!is_readable)
            return false;
    }
    if (!has_arena || !has_runtime)
        *flags |= TTP_NOTE_ENVIRONMENT;
    if ((uint32_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0) != ttp_process.user)
        *flags |= TTP_NOTE_USER;
    return true;
}

static bool may_tell(void)
{
    return ttp_process.notes != NULL && !ttp_process.avoids_system_calls &&
           __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON &&
           ttp_thread.page->gate != TTP_GATE_RECORDER_THREAD;
}

void ttp_note_exec(struct ttp_noted *noted, const char *path, uint32_t flags,
                   char *const *environment)
{
    *noted = (struct ttp_noted){NULL, 0, 0};
    /* Nor is there anything to tell of a program that is not there; the path may be anything. */
    if (!may_tell() ||
        ((flags & TTP_NOTE_SEARCHED) == 0 &&
         ttp_syscall(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) != 0) ||
        !look_around(environment, &flags))
        return;
    /* Not what the page says: a vfork child has its parent's. */
    if (!ttp_ids_ask(&noted->pid))
        flags |= TTP_NOTE_NAMESPACE;
    noted->turn = ttp_note_turn();
    struct ttp_note note = {
        .kind = TTP_NOTE_EXEC, .pid = noted->pid, .flags = flags, .turn = noted->turn};
    noted->note = put(&note, path);
}

void ttp_note_failed(const struct ttp_noted *noted)
{
    if (noted->note == NULL)
        return;
    struct ttp_note failed = {.kind = TTP_NOTE_FAILED, .pid = noted->pid, .turn = ttp_note_turn()};
    uint32_t expected = word(noted->turn, TTP_NOTE_THERE);
    if (!__atomic_compare_exchange_n(&noted->note->state, &expected,
                                     word(noted->turn, TTP_NOTE_FREE), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        put(&failed, NULL);
}

void ttp_note_spawned(uint32_t pid, uint32_t turn, const char *path, uint32_t flags,
                      char *const *environment)
{
    if (!may_tell() || ttp_process.is_elsewhere || /* the kernel's number is not the recorder's */
        !look_around(environment, &flags))
        return;
    struct ttp_note note = {.kind = TTP_NOTE_EXEC, .pid = pid, .flags = flags, .turn = turn};
    put(&note, path);
}
