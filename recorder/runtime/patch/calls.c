/* What a stub calls before and after a system call: the call is recorded as a call of a site of its
 * own kind, and its end with what it returned. Like the hooks, this may run in a signal handler and
 * in a thread that has no state yet; unlike them it knows that within a call there is nothing but a
 * handler.
 *
 * The runtime's own system calls are not seen: its code has no stubs. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recorder/runtime/hot.h"
#include "recorder/runtime/patch/patch.h"

#define RESULT_BYTES 32u /* the record, the message's head, and nine bytes in two records */
/* What nearly all calls go through, in one piece; what few need is apart (APART), so that it takes
 * no registers from it. */
#define INTO_CALLER static inline __attribute__((always_inline))
#define APART       static __attribute__((noinline))
#define MORE_VALUES (TTP_CALLS_ARGUMENTS | TTP_CALLS_LINES | TTP_CALLS_COUNTED)
#define SHARING     (CLONE_VM | CLONE_SETTLS | CLONE_THREAD)

static bool is_off(void) { return TTP_LIKELY(ttp_arena.head.mode != TTP_MODE_ON); }

/* -- sites: the recorder knows the calls' names -- */

static uintptr_t *announced_at(struct ttp_thread_page *page, uintptr_t key)
{
    return &page->announced[(key ^ key >> 8) & (TTP_SITES_ANNOUNCED - 1)];
}

static bool announce_path(const struct ttp_path_site *path)
{
    uint16_t numbers[2] = {(uint16_t)path->count, path->is_cut};
    struct ttp_message_field fields[3] = {{&path->key, sizeof(path->key)},
                                          {numbers, sizeof(numbers)},
                                          {path->frames, path->count * sizeof(path->frames[0])}};
    return ttp_message(TTP_MESSAGE_PATH, fields, 3);
}

static bool is_announced(uintptr_t key, const struct ttp_path_site *path)
{
    return ttp_thread.page->gate != TTP_GATE_NO_STATE &&
           (*announced_at(ttp_thread.page, key) == key ||
            (path != NULL && path->serial == ttp_thread.serial));
}

static bool announce(uintptr_t key, uint32_t number, struct ttp_path_site *path, uintptr_t sp)
{
    uint64_t address = key;
    uint32_t numbers[2] = {TTAPE_SITE_SYSCALL, number};
    uint16_t name_bytes = 0;
    struct ttp_message_field fields[3] = {
        {&address, sizeof(address)}, {numbers, sizeof(numbers)}, {&name_bytes, sizeof(name_bytes)}};
    if (!ttp_thread_ready(sp))
        return false;
    if (*announced_at(ttp_thread.page, key) == key)
        return true;
    if (!ttp_message(TTP_MESSAGE_SITE, fields, 3) || (path != NULL && !announce_path(path)))
        return false;
    if (path != NULL && path->serial == 0)
        path->serial = ttp_thread.serial; /* another thread's may be there by now: once more */
    *announced_at(ttp_thread.page, key) = key;
    return true;
}

/* The end of most calls: as ttp_call_write, with the hot path's checks (hot.h). False: nothing was
 * written. */
static bool write_result(const struct ttp_thread_page *page, uintptr_t key, uint64_t result)
{
    uint64_t start = ttp_epoch_start(page), at = ttp_thread.cursor;
    uint32_t low, high;
    ttp_tsc_halves(&low, &high);
    uint32_t time = low - (uint32_t)start;
    if (high != (uint32_t)(start >> 32) || time > TTP_RECORD_TIME_MASK || !ttp_has_room(at) ||
        (at & TTP_BLOCK_MASK) > TTP_BLOCK_BYTES - RESULT_BYTES || (at & TTP_NO_BLOCK) != 0 ||
        !ttp_swap_here(&ttp_thread.cursor, at, at + RESULT_BYTES))
        return false;
    if (TTP_UNLIKELY(ttp_epoch_start(page) != start)) {
        for (uint64_t i = 0; i < RESULT_BYTES; i += 8)
            ttp_slot_fill(at + i);
        return false;
    }
    uint64_t *place = (uint64_t *)at, call = ttp_record_call(TTP_TAG_EXIT, time, key);
    ttp_store(place + 2, ttp_record_data(result << 8 | TTAPE_VALUE_SIGNED));
    ttp_store(place + 3, ttp_record_data(result >> 48));
    ttp_store(place + 1,
              ttp_record_extension(TTP_EXT_MESSAGE, time, (uint64_t)TTP_MESSAGE_VALUES << 24 | 9));
    ttp_store(place, call);
    return true;
}

