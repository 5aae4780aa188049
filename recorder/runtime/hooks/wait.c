/* Waiting for a free block. The recorder wakes who waits; what it looks like when there is no
 * recorder any more is in the arena, so that no system call but one is needed: a filter that the
 * program set for itself may end it for any. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/slow.h"

#define WAKE_NS     10000000 /* waits no longer than that for being woken */
#define WAKES_MAX   100u     /* as many, where the clock does not tell how long it was */
#define DEAD_STALLS 5u       /* with `--block`: the recorder has been silent for so many seconds */
#define SPINS       256u     /* between two looks, where no system call may be made */
#define SPINS_MAX   2000u    /* looks: some 20 ms */
#define SPINS_WAKE  1000u    /* for as long as one wait for being woken */

/* The heartbeat of a recorder for which a program has waited in vain: none is waited for before it
 * has changed. */
static uint64_t silent_heartbeat = UINT64_MAX;

/* Of waits that no clock has told the length of: a second of them in all. */
static uint32_t untimed_rounds;

static uint64_t heartbeat_now(void)
{
    return __atomic_load_n(&ttp_arena.head.heartbeat, __ATOMIC_RELAXED);
}

static void announce(struct ttp_wait *wait)
{
    wait->wakes = __atomic_load_n(&ttp_arena.head.wakes, __ATOMIC_ACQUIRE);
    __atomic_store_n(&ttp_arena.head.waiters, 1, __ATOMIC_SEQ_CST);
}

/* A second, by what read_clock() reads; 0: it may read none. Without times the arena has none. */
static uint64_t find_stall(void)
{
    uint64_t stall = ttp_arena.head.stall_ticks;
    return stall != 0 || ttp_process.avoids_system_calls ? stall : TTP_ARENA_STALL_NS;
}

static uint64_t read_clock(const struct ttp_wait *wait)
{
    if (ttp_arena.head.stall_ticks != 0)
        return ttp_process.clock();
    return wait->stall == 0 || ttp_process.avoids_system_calls ? 0 : ttp_clock_monotonic();
}

bool ttp_wait_is_due(void)
{
    struct ttp_wait wait = {.stall = find_stall()};
    if (wait.stall == 0)
        return __atomic_load_n(&untimed_rounds, __ATOMIC_RELAXED) < WAKES_MAX;
    return ttp_share_is_left(&ttp_arena.head, read_clock(&wait), wait.stall);
}

void ttp_wait_begin(struct ttp_wait *wait)
{
    wait->stall = find_stall();
    wait->beat = read_clock(wait);
    wait->share = ttp_share_begin(&ttp_arena.head, wait->beat);
    wait->heartbeat = heartbeat_now();
    wait->rounds = wait->spins = 0;
    announce(wait);
}

/* The kernel marks the word when the recorder's thread ends, however it does. */
bool ttp_recorder_is_gone(void)
{
    uint32_t word = __atomic_load_n(&ttp_arena.head.recorder_alive, __ATOMIC_RELAXED);
    return (word & FUTEX_OWNER_DIED) != 0;
}

static bool is_blocking(void) { return (ttp_arena.head.flags & TTP_ARENA_BLOCKING) != 0; }

/* Whether the time is up: a stall, the share of all threads; with `--block`, a dead recorder's. */
static bool is_up(const struct ttp_wait *wait, uint64_t now)
{
    if (is_blocking())
        return wait->stall != 0 ? now - wait->beat >= DEAD_STALLS * wait->stall
                                : wait->rounds >= DEAD_STALLS * WAKES_MAX;
    if (wait->stall == 0)
        return wait->rounds >= WAKES_MAX;
    ttp_share_note(&ttp_arena.head, &wait->share, now, wait->stall);
    return now - wait->share.began >= wait->stall ||
           !ttp_share_is_left(&ttp_arena.head, now, wait->stall);
}

static void spin(void)
{
    for (uint32_t i = 0; i < SPINS; i++)
        __builtin_ia32_pause();
}

/* About a millisecond. */
void ttp_wait_spin(void)
{
    for (uint32_t i = 0; i < SPINS_WAKE / 10; i++)
        spin();
}

bool ttp_wait_once(struct ttp_wait *wait)
{
    static const struct timespec longest = {0, WAKE_NS};
    uint64_t now = read_clock(wait), heartbeat = heartbeat_now();
    if (ttp_recorder_is_gone() || heartbeat == __atomic_load_n(&silent_heartbeat, __ATOMIC_RELAXED))
        return false;
    if (heartbeat != wait->heartbeat) {
        wait->heartbeat = heartbeat;
        wait->beat = now;
        if (is_blocking())
            wait->rounds = 0;
    }
    if (is_up(wait, now)) {
        if (wait->beat == wait->share.began)
            __atomic_store_n(&silent_heartbeat, heartbeat, __ATOMIC_RELAXED);
        return false;
    }
    if (ttp_process.avoids_system_calls) {
        spin();
        wait->rounds += ++wait->spins % SPINS_WAKE == 0;
        return true;
    }
    long result = ttp_syscall(SYS_futex, (long)&ttp_arena.head.wakes, FUTEX_WAIT, wait->wakes,
                              (long)&longest, 0, 0);
    wait->rounds += result == -ETIMEDOUT;
    if (ttp_failed(result) && result != -ETIMEDOUT && result != -EAGAIN && result != -EINTR) {
        spin();
        if (++wait->spins >= SPINS_MAX)
            return false;
    }
    announce(wait);
    return true;
}

void ttp_wait_end(const struct ttp_wait *wait)
{
    uint64_t now = read_clock(wait);
    if (!is_blocking() && wait->stall != 0)
        ttp_share_note(&ttp_arena.head, &wait->share, now, wait->stall);
    if (wait->stall == 0)
        __atomic_add_fetch(&untimed_rounds, wait->rounds, __ATOMIC_RELAXED);
    if (ttp_arena.head.stall_ticks != 0)
        __atomic_add_fetch(&ttp_arena.head.waited_ticks, now - wait->share.began, __ATOMIC_RELAXED);
    ttp_wait_note(wait->share.began, now);
    __atomic_add_fetch(&ttp_arena.head.stalls, 1, __ATOMIC_RELAXED);
}

/* Where an earlier one is still to be told, as between the two nothing could be written, the longer
 * one is. */
void ttp_wait_note(uint64_t from, uint64_t until)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (!ttp_has_state() || ttp_thread.sequence == 0 || ttp_arena.head.stall_ticks == 0 ||
        until <= from || until - from <= page->waited_until - page->waited_from)
        return;
    page->waited_from = from;
    page->waited_until = until;
}

void ttp_wait_tell(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint64_t from = page->waited_from, until = page->waited_until;
    const struct ttp_message_field fields[2] = {{&from, sizeof(from)}, {&until, sizeof(until)}};
    page->waited_from = page->waited_until = 0;
    if (until != 0)
        (void)ttp_message(TTP_MESSAGE_WAITED, fields, 2);
}
