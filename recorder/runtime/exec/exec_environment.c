/* The environment that a program is executed with: the recorder's name and our library are put into
 * a copy, where the caller's own has not both; our library is left out of the copy where the loader
 * would complain of it. What the caller gave stays as it is, and so do its strings. */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/exec/exec.h"

#define PAGE_BYTES ((uintptr_t)4096)
#define NO_PAGE    ((uintptr_t)1)
#define ENTRY      "LD_PRELOAD="
#define ADDED      3u /* entries of a copy beside those that were given */

typedef uintptr_t __attribute__((aligned(1), may_alias)) loose_pointer;

/* -- our library and the arena, as the environment of this program has them -- */

static int see_own(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || info->dlpi_name == NULL ||
            (uintptr_t)see_own - (info->dlpi_addr + segment->p_vaddr) >= segment->p_memsz)
            continue;
        if (strlen(info->dlpi_name) < sizeof(ttp_process.own_path))
            memcpy(ttp_process.own_path, info->dlpi_name, strlen(info->dlpi_name) + 1);
        return 1;
    }
    return 0;
}

static bool is_between(char letter) { return letter == '\0' || letter == ':' || letter == ' '; }

/* Where our library is in a list; NULL: it is not. */
static const char *find_ours(const char *list)
{
    size_t length = strlen(ttp_process.own_path);
    for (const char *at = list; length != 0; at++) {
        if (strncmp(at, ttp_process.own_path, length) == 0 && is_between(at[length]))
            return at;
        while (!is_between(*at))
            at++;
        if (*at == '\0')
            break;
    }
    return NULL;
}

void ttp_exec_begin(char **environment)
{
    const char *list = NULL, *arena = NULL;
    size_t name = sizeof(TTP_ENV_ARENA);
    ttp_modules_visit(see_own, NULL);
    if (ttp_environment_find(environment, TTP_ENV_ARENA, &arena) == NULL ||
        strlen(arena) >= sizeof(ttp_process.arena_entry) - name)
        return;
    memcpy(ttp_process.arena_entry, TTP_ENV_ARENA "=", name);
    memcpy(ttp_process.arena_entry + name, arena, strlen(arena) + 1);
    ttp_process.is_preloaded =
        ttp_environment_find(environment, "LD_PRELOAD", &list) != NULL && find_ours(list) != NULL;
}

/* -- reading -- */

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

/* The value, where an entry sets the variable; *is_readable becomes false where that cannot be
 * seen. */
static const char *value_of(uintptr_t entry, const char *name, uintptr_t *known_page,
                            bool *is_readable)
{
    for (;; entry++, name++) {
        *is_readable = can_read(known_page, entry, 1);
        if (!*is_readable)
            return NULL;
        char letter = *(const char *)entry;
        if (*name == '\0' || letter != *name)
            return *name == '\0' && letter == '=' ? (const char *)entry + 1 : NULL;
    }
}

static bool is_text(const char *text, uintptr_t *known_page)
{
    do
        if (!can_read(known_page, (uintptr_t)text, 1))
            return false;
    while (*text++ != '\0');
    return true;
}

/* False: it cannot be read, so nothing will be executed. Of entries of one name the loader takes
 * the last. */
static bool read_given(struct ttp_exec *exec, bool *records_itself)
{
    uintptr_t entry, at = (uintptr_t)exec->given, pages[2] = {NO_PAGE, NO_PAGE};
    bool is_readable = true;
    size_t arena_at = SIZE_MAX, preload_at = SIZE_MAX;
    for (exec->count = 0; at != 0; at += sizeof(entry), exec->count++) {
        if (!can_read(&pages[0], at, sizeof(entry)))
            return false;
        entry = *(const loose_pointer *)at;
        if (entry == 0)
            break;
        const char *value = value_of(entry, "LD_PRELOAD", &pages[1], &is_readable);
        if (value != NULL && is_text(value, &pages[1])) {
            preload_at = exec->count;
            exec->preload = value;
        }
        if (is_readable && arena_at == SIZE_MAX &&
            value_of(entry, TTP_ENV_ARENA, &pages[1], &is_readable) != NULL &&
            is_text((const char *)entry, &pages[1]))
            arena_at = exec->count;
        if (is_readable)
            *records_itself |= value_of(entry, TTP_ENV_OUTPUT, &pages[1], &is_readable) != NULL;
        if (!is_readable)
            return false;
    }
    exec->arena_at = arena_at != SIZE_MAX ? arena_at : exec->count;
    exec->preload_at = preload_at != SIZE_MAX ? preload_at : exec->count;
    return true;
}

static char *entry_at(const struct ttp_exec *exec, size_t place)
{
    return (char *)((const loose_pointer *)exec->given)[place];
}

/* -- what is to be done -- */

static bool may_change(void)
{
    return ttp_process.notes != NULL && !ttp_avoids_calls() &&
           __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON &&
           ttp_thread.page->gate != TTP_GATE_RECORDER_THREAD;
}

/* Of a copy: pointers, and the text of one entry. */
static size_t bytes_of(const struct ttp_exec *exec)
{
    size_t list = exec->preload != NULL ? strlen(exec->preload) : 0;
    return (exec->count + ADDED) * sizeof(char *) + sizeof(ENTRY) + list + 1 +
           strlen(ttp_process.own_path);
}

static bool has_arena(const struct ttp_exec *exec) { return exec->arena_at < exec->count; }

/* Nothing is missing of what a program finds the recorder by. */
static bool is_whole(const struct ttp_exec *exec) { return has_arena(exec) && exec->has_ours; }

/* What a program finds the recorder by is where it says, from here: another root or another /dev
 * may have been put in its place. */