/* -- a child that has this thread's state: sharing.c -- */

static void share_stack(const struct ttp_call_registers *r, uintptr_t sp)
{
    uint64_t flags = (uint32_t)r->rax == SYS_clone ? r->rdi : 0;
    if ((uint32_t)r->rax == SYS_clone3)
        (void)ttp_clone_flags(r->rdi, r->rsi, sp, &flags);
    if ((flags & SHARING) != CLONE_VM || ttp_thread.page == &ttp_page_vfork_child)
        return;
    ttp_sharing_begin();
    ttp_thread.shared_sp = sp;
    ttp_thread.shared_with_vfork = (flags & CLONE_VFORK) != 0;
}

/* True: this is the child. */
static bool is_shared_child(uint64_t result, uintptr_t sp)
{
    if (TTP_LIKELY(ttp_thread.shared_sp == 0))
        return false;
    if (result == 0)
        return true;
    if (ttp_thread.shared_sp == sp) {
        bool is_there = !ttp_failed((long)result) && !ttp_thread.shared_with_vfork;
        ttp_thread.shared_sp = 0;
        ttp_sharing_is_with(is_there ? (long)result : 0);
    }
    return false;
}

/* -- enter -- */

/* On the same stack and not within a call: its own end would have come first. What calls may have
 * put nothing on the stack. */
static bool fits_page(const struct ttp_runtime_frame *top, const struct ttp_thread_page *page,
                      uintptr_t sp)
{
    return ttp_stack_holds(ttp_stack_current(), sp) && !ttp_is_call_key(top->function) &&
           (ttp_is_base(top) || (top->sp >= sp && ttp_stack_holds(ttp_stack_current(), top->sp))) &&
           top < page->frames_end && page->deep_frames == 0;
}

INTO_CALLER void enter(uintptr_t key, uintptr_t call_site, uintptr_t sp,
                       const struct ttp_call_values *values)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place = TTP_NO_BLOCK;
    bool is_tsc = page->gate == TTP_GATE_TSC;
    if (!(is_tsc || ttp_is_other_gate(page)) || !fits_page(top, page, sp)) {
        ttp_call_enter_slow(key, call_site, sp, values);
        return;
    }
    uint32_t process = ttp_process_now();
    ttp_push(top, key, call_site, sp);
    if (values != NULL) {
        if (*(volatile const uint32_t *)&ttp_arena.head.periods != page->period ||
            !ttp_call_write(process, TTP_TAG_ENTER, key, values))
            ttp_call_enter_put(key, page, values);
    } else if (!(is_tsc ? ttp_record_tsc(page, TTP_TAG_ENTER, key, &place)
                        : ttp_record_clock(page, TTP_TAG_ENTER, key, &place))) {
        ttp_enter_put(key, place, page);
    }
}

/* What a vfork child calls before it executes its program is not recorded, nor lost: vfork.c. */
static bool is_vfork_child(void)
{
    return TTP_UNLIKELY(ttp_thread.shared_sp != 0) && ttp_thread.shared_with_vfork;
}

