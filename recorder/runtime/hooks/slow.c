/* Calls that do not fit the hot path: a new epoch or block, frames that were left by unwinding,
 * another stack, signal handlers, no state yet.
 *
 * What is certain: when a function at stack pointer S calls us, every frame of the same stack below
 * S is gone. What is not: an inlined function shows its parent's stack pointer and call site; a
 * frame that was left by longjmp, and then one called from further out that reaches below it, look
 * like parent and child (where longjmp and catch are interposed, they are not: see interpose.c). */
#include <sys/syscall.h>

#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/hot.h"
#include "recorder/runtime/operation.h"

#define SEARCH_MAX 4096 /* frames that an exit looks through for its own */

struct operation ttp_slow_begin(uintptr_t sp)
{
    ttp_stack_verify();
    struct operation op = {.sp = sp, .page = ttp_thread.page, .is_begun = ttp_operation_begin(sp)};
    op.is_doubted = ttp_doubt_take();
    if (ttp_is_dropping() && op.is_begun)
        ttp_drop_end();
    op.was_dropping = ttp_is_dropping();
    if (!op.was_dropping && op.is_begun && ttp_thread.page->dropped != 0)
        ttp_drop_write_gap();
    return op;
}

void ttp_slow_end(const struct operation *op) { ttp_operation_end(op->is_begun); }

static void pop_to(struct ttp_runtime_frame *top)
{
    ttp_thread.top = top;
    TTP_SIGNAL_FENCE();
}

/* Frames above the innermost handler's, or of the whole stack. */
static uint64_t count_above_signal(const struct ttp_runtime_frame *top)
{
    if (!ttp_thread.stacks->has_marks)
        return (uint64_t)(top - ttp_stack_current()->base);
    uint64_t count = 0;
    while (!ttp_is_base(top - count) && !ttp_is_mark(top - count))
        count++;
    return count;
}

/* Takes frames off that were left without their exits. A handler may have jumped out of a hook
 * whose frame has no record, or whose frame is gone while its end has no record. So the record says
 * which frames stay. It counts only down to a handler that goes on: the hook below it goes on, too.
 * Calls of handlers that are not recorded may take frames off meanwhile. */
static void write_unwind(struct operation *op, struct ttp_runtime_frame *top, uint64_t type)
{
    if (top < ttp_thread.top && ttp_awaits(ttp_thread.top))
        ttp_tail_settle(op);
    ttp_stack_verify();
    struct ttp_runtime_frame *from = *(struct ttp_runtime_frame *volatile *)&ttp_thread.top;
    top = top < from ? top : from;
    uint64_t signals = 0;
    for (const struct ttp_runtime_frame *at = from; at > top; at--)
        signals += ttp_is_mark(at);
    ttp_adopt_page(op);
    pop_to(top);
    uint64_t above = count_above_signal(top);
    if (signals != 0 || ttp_is_base(top - above)) /* not within a handler that goes on */
        ttp_thread.page->has_unwound = true;
    ttp_put_extension(op, type, ttp_unwind_signals(signals, above), top - from);
}

void ttp_slow_unwind(struct operation *op, struct ttp_runtime_frame *top)
{
    if (top != ttp_thread.top)
        write_unwind(op, top, op->is_doubted ? TTP_EXT_UNWIND : TTP_EXT_UNSEEN_END);
}

static void push_frame(uintptr_t sp, uintptr_t function, uintptr_t call_site)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_is_base(top) && sp != UINTPTR_MAX)
        top->sp = sp + TTP_LARGE_FRAME / 2; /* so that the next call from the same place fits */
    ttp_push(top, function, call_site, sp);
    if (ttp_branch_settings.is_on)
        ttp_branch_entered(top + 1);
}

static bool is_full(uint32_t more) { return ttp_thread.top + more > ttp_thread.page->frames_end; }

/* -- what is gone -- */

/* Frames of this stack below sp are gone; so is a handler on the alternate stack when the code that
 * it interrupted runs again, and a sibling at the same place called from elsewhere. */
