/* One step up a stack by the rows of a plan (plan.h): for the runtime, which reads its own stack,
 * and for the tracer, which reads a copy of another's. `read` gives the word at an address, or
 * false where it may not be read. Signal frames are the caller's: only it knows their stack. */
#ifndef TTP_WRITER_PLAN_WALK_H
#define TTP_WRITER_PLAN_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/arena/plan.h"

/* In the kernel's frame of a signal, from its stack pointer on. */
#define TTP_SIGNAL_RBP 120u
#define TTP_SIGNAL_RSP 160u
#define TTP_SIGNAL_PC  168u

#define TTP_PLT_ENTRY_MASK 15u
#define TTP_PLT_PUSHED     11u

struct ttp_plan_frame {
    uint64_t pc, sp, rbp;
    bool has_rbp, is_exact; /* is_exact: pc is no return address */
};

typedef bool (*ttp_plan_read)(void *context, uint64_t at, uint64_t *word);

/* The last row at or before an address of the module; NULL: none. The index may say anything: it
 * only narrows the search. The plan's tables have been found to lie within it. */
static inline const struct ttp_plan_row *ttp_plan_row_at(const struct ttp_plan_head *plan,
                                                         uint64_t address)
{
    const uint8_t *bytes = (const uint8_t *)plan;
    const struct ttp_plan_row *rows = (const void *)(bytes + plan->rows_at);
    const uint32_t *index = (const void *)(bytes + plan->row_index_at);
    if (address < plan->code_start || address >= plan->code_end || plan->row_index_shift >= 32)
        return NULL;
    uint64_t entry = (address - plan->code_start) >> plan->row_index_shift;
    if (entry >= plan->row_index_count)
        return NULL;
    uint32_t low = index[entry], high = index[entry + 1];
    if (low > high || high > plan->row_count)
        return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &rows[low - 1];
}

static inline bool ttp_plan_find_cfa(const struct ttp_plan_frame *frame,
                                     const struct ttp_plan_row *row, ttp_plan_read read,
                                     void *context, uint64_t *cfa)
{
    uint64_t offset = (uint64_t)(int64_t)row->cfa_offset;
    switch (row->cfa_kind) {
    case TTP_PLAN_CFA_RSP: *cfa = frame->sp + offset; return true;
    case TTP_PLAN_CFA_RBP: *cfa = frame->rbp + offset; return frame->has_rbp;
    case TTP_PLAN_CFA_AT_RBP: return frame->has_rbp && read(context, frame->rbp + offset, cfa);
    case TTP_PLAN_CFA_AT_RSP: return read(context, frame->sp + offset, cfa);
    case TTP_PLAN_CFA_PLT:
        *cfa = frame->sp + offset + 8 * ((frame->pc & TTP_PLT_ENTRY_MASK) >= TTP_PLT_PUSHED);
        return true;
    default: return false;
    }
}

/* To the caller of a frame that is no signal's. */
static inline bool ttp_plan_step(struct ttp_plan_frame *frame, const struct ttp_plan_row *row,
                                 ttp_plan_read read, void *context)
{
    uint64_t cfa, pc, offset = (uint64_t)(int64_t)row->rbp_offset;
    if (!ttp_plan_find_cfa(frame, row, read, context, &cfa) || cfa <= frame->sp ||
        !read(context, cfa - 8, &pc))
        return false;
    if (row->rbp_kind == TTP_PLAN_RBP_CFA)
        frame->has_rbp = read(context, cfa + offset, &frame->rbp);
    else if (row->rbp_kind == TTP_PLAN_RBP_AT_RBP)
        frame->has_rbp = frame->has_rbp && read(context, frame->rbp + offset, &frame->rbp);
    else if (row->rbp_kind == TTP_PLAN_RBP_GONE)
        frame->has_rbp = false;
    frame->sp = cfa;
    frame->pc = pc;
    frame->is_exact = false;
    return true;
}

/* The frame that a signal interrupted. */
static inline bool ttp_plan_read_signal(const struct ttp_plan_frame *frame, ttp_plan_read read,
                                        void *context, struct ttp_plan_frame *interrupted)
{
    *interrupted = (struct ttp_plan_frame){.has_rbp = true, .is_exact = true};
    return read(context, frame->sp + TTP_SIGNAL_RSP, &interrupted->sp) &&
           read(context, frame->sp + TTP_SIGNAL_RBP, &interrupted->rbp) &&
           read(context, frame->sp + TTP_SIGNAL_PC, &interrupted->pc);
}

#endif
