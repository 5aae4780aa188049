/* Calls that do not fit the hot path: a new epoch or block, frames that were left by unwinding,
 * another stack, signal handlers, no state yet.
 *
 * What is certain: when a function at stack pointer S calls us, every frame of the same stack below
 * S is gone. What is not: an inlined function shows its parent's stack pointer and call site; a
 * frame that was left by longjmp, and then one called from further out that reaches below it, look
 * like parent and child (where longjmp and catch are interposed, they are not: see interpose.c). */
#include <sys/syscall.h>

#include "writer/runtime/hot.h"
#include "writer/runtime/slow.h"

#define SEARCH_MAX 4096 /* frames that an exit looks through for its own */

/* What an operation knows: was_dropping as of before it touched any frame. Its page is another one
 * when a handler has forked since then, and this is the child, which has begun. */
struct operation {
    uintptr_t sp;
    const struct ttp_thread_page *page;
    bool is_begun; /* none other is under way */
    bool was_dropping;
};

/* A vfork child runs on its parent's memory; so does the parent when a handler of its own comes
 * before it could say that it is back. */
static bool is_child(void)
{
    uint32_t process = ttp_process_number();
    if (ttp_thread.shared_page != NULL && process == ttp_thread.process_id)
        return ttp_sharing_stays();
    if (process != ttp_thread.process_id || ttp_thread.parent_page == NULL)
        return true;
    ttp_thread.page = ttp_thread.parent_page;
    return false;
}

/* Whether to go on at all: a thread that has its state, or gets it. */
static bool ready(uintptr_t sp)
{
    uint32_t gate = ttp_thread.page->gate;
    if (gate == TTP_GATE_VFORK_CHILD) {
        if (is_child())
            return false;
        gate = ttp_thread.page->gate;
    }
    if (gate == TTP_GATE_UNUSABLE) {
        if (ttp_thread.is_starting)
            ttp_thread.lost_before_state++;
        else
            ttp_event_lost();
        return false;
    }
    if (gate == TTP_GATE_RECORDER_THREAD || (gate == TTP_GATE_NO_STATE && !ttp_thread_start(sp)))
        return false;
    ttp_period_check();
    return true;
}

static struct operation begin(uintptr_t sp)
{
    ttp_stack_verify();
    struct operation op = {.sp = sp, .page = ttp_thread.page, .is_begun = ttp_operation_begin(sp)};
    if (ttp_is_dropping() && op.is_begun)
        ttp_drop_end();
    op.was_dropping = ttp_is_dropping();
    if (!op.was_dropping && op.is_begun && ttp_thread.page->dropped != 0)
        ttp_drop_write_gap();
    return op;
}

static void end(const struct operation *op) { ttp_operation_end(op->is_begun); }

/* -- frames first, then the record -- */

/* Places a record of two (a head that says more of it, or 0) or one; false: drop period, or another
 * process by now. */
static bool put_record(uint32_t process, uint64_t head, uint64_t tag_or_type, bool is_call,
                       uint64_t value)
{
    uint64_t now;
    if (ttp_is_dropping())
        return false;
    uint64_t *place = ttp_reserve_timed(head != 0 ? 2 : 1, &now);
    if (place == NULL) {
        if (!ttp_is_child_of(process) && !ttp_is_dropping())
            ttp_drop_begin(TTP_GATE_DROP, 1);
        return false;
    }
    uint64_t *own = head != 0 ? place + 1 : place;
    bool is_dropping = ttp_is_dropping();
    if (is_dropping || ttp_is_child_of(process)) { /* began in a handler, just now */
        ttp_slot_fill((uint64_t)place);
        if (own != place) /* a full block is gone with its last place */
            ttp_slot_fill((uint64_t)own);
        return false;
    }
    ttp_store(own, is_call ? ttp_record_call(tag_or_type, now, value)
                           : ttp_record_extension(tag_or_type, now, value));
    if (head != 0)
        ttp_store(place, ttp_record_extension(head, now, 0));
    return true;
}

