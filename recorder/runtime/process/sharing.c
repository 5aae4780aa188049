/* clone with CLONE_VM, where the child keeps the thread pointer: a process beside its parent that
 * has the same thread-local state. Two that move one cursor at once would overwrite each other's
 * records. So while such a child lives and has the memory, nothing is recorded of its parent's
 * thread, and what that calls is counted as lost; of the child nothing ever is, as with vfork. */
#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

#define LOOK_EVERY 64u          /* events */
#define NEAR_BYTES 0x10000u     /* of a stack that may be read without asking */
#define STACK_MAX  0x1000000ull /* from there up to its end */

/* Whether that process has our memory: a zombie has not, nor one that executed a program. */
static bool is_sharing(uint32_t child)
{
    siginfo_t info = {0};
    long self = ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    long differs = ttp_syscall(SYS_kcmp, self, child, KCMP_VM, 0, 0, 0);
    if (differs >= 0 || differs == -ESRCH)
        return differs == 0;
    long failed = ttp_syscall(SYS_waitid, P_PID, child, (long)&info,
                              WEXITED | WNOHANG | WNOWAIT | __WALL, 0, 0);
    return failed == 0 && info.si_pid == 0;
}

static bool goes_on(void)
{
    if (ttp_thread.sharing_lost % LOOK_EVERY != 0 || ttp_avoids_calls())
        return true;
    for (uint32_t i = 0; i < ttp_thread.sharer_count && i < TTP_SHARERS; i++)
        if (is_sharing(ttp_thread.sharers[i]))
            return true;
    return ttp_thread.sharer_count > TTP_SHARERS;
}

/* The program's memory is read by the kernel. Where that may not be asked, what lies in the stack
 * above sp is there: up to the thread's control block, or to what the kernel gave the program. */
static bool read_flags(uintptr_t at, uintptr_t sp, uint64_t *flags)
{
    uintptr_t tops[] = {ttp_thread_block(), (uintptr_t)ttp_process.executed};
    if (!ttp_avoids_calls() && ttp_call_word_read(at, flags))
        return true;
    for (uint32_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
        if (tops[i] > sp && tops[i] - sp < STACK_MAX && at - sp < NEAR_BYTES &&
            at + sizeof(*flags) <= tops[i]) {
            *flags = *(const uint64_t *)at;
            return true;
        }
    return false;
}

bool ttp_clone_flags(uintptr_t arguments, uint64_t size_bytes, uintptr_t sp, uint64_t *flags)
{
    *flags = 0;
    return size_bytes >= sizeof(*flags) && read_flags(arguments, sp, flags);
}

/* Before there is a child: it must not find a page that records. */
void ttp_sharing_begin(void)
{
    if (ttp_thread.page == &ttp_page_vfork_child)
        return;
    if (ttp_process.avoids_system_calls) /* when the child is gone cannot be asked */
        ttp_gap_reserve(&ttp_thread.shared_gap);
    ttp_thread.shared_page = ttp_thread.page;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = &ttp_page_vfork_child;
}

static void end_sharing(void)
{
    struct ttp_thread_page *page = ttp_thread.shared_page;
    ttp_thread.sharer_count = 0;
    ttp_thread.shared_page = NULL;
    ttp_thread.is_silence_told = false;
    if (ttp_thread.sharing_lost != 0 && page->gate != TTP_GATE_NO_STATE &&
        page->gate != TTP_GATE_UNUSABLE && !page->is_unfollowed) {
        page->is_unfollowed = true; /* frames were not, as while tracing is off */
        page->period--;
    }
    ttp_thread.sharing_lost = 0;
    ttp_thread.child_avoids = false;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
}

void ttp_sharing_is_with(long child)
{
    if (child > 0 && ttp_thread.sharer_count < TTP_SHARERS)
        ttp_thread.sharers[ttp_thread.sharer_count] = (uint32_t)child;
    if (child != 0 && ttp_thread.sharer_count <= TTP_SHARERS)
        ttp_thread.sharer_count += child > 0 ? 1 : TTP_SHARERS + 1 - ttp_thread.sharer_count;
    if (ttp_thread.shared_gap.place != NULL && ttp_gap_settle(&ttp_thread.shared_gap, child != 0)) {
        __atomic_add_fetch(&ttp_arena.head.lost_sandboxed, ttp_thread.sharing_lost,
                           __ATOMIC_RELAXED);
        ttp_thread.is_silence_told = true;
    }
    if (ttp_thread.sharer_count == 0 && ttp_thread.shared_page != NULL)
        end_sharing();
}

bool ttp_sharing_stays(void)
{
    if (!goes_on()) {
        end_sharing();
        return ttp_thread.page->gate == TTP_GATE_VFORK_CHILD;
    }
    ttp_thread.sharing_lost++;
    ttp_event_lost();
    if (ttp_thread.is_silence_told)
        __atomic_add_fetch(&ttp_arena.head.lost_sandboxed, 1, __ATOMIC_RELAXED);
    return true;
}