static bool is_in_reach(void)
{
    return ttp_exec_can_read(ttp_process.own_path) &&
           (ttp_process.arena_entry[0] == '\0' ||
            ttp_exec_can_read(ttp_process.arena_entry + sizeof(TTP_ENV_ARENA "=") - 1));
}

static void choose_words(struct ttp_exec *exec, enum ttp_exec_fit fit, bool records_itself)
{
    bool is_others =
        has_arena(exec) && strcmp(entry_at(exec, exec->arena_at), ttp_process.arena_entry) != 0;
    bool can_load = !ttp_process.is_preloaded || is_in_reach();
    if ((uint32_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0) != ttp_process.user)
        exec->flags |= TTP_NOTE_USER;
    if (fit == TTP_EXEC_FITS && !can_load)
        exec->flags |= TTP_NOTE_UNREACHABLE;
    bool is_ours = fit == TTP_EXEC_FITS && can_load && (exec->flags & TTP_NOTE_USER) == 0 &&
                   !is_others && !(records_itself && !has_arena(exec)) && ttp_process.is_preloaded;
    if (exec->has_ours && (fit == TTP_EXEC_FOREIGN || !can_load))
        exec->wish = TTP_EXEC_WITHOUT_OURS;
    else if (is_ours && !is_whole(exec))
        exec->wish = TTP_EXEC_WITH_OURS;
    if (exec->wish == TTP_EXEC_AS_GIVEN && !is_whole(exec) && (exec->flags & TTP_NOTE_USER) == 0)
        exec->flags |= TTP_NOTE_ENVIRONMENT;
    exec->bytes = exec->wish == TTP_EXEC_AS_GIVEN ? 0 : bytes_of(exec);
}

void ttp_exec_look(struct ttp_exec *exec, const char *path, int file, uint32_t flags,
                   char *const *environment)
{
    bool records_itself = false;
    *exec = (struct ttp_exec){.given = environment, .handed = environment, .flags = flags};
    if (!may_change() || !read_given(exec, &records_itself))
        return;
    exec->is_known = true;
    exec->has_ours = exec->preload != NULL && find_ours(exec->preload) != NULL;
    enum ttp_exec_fit fit = ttp_exec_fit_of(path, (flags & TTP_NOTE_SEARCHED) != 0, file);
    choose_words(exec, fit, records_itself);
}

bool ttp_exec_less(struct ttp_exec *exec)
{
    bool has_any = exec->is_known && (exec->wish == TTP_EXEC_WITH_OURS ||
                                      (exec->wish == TTP_EXEC_AS_GIVEN && exec->has_ours));
    if (!has_any)
        return false;
    exec->wish = TTP_EXEC_WITHOUT_OURS;
    exec->drops_arena = true;
    exec->flags |= TTP_NOTE_ENVIRONMENT;
    exec->bytes = bytes_of(exec);
    return true;
}

/* -- the copy -- */

void *ttp_exec_map(struct ttp_exec *exec)
{
    long memory = ttp_syscall(SYS_mmap, 0, (long)exec->bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ttp_failed(memory))
        return NULL;
    exec->is_mapped = true;
    /* Of a vfork child, whose parent has this state: ttp_exec_done. */
    ttp_thread.exec_memory = (void *)memory;
    ttp_thread.exec_bytes = exec->bytes;
    return (void *)memory;
}

static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

/* Ours in front: where the program's own stands in front of the same functions, ours lead to it. */
static void put_with(char *at, const struct ttp_exec *exec)
{
    at = put_text(put_text(at, ENTRY), ttp_process.own_path);
    if (exec->preload != NULL && *exec->preload != '\0')
        at = put_text(put_text(at, ":"), exec->preload);
    *at = '\0';
}

/* False: nothing else was in it. */
static bool put_without(char *at, const struct ttp_exec *exec)
{
    const char *ours = find_ours(exec->preload), *rest = ours + strlen(ttp_process.own_path);
    at = put_text(at, ENTRY);
    char *first = at;
    for (const char *from = exec->preload; from < ours; from++)
        *at++ = *from;
    if (*rest != '\0')
        rest++;
    else if (at != first)
        at--; /* what was between the two */
    *put_text(at, rest) = '\0';
    return *first != '\0';
}

void ttp_exec_make(struct ttp_exec *exec, void *memory)
{
    char **copy = memory, *text = (char *)memory + (exec->count + ADDED) * sizeof(char *);
    size_t used = 0;
    bool is_with = exec->wish == TTP_EXEC_WITH_OURS, replaces = exec->has_ours != is_with;
    exec->handed = exec->given;
    if (exec->bytes == 0 || memory == NULL)
        return;
    for (size_t i = 0; i < exec->count; i++) {
        bool is_preload = i == exec->preload_at && replaces;
        if (i == exec->arena_at && exec->drops_arena)
            continue;
        if (!is_preload)
            copy[used++] = entry_at(exec, i);
        else if (!is_with && put_without(text, exec))
            copy[used++] = text;
    }
    if (is_with && !has_arena(exec))
        copy[used++] = ttp_process.arena_entry;
    if (is_with && !exec->has_ours) {
        put_with(text, exec);
        copy[used++] = text;
    }
    copy[used] = NULL;
    exec->handed = copy;
}

/* What a copy took that was too large for a stack: it was not executed, or a vfork child has. */
void ttp_exec_done(void)
{
    if (ttp_thread.exec_memory == NULL)
        return;
    (void)ttp_syscall(SYS_munmap, (long)ttp_thread.exec_memory, (long)ttp_thread.exec_bytes, 0, 0,
                      0, 0);
    ttp_thread.exec_memory = NULL;
}

void ttp_exec_end(struct ttp_exec *exec)
{
    if (exec->is_mapped)
        ttp_exec_done();
    exec->is_mapped = false;
}