/* Whether a handler forked just then and this is the child, so that the place is the parent's. A
 * frame that was pushed or popped before the fork is inherited: the child has recorded it, or left
 * it out, with all inherited frames. What comes after the fork is the child's own. */
static bool is_inherited(const struct ttp_thread_page *before)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    return page->gate == TTP_GATE_NO_STATE ||
           (page != before && ttp_thread.top == page->forked_top);
}

static void count_dropped(void) { ttp_add_here(&ttp_thread.page->dropped, 1); }

static void account_missing(long change, bool was_dropping)
{
    if (was_dropping)
        ttp_drop_frames_changed(change);
    else
        ttp_drop_record_missing(change);
}

/* The handler may have come when the frame was pushed, but not yet stored. Then the child recorded
 * the frame that was there before. */
static void correct_inherited(uintptr_t function)
{
    uintptr_t recorded = ttp_thread.page->forked_function & ~TTP_FRAME_HANDLER;
    if (recorded != function && ttp_has_state() && !ttp_is_dropping())
        ttp_drop_restate_innermost();
}

/* Where a frame is to be pushed or popped: from here on it is this process's. */
static void adopt_page(struct operation *op)
{
    if (ttp_thread.page->gate != TTP_GATE_NO_STATE)
        op->page = ttp_thread.page;
}

/* Of frames that were pushed or popped on the shadow stack. */
static void put_call(const struct operation *op, uint64_t tag, uintptr_t function, long change)
{
    uint32_t process = ttp_process_now();
    if (!is_inherited(op->page) && put_record(process, 0, tag, true, function))
        return;
    if (!is_inherited(op->page)) {
        count_dropped();
        account_missing(change, op->was_dropping);
    } else if (change > 0) {
        correct_inherited(function);
    }
}

static void put_extension(const struct operation *op, uint64_t type, uint64_t payload, long change)
{
    uint32_t process = ttp_process_now();
    if (!is_inherited(op->page) && !put_record(process, 0, type, false, payload) &&
        !is_inherited(op->page))
        account_missing(change, op->was_dropping);
}

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
 */
static void write_unwind(struct operation *op, struct ttp_runtime_frame *top)
{
    long count = ttp_thread.top - top;
    uint64_t signals = 0;
    ttp_stack_verify();
    for (const struct ttp_runtime_frame *at = ttp_thread.top; at != top; at--)
        signals += ttp_is_mark(at);
    adopt_page(op);
    pop_to(top);
    uint64_t above = count_above_signal(top);
    if (signals != 0 || ttp_is_base(top - above)) /* not within a handler that goes on */
        ttp_thread.page->has_unwound = true;
    put_extension(op, TTP_EXT_UNWIND, ttp_unwind_signals(signals, above), -count);
}

static void unwind_to(struct operation *op, struct ttp_runtime_frame *top)
{
    if (top != ttp_thread.top)
        write_unwind(op, top);
}

static void push_frame(uintptr_t sp, uintptr_t function, uintptr_t call_site)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_is_base(top) && sp != UINTPTR_MAX)
        top->sp = sp + TTP_LARGE_FRAME / 2; /* so that the next call from the same place fits */
    ttp_push(top, function, call_site, sp);
}

/* -- frames above the shadow stack's end: only their number is known -- */

static bool is_full(uint32_t more) { return ttp_thread.top + more > ttp_thread.page->frames_end; }

/* Of a deep frame: counts are corrected where its record is missing. */
static void put_deep(const struct operation *op, uint64_t tag_or_type, bool is_call, uint64_t value,
                     long change)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (change < 0 && page->deep_frames == 0) /* a forked child counts none */
        return;
    page->deep_frames = (uint64_t)((long)page->deep_frames + change);
    bool was_unseen = page->deep_frames < page->unrecorded_deep_frames;
    if (was_unseen)
        page->unrecorded_deep_frames = page->deep_frames;
    if (put_record(ttp_process_now(), was_unseen && is_call ? TTP_EXT_UNSEEN : 0, tag_or_type,
                   is_call, value))
        return;
    if (is_call)
        count_dropped();
    if (op->was_dropping)
        page->unrecorded_deep_frames = page->deep_frames;
    else if (!was_unseen)
        ttp_stack_current()->recorded_count -= (size_t)change;
}

