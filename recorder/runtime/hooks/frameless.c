/* Hooks that leave no frame: of basic blocks, and of calls that are left out. What is open stays
 * so, unless it lies where the block's function does, or the call. */
#include "recorder/runtime/hot.h"
#include "recorder/runtime/operation.h"

/* -- basic blocks -- */

static void put_block(const struct operation *op, uintptr_t address)
{
    if (!ttp_is_inherited(op->page) &&
        !ttp_put_record(ttp_process_now(), 0, TTP_TAG_BLOCK, true, address) &&
        !ttp_is_inherited(op->page))
        ttp_count_dropped();
}

void ttp_block_slow(uintptr_t address, uintptr_t sp)
{
    bool is_alternate = false;
    if (!ttp_ready(sp))
        return;
    struct operation op = ttp_slow_begin(sp);
    bool is_near = ttp_thread.top->sp - sp < TTP_LARGE_FRAME;
    bool is_known = op.is_begun && (!is_near || ttp_thread.page->deep_frames != 0) &&
                    ttp_slow_move(&op, sp, &is_alternate);
    if (is_known && ttp_thread.page->deep_frames != 0 && !is_alternate &&
        sp > ttp_sp_of(ttp_thread.top))
        ttp_deep_forget(&op);
    if (is_known && ttp_thread.page->deep_frames == 0)
        ttp_slow_unwind(&op, ttp_slow_staying(&op, sp, 0, is_alternate));
    ttp_adopt_page(&op);
    put_block(&op, address);
    if (is_known && ttp_thread.page->deep_frames == 0 && ttp_has_state()) {
        ttp_thread.page->block_sp = sp;
        ttp_thread.page->block_top = ttp_thread.top;
    }
    ttp_slow_end(&op);
}

void ttp_block_put(uintptr_t address, uint64_t slot, const struct ttp_thread_page *page)
{
    ttp_slot_fill(slot);
    if (ttp_is_inherited(page))
        return;
    struct operation op = ttp_slow_after_hot_path(page);
    put_block(&op, address);
    ttp_slow_end(&op);
}

/* -- calls that are left out: what they tell of frames around them is told, as by any call -- */

/* Where the next such call needs not be looked at. */
static void know_below(uintptr_t sp, bool is_alternate)
{
    struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!ttp_has_state() || page->deep_frames != 0)
        return;
    if (ttp_is_base(top) && (top->sp <= sp || !ttp_stack_holds(ttp_stack_current(), top->sp)))
        top->sp = sp + TTP_LARGE_FRAME / 2;
    page->left_top = NULL;
    TTP_SIGNAL_FENCE();
    page->left_low = sp - TTP_LARGE_FRAME;
    TTP_SIGNAL_FENCE();
    if (!is_alternate)
        page->left_top = top;
}

/* Not of handlers, whose frames say what they interrupted; nor where ends would not be told apart:
 * within a frame in which it is inlined, and above the shadow stack's end. */
static bool may_leave_out(uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_inlined = top->sp == sp && (top->call_site == call_site || call_site == 0);
    return ttp_thread.page->deep_frames == 0 && top < ttp_thread.page->frames_end && !is_inlined &&
           !ttp_is_signal_return(call_site);
}

bool ttp_left_out_enter(uintptr_t call_site, uintptr_t sp)
{
    bool is_alternate;
    if (!ttp_ready(sp))
        return true;
    if (!may_leave_out(call_site, sp))
        return false;
    struct operation op = ttp_slow_begin(sp);
    if (op.is_begun && ttp_slow_move(&op, sp, &is_alternate) && ttp_thread.page->deep_frames == 0) {
        ttp_slow_unwind(&op, ttp_slow_staying(&op, sp, call_site, is_alternate));
        know_below(sp, is_alternate);
    }
    ttp_slow_end(&op);
    return true;
}

/* Its own frame, where it was entered before that was decided; else NULL. */
static struct ttp_runtime_frame *find_own(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                                          bool is_alternate)
{
    for (struct ttp_runtime_frame *at = ttp_thread.top; !ttp_is_base(at); at--) {
        if (ttp_sp_of(at) > sp && !ttp_is_mark(at) && !is_alternate)
            return NULL;
        if (ttp_function_of(at) == function && at->call_site == call_site && at->sp <= sp &&
            (ttp_is_base(at - 1) || sp <= ttp_sp_of(at - 1)))
            return at;
    }
    return NULL;
}

/* What was called at the same place and has the same stack pointer was inlined in it; or it is
 * inlined in that, which has counted it. */
static struct ttp_runtime_frame *find_around(const struct operation *op, uintptr_t call_site,
                                             bool is_alternate)
{
    struct ttp_runtime_frame *top = ttp_slow_staying(op, op->sp, 0, is_alternate);
    while (!ttp_is_base(top) && ttp_is_inlined_in(top, op->sp, call_site) &&
           ttp_inlined_in(top) == 0)
        top--;
    return top;
}

void ttp_left_out_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    bool is_alternate;
    if (!ttp_ready(sp))
        return;
    if (ttp_thread.page->deep_frames != 0) {
        ttp_exit_slow(function, call_site, sp, NULL);
        return;
    }
    struct operation op = ttp_slow_begin(sp);
    if (ttp_slow_move(&op, sp, &is_alternate) && ttp_thread.page->deep_frames == 0) {
        struct ttp_runtime_frame *own = find_own(function, call_site, sp, is_alternate);
        ttp_slow_unwind(&op, own != NULL ? own : find_around(&op, call_site, is_alternate));
        if (own != NULL)
            ttp_slow_leave(&op, function);
        else if (ttp_is_inlined_in(ttp_thread.top, sp, call_site) && !ttp_is_base(ttp_thread.top))
            ttp_thread.top->function -= TTP_FRAME_INLINED;
        else if (op.is_begun)
            know_below(sp, is_alternate);
    }
    ttp_slow_end(&op);
}
