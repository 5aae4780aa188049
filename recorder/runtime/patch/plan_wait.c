/* The recorder makes plans where there are none: that takes a tenth of a second of its time for a
 * large module, once for each build, and a busy machine gives it that late. So a process waits for
 * a share of the recorder's processor time, not of the day's: what is recorded must not depend on
 * what else runs. A recorder that gets no time at all is stopped, or hangs: then it is the day's.
 * One that never answers is waited for once, for WALL_NS at most. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/runtime/patch/patch.h"

#define FUTEX_WAIT 0
#define SECOND_NS  UINT64_C(1000000000)
#define LOOK_S     2                 /* how often it looks whether the recorder is there */
#define FREE_NS    (2 * SECOND_NS)   /* of each plan */
#define PLANNER_NS (30 * SECOND_NS)  /* beyond that, of a process: of the planner's time */
#define WALL_NS    (300 * SECOND_NS) /* and of the day's */
#define TEXT_BYTES 64u

static uint64_t planner_left = PLANNER_NS, wall_left = WALL_NS;

struct spent {
    uint64_t wall_ns, planner_ns; /* the planner's: 0 where it is not known */
};

static uint32_t turn_now(void)
{
    return __atomic_load_n(&ttp_arena.head.plan_turn, __ATOMIC_ACQUIRE);
}

static uint32_t put_number(char *text, uint32_t at, uint32_t number)
{
    uint32_t digits = 1;
    for (uint32_t rest = number; rest >= 10; rest /= 10)
        digits++;
    for (uint32_t i = digits; i > 0; i--, number /= 10)
        text[at + i - 1] = (char)('0' + number % 10);
    return at + digits;
}

static uint32_t put_text(char *text, uint32_t at, const char *more)
{
    while (*more != '\0')
        text[at++] = *more++;
    return at;
}

/* The first number in /proc/PID/task/TID/schedstat: how long the thread was on the CPU, in ns. */
static bool read_planner(uint32_t planner, uint64_t *ns)
{
    char text[TEXT_BYTES];
    uint32_t at = put_number(text, put_text(text, 0, "/proc/"), ttp_arena.head.recorder_pid);
    at = put_number(text, put_text(text, at, "/task/"), planner);
    text[put_text(text, at, "/schedstat")] = '\0';
    long file = ttp_syscall(SYS_openat, AT_FDCWD, (long)text, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (ttp_failed(file))
        return false;
    long size = ttp_syscall(SYS_read, file, (long)text, sizeof text, 0, 0, 0);
    ttp_syscall(SYS_close, file, 0, 0, 0, 0, 0);
    *ns = 0;
    for (long i = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++)
        *ns = *ns * 10 + (uint64_t)(text[i] - '0');
    return *ns != 0; /* the kernel may not count it */
}

static struct spent spent_now(void)
{
    struct timespec now = {0};
    struct spent spent = {0};
    uint32_t planner = __atomic_load_n(&ttp_arena.head.planner, __ATOMIC_RELAXED);
    if (planner == 0) /* it has made none yet */
        planner = ttp_arena.head.recorder_pid;
    ttp_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    spent.wall_ns = (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
    if (!read_planner(planner, &spent.planner_ns))
        spent.planner_ns = 0;
    return spent;
}

static void take_time(uint64_t *left, uint64_t ns)
{
    uint64_t old = __atomic_load_n(left, __ATOMIC_RELAXED), rest;
    do
        rest = old > ns ? old - ns : 0;
    while (
        !__atomic_compare_exchange_n(left, &old, rest, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static bool is_any_left(void)
{
    return __atomic_load_n(&planner_left, __ATOMIC_RELAXED) != 0 &&
           __atomic_load_n(&wall_left, __ATOMIC_RELAXED) != 0;
}

/* Whether there is time to wait on. */
static bool charge(const struct spent *from, const struct spent *to, uint64_t *free_ns)
{
    uint64_t wall_ns = to->wall_ns - from->wall_ns, planner_ns = wall_ns;
    if (*free_ns != 0) {
        *free_ns = wall_ns < *free_ns ? *free_ns - wall_ns : 0;
        return *free_ns != 0 || is_any_left();
    }
    if (from->planner_ns != 0 && to->planner_ns > from->planner_ns)
        planner_ns = to->planner_ns - from->planner_ns;
    take_time(&planner_left, planner_ns);
    take_time(&wall_left, wall_ns);
    return is_any_left();
}

/* Somebody has waited for this turn for all of the time. */
static bool is_given_up(uint32_t turn)
{
    return __atomic_load_n(&ttp_arena.head.silent_turn, __ATOMIC_RELAXED) == turn + 1;
}

struct wish {
    const char *path;
    uint32_t flags, state;
    const struct ttp_note *note; /* NULL: there was no place for it */
};

/* Tells of it, once there is a place; whether it was answered. */
static bool is_answered(struct wish *wish)
{
    if (wish->note == NULL)
        wish->note = ttp_note_plan(wish->path, wish->flags, &wish->state);
    return wish->note != NULL &&
           __atomic_load_n(&wish->note->state, __ATOMIC_ACQUIRE) != wish->state;
}

/* False: nobody answers. */
static bool wait_for_answer(struct wish *wish)
{
    const struct timespec look = {.tv_sec = LOOK_S};
    struct spent before = spent_now();
    uint64_t free_ns = FREE_NS;
    for (;;) {
        uint32_t turn = turn_now();
        if (is_answered(wish))
            return true;
        ttp_syscall(SYS_futex, (long)&ttp_arena.head.plan_turn, FUTEX_WAIT, turn, (long)&look, 0,
                    0);
        struct spent now = spent_now();
        if (is_answered(wish))
            return true;
        if (!charge(&before, &now, &free_ns)) {
            __atomic_store_n(&ttp_arena.head.silent_turn, turn + 1, __ATOMIC_RELAXED);
            return false;
        }
        if (ttp_recorder_is_gone() || (free_ns == 0 && is_given_up(turn)))
            return false;
        before = now;
    }
}

/* What is there belongs to the file as it is mapped: what is not known of that is not there. */
static bool look_for_plan(struct ttp_module_file *of,
                          bool (*is_there)(void *context, const uint8_t *content), void *context)
{
    return ttp_module_file_known(of) && is_there(context, of->content);
}

bool ttp_plan_wait(struct ttp_module_file *of, const char *path, uint32_t flags,
                   bool (*is_there)(void *context, const uint8_t *content), void *context)
{
    struct wish wish = {.path = path, .flags = flags};
    if (ttp_failed(of->file))
        return false;
    if (look_for_plan(of, is_there, context))
        return true;
    if (path[0] != '/')
        return false;
    if (wait_for_answer(&wish))
        return look_for_plan(of, is_there, context);
    ttp_count_more(&ttp_arena.head.late_plans, 1);
    return false;
}
