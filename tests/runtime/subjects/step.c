/* Interrupts hooks at each of their instructions: a traced child stops before a target, is stepped
 * n instructions on, gets a signal there, and runs on; for all n until the target is done. In the
 * scenario `twice` it gets another one `gap` instructions later. In `bare` it gets none: after each
 * instruction the arena is looked at as a recorder does. Arguments: scenario, stride, first n,
 * requests' socket, gap. The parent is not instrumented. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/arena/record.h"

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function))

static volatile unsigned long leaves, handlers, targets, others, afters, outers;
static volatile long is_over; /* the parent's word */
static volatile long is_inside, forks;
static jmp_buf out;
static sigjmp_buf far, inside;
static const char *scenario;
static int requests;
static long gap;
static long fill = 1; /* leaves of a handler that jumps */
static struct ttp_arena_head *arena;
static char alternate[65536];
static pid_t own_id; /* of what is traced */
static bool is_looking;
static long looks, bares; /* how often the arena was looked at, and a call stood there alone */
static ucontext_t back, other;

NOINLINE void leaf(void) { __atomic_add_fetch(&leaves, 1, __ATOMIC_RELAXED); }
NOINLINE void handler(int number)
{
    (void)number;
    handlers++;
    leaf();
}
NOINLINE void target(void) { targets++; }
NOINLINE void thrower(void)
{
    others++;
    longjmp(out, 1);
}
NOINLINE void after(void) { afters++; }
NOINLINE void away(int number)
{
    (void)number;
    handlers++;
    for (long i = 0; i < fill; i++)
        leaf();
    if (is_inside)
        siglongjmp(far, 1);
}
NOINLINE void inner(int depth)
{
    if (depth > 0)
        inner(depth - 1);
    else
        siglongjmp(inside, 1);
}
/* Jumps, but not out of itself: what it interrupted goes on. */
NOINLINE void within(int number)
{
    (void)number;
    leaf();
    if (sigsetjmp(inside, 0) == 0)
        inner(2);
    leaf();
}
static void NOHOOKS away_bare(int number)
{
    (void)number;
    if (is_inside)
        siglongjmp(far, 1);
}
/* Both go on with what was interrupted: the parent when the child is gone. */
static void NOHOOKS fork_bare(int number)
{
    (void)number;
    pid_t child = is_inside ? fork() : 0;
    if (child > 0)
        waitpid(child, NULL, 0);
}
NOINLINE void fork_here(int number)
{
    fork_bare(number);
    leaf();
}
static void NOHOOKS on_coroutine(void)
{
    for (;;) {
        leaf();
        swapcontext(&other, &back);
    }
}

/* -- the arena, as the recorder sees it -- */

static void NOHOOKS request(char what)
{
    char reply;
    if (write(requests, &what, 1) != 1 || read(requests, &reply, 1) != 1)
        abort();
}

static void NOHOOKS map_arena(void)
{
    int fd = open(getenv(TTP_ENV_ARENA), O_RDWR);
    void *memory = mmap(NULL, 4u << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED)
        abort();
    arena = memory;
    close(fd);
}

/* Else it was taken and left, or has only just been taken. */
static bool NOHOOKS has_records(const struct ttp_block_head *block)
{
    const uint64_t *records = (const uint64_t *)(block + 1);
    return (records[0] | records[1] | records[2] | records[3]) != 0;
}

/* Places that are left in the block that is being filled. */
static unsigned NOHOOKS left_in_block(void)
{
    const uint32_t *states = (const uint32_t *)((char *)arena + TTP_ARENA_HEAD_BYTES);
    const struct ttp_block_head *last = NULL;
    for (uint32_t i = 0; i < arena->block_ready; i++) {
        const struct ttp_block_head *block =
            (const void *)((char *)arena + arena->blocks_offset + (size_t)i * TTP_BLOCK_BYTES);
        if ((states[i] & 3) == TTP_BLOCK_FILLING && block->process_id == (uint32_t)getpid() &&
            has_records(block) && (last == NULL || block->sequence > last->sequence))
            last = block;
    }
    if (last == NULL)
        return 0;
    const uint64_t *records = (const uint64_t *)(last + 1);
    unsigned used = TTP_BLOCK_RECORDS;
    while (used > 0 && records[used - 1] == 0)
        used--;
    return TTP_BLOCK_RECORDS - used;
}

/* Whether what lies in front of the first empty place of a block ends with a call's enter. */
static bool NOHOOKS is_bare(const struct ttp_block_head *block)
{
    const uint64_t *records = (const uint64_t *)(block + 1);
    unsigned count = 0;
    while (count < TTP_BLOCK_RECORDS && records[count] != 0)
        count++;
    return count != 0 && ttp_record_tag(records[count - 1]) == TTP_TAG_ENTER;
}