static void forget_deep(const struct operation *op)
{
    struct ttp_thread_page *page = ttp_thread.page;
    long count = (long)(page->deep_frames - page->unrecorded_deep_frames);
    page->deep_frames = page->unrecorded_deep_frames = 0;
    page->deep_handler_count = 0;
    if (count == 0)
        return;
    uint64_t payload = ttp_unwind_payload(TTP_UNWIND_COUNT, (uint64_t)count);
    if (!put_record(ttp_process_now(), 0, TTP_EXT_UNWIND, false, payload) && !op->was_dropping)
        ttp_stack_current()->recorded_count += (size_t)count;
}

static void enter_deep_handler(const struct operation *op, uintptr_t function, uint32_t number)
{
    struct ttp_thread_page *page = ttp_thread.page;
    put_deep(op, TTP_EXT_SIGNAL_BEGIN, false, number, 1);
    put_deep(op, TTP_TAG_ENTER, true, function, 1);
    if (page->deep_handler_count < TTP_DEEP_HANDLERS)
        page->deep_handlers[page->deep_handler_count++] = page->deep_frames;
}

static void exit_deep(const struct operation *op, uintptr_t function)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint64_t depth = page->deep_frames;
    while (page->deep_handler_count != 0 &&
           page->deep_handlers[page->deep_handler_count - 1] > depth)
        page->deep_handler_count--;
    put_deep(op, TTP_TAG_EXIT, true, function, -1);
    if (page->deep_handler_count != 0 &&
        page->deep_handlers[page->deep_handler_count - 1] == depth) {
        page->deep_handler_count--;
        put_deep(op, TTP_EXT_SIGNAL_END, false, 0, -1);
    }
}

/* -- what is gone -- */

/* Frames of this stack below sp are gone; so is a handler on the alternate stack when the code that
 * it interrupted runs again, and a sibling at the same place called from elsewhere. */
static bool is_gone(const struct ttp_runtime_frame *frame, uintptr_t sp, uintptr_t call_site,
                    bool is_alternate)
{
    const struct ttp_runtime_stack *stack = ttp_stack_current();
    bool frame_inside = ttp_stack_holds(stack, frame->sp);
    if (frame_inside == is_alternate)
        return !is_alternate && stack->exact;
    return frame->sp < sp || (frame->sp == sp && call_site != 0 && frame->call_site != 0 &&
                              frame->call_site != call_site);
}

/* The innermost frame that is not. */
static struct ttp_runtime_frame *find_staying(const struct operation *op, uintptr_t sp,
                                              uintptr_t call_site, bool is_alternate)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (op->is_begun && !is_alternate && !ttp_is_base(top) &&
        !ttp_stack_holds(ttp_stack_current(), top->sp))
        ttp_stack_exact();
    while (!ttp_is_base(top) && is_gone(top, sp, call_site, is_alternate)) {
        bool is_handler = (top->function & TTP_FRAME_HANDLER) != 0;
        top -= is_handler && ttp_is_mark(top - 1) ? 2 : 1;
    }
    return top;
}

/* The memory of a stack was given to another coroutine: what was open there never ends. */
static void drop_stale(struct operation *op)
{
    struct ttp_runtime_stack *stack = ttp_stack_current();
    if (!stack->is_stale)
        return;
    stack->is_stale = false;
    unwind_to(op, stack->base);
}

/* Moves to the stack that sp is on. False: another task runs on a copy of this thread's pointer. */
static bool move_to(struct operation *op, uintptr_t sp, bool *is_alternate)
{
    *is_alternate = false;
    if (!op->is_begun)
        return true;
    uint32_t index = ttp_stack_locate(sp, is_alternate);
    if (index == UINT32_MAX)
        return false;
    if (index != ttp_thread.stacks->current) {
        if (ttp_thread.page->deep_frames != 0)
            forget_deep(op);
        ttp_stack_switch(index);
        if (put_record(ttp_process_now(), 0, TTP_EXT_SWITCH, false, index))
            ttp_thread.page->announced_stack = index;
        else if (!op->was_dropping)
            ttp_thread.page->announced_stack = UINT32_MAX;
    }
    drop_stale(op);
    return true;
}