static bool is_gone(const struct ttp_runtime_frame *frame, uintptr_t sp, uintptr_t call_site,
                    bool is_alternate)
{
    const struct ttp_runtime_stack *stack = ttp_stack_current();
    uintptr_t at = ttp_sp_of(frame);
    bool frame_inside = ttp_stack_holds(stack, at);
    if (frame_inside == is_alternate)
        return !is_alternate && stack->exact;
    return at < sp ||
           (at == sp && call_site != 0 && frame->call_site != 0 && frame->call_site != call_site);
}

/* The innermost frame that is not. */
struct ttp_runtime_frame *ttp_slow_staying(const struct operation *op, uintptr_t sp,
                                           uintptr_t call_site, bool is_alternate)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (op->is_begun && !is_alternate && !ttp_is_base(top) &&
        !ttp_stack_holds(ttp_stack_current(), ttp_sp_of(top)))
        ttp_stack_exact();
    while (!ttp_is_base(top) && is_gone(top, sp, call_site, is_alternate)) {
        bool is_handler = (top->function & TTP_FRAME_HANDLER) != 0;
        top -= is_handler && ttp_is_mark(top - 1) ? 2 : 1;
    }
    return top;
}

/* The memory of a stack was given to another coroutine: what was open there never ends. Where
 * another thread went on with it nobody knows what has ended there: but for what it begins with. */
static void drop_stale(struct operation *op)
{
    struct ttp_runtime_stack *stack = ttp_stack_current();
    if (!stack->is_stale && !stack->is_lent)
        return;
    bool stays = !stack->is_stale && stack->has_start && !ttp_is_base(ttp_thread.top);
    stack->is_stale = stack->is_lent = false;
    ttp_slow_unwind(op, stack->base + stays);
}

/* Moves to the stack that sp is on. False: another task runs on a copy of this thread's pointer. */
bool ttp_slow_move(struct operation *op, uintptr_t sp, bool *is_alternate)
{
    *is_alternate = false;
    if (!op->is_begun)
        return true;
    if (ttp_awaits(ttp_thread.top) && ttp_thread.page->deep_frames == 0)
        ttp_tail_settle(op);
    uint32_t index = ttp_stack_locate(sp, op, is_alternate);
    if (index == UINT32_MAX)
        return false;
    if (index != ttp_thread.stacks->current) {
        if (ttp_thread.page->deep_frames != 0)
            ttp_deep_forget(op);
        ttp_stack_switch(index);
        if (ttp_put_record(ttp_process_now(), 0, TTP_EXT_SWITCH, false, index))
            ttp_thread.page->announced_stack = index;
        else if (!op->was_dropping)
            ttp_thread.page->announced_stack = UINT32_MAX;
    }
    drop_stale(op);
    return true;
}

/* -- enter -- */

/* Whether the handler that returns there has its frame already, and who calls is inlined in it. */
static bool is_running_handler(uintptr_t location, uintptr_t call_site)
{
    for (const struct ttp_runtime_frame *at = ttp_thread.top; !ttp_is_base(at); at--) {
        if ((at->function & TTP_FRAME_HANDLER) != 0)
            return at[-1].call_site == location;
        if (at->call_site != call_site)
            return false;
    }
    return false;
}

static bool enter_handler(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    uint32_t number;
    uintptr_t location = ttp_signal_find(function, call_site, op->sp, &number);
    if (location == 0 || is_running_handler(location, call_site))
        return false;
    if (ttp_thread.page->deep_frames != 0 || is_full(2)) {
        ttp_deep_enter_handler(op, function, location, number);
        return true;
    }
    ttp_thread.stacks->has_marks = true;
    ttp_adopt_page(op);
    push_frame(UINTPTR_MAX, TTP_FRAME_MARK + number, location);
    ttp_put_extension(op, TTP_EXT_SIGNAL_BEGIN, number, 1);
    ttp_fault_tell(location, function, number);
    ttp_adopt_page(op);
    push_frame(op->sp, function | TTP_FRAME_HANDLER, call_site);
    ttp_put_call(op, TTP_TAG_ENTER, function, 1);
    return true;
}

