/* One thread of a process that stands still makes a system call for us, and stands as before.
 *
 * Who attaches may be killed at any moment; the thread goes on then with the registers that it was
 * given. So all that it does for us ends by itself where it was: it returns from the call to the C
 * library's return from a handler, over a frame that holds all that it had.
 *
 *     program's stack ... red zone | x87, SSE, AVX | registers, mask | address of that return
 *                                                                      ^ rsp
 *     at `syscall; ret`  ->  mov $15, %rax; syscall  ->  where it was
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "recorder/attach/attach_inside.h"

#define RED_ZONE      128u
#define STATE_MOST    4096u /* bytes of x87, SSE, AVX; more has to be asked for by a thread */
#define SOFTWARE_AT   464u  /* in it: what the kernel says of its size */
#define MAGIC_1       0x46505853u
#define MAGIC_2       0x46505845u
#define CHUNK         (UINT64_C(1) << 20)
#define SET_MASK      0x420b
#define GET_MASK      0x420a
#define GET_SEQUENCES 0x420f /* PTRACE_GET_RSEQ_CONFIGURATION, from Linux 5.13 on */
#define RESTART_FIRST 512
#define RESTART_LAST  516
#define RESTART_BLOCK 516
#define SOON_NS       UINT64_C(200000)
#define LONGEST_NS    UINT64_C(5000000000)
#define PAUSE_NS      20000
#define NOT_A_STACK   0x40 /* flags that no alternate stack has: it stays as it is */

/* ---- places in the program's code ---- */

static const uint8_t call_code[] = {0x0f, 0x05, 0xc3};
static const uint8_t restore_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

static void look_at(struct ttp_call_places *places, const uint8_t *bytes, size_t size, uint64_t at)
{
    const uint8_t *call = memmem(bytes, size, call_code, sizeof call_code);
    const uint8_t *restore = memmem(bytes, size, restore_code, sizeof restore_code);
    if (places->call == 0 && call != NULL)
        places->call = at + (uint64_t)(call - bytes);
    if (places->restore == 0 && restore != NULL)
        places->restore = at + (uint64_t)(restore - bytes);
}

static bool is_there(int memory, uint64_t at, const uint8_t *code, size_t size)
{
    uint8_t bytes[sizeof restore_code];
    return at != 0 && ttp_memory_read(memory, at, bytes, size) && memcmp(bytes, code, size) == 0;
}

bool ttp_call_places_find(struct ttp_call_places *places, const struct ttp_maps *maps, int memory)
{
    if (is_there(memory, places->call, call_code, sizeof call_code) &&
        is_there(memory, places->restore, restore_code, sizeof restore_code))
        return true;
    uint8_t *bytes = malloc(CHUNK);
    *places = (struct ttp_call_places){0};
    for (size_t i = 0; bytes != NULL && i < maps->count; i++) {
        const struct ttp_map *map = &maps->list[i];
        if (!map->can_execute || !map->can_read || map->path[0] != '/')
            continue;
        for (uint64_t at = map->start; at < map->end; at += CHUNK) {
            uint64_t size = map->end - at < CHUNK ? map->end - at : CHUNK;
            if (ttp_memory_read(memory, at, bytes, size))
                look_at(places, bytes, size, at);
        }
        if (places->call != 0 && places->restore != 0)
            break;
    }
    free(bytes);
    return places->call != 0 && places->restore != 0;
}

/* ---- the frame ---- */

/* The kernel lays this down for a handler. */
struct kernel_context {
    uint64_t restore; /* the return address */
    uint64_t flags, link;
    uint64_t stack, stack_flags, stack_bytes;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, cr2, state, reserved[8];
    uint64_t mask;
    uint8_t information[128];
};

struct ttp_frame {
    uint8_t state[STATE_MOST + 64];
    size_t state_bytes;
    struct kernel_context context;
};