/* -- enter -- */

/* Whether the handler whose return address lies there is on the shadow stack already, and what
 * calls us was inlined in it. */
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
        enter_deep_handler(op, function, number);
        return true;
    }
    ttp_thread.stacks->has_marks = true;
    adopt_page(op);
    push_frame(UINTPTR_MAX, TTP_FRAME_MARK + number, location);
    put_extension(op, TTP_EXT_SIGNAL_BEGIN, number, 1);
    adopt_page(op);
    push_frame(op->sp, function | TTP_FRAME_HANDLER, call_site);
    put_call(op, TTP_TAG_ENTER, function, 1);
    return true;
}

static void enter(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    const struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_inlined =
        top->sp == op->sp && (top->call_site == call_site || call_site == 0 || top->call_site == 0);
    bool is_near = is_inlined || top->sp - op->sp - 1 < TTP_LARGE_FRAME - 1;
    if (!is_inlined && ttp_is_signal_return(call_site) && enter_handler(op, function, call_site))
        return;
    if (op->is_begun && (!is_near || ttp_thread.page->deep_frames != 0)) {
        bool is_alternate;
        if (!move_to(op, op->sp, &is_alternate))
            return;
        if (ttp_thread.page->deep_frames != 0 && !is_alternate && op->sp > ttp_thread.top->sp)
            forget_deep(op);
        if (ttp_thread.page->deep_frames == 0)
            unwind_to(op, find_staying(op, op->sp, call_site, is_alternate));
    }
    if (ttp_thread.page->deep_frames != 0 || is_full(1)) {
        put_deep(op, TTP_TAG_ENTER, true, function, 1);
        return;
    }
    adopt_page(op);
    push_frame(op->sp, function, call_site);
    put_call(op, TTP_TAG_ENTER, function, 1);
}

void ttp_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (!ready(sp))
        return;
    struct operation op = begin(sp);
    enter(&op, function, call_site);
    end(&op);
}

/* As part of the call around it, whatever functions of its own the program has for beginning one.
 */
void ttp_enter_in_call(uintptr_t function, uintptr_t sp)
{
    bool is_alternate;
    if (!ready(sp))
        return;
    struct operation op = begin(sp);
    if (move_to(&op, sp, &is_alternate) && ttp_thread.page->deep_frames == 0) {
        unwind_to(&op, find_staying(&op, sp, 0, is_alternate));
        if (!is_full(1)) {
            adopt_page(&op);
            ttp_push(ttp_thread.top, function, ttp_thread.top->call_site, ttp_thread.top->sp);
            put_call(&op, TTP_TAG_ENTER, function, 1);
        } else {
            put_deep(&op, TTP_TAG_ENTER, true, function, 1);
        }
    } else if (ttp_thread.page->deep_frames != 0) {
        put_deep(&op, TTP_TAG_ENTER, true, function, 1);
    }
    end(&op);
}

/* -- exit -- */

/* The innermost open frame that can be the one that exits here, or NULL. Its parent began at sp or
 * above, unless that was left unnoticed; the same call site is better evidence than the function
 * alone; a handler that runs is the limit. */