/* What a function has jumped to. */
static void enter_chained(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    ttp_adopt_page(op);
    uintptr_t bits = ttp_tail_chain(op, function);
    ttp_adopt_page(op);
    push_frame(op->sp, function | bits, call_site);
    ttp_put_call(op, TTP_TAG_ENTER, function, 1);
}

/* Frames above the one whose function calls. */
static void leave_doubted(struct operation *op, uintptr_t call_site)
{
    struct ttp_runtime_frame *caller = ttp_doubt_caller(call_site, op->sp);
    if (caller != NULL && ttp_thread.page->deep_frames == 0)
        ttp_slow_unwind(op, caller);
}

static void enter_function(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    const struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_tail_goes_on(top, function, call_site, op->sp) && !is_full(1)) {
        enter_chained(op, function, call_site);
        return;
    }
    /* A system call puts nothing on the stack: what has its stack pointer is what calls it. */
    uintptr_t gone_site = ttp_is_call_key(function) ? 0 : call_site;
    bool is_inlined = !op->is_whole && top->sp == op->sp &&
                      (top->call_site == call_site || call_site == 0 || top->call_site == 0);
    bool is_far = false, is_near = is_inlined || top->sp - op->sp - 1 < TTP_LARGE_FRAME - 1;
    if (!is_inlined && ttp_is_signal_return(call_site) && enter_handler(op, function, call_site))
        return;
    if (op->is_doubted && op->is_begun && !ttp_is_call_key(function))
        leave_doubted(op, call_site);
    if (op->is_begun && (!is_near || ttp_thread.page->deep_frames != 0)) {
        bool is_alternate;
        op->call_site = call_site;
        op->is_first =
            !op->is_part && !ttp_is_call_key(function) && ttp_is_first_call(call_site, op->sp);
        if (!ttp_slow_move(op, op->sp, &is_alternate))
            return;
        if (ttp_thread.page->deep_frames != 0 && !is_alternate &&
            op->sp > ttp_sp_of(ttp_thread.top))
            ttp_deep_forget(op);
        if (ttp_thread.page->deep_frames == 0) {
            struct ttp_runtime_frame *stays =
                ttp_slow_staying(op, op->sp + op->is_whole, gone_site, is_alternate);
            ttp_slow_unwind(op, ttp_loose_staying(op, stays, function));
        }
        is_far = !is_near && !is_alternate;
    }
    if (ttp_thread.page->deep_frames != 0 || is_full(1)) {
        ttp_deep_enter(op, function);
        return;
    }
    ttp_adopt_page(op);
    if (is_far)
        ttp_far_know(ttp_thread.top, op->sp, call_site);
    if (ttp_is_base(ttp_thread.top))
        ttp_stack_current()->has_start = op->is_first;
    push_frame(op->sp, function, call_site);
    ttp_put_call(op, TTP_TAG_ENTER, function, 1);
}

void ttp_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    struct ttp_call_values values;
    if (ttp_tail_enter(function, call_site, sp) || !ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    op.values = ttp_hook_site(&values, call_site);
    enter_function(&op, function, call_site);
    ttp_slow_end(&op);
}

void ttp_part_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (!ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    op.is_part = true;
    enter_function(&op, function, call_site);
    ttp_slow_end(&op);
}