struct ttp_frame *ttp_frame_make(void)
{
    struct ttp_frame *frame = malloc(sizeof *frame);
    if (frame != NULL) /* its pages are there then */
        memset(frame, 0, sizeof *frame);
    return frame;
}

static bool read_state(pid_t tid, struct ttp_frame *frame)
{
    struct iovec whole = {frame->state, STATE_MOST};
    uint64_t features;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_X86_XSTATE, &whole) != 0 ||
        whole.iov_len < SOFTWARE_AT + 48)
        return false;
    memcpy(&features, frame->state + SOFTWARE_AT, sizeof features);
    size_t size = whole.iov_len;
    const uint32_t numbers[] = {MAGIC_1,
                                (uint32_t)size + 4,
                                (uint32_t)features,
                                (uint32_t)(features >> 32),
                                (uint32_t)size,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0};
    const uint32_t end = MAGIC_2;
    memcpy(frame->state + SOFTWARE_AT, numbers, sizeof numbers);
    memcpy(frame->state + size, &end, sizeof end);
    frame->state_bytes = size + sizeof end;
    return true;
}

/* A call that it was in begins anew, as the kernel would have it. */
static void set_call(struct kernel_context *c, const struct user_regs_struct *r)
{
    int64_t result = (int64_t)r->rax;
    if ((int64_t)r->orig_rax < 0 || result > -RESTART_FIRST || result < -RESTART_LAST)
        return;
    c->rip -= 2;
    c->rax = result == -RESTART_BLOCK ? SYS_restart_syscall : r->orig_rax;
}

static void fill_context(struct kernel_context *c, const struct user_regs_struct *r, uint64_t mask)
{
    *c = (struct kernel_context){.flags = 7,
                                 .stack_flags = NOT_A_STACK,
                                 .r8 = r->r8,
                                 .r9 = r->r9,
                                 .r10 = r->r10,
                                 .r11 = r->r11,
                                 .r12 = r->r12,
                                 .r13 = r->r13,
                                 .r14 = r->r14,
                                 .r15 = r->r15,
                                 .rdi = r->rdi,
                                 .rsi = r->rsi,
                                 .rbp = r->rbp,
                                 .rbx = r->rbx,
                                 .rdx = r->rdx,
                                 .rax = r->rax,
                                 .rcx = r->rcx,
                                 .rsp = r->rsp,
                                 .rip = r->rip,
                                 .eflags = r->eflags,
                                 .cs = (uint16_t)r->cs,
                                 .gs = (uint16_t)r->gs,
                                 .fs = (uint16_t)r->fs,
                                 .ss = (uint16_t)r->ss,
                                 .mask = mask};
    set_call(c, r);
}

/* Below `top`, with a return address in front; *sp is where that is. Not where it may not be
 * written: what is below a stack is no stack. */
static bool put_frame(pid_t tid, struct ttp_frame *frame, uint64_t top, uint64_t restore,
                      uint64_t *sp)
{
    uint64_t state = (top - frame->state_bytes) & ~UINT64_C(63);
    *sp = (state - sizeof frame->context) & ~UINT64_C(15);
    frame->context.restore = restore;
    frame->context.state = state;
    const struct iovec local[2] = {{frame->state, frame->state_bytes},
                                   {&frame->context, sizeof frame->context}},
                       remote[2] = {{(void *)(uintptr_t)state, frame->state_bytes},
                                    {(void *)(uintptr_t)*sp, sizeof frame->context}};
    return process_vm_writev(tid, local, 2, remote, 2, 0) ==
           (ssize_t)(frame->state_bytes + sizeof frame->context);
}

/* ---- a call ---- */

struct calling {
    struct ttp_stopped_task *task;
    struct user_regs_struct saved;
    uint64_t mask;
};

static bool set_mask(pid_t tid, uint64_t mask)
{
    return ptrace((enum __ptrace_request)SET_MASK, tid, (void *)sizeof mask, &mask) == 0;
}

