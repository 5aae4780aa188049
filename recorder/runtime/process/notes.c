/* Notes for the recorder: which programs are executed, which of them came, which record. A program
 * that never comes cannot say so: the one that executes it does. Safe in signal handlers and in a
 * vfork child. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/exec/exec.h"

static uint32_t word(uint32_t turn, enum ttp_note_state state)
{
    return turn << TTP_NOTE_TURN_SHIFT | state;
}

uint32_t ttp_note_turn(void)
{
    return __atomic_add_fetch(&ttp_arena.head.note_turn, 1, __ATOMIC_RELAXED);
}

static struct ttp_note *take_note(const struct ttp_note *content)
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

static uint32_t put_text(struct ttp_note *note, uint32_t at, const char *text)
{
    for (; text != NULL && at < TTP_NOTE_PATH_BYTES - 1 && *text != '\0'; text++)
        note->path[at++] = *text;
    note->path[at] = '\0';
    return at;
}

/* `names` stand behind the path, which may have no room for them. */
static struct ttp_note *put_named(const struct ttp_note *content, const char *path,
                                  const char *names)
{
    struct ttp_note *note = ttp_process.notes == NULL ? NULL : take_note(content);
    if (note == NULL)
        return NULL;
    note->kind = content->kind;
    note->pid = content->pid;
    note->flags = content->flags;
    note->image = content->image;
    note->turn = content->turn;
    note->left = content->left;
    uint32_t size = put_text(note, 0, path);
    if (size < TTP_NOTE_PATH_BYTES - 1)
        (void)put_text(note, size + 1, names);
    __atomic_store_n(&note->state, word(content->turn, TTP_NOTE_THERE), __ATOMIC_RELEASE);
    __atomic_add_fetch(&ttp_arena.head.note_count, 1, __ATOMIC_RELEASE);
    return note;
}

static struct ttp_note *put_note(const struct ttp_note *content, const char *path)
{
    return put_named(content, path, NULL);
}

void ttp_note_came(void)
{
    char path[TTP_NOTE_PATH_BYTES];
    path[ttp_program_path(path, sizeof(path) - 1)] = '\0';
    struct ttp_note note = {.kind = TTP_NOTE_CAME,
                            .pid = ttp_process.page->process_id,
                            .flags = ttp_process.avoids_system_calls != 0 ? TTP_NOTE_SANDBOX : 0,
                            .turn = ttp_note_turn()};
    put_note(&note, path);
}

void ttp_note_aside(void)
{
    struct ttp_note note = {
        .kind = TTP_NOTE_ASIDE, .pid = ttp_process.page->process_id, .turn = ttp_note_turn()};
    put_note(&note, NULL);
}

const struct ttp_note *ttp_note_plan(const char *path, uint32_t flags, uint32_t *state)
{
    struct ttp_note note = {.kind = TTP_NOTE_PLAN,
                            .pid = ttp_process.page->process_id,
                            .flags = flags,
                            .turn = ttp_note_turn()};
    *state = word(note.turn, TTP_NOTE_THERE);
    return put_note(&note, path);
}

void ttp_note_patched(const char *path, uint32_t functions, uint32_t exits, uint32_t left,
                      const char *left_names)
{
    struct ttp_note note = {.kind = TTP_NOTE_PATCHED,
                            .pid = ttp_process.page->process_id,
                            .image = functions | (uint64_t)exits << 32,
                            .turn = ttp_note_turn(),
                            .left = left};
    put_named(&note, path, left_names);
}

void ttp_note_image(void)
{
    struct ttp_note note = {.kind = TTP_NOTE_IMAGE,
                            .pid = ttp_thread.process_id,
                            .image = ttp_process.page->image,
                            .turn = ttp_note_turn()};
    put_note(&note, NULL);
}

void ttp_note_exec(struct ttp_noted *noted, const char *path, const struct ttp_exec *exec)
{
    uint32_t flags = exec->flags;
    *noted = (struct ttp_noted){NULL, 0, 0};
    /* Nor is there anything to tell of a program that is not there; the path may be anything. */
    if (!exec->is_known || ((flags & TTP_NOTE_SEARCHED) == 0 &&
                            ttp_syscall(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) != 0))
        return;
    /* Not what the page says: a vfork child has its parent's. */
    if (!ttp_ids_ask(&noted->pid))
        flags |= TTP_NOTE_NAMESPACE;
    noted->turn = ttp_note_turn();
    struct ttp_note note = {
        .kind = TTP_NOTE_EXEC, .pid = noted->pid, .flags = flags, .turn = noted->turn};
    noted->note = put_note(&note, path);
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
        put_note(&failed, NULL);
}

void ttp_note_spawned(uint32_t pid, uint32_t turn, const char *path, const struct ttp_exec *exec)
{
    if (!exec->is_known || ttp_process.is_elsewhere) /* the kernel's number is not the recorder's */
        return;
    struct ttp_note note = {.kind = TTP_NOTE_EXEC, .pid = pid, .flags = exec->flags, .turn = turn};
    put_note(&note, path);
}