void ttp_probe_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                          const struct ttp_call_values *values)
{
    if ((values == NULL && ttp_tail_enter(function, call_site, sp)) || !ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    op.values = values;
    op.is_whole = true;
    enter_function(&op, function, call_site);
    ttp_slow_end(&op);
}

/* The call is part of the one around it, whatever functions the program has for beginning one. */
void ttp_enter_in_call(uintptr_t function, uintptr_t sp)
{
    bool is_alternate;
    if (!ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    if (ttp_slow_move(&op, sp, &is_alternate) && ttp_thread.page->deep_frames == 0) {
        ttp_slow_unwind(&op, ttp_slow_staying(&op, sp, 0, is_alternate));
        if (!is_full(1)) {
            ttp_adopt_page(&op);
            ttp_push(ttp_thread.top, function, ttp_thread.top->call_site, ttp_thread.top->sp);
            ttp_put_call(&op, TTP_TAG_ENTER, function, 1);
        } else {
            ttp_deep_enter(&op, function);
        }
    } else if (ttp_thread.page->deep_frames != 0) {
        ttp_deep_enter(&op, function);
    }
    ttp_slow_end(&op);
}

/* -- exit -- */

/* The innermost open frame that can be the one that exits here, or NULL. Its parent began at sp or
 * above, unless that was left unnoticed; the same call site is better evidence than the function
 * alone; a handler that runs is the limit, recorded or not: what it interrupted lies above sp. */
static struct ttp_runtime_frame *find_exiting(const struct operation *op, uintptr_t function,
                                              uintptr_t call_site, bool is_alternate)
{
    uintptr_t sp = op->sp;
    struct ttp_runtime_frame *found = NULL, *orphan = NULL;
    int steps = 0;
    /* The call that ends may have no frame: what is above the innermost one has not ended. */
    bool is_innermost = ttp_process.verdicts != NULL && !is_alternate && ttp_thread.top->sp > sp;
    for (struct ttp_runtime_frame *at = ttp_thread.top;
         !ttp_is_base(at) && steps < (is_innermost ? 1 : SEARCH_MAX); at--, steps++) {
        bool is_handler = (at->function & TTP_FRAME_HANDLER) != 0;
        bool is_same = ttp_function_of(at) == function && (op->is_begun || ttp_sp_of(at) <= sp);
        bool is_below = ttp_is_base(at - 1) || sp <= ttp_sp_of(at - 1);
        if (is_same && is_below && at->call_site == call_site)
            return at;
        if (is_same && is_below && found == NULL)
            found = at;
        if (is_same && at->call_site == call_site && orphan == NULL)
            orphan = at;
        if (is_handler && !is_gone(at, sp, 0, is_alternate))
            break;
    }
    return found != NULL ? found : orphan;
}

static void leave_one(struct operation *op, uintptr_t function)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_handler = (top->function & TTP_FRAME_HANDLER) != 0;
    const struct ttp_call_values *values = op->values;
    struct ttp_call_values branch;
    if (ttp_branch_settings.is_on && values == NULL && ttp_branch_end_values(&branch))
        op->values = &branch;
    ttp_adopt_page(op);
    pop_to(top - 1);
    ttp_put_call(op, TTP_TAG_EXIT, function, -1);
    op->values = values;
    if (is_handler && ttp_is_mark(top - 1)) {
        ttp_adopt_page(op);
        pop_to(top - 2);
        ttp_put_extension(op, TTP_EXT_SIGNAL_END, 0, -1);
    }
}

/* With those that have jumped to it, which end here, too. */
void ttp_slow_leave(struct operation *op, uintptr_t function)
{
    bool goes_on = true;
    while (goes_on && !ttp_is_base(ttp_thread.top)) { /* see write_unwind */
        goes_on = (ttp_thread.top->function & TTP_FRAME_CHAINED) != 0;
        leave_one(op, function);
        op->values = NULL;
        function = ttp_function_of(ttp_thread.top);
    }
}

/* The innermost frame does, by a return or by a jump. */
static void leave_function(struct operation *op, uintptr_t function)
{
    if (!op->is_jump) {
        ttp_slow_leave(op, function);
        return;
    }
    ttp_thread.page->jump_registers = ttp_tail_registers(op->sp);
    ttp_tail_mark(ttp_thread.top, op->target);
    ttp_put_extension(op, TTP_EXT_JUMP, 0, 0);
}

static void exit_far(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    bool is_alternate;
    if (!ttp_slow_move(op, op->sp, &is_alternate))
        return;
    if (ttp_thread.page->deep_frames != 0) {
        /* The outermost of them may jump to the hook from where the one below it called. */
        uintptr_t last = ttp_sp_of(ttp_thread.top);
        if (is_alternate || op->sp < last ||
            (op->sp == last && ttp_thread.page->deep_frames == 1)) {
            ttp_deep_exit(op, function);
            return;
        }
        ttp_deep_forget(op);
    }
    struct ttp_runtime_frame *frame = find_exiting(op, function, call_site, is_alternate);
    if (frame == NULL) {
        if (!ttp_put_record(ttp_process_now(), TTP_EXT_UNSEEN, TTP_TAG_EXIT, true, function))
            ttp_count_dropped();
        return;
    }
    ttp_slow_unwind(op, frame);
    leave_function(op, function);
}

static void exit_slow(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    const struct ttp_runtime_frame *top = ttp_thread.top;
    uintptr_t at = ttp_sp_of(top);
    if (ttp_thread.page->deep_frames == 0 && !ttp_is_base(top) && top->call_site == call_site &&
        ttp_function_of(top) == function && op->sp - at <= ttp_sp_of(top - 1) - at)
        leave_function(op, function);
    else
        exit_far(op, function, call_site);
    ttp_slow_end(op);
}

void ttp_exit_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                   const struct ttp_call_values *values)
{
    if ((values == NULL && ttp_tail_exit(function, call_site, sp)) || !ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    op.values = values;
    exit_slow(&op, function, call_site);
}

void ttp_tail_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp, uintptr_t target)
{
    if (!ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    op.is_jump = true;
    op.target = target;
    exit_slow(&op, function, call_site);
}

/* -- the hot path did the frame, and found no room or another epoch -- */

static bool is_other_period(void)
{
    return __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED) != ttp_thread.page->period;
}

