/* The head of the agent, and its beginning: one thread of the program is led here while all others
 * stand still. It maps what is missing, says so, and waits to be taken back. Or it goes on where it
 * was, by the kernel's own way to return from a signal, so that it does so when who attached is
 * gone.
 *
 * These are the only system calls of the agent. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/arena/arena.h"
#include "recorder/runtime/agent/agent.h"

#define WIPE_ON_FORK 18       /* MADV_WIPEONFORK */
#define WAITS_MOST   1000000u /* of a fraction of a microsecond */

#define DISTANCE(name) ".long " name " - ttp_agent_head\n\t"
#define NAME(name)     DISTANCE(#name)
__asm__(".pushsection .agent_head, \"a\", @progbits\n\t.globl ttp_agent_head\n\t"
        ".hidden ttp_agent_head\nttp_agent_head:\n\t"
        ".quad 0x746e656761707474\n\t.long 13, 96\n\t"
        /* clang-format off */
        NAME(ttp_agent_code_end) NAME(ttp_agent_end) NAME(ttp_agent_file_end)
        NAME(ttp_agent_begin) NAME(ttp_agent_shared) NAME(ttp_arena)
        NAME(ttp_probe_enter_entry) NAME(ttp_probe_exit_entry) NAME(ttp_probe_tail_entry)
        NAME(ttp_probe_joined_entry) NAME(ttp_probe_joined_tail_entry)
        NAME(ttp_library_enter_entry) NAME(ttp_library_exit_entry)
        NAME(ttp_probe_enter_valued_entry) NAME(ttp_probe_exit_valued_entry)
        NAME(ttp_stub_enter) NAME(ttp_stub_exit) NAME(ttp_agent_answer_entry) NAME(ttp_agent_rows)
        ".popsection\n\t"
        /* rbx: behind the frame's first word */
        ".text\n\t.globl ttp_agent_begin\n\t.hidden ttp_agent_begin\nttp_agent_begin:\n\t"
        "call ttp_agent_map\n\tmovq %rbx, %rsp\n\tmovl $15, %eax\n\tsyscall\n\tud2\n\t");
/* clang-format on */

void ttp_agent_map(void);

static long call_system(long number, long a, long b, long c, long d, const long *more)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = more == NULL ? 0 : more[0];
    register long r9 __asm__("r9") = more == NULL ? 0 : more[1];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static bool is_failure(long result) { return (unsigned long)result > -4096ul; }

static long map_file(uint64_t at, uint64_t bytes, long file, uint64_t offset)
{
    const long more[2] = {file, (long)offset};
    return call_system(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, more);
}

/* Blocks lie behind the arena's first pages; those are mapped in front of them. */
static long map_arena(const struct ttp_agent_shared *shared)
{
    long file = call_system(SYS_openat, AT_FDCWD, (long)shared->path,
                            O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, NULL);
    if (is_failure(file))
        return file;
    long head = map_file(shared->blocks - shared->blocks_offset, shared->file_bytes, file, 0);
    long page = is_failure(head)
                    ? head
                    : map_file((uint64_t)(uintptr_t)&ttp_arena, TTP_ARENA_HEAD_BYTES, file, 0);
    (void)call_system(SYS_close, file, 0, 0, 0, NULL);
    return is_failure(page) ? page : 0;
}

static long wipe(const void *from, uint64_t bytes)
{
    return call_system(SYS_madvise, (long)from, (long)bytes, WIPE_ON_FORK, 0, NULL);
}

/* Whoever attached takes the thread back meanwhile. Where nobody is there to do so, it returns to
 * where it was by itself. */
static void wait_for_recorder(void)
{
    for (uint32_t i = 0; i < WAITS_MOST && !ttp_recorder_is_gone(); i++)
        (void)call_system(SYS_sched_yield, 0, 0, 0, 0, NULL);
}

__attribute__((used)) void ttp_agent_map(void)
{
    struct ttp_agent_shared *shared = &ttp_agent_shared;
    const void *pages = (const void *)shared->pages;
    long result = wipe(&ttp_agent_wiped, sizeof ttp_agent_wiped);
    if (result == 0)
        result = wipe(pages, (uint64_t)shared->state_count * TTP_AGENT_PAGE);
    if (result == 0)
        result = map_arena(shared);
    if (result == 0)
        ttp_agent_ready();
    shared->result = result;
    wait_for_recorder();
}