static bool NOHOOKS any_is_bare(void)
{
    const uint32_t *states = (const uint32_t *)((char *)arena + TTP_ARENA_HEAD_BYTES);
    for (uint32_t i = 0; i < arena->block_ready; i++)
        if ((states[i] & 3) == TTP_BLOCK_FILLING &&
            is_bare(
                (const void *)((char *)arena + arena->blocks_offset + (size_t)i * TTP_BLOCK_BYTES)))
            return true;
    return false;
}

/* Up to one or two places before as many places before the block's end. */
static void NOHOOKS align(unsigned places)
{
    while (left_in_block() > places + 2)
        leaf();
}

/* -- scenarios: what is prepared, and what is stepped over -- */

static void NOHOOKS stop(void)
{
    is_inside = 0;
    if (getpid() != own_id) { /* a child of fork_bare */
        leaf();
        leaf();
        _exit(0);
    }
    raise(SIGSTOP);
}

static void NOHOOKS *in_thread(void *unused)
{
    stop();
    target();
    stop();
    return unused;
}

/* Two handlers: in the first recording ends for want of blocks, in the second it goes on. */
static void NOHOOKS fill_all(int number)
{
    (void)number;
    for (int i = 0; i < 9000; i++)
        leaf();
    stop();
}

static void NOHOOKS free_all(int number)
{
    (void)number;
    request('f');
    leaf();
}

static void NOHOOKS play_twice(void)
{
    leaf(); /* ends what the last round may have left */
    request('h');
    is_inside = 1;
    __asm__ volatile("int3");
    target();
    is_inside = 0;
    stop();
    request('f');
}

/* The handler leaves the hook for good. In silence, the hook looks like one under way until as many
 * tries as the runtime takes to give it up. */
static void NOHOOKS play_away(void)
{
    if (sigsetjmp(far, 1) == 0) {
        if (fill > 1)
            request('h');
        if (strcmp(scenario, "away-block") == 0)
            align(0);
        stop();
        is_inside = 1;
        target();
    }
    is_inside = 0;
    stop();
    if (fill > 1)
        request('f');
    for (int i = 0; fill > 1 && i < 70 * 1024; i++)
        leaf();
    after();
    target();
    after();
    if (strcmp(scenario, "away-block") == 0)
        request('l');
}

static void NOHOOKS play(unsigned round)
{
    bool is_silent = strcmp(scenario, "silence") == 0 || strncmp(scenario, "fork-silence", 12) == 0;
    if (strcmp(scenario, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
            abort();
        pthread_join(thread, NULL);
        return;
    }
    if (strcmp(scenario, "block") == 0 || strcmp(scenario, "fork-block") == 0)
        align(1 + round % 6);
    if (is_silent) {
        request('h');
        align(1 + round % 6);
    }
    if (forks && !is_silent)
        leaf(); /* its frame is what is left where the target's will be */
    if (gap != 0) {
        play_twice();
        return;
    }
    if (strcmp(scenario, "speech") == 0) {
        request('h');
        for (int i = 0; i < 9000; i++)
            leaf();
        request('f');
    }
    if (strcmp(scenario, "off") == 0) {
        __atomic_store_n(&arena->mode, TTP_MODE_OFF, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&arena->periods, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&arena->mode, TTP_MODE_ON, __ATOMIC_SEQ_CST);
    }
    if (strncmp(scenario, "away", 4) == 0) {
        play_away();
        return;
    }
    if (strcmp(scenario, "jump") == 0) {
        if (setjmp(out) == 0) {
            stop();
            thrower();
        }
    } else if (strcmp(scenario, "coroutine") == 0) {
        stop();
        swapcontext(&back, &other);
    } else {
        stop();
    }
    is_inside = forks;
    target();
    stop();
    if (forks)
        request('l');
    if (is_silent)
        request('f');
}

/* With a frame around it that stays open. */
NOINLINE void outer(unsigned round)
{
    outers++;
    play(round);
}

static void NOHOOKS run_child(void)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = handler};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD); /* the parent waits for other signals */
    sigprocmask(SIG_BLOCK, &ends, NULL);
    own_id = getpid();
    forks = strncmp(scenario, "fork", 4) == 0;
    map_arena();
    sigaltstack(&stack, NULL);
    action.sa_flags = strcmp(scenario, "alternate") == 0 ? SA_ONSTACK : 0;
    if (gap != 0)
        action.sa_handler = fill_all;
    if (strncmp(scenario, "away", 4) == 0)
        action.sa_handler = strcmp(scenario, "away-bare") == 0 ? away_bare : away;
    if (forks)
        action.sa_handler = strstr(scenario, "-here") != NULL ? fork_here : fork_bare;
    if (strcmp(scenario, "within") == 0)
        action.sa_handler = within;
    if (strcmp(scenario, "away-silence") == 0)
        fill = 9000;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = free_all;
    sigaction(SIGUSR2, &action, NULL);
    getcontext(&other);
    other.uc_stack.ss_sp = malloc(65536);
    other.uc_stack.ss_size = 65536;
    makecontext(&other, on_coroutine, 0);
    leaf();
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGTRAP); /* so that the parent follows threads from here on */
    for (unsigned round = 0; !is_over; round++) {
        if (forks || strcmp(scenario, "off") == 0)
            outer(round);
        else
            play(round);
        raise(SIGTRAP);
    }
    printf("leaf %lu\nhandler %lu\ntarget %lu\nthrower %lu\nafter %lu\nouter %lu\n", leaves,
           handlers, targets, others, afters, outers);
}