/* Handlers must not end a drop period between the record's failure and what accounts for it. */
struct operation ttp_slow_after_hot_path(const struct ttp_thread_page *page)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    return (struct operation){
        .sp = sp, .page = page, .is_begun = ttp_operation_begin(sp), .was_dropping = false};
}

/* After a time of being off, the frame is taken back, so that records come in order. */
void ttp_call_enter_put(uintptr_t function, const struct ttp_thread_page *page,
                        const struct ttp_call_values *values)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_is_inherited(page)) {
        ttp_correct_inherited(function);
        return;
    }
    if (is_other_period()) {
        uintptr_t call_site = top->call_site, sp = top->sp; /* handlers put theirs there */
        TTP_SIGNAL_FENCE();
        pop_to(top - 1);
        if (values == NULL && call_site == 0)
            ttp_part_enter_slow(function, call_site, sp);
        else if (values == NULL)
            ttp_enter_slow(function, call_site, sp);
        else if (!ttp_is_call_key(function))
            ttp_probe_enter_slow(function, call_site, sp, values);
        else
            ttp_call_enter_slow(function, call_site, sp, values);
        return;
    }
    struct operation op = ttp_slow_after_hot_path(page);
    op.values = values;
    ttp_put_call(&op, TTP_TAG_ENTER, function, 1);
    ttp_slow_end(&op);
}

void ttp_enter_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page)
{
    ttp_slot_fill(slot);
    ttp_call_enter_put(function, page, NULL);
}

void ttp_call_exit_put(uintptr_t function, const struct ttp_thread_page *page,
                       const struct ttp_call_values *values)
{
    struct ttp_runtime_frame *popped = ttp_thread.top + 1;
    if (ttp_is_inherited(page))
        return;
    uintptr_t call_site = popped->call_site, sp = popped->sp;
    TTP_SIGNAL_FENCE();
    if (is_other_period() && ttp_function_of(popped) == function) { /* no handler came before */
        ttp_push(popped - 1, popped->function, call_site, sp);
        if (values == NULL || !ttp_is_call_key(function))
            ttp_exit_slow(function, call_site, sp, values);
        else
            ttp_call_exit_slow(call_site, sp, values);
        return;
    }
    struct operation op = ttp_slow_after_hot_path(page);
    op.values = values;
    ttp_put_call(&op, TTP_TAG_EXIT, function, -1);
    ttp_slow_end(&op);
}