static bool is_call_stop(int status)
{
    return WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static bool is_event_stop(int status)
{
    return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
}

/* Signals are held off meanwhile, but for SIGSTOP, which is handed on: the program is stopped by it
 * when it is let go. SIGCONT is only told of. */
static bool hand_on(pid_t tid, enum __ptrace_request how, int status)
{
    bool is_signal = WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP;
    return (is_signal || is_event_stop(status)) &&
           ptrace(how, tid, NULL, (void *)(long)(is_signal ? SIGSTOP : 0)) == 0;
}

/* It goes on until the next stop that says something of the call. */
static bool await(const struct ttp_stopped_task *task, enum __ptrace_request how,
                  bool (*is_it)(int))
{
    int status;
    while (ttp_stop_wait(task, &status)) {
        if (is_it(status))
            return true;
        if (!hand_on(task->tid, how, status))
            return false;
    }
    return false;
}

static bool go_to_call(const struct ttp_stopped_task *task)
{
    return ptrace(PTRACE_SYSCALL, task->tid, NULL, NULL) == 0 &&
           await(task, PTRACE_SYSCALL, is_call_stop);
}

/* Its registers are of a call of ours from here on: whoever lets it go then lets it return over the
 * frame, which has its mask. Only then may signals be held off. */
static bool enter(const struct calling *c, const struct user_regs_struct *r)
{
    return ptrace(PTRACE_SETREGS, c->task->tid, NULL, r) == 0 && set_mask(c->task->tid, UINT64_MAX);
}

/* At the end of a call the kernel begins none anew, but where the task has been interrupted, as it
 * is here once more: then the kernel looks, before the program goes on, whether a handler runs or a
 * call begins anew. Until its mask is its own again, its registers would have it return over the
 * frame. */
static bool go_back(const struct calling *c)
{
    pid_t tid = c->task->tid;
    return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 && set_mask(tid, c->mask) &&
           ptrace(PTRACE_SETREGS, tid, NULL, &c->saved) == 0;
}

/* Whether it is in a restartable sequence, in which it would not go on when the kernel has seen it
 * elsewhere. In a call it is in none. */
static bool is_in_sequence(const struct ttp_stop *stop, const struct ttp_stopped_task *task)
{
    struct {
        uint64_t address;
        uint32_t size, signature, flags, fill;
    } about = {0};
    uint64_t sequence = 1;
    if ((int64_t)task->registers.orig_rax >= 0)
        return false;
    if (ptrace((enum __ptrace_request)GET_SEQUENCES, task->tid, (void *)sizeof about, &about) < 0)
        return errno != EIO && errno != EINVAL; /* a kernel without */
    return about.address != 0 &&
           (!ttp_memory_read(stop->memory, about.address + 8, &sequence, sizeof sequence) ||
            sequence != 0);
}

/* The main thread has the largest stack. */
static struct ttp_stopped_task *choose_task(struct ttp_stop *stop)
{
    struct ttp_stopped_task *found = NULL;
    for (size_t i = 0; i < stop->count; i++) {
        struct ttp_stopped_task *task = &stop->tasks[i];
        bool is_main = task->tid == (pid_t)stop->pid;
        if ((found == NULL || is_main) && !is_in_sequence(stop, task))
            found = task;
    }
    return found;
}

static bool begin(struct calling *c, struct ttp_stop *stop, struct ttp_frame *frame)
{
    c->task = choose_task(stop);
    if (c->task == NULL)
        return false;
    c->saved = c->task->registers;
    pid_t tid = c->task->tid;
    if (ptrace((enum __ptrace_request)GET_MASK, tid, (void *)sizeof c->mask, &c->mask) != 0 ||
        !read_state(tid, frame))
        return false;
    fill_context(&frame->context, &c->saved, c->mask);
    return true;
}

static void give_up(const struct calling *c)
{
    (void)set_mask(c->task->tid, c->mask);
    (void)ptrace(PTRACE_SETREGS, c->task->tid, NULL, &c->saved);
}

bool ttp_call(struct ttp_stop *stop, const struct ttp_call_places *places,
              struct ttp_called *called)
{
    struct calling c;
    struct ttp_frame *frame = stop->room;
    uint64_t sp;
    bool is_done = false;
    if (!begin(&c, stop, frame))
        return false;
    pid_t tid = c.task->tid;
    struct user_regs_struct r = c.saved;
    if (put_frame(tid, frame, r.rsp - RED_ZONE, places->restore, &sp)) {
        r.rsp = sp;
        r.rip = places->call;
        r.rax = (unsigned long long)called->number;
        r.orig_rax = UINT64_MAX;
        r.rdi = called->arguments[0];
        r.rsi = called->arguments[1];
        r.rdx = called->arguments[2];
        r.r10 = called->arguments[3];
        r.r8 = called->arguments[4];
        r.r9 = called->arguments[5];
        is_done = enter(&c, &r) && go_to_call(c.task) && go_to_call(c.task) &&
                  ptrace(PTRACE_GETREGS, tid, NULL, &r) == 0;
        called->result = (int64_t)r.rax;
        is_done = is_done && go_back(&c);
    }
    if (!is_done)
        give_up(&c);
    return is_done;
}

/* ---- code of ours ---- */

/* It runs, and its calls are no stops: what it has to say is read from its memory. */
static bool is_done(const struct calling *c, int memory, struct ttp_called_code *code)
{
    const struct timespec pause = {0, PAUSE_NS};
    const int64_t before = code->result;
    uint64_t begun = ttp_attach_now_ns(), waited = 0;
    int status;
    while (waited < LONGEST_NS) {
        if (!ttp_memory_read(memory, code->result_at, &code->result, sizeof code->result))
            return false;
        if (code->result != before)
            return true;
        pid_t got = waitpid(c->task->tid, &status, __WALL | WNOHANG);
        if (got < 0 || (got > 0 && !hand_on(c->task->tid, PTRACE_CONT, status)))
            return false;
        waited = ttp_attach_now_ns() - begun;
        if (waited > SOON_NS)
            (void)nanosleep(&pause, NULL);
        else if (c->task->is_near)
            (void)sched_yield();
    }
    return false;
}

/* It waits in the code for us. Where we came too late, it has returned by the frame already, and
 * what it has is its own. */
static bool take_back(const struct calling *c, const struct ttp_called_code *code)
{
    pid_t tid = c->task->tid;
    struct user_regs_struct r;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
        !await(c->task, PTRACE_CONT, is_event_stop) || ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0)
        return false;
    if (r.rip - code->low >= code->high - code->low)
        return true;
    return set_mask(tid, c->mask) && ptrace(PTRACE_SETREGS, tid, NULL, &c->saved) == 0;
}

bool ttp_call_code(struct ttp_stop *stop, struct ttp_called_code *code)
{
    struct calling c;
    struct ttp_frame *frame = stop->room;
    uint64_t sp;
    bool is_called = false, is_over = false;
    if (!begin(&c, stop, frame))
        return false;
    struct user_regs_struct r = c.saved;
    if (put_frame(c.task->tid, frame, code->frame + TTP_FRAME_ROOM, 0, &sp)) {
        r.rbx = sp + 8; /* as a return to the frame's first word leaves it */
        r.rsp = code->stack & ~UINT64_C(15);
        r.rip = code->begin;
        r.orig_rax = UINT64_MAX;
        r.eflags &= ~UINT64_C(0x500); /* direction, single steps */
        is_called = enter(&c, &r) && ptrace(PTRACE_CONT, c.task->tid, NULL, NULL) == 0;
    }
    if (is_called) {
        is_over = is_done(&c, stop->memory, code);
        is_over &= take_back(&c, code);
    } else {
        give_up(&c);
    }
    return is_over;
}
