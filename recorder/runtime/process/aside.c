/* Threads that are not the C library's: their thread pointer is the program's own, and what lies
 * below it need not be there. No hook may look for a thread's state then, and none can tell such a
 * thread by a test that costs nothing. So a process that makes one records nothing from there on:
 *
 *   noticed, before the first of them runs  -->  a private copy of the arena's first page, in which
 *   the mode is "stopped", takes that page's place: by one call of the kernel, for all threads
 *
 * Each hook looks at the mode first, and at the thread afterwards (tests/runtime/test_aside.py).
 * What we stand in front of looks at ttp_is_aside. */
#include <asm/prctl.h>
#include <elf.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recorder/arena/loader_words.h"
#include "recorder/runtime/loader/library_names.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define CODE_BEFORE 64u /* bytes in front of a system call in which its number is looked for */
#define IS_HOOK     "__cyg_profile_func_enter"

uint8_t ttp_is_aside;

static bool put_in_place(long page)
{
    return !ttp_failed(ttp_syscall(SYS_mremap, page, sizeof(ttp_arena), sizeof(ttp_arena),
                                   MREMAP_MAYMOVE | MREMAP_FIXED, (long)&ttp_arena, 0));
}

static bool exchange_page(void)
{
    long copy = ttp_syscall(SYS_mmap, 0, sizeof(ttp_arena), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ttp_failed(copy))
        return false;
    for (size_t i = 0; i < sizeof(ttp_arena); i++)
        ((volatile uint8_t *)copy)[i] = ttp_arena.bytes[i];
    ((struct ttp_arena_head *)copy)->mode = TTP_MODE_STOPPED;
    return put_in_place(copy);
}

void ttp_stand_aside(void)
{
    if (__atomic_exchange_n(&ttp_is_aside, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (__atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON &&
        !ttp_process.avoids_system_calls) {
        ttp_note_aside();
        (void)exchange_page();
    } else if (ttp_process.page == NULL) {
        ttp_arena.head.mode = TTP_MODE_STOPPED; /* there is no arena: the page is our own */
    }
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_NEVER, __ATOMIC_RELEASE);
}

/* Glibc says so from 2.32 on, of a process that never had a second thread. */
static bool is_alone(void)
{
    const char *single = ttp_first_symbol("__libc_single_threaded");
    ttp_lookup_quiet();
    return single != NULL && *single != 0;
}

/* A child whose end its parent waits for, or one with memory of its own: the parent, where it is
 * the only thread, goes on recording when that is there again. The arena's page is kept in a second
 * mapping of it. Browsers' sandboxes make such a child. */
static uintptr_t keep_page(uint64_t flags)
{
    if ((flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM || ttp_process.avoids_system_calls ||
        __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) != TTP_PROCESS_ON || !is_alone())
        return 0;
    long kept =
        ttp_syscall(SYS_mremap, (long)&ttp_arena, 0, sizeof(ttp_arena), MREMAP_MAYMOVE, 0, 0);
    return ttp_failed(kept) ? 0 : (uintptr_t)kept;
}

uintptr_t ttp_step_aside(uint64_t flags)
{
    uintptr_t kept = keep_page(flags);
    if (kept == 0 || !exchange_page()) {
        ttp_stand_aside();
        return 0;
    }
    __atomic_store_n(&ttp_is_aside, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_NEVER, __ATOMIC_RELEASE);
    return kept;
}

void ttp_step_back(uintptr_t kept)
{
    if (kept == 0 || !put_in_place((long)kept))
        return;
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_ON, __ATOMIC_RELEASE);
    __atomic_store_n(&ttp_is_aside, 0, __ATOMIC_RELEASE);
}

/* With a thread pointer of its own, or as a second thread with this one's. What the kernel refuses
 * for its flags alone makes none. */
bool ttp_clone_is_foreign(uint64_t flags)
{
    if ((flags & (CLONE_THREAD | CLONE_SIGHAND)) == CLONE_THREAD ||
        (flags & (CLONE_SIGHAND | CLONE_VM)) == CLONE_SIGHAND)
        return false;
    return (flags & (CLONE_SETTLS | CLONE_THREAD)) != 0;
}

void ttp_thread_call_seen(uint64_t number, uint64_t first, uint64_t second, uintptr_t sp)
{
    uint64_t flags = 0;
    if (ttp_is_aside)
        return;
    if (number == SYS_clone)
        flags = first;
    else if (number == SYS_clone3)
        (void)ttp_clone_flags(first, second, sp, &flags);
    if ((number == SYS_arch_prctl && first == ARCH_SET_FS && (int64_t)second >= 0) ||
        ttp_clone_is_foreign(flags))
        ttp_stand_aside();
}

