/* Notes for the recorder: which programs are executed, which of them came, which record. A program
 * that never comes cannot say so: the one that executes it does. Safe in signal handlers and in a
 * vfork child. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/runtime/slow.h"

static uint32_t word(uint32_t turn, enum ttp_note_state state)
{
    return turn << TTP_NOTE_TURN_SHIFT | state;
}

uint32_t ttp_note_turn(void)
{
    return __atomic_add_fetch(&ttp_arena.head.note_turn, 1, __ATOMIC_RELAXED);
}

static struct ttp_note *take(uint32_t turn)
{
    for (uint32_t i = 0; i < TTP_NOTES; i++) {
        struct ttp_note *note = &ttp_process.notes[(turn + i) % TTP_NOTES];
        uint32_t before = __atomic_load_n(&note->state, __ATOMIC_RELAXED);
        if ((before & (TTP_NOTE_WRITING | TTP_NOTE_THERE)) == 0 &&
            __atomic_compare_exchange_n(&note->state, &before, word(turn, TTP_NOTE_WRITING), false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return note;
    }
    __atomic_add_fetch(&ttp_arena.head.notes_missed, 1, __ATOMIC_RELAXED);
    return NULL;
}

static struct ttp_note *put(const struct ttp_note *content, const char *path)
{
    struct ttp_note *note = ttp_process.notes == NULL ? NULL : take(content->turn);
    uint32_t size = 0;
    if (note == NULL)
        return NULL;
    note->kind = content->kind;
    note->pid = content->pid;
    note->flags = content->flags;
    note->image = content->image;
    note->turn = content->turn;
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

void ttp_note_image(void)
{
    struct ttp_note note = {.kind = TTP_NOTE_IMAGE,
                            .pid = ttp_thread.process_id,
                            .image = ttp_process.page->image,
                            .turn = ttp_note_turn()};
    put(&note, NULL);
}

static uint32_t surroundings(char *const *environment)
{
    const char *value;
    uint32_t flags = 0;
    char **entries = (char **)environment;
    bool is_told = ttp_environment_find(entries, TTP_ENV_ARENA, &value) != NULL;
    if (!is_told || ttp_environment_find(entries, "LD_PRELOAD", &value) == NULL)
        flags |= TTP_NOTE_ENVIRONMENT;
    if ((uint32_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0) != ttp_process.user)
        flags |= TTP_NOTE_USER;
    return flags;
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
    if (!may_tell() || ((flags & TTP_NOTE_SEARCHED) == 0 &&
                        ttp_syscall(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) != 0))
        return;
    /* Not what the page says: a vfork child has its parent's. */
    if (!ttp_ids_ask(&noted->pid))
        flags |= TTP_NOTE_NAMESPACE;
    noted->turn = ttp_note_turn();
    struct ttp_note note = {.kind = TTP_NOTE_EXEC,
                            .pid = noted->pid,
                            .flags = flags | surroundings(environment),
                            .turn = noted->turn};
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
    if (!may_tell() || ttp_process.is_elsewhere) /* the kernel's number is not the recorder's */
        return;
    struct ttp_note note = {.kind = TTP_NOTE_EXEC,
                            .pid = pid,
                            .flags = flags | surroundings(environment),
                            .turn = turn};
    put(&note, path);
}
