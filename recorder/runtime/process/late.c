/* Threads that still call after their destructors' rounds: nothing tells us when such a thread is
 * over. It goes on with a state that is remembered here, and taken back when the thread is gone;
 * its block, the recorder finds by itself. */
#include <errno.h>
#include <sys/syscall.h>

#include "recorder/runtime/slow.h"

#define LATE_MAX 256u

enum { SLOT_FREE, SLOT_HELD, SLOT_USED };

static struct late {
    uint32_t slot;
    uint32_t thread_id;
    void *memory;
    struct ttp_thread_page *page; /* in it */
} late[LATE_MAX];

static bool hold_one(struct late *one, uint32_t from)
{
    return __atomic_load_n(&one->slot, __ATOMIC_RELAXED) == from &&
           __atomic_compare_exchange_n(&one->slot, &from, SLOT_HELD, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void release(struct late *one, uint32_t to)
{
    __atomic_store_n(&one->slot, to, __ATOMIC_RELEASE);
}

/* A thread id that is ours by now was its own before. */
static bool is_gone(const struct late *one, uint32_t process_id, uint32_t thread_id)
{
    if (one->thread_id == thread_id)
        return true;
    return !ttp_process.avoids_system_calls && !ttp_process.is_elsewhere &&
           ttp_syscall(SYS_tgkill, process_id, one->thread_id, 0, 0, 0, 0) == -ESRCH;
}

bool ttp_late_begin(void *memory, uint32_t thread_id)
{
    for (uint32_t i = 0; i < LATE_MAX; i++) {
        if (!hold_one(&late[i], SLOT_FREE))
            continue;
        late[i].thread_id = thread_id;
        late[i].memory = late[i].page = memory;
        release(&late[i], SLOT_USED);
        return true;
    }
    return false;
}

void ttp_late_forked(const void *memory, struct ttp_thread_page *page, uint32_t thread_id)
{
    for (uint32_t i = 0; i < LATE_MAX; i++)
        if (late[i].memory == memory && late[i].slot == SLOT_USED) {
            late[i].page = page;
            late[i].thread_id = thread_id;
        }
}

void *ttp_late_reuse(uint32_t process_id, uint32_t thread_id)
{
    for (uint32_t i = 0; i < LATE_MAX; i++) {
        if (!hold_one(&late[i], SLOT_USED))
            continue;
        struct ttp_thread_page *page = late[i].page;
        if (page != ttp_thread.page && is_gone(&late[i], process_id, thread_id)) {
            __atomic_add_fetch(&ttp_arena.head.lost, page->dropped - page->published,
                               __ATOMIC_RELAXED);
            void *memory = late[i].memory;
            release(&late[i], SLOT_FREE);
            return memory;
        }
        release(&late[i], SLOT_USED);
    }
    return NULL;
}