/* -- the parent -- */

/* The next stop that counts: not those of threads that begin. */
static void NOHOOKS wait_stop(pid_t *who, int *status)
{
    static pid_t known[2];
    for (;;) {
        *who = waitpid(-1, status, __WALL);
        if (*who < 0) {
            perror("waitpid");
            exit(2);
        }
        if (known[0] == 0) {
            known[0] = *who;
            ptrace(PTRACE_SETOPTIONS, *who, NULL,
                   (void *)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
        }
        if (*who != known[0] && (WIFEXITED(*status) || WIFSIGNALED(*status)))
            continue;
        if (!WIFSTOPPED(*status))
            return;
        bool begins = *who != known[0] && *who != known[1];
        if (!begins && *status >> 16 == 0)
            return;
        if (begins)
            known[1] = *who;
        ptrace(PTRACE_CONT, *who, NULL, NULL);
    }
}

/* True: the target was done before that. */
static bool NOHOOKS step(long count, pid_t *who, int *status)
{
    for (long i = 0; i < count; i++) {
        ptrace(PTRACE_SINGLESTEP, *who, NULL, NULL);
        wait_stop(who, status);
        if (WSTOPSIG(*status) == SIGSTOP)
            return true;
        looks += is_looking;
        bares += is_looking && any_is_bare();
        if (gap != 0 && ptrace(PTRACE_PEEKDATA, *who, (void *)&is_inside, NULL) == 0) {
            ptrace(PTRACE_CONT, *who, NULL, NULL);
            wait_stop(who, status);
            return true;
        }
    }
    return false;
}

static void NOHOOKS signal_at(long number, pid_t *who, int *status)
{
    ptrace(PTRACE_CONT, *who, NULL, (void *)number);
    wait_stop(who, status);
    if (WIFSTOPPED(*status) && WSTOPSIG(*status) == number) { /* it had been held back */
        ptrace(PTRACE_CONT, *who, NULL, (void *)number);
        wait_stop(who, status);
    }
}

/* The first handler, up to where it came. */
static void NOHOOKS handle(pid_t *who, int *status)
{
    struct user_regs_struct before, now;
    ptrace(PTRACE_GETREGS, *who, NULL, &before);
    signal_at(SIGUSR1, who, status);
    do {
        step(1, who, status);
        ptrace(PTRACE_GETREGS, *who, NULL, &now);
    } while (now.rip != before.rip || now.rsp != before.rsp);
}

/* One round: false when the target was done before n steps. */
static bool NOHOOKS interrupt_at(long n)
{
    pid_t who;
    int status;
    wait_stop(&who, &status); /* before the target */
    bool is_done = step(n, &who, &status), is_behind = is_done;
    if (!is_done && gap != 0) {
        handle(&who, &status);
        is_behind = step(gap, &who, &status);
    }
    if (!is_behind)
        signal_at(gap == 0 ? SIGUSR1 : SIGUSR2, &who, &status);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) {
        fprintf(stderr, "status %x after %ld steps\n", status, n);
        exit(3);
    }
    ptrace(PTRACE_CONT, who, NULL, NULL); /* behind the target */
    wait_stop(&who, &status);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
        fprintf(stderr, "status %x behind %ld steps\n", status, n);
        exit(3);
    }
    if (is_done)
        ptrace(PTRACE_POKEDATA, who, (void *)&is_over, (void *)1);
    ptrace(PTRACE_CONT, who, NULL, NULL);
    return !is_done;
}

int NOHOOKS main(int count, char **arguments)
{
    if (count < 5)
        return 2;
    scenario = arguments[1];
    requests = atoi(arguments[4]);
    gap = count > 5 ? atol(arguments[5]) : 0;
    is_looking = strcmp(scenario, "bare") == 0;
    if (is_looking)
        map_arena();
    pid_t child = fork();
    if (child == 0) {
        run_child();
        return 0;
    }
    long stride = atol(arguments[2]), n = atol(arguments[3]);
    pid_t who;
    int status;
    wait_stop(&who, &status);
    ptrace(PTRACE_CONT, who, NULL, NULL);
    while (interrupt_at(n))
        n += stride;
    if (is_looking)
        printf("looks %ld\nbares %ld\n", looks, bares);
    printf("steps %ld\n", n);
    fflush(stdout);
    /* The child's end is told only after those of all its threads. */
    while ((who = waitpid(-1, &status, __WALL)) > 0 && (who != child || WIFSTOPPED(status)))
        if (WIFSTOPPED(status))
            ptrace(PTRACE_CONT, who, NULL, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