/* Whether this call's stack is taken. A handler that comes in between may move the next one. */
static bool is_sampled(void)
{
    struct ttp_stack_sample *sample = &ttp_thread.stack_sample;
    if (TTP_LIKELY(!ttp_stack_sample_is_asked(&ttp_arena.head)))
        return true;
    if (!ttp_stack_sample_is_due(sample, &ttp_arena.head, ttp_thread.serial))
        return false;
    ttp_stack_sample_next(sample, &ttp_arena.head, ttp_process.clock());
    return true;
}

/* Of functions that are recorded, the open ones are the path. */
static struct ttp_path_site *path_of(const struct ttp_call_registers *r, uintptr_t sp,
                                     uintptr_t after)
{
    if ((ttp_arena.head.call_flags & TTP_CALLS_STACKS) == 0 ||
        (!ttp_has_state() && !ttp_thread_ready(sp)))
        return NULL;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    if (!ttp_has_state() || top == NULL || !(ttp_is_base(top) || ttp_is_call_key(top->function)) ||
        !is_sampled())
        return NULL;
    return ttp_path_of((uint32_t)r->rax, after, sp, r->rbp);
}

/* Before the loader's call, which is not what takes the time. */
static void look_at_loader(const struct ttp_call_registers *r, const struct ttp_stub *stub)
{
    if (!ttp_is_loader(stub) || ttp_thread.shared_sp != 0)
        return;
    if ((uint32_t)r->rax == SYS_munmap)
        ttp_loader_unmaps(r->rdi, r->rsi);
    else if (r->rdx == PROT_READ)
        ttp_loader_protects(r->rdi);
}

INTO_CALLER bool is_recorded(uint32_t number)
{
    return !is_off() && !is_vfork_child() && ttp_call_is_among(ttp_arena.head.chosen_calls, number);
}

/* Apart, so that a call without values does not put any on the stack. */
APART void enter_given(const struct ttp_call_registers *r, uintptr_t sp, uintptr_t after,
                       uintptr_t key, uintptr_t frame_sp)
{
    struct ttp_call_values values = {.type = TTAPE_VALUE_UNSIGNED,
                                     .count = TTP_CALL_ARGUMENTS,
                                     .numbers = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9}};
    if ((ttp_arena.head.call_flags & TTP_CALLS_LINES) != 0)
        ttp_call_line_begins(r, sp);
    if ((ttp_arena.head.call_flags & TTP_CALLS_COUNTED) != 0)
        ttp_call_count_begins(sp);
    if ((ttp_arena.head.call_flags & TTP_CALLS_ARGUMENTS) == 0) {
        enter(key, after, frame_sp, NULL);
        return;
    }
    ttp_call_texts_given(&values, (uint32_t)r->rax, sp);
    enter(key, after, frame_sp, &values);
    ttp_call_texts_done(&values);
}

/* frame_sp: of its frame, where that is not at the stack pointer of the call. */
INTO_CALLER void begin(const struct ttp_call_registers *r, uintptr_t sp, uintptr_t after,
                       uintptr_t frame_sp)
{
    uint32_t number = (uint32_t)r->rax;
    if (!is_recorded(number))
        return;
    struct ttp_path_site *path = path_of(r, sp, after);
    uintptr_t key = path != NULL ? path->key : ttp_call_key(number);
    if (!is_announced(key, path) && !announce(key, number, path, sp))
        ttp_event_missed();
    else if (TTP_UNLIKELY((ttp_arena.head.call_flags & MORE_VALUES) != 0))
        enter_given(r, sp, after, key, frame_sp);
    else
        enter(key, after, frame_sp, NULL);
}

/* -- exit -- */

static bool is_frame_of(const struct ttp_runtime_frame *top, uintptr_t call_site, uintptr_t sp)
{
    return ttp_is_call_key(top->function) && top->sp == sp && top->call_site == call_site;
}

/* In a child that the call has made: the call is its parent's. */
static void forget_frame(uintptr_t call_site, uintptr_t sp)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_thread.stacks != NULL && top != NULL && is_frame_of(top, call_site, sp))
        ttp_thread.top = top - 1;
}