void ttp_exit_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page)
{
    ttp_slot_fill(slot);
    ttp_call_exit_put(function, page, NULL);
}

/* -- system calls -- */

/* One that was left without its end: nothing but a handler can be within a system call, and the
 * kernel's frame for that is larger. */
static bool is_left(const struct ttp_runtime_frame *top, uintptr_t sp)
{
    return ttp_is_call_key(top->function) && ttp_sp_of(top) < sp + TTP_CALL_HANDLER_BYTES;
}

void ttp_call_enter_slow(uintptr_t key, uintptr_t call_site, uintptr_t sp,
                         const struct ttp_call_values *values)
{
    bool is_alternate;
    if (!ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    bool is_here = ttp_slow_move(&op, sp, &is_alternate);
    if (!is_here || ttp_thread.page->deep_frames != 0 || is_full(1)) {
        /* A child that posix_spawn makes has this state and a stack of its own; it is not seen. */
        if (is_here || ttp_process_number() == ttp_thread.process_id)
            ttp_count_dropped();
        ttp_slow_end(&op);
        return;
    }
    while (!is_alternate && is_left(ttp_thread.top, sp))
        ttp_slow_unwind(&op, ttp_thread.top - 1);
    op.values = values;
    enter_function(&op, key, call_site);
    ttp_slow_end(&op);
}

/* Whether the call's beginning was recorded is not known: where it was, there is its frame. */
void ttp_call_exit_slow(uintptr_t call_site, uintptr_t sp, const struct ttp_call_values *values)
{
    bool is_alternate;
    if (!ttp_ready(sp) || ttp_thread.top == NULL)
        return;
    struct operation op = ttp_slow_begin(sp);
    struct ttp_runtime_frame *at = ttp_thread.top;
    if (ttp_thread.page->deep_frames == 0 && ttp_slow_move(&op, sp, &is_alternate)) {
        for (at = ttp_thread.top; !ttp_is_base(at); at--)
            if (ttp_is_call_key(at->function) && at->sp == sp && at->call_site == call_site)
                break;
        if (!ttp_is_base(at)) {
            ttp_slow_unwind(&op, at);
            op.values = values;
            ttp_slow_leave(&op, at->function);
        }
    }
    ttp_slow_end(&op);
}

bool ttp_thread_ready(uintptr_t sp)
{
    if (ttp_arena.head.mode == TTP_MODE_STOPPED || !ttp_ready(sp))
        return false;
    struct operation op = ttp_slow_begin(sp);
    ttp_slow_end(&op);
    return !ttp_is_dropping();
}

/* An operation that the jump leaves is over. So are hooks; their frames may be gone while the
 * records still have them. So UNWIND is written even where no frame was left. */
void ttp_jump(uintptr_t sp, uintptr_t target)
{
    bool is_alternate = false;
    if (ttp_arena.head.mode != TTP_MODE_ON || !ttp_has_state())
        return;
    struct ttp_thread_page *page = ttp_thread.page;
    ttp_stack_verify();
    if (page->operation_sp < target && ttp_stack_holds(ttp_stack_current(), page->operation_sp) &&
        ttp_stack_holds(ttp_stack_current(), target))
        page->operation_sp = 0;
    struct operation op = ttp_slow_begin(sp);
    if (op.is_begun &&
        ttp_stack_locate(target, NULL, &is_alternate) == ttp_thread.stacks->current) {
        ttp_hooks_left(sp, target);
        if (ttp_thread.page->deep_frames != 0 && target > ttp_sp_of(ttp_thread.top))
            ttp_deep_forget(&op);
        if (ttp_thread.page->deep_frames == 0)
            write_unwind(&op, ttp_slow_staying(&op, target, 0, is_alternate), TTP_EXT_UNWIND);
    }
    ttp_slow_end(&op);
}
