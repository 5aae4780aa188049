/* clone with CLONE_VM, where the child keeps the thread pointer: a process beside its parent that
 * has the same thread-local state. Two that move one cursor at once would overwrite each other's
 * records. So while such a child lives and has the memory, nothing is recorded of its parent's
 * thread, and what that calls is counted as lost; of the child nothing ever is, as with vfork. */
#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "writer/runtime/slow.h"

#define LOOK_EVERY 64u /* events */

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
    if (ttp_thread.sharing_lost % LOOK_EVERY != 0 || ttp_process.avoids_system_calls)
        return true;
    for (uint32_t i = 0; i < ttp_thread.sharer_count && i < TTP_SHARERS; i++)
        if (is_sharing(ttp_thread.sharers[i]))
            return true;
    return ttp_thread.sharer_count > TTP_SHARERS;
}

/* Before there is a child: it must not find a page that records. */
void ttp_sharing_begin(void)
{
    if (ttp_thread.page == &ttp_page_vfork_child)
        return;
    ttp_thread.shared_page = ttp_thread.page;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = &ttp_page_vfork_child;
}

static void end(void)
{
    struct ttp_thread_page *page = ttp_thread.shared_page;
    ttp_thread.sharer_count = 0;
    ttp_thread.shared_page = NULL;
    if (ttp_thread.sharing_lost != 0 && page->gate != TTP_GATE_NO_STATE &&
        page->gate != TTP_GATE_UNUSABLE)
        page->period--; /* frames were not followed, as while tracing is off */
    ttp_thread.sharing_lost = 0;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
}

void ttp_sharing_is_with(long child)
{
    if (child > 0 && ttp_thread.sharer_count < TTP_SHARERS)
        ttp_thread.sharers[ttp_thread.sharer_count] = (uint32_t)child;
    if (child != 0 && ttp_thread.sharer_count <= TTP_SHARERS)
        ttp_thread.sharer_count += child > 0 ? 1 : TTP_SHARERS + 1 - ttp_thread.sharer_count;
    if (ttp_thread.sharer_count == 0 && ttp_thread.shared_page != NULL)
        end();
}

bool ttp_sharing_stays(void)
{
    if (!goes_on()) {
        end();
        return ttp_thread.page->gate == TTP_GATE_VFORK_CHILD;
    }
    ttp_thread.sharing_lost++;
    ttp_event_lost();
    return true;
}