INTO_CALLER void leave(uintptr_t call_site, uintptr_t sp, const struct ttp_call_values *values)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    uintptr_t key = top->function;
    uint64_t place = TTP_NO_BLOCK;
    bool is_tsc = page->gate == TTP_GATE_TSC;
    if (!(is_tsc || ttp_is_other_gate(page)) || !is_frame_of(top, call_site, sp)) {
        ttp_call_exit_slow(call_site, sp, values);
        return;
    }
    uint32_t process = ttp_process_now();
    ttp_pop(top);
    if (values != NULL) {
        if (*(volatile const uint32_t *)&ttp_arena.head.periods != page->period ||
            (!(is_tsc && values->count == 1 && write_result(page, key, values->numbers[0])) &&
             !ttp_call_write(process, TTP_TAG_EXIT, key, values)))
            ttp_call_exit_put(key, page, values);
    } else if (!(is_tsc ? ttp_record_tsc(page, TTP_TAG_EXIT, key, &place)
                        : ttp_record_clock(page, TTP_TAG_EXIT, key, &place))) {
        ttp_exit_put(key, place, page);
    }
}

/* -- what stubs call -- */

APART void begin_apart(const struct ttp_call_registers *r, uintptr_t sp, uintptr_t after)
{
    begin(r, sp, after, sp);
}

APART void leave_apart(uintptr_t call_site, uintptr_t sp, const struct ttp_call_values *values)
{
    leave(call_site, sp, values);
}

INTO_CALLER bool is_special(uint32_t number)
{
    const uint64_t low = 1ull << SYS_mprotect | 1ull << SYS_munmap | 1ull << SYS_rt_sigreturn |
                         1ull << SYS_clone | 1ull << SYS_execve;
    return number < 64 ? (low >> number & 1) != 0
                       : number == SYS_clone3 || number == SYS_prctl || number == SYS_seccomp ||
                             number == SYS_arch_prctl || number == SYS_execveat;
}

/* Its threads are what the runtime knows. */
static bool is_of_libc(const struct ttp_stub *stub)
{
    return ttp_is_loader(stub) ||
           stub->after - ttp_process.libc_low < ttp_process.libc_high - ttp_process.libc_low;
}

/* By an instruction of the program's own: where the C library's function was called, that is told
 * already. */
static void tell_restriction(const struct ttp_call_registers *r, uintptr_t sp)
{
    uint32_t what = (uint32_t)r->rax == SYS_prctl
                        ? ttp_prctl_restricts((int)r->rdi, r->rsi, r->rdx)
                        : ttp_seccomp_restricts((uint32_t)r->rdi, (uint32_t)r->rsi, r->rdx);
    if (what == 0 || ttp_thread.told_depth != 0 || ttp_thread.told_sp != 0)
        return;
    ttp_restriction_begin(&ttp_thread.told, what);
    ttp_thread.told_number = (uint32_t)r->rax;
    ttp_thread.told_sp = sp;
}

/* With SECCOMP_FILTER_FLAG_TSYNC a thread's id may be the result. */
APART void end_restriction(uint64_t result, const struct ttp_call_registers *r)
{
    bool is_prctl = ttp_thread.told_number == SYS_prctl;
    bool is_done =
        is_prctl ? !ttp_failed((long)result) : ttp_seccomp_is_done((long)result, (uint32_t)r->rsi);
    ttp_thread.told_sp = 0;
    ttp_restriction_end(&ttp_thread.told, is_done);
    if (is_done && is_prctl && (int)r->rdi != PR_SET_NAME)
        ttp_prctl_done((int)r->rdi, r->rsi);
}