/* -- programs that will do so, where nothing notices when -- */

struct look {
    bool scans;
    uint32_t what; /* TTP_PROGRAM_* */
    uintptr_t start;
};

static bool is_go(const struct dl_phdr_info *info)
{
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            ttp_notes_have_go((const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
                              segment->p_memsz))
            return true;
    }
    return false;
}

/* Among what it asks for, or among all that it names. */
static bool names_any(const struct dl_phdr_info *info, bool (*is_wanted)(const char *name),
                      bool is_asked)
{
    struct ttp_library_tables t;
    if (!ttp_library_tables_find(info, &t))
        return false;
    for (uint32_t i = 0; i < t.symbol_count; i++) {
        const char *name = ttp_library_symbol_name(&t, &t.symbols[i]);
        if (name != NULL && (!is_asked || t.symbols[i].st_shndx == SHN_UNDEF) && is_wanted(name))
            return true;
    }
    return false;
}

static uint32_t word_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* `mov $number, %eax` or `push $number`, the last one before the call; and `mov $flags, %edi`. What
 * is not seen comes from the caller of a function for all of them. */
static uint32_t what_is_called(const uint8_t *call, const uint8_t *from)
{
    uint32_t number = UINT32_MAX, flags = UINT32_MAX;
    for (const uint8_t *at = from; at + 5 <= call; at++)
        if (*at == 0xb8)
            number = word_at(at + 1);
        else if (at[0] == 0x6a && at[2] == 0x58)
            number = at[1];
        else if (*at == 0xbf)
            flags = word_at(at + 1);
    bool is_known = flags != UINT32_MAX;
    if ((number == SYS_clone && (!is_known || ttp_clone_is_foreign(flags))) ||
        number == SYS_clone3 || (number == SYS_arch_prctl && is_known && flags == ARCH_SET_FS))
        return TTP_PROGRAM_FOREIGN;
    if (number == SYS_seccomp || (number == SYS_prctl && is_known && flags == PR_SET_SECCOMP))
        return TTP_PROGRAM_CONFINES;
    bool may = number == UINT32_MAX || number == SYS_arch_prctl || number == SYS_prctl;
    return may && (number == UINT32_MAX || !is_known) ? TTP_PROGRAM_MAY : 0;
}

static uint32_t what_is_in(const uint8_t *code, size_t bytes)
{
    uint32_t what = 0;
    for (size_t i = 1; i < bytes; i++)
        if (code[i] == 0x05 && code[i - 1] == 0x0f)
            what |= what_is_called(code + i - 1, code + (i > CODE_BEFORE ? i - CODE_BEFORE : 0));
    return what;
}

/* Their own functions for all clones and all system calls make no such threads. */
static bool is_sanitizers(const char *name)
{
    static const char *const fronts[] = {"__sanitizer_", "__asan_",  "__tsan_",  "__msan_",
                                         "__lsan_",      "__ubsan_", "__hwasan_"};
    for (uint32_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++) {
        const char *front = fronts[i], *at = name;
        while (*front != '\0' && *front == *at) {
            front++;
            at++;
        }
        if (*front == '\0')
            return true;
    }
    return false;
}

static bool is_wanted_hook(const char *name) { return ttp_is_equal(name, IS_HOOK); }
static bool is_wanted_maker(const char *name) { return ttp_is_equal(name, TTP_MAKES_THREADS); }

static int look_at_program(struct dl_phdr_info *info, size_t size, void *data)
{
    struct look *look = data;
    (void)size;
    look->start = info->dlpi_addr;
    if (is_go(info) && !names_any(info, is_wanted_maker, true))
        look->what = TTP_PROGRAM_FOREIGN;
    if (!look->scans || !names_any(info, is_wanted_hook, true) ||
        names_any(info, is_sanitizers, false))
        return 1; /* the first module only; nothing of it is recorded, or all is noticed */
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & (PF_X | PF_R)) == (PF_X | PF_R))
            look->what |= what_is_in((const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
                                     segment->p_filesz);
    }
    ttp_process.minds_program =
        look->what != 0 && (ttp_arena.head.patch_flags & TTP_PATCH_PLANS) != 0;
    return 1;
}

uint32_t ttp_program_look(void)
{
    bool is_changed = ttp_arena.head.call_flags != 0 || ttp_arena.head.patch_choice != 0;
    struct look look = {.scans = !is_changed || !ttp_unwinders_ask()};
    ttp_modules_visit(look_at_program, &look);
    return look.what;
}