static struct ttp_runtime_frame *find_exiting(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                                              bool is_alternate)
{
    struct ttp_runtime_frame *found = NULL, *orphan = NULL;
    int steps = 0;
    for (struct ttp_runtime_frame *at = ttp_thread.top; !ttp_is_base(at) && steps < SEARCH_MAX;
         at--, steps++) {
        bool is_handler = (at->function & TTP_FRAME_HANDLER) != 0;
        bool is_same = (at->function & ~TTP_FRAME_HANDLER) == function;
        bool is_below = ttp_is_base(at - 1) || sp <= at[-1].sp;
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

static void leave_top(struct operation *op, uintptr_t function)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_handler = (top->function & TTP_FRAME_HANDLER) != 0;
    adopt_page(op);
    pop_to(top - 1);
    put_call(op, TTP_TAG_EXIT, function, -1);
    if (is_handler && ttp_is_mark(top - 1)) {
        adopt_page(op);
        pop_to(top - 2);
        put_extension(op, TTP_EXT_SIGNAL_END, 0, -1);
    }
}

static void exit_far(struct operation *op, uintptr_t function, uintptr_t call_site)
{
    bool is_alternate;
    if (!move_to(op, op->sp, &is_alternate))
        return;
    if (ttp_thread.page->deep_frames != 0) {
        /* The outermost of them may jump to the hook from where the one below it called. */
        if (is_alternate || op->sp < ttp_thread.top->sp ||
            (op->sp == ttp_thread.top->sp && ttp_thread.page->deep_frames == 1)) {
            exit_deep(op, function);
            return;
        }
        forget_deep(op);
    }
    struct ttp_runtime_frame *frame = find_exiting(function, call_site, op->sp, is_alternate);
    if (frame == NULL) {
        if (!put_record(ttp_process_now(), TTP_EXT_UNSEEN, TTP_TAG_EXIT, true, function))
            count_dropped();
        return;
    }
    unwind_to(op, frame);
    leave_top(op, function);
}

void ttp_exit_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (!ready(sp))
        return;
    struct operation op = begin(sp);
    const struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_thread.page->deep_frames == 0 && !ttp_is_base(top) && top->call_site == call_site &&
        (top->function & ~TTP_FRAME_HANDLER) == function && sp - top->sp <= top[-1].sp - top->sp)
        leave_top(&op, function);
    else
        exit_far(&op, function, call_site);
    end(&op);
}

/* -- the hot path did the frame, and found no room or another epoch -- */

static bool is_other_period(void)
{
    return __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED) != ttp_thread.page->period;
}

/* Handlers must not end a drop period between the record's failure and what accounts for it. */
static struct operation begin_after_hot_path(const struct ttp_thread_page *page)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    return (struct operation){
        .sp = sp, .page = page, .is_begun = ttp_operation_begin(sp), .was_dropping = false};
}

/* After a time of being off, the frame is taken back, so that records come in order. */
void ttp_enter_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    ttp_slot_fill(slot);
    if (is_inherited(page)) {
        correct_inherited(function);
        return;
    }
    if (is_other_period()) {
        uintptr_t call_site = top->call_site, sp = top->sp; /* handlers put theirs there */
        TTP_SIGNAL_FENCE();
        pop_to(top - 1);
        ttp_enter_slow(function, call_site, sp);
        return;
    }
    struct operation op = begin_after_hot_path(page);
    put_call(&op, TTP_TAG_ENTER, function, 1);
    end(&op);
}

void ttp_exit_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *popped = ttp_thread.top + 1;
    ttp_slot_fill(slot);
    if (is_inherited(page))
        return;
    uintptr_t call_site = popped->call_site, sp = popped->sp;
    TTP_SIGNAL_FENCE();
    if (is_other_period() && popped->function == function) { /* no handler came before this */
        ttp_push(popped - 1, function, call_site, sp);
        ttp_exit_slow(function, call_site, sp);
        return;
    }
    struct operation op = begin_after_hot_path(page);
    put_call(&op, TTP_TAG_EXIT, function, -1);
    end(&op);
}

/* -- for others -- */

bool ttp_thread_ready(uintptr_t sp)
{
    if (ttp_arena.head.mode == TTP_MODE_STOPPED || !ready(sp))
        return false;
    struct operation op = begin(sp);
    end(&op);
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
    struct operation op = begin(sp);
    if (op.is_begun && ttp_stack_locate(target, &is_alternate) == ttp_thread.stacks->current) {
        ttp_hooks_left(sp, target);
        if (ttp_thread.page->deep_frames != 0 && target > ttp_thread.top->sp)
            forget_deep(&op);
        if (ttp_thread.page->deep_frames == 0)
            write_unwind(&op, find_staying(&op, target, 0, is_alternate));
    }
    end(&op);
}