APART void enter_special(const struct ttp_call_registers *r, uintptr_t sp,
                         const struct ttp_stub *stub)
{
    uint32_t number = (uint32_t)r->rax;
    if (!is_of_libc(stub))
        ttp_thread_call_seen(number, r->rdi, r->rsi, sp);
    if (ttp_is_aside)
        return;
    if (number == SYS_mprotect || number == SYS_munmap)
        look_at_loader(r, stub);
    begin_apart(r, sp, stub->after);
    if (number == SYS_prctl || number == SYS_seccomp)
        tell_restriction(r, sp);
    else if (number == SYS_clone || number == SYS_clone3)
        share_stack(r, sp);
    else if ((number == SYS_execve || number == SYS_execveat) && !is_of_libc(stub))
        ttp_warn_tracer(); /* the C library's have done so */
    else if (number == SYS_rt_sigreturn && is_recorded(number) && ttp_has_state())
        leave_apart(stub->after, sp, NULL); /* it does not come back */
}

void ttp_call_enter(const struct ttp_call_registers *r, uintptr_t sp, const struct ttp_stub *stub)
{
    if (TTP_UNLIKELY(is_special((uint32_t)r->rax)))
        enter_special(r, sp, stub);
    else
        begin(r, sp, stub->after, sp);
}

/* With what the call has filled, or written. */
APART void leave_filled(uint64_t result, uintptr_t sp, const struct ttp_stub *stub,
                        const struct ttp_call_registers *r)
{
    struct ttp_call_values values = {.type = TTAPE_VALUE_SIGNED, .count = 1, .numbers = {result}};
    if (!ttp_call_line_ended(&values, r, sp))
        ttp_call_texts_filled(&values, r, sp);
    if ((ttp_arena.head.call_flags & TTP_CALLS_COUNTED) != 0)
        ttp_call_count_ends(&values, sp);
    leave_apart(stub->after, sp, &values);
    ttp_call_texts_done(&values);
}

void ttp_call_exit(uint64_t result, uintptr_t sp, const struct ttp_stub *stub,
                   const struct ttp_call_registers *r)
{
    struct ttp_call_values values = {.type = TTAPE_VALUE_SIGNED, .count = 1, .numbers = {result}};
    bool has_values = (ttp_arena.head.call_flags & TTP_CALLS_RESULTS) != 0;
    if (ttp_is_aside || is_shared_child(result, sp))
        return;
    if (TTP_UNLIKELY(ttp_thread.told_sp == sp))
        end_restriction(result, r);
    if (ttp_thread.page->gate == TTP_GATE_NO_STATE && !ttp_call_was_open(sp)) {
        forget_frame(stub->after, sp);
    } else if (!is_off() && ttp_thread.top != NULL && !is_vfork_child()) {
        bool has_more = (ttp_arena.head.call_flags & MORE_VALUES) != 0;
        if (TTP_UNLIKELY(has_more) && has_values)
            leave_filled(result, sp, stub, r);
        else
            leave(stub->after, sp, has_values ? &values : NULL);
    }
}

/* -- a call without a stub: vfork.c -- */

void ttp_call_begins(const struct ttp_begun_call *call, uintptr_t after, uintptr_t sp)
{
    const struct ttp_call_registers registers = {.rax = call->number,
                                                 .rdi = call->first,
                                                 .rsi = call->second,
                                                 .rdx = call->third,
                                                 .rbp = call->rbp};
    if (ttp_process.records_calls)
        begin(&registers, sp, after, call->frame_sp != 0 ? call->frame_sp : sp);
}

void ttp_call_ended(uint32_t number, uint64_t result, uintptr_t after, uintptr_t sp)
{
    struct ttp_call_values values = {.type = TTAPE_VALUE_SIGNED, .count = 1, .numbers = {result}};
    bool has_values = (ttp_arena.head.call_flags & TTP_CALLS_RESULTS) != 0;
    if (ttp_process.records_calls && is_recorded(number) && ttp_has_state() &&
        ttp_thread.top != NULL)
        leave_apart(after, sp, has_values ? &values : NULL);
}
