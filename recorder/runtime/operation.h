/* A slow operation, and what it writes: for slow.c, put.c and frameless.c. */
#ifndef TTP_RUNTIME_OPERATION_H
#define TTP_RUNTIME_OPERATION_H

#include "recorder/runtime/slow.h"

/* What an operation knows: was_dropping as of before it touched any frame. Its page is another one
 * when a handler has forked since then, and this is the child, which has begun. */
struct operation {
    uintptr_t sp;
    const struct ttp_thread_page *page;
    bool is_begun; /* none other is under way */
    bool was_dropping;
    bool is_whole;       /* it enters a function at its own return address: nothing else is there */
    bool is_part;        /* of a function, which calls the API: its call site need not be known */
    bool is_first;       /* nobody has called what is entered; */
    uintptr_t call_site; /* else what does, 0: not known */
    bool is_doubted;     /* an unwinder was at work: more may be gone than lies below */
    bool is_jump;        /* a function is left by a jump, */
    uintptr_t target;    /* and to where (frames/tails.c) */
    const struct ttp_call_values *values; /* of the call that is recorded, or NULL */
};

/* Places a record of two (a head that says more of it, or 0) or one; false: drop period, or another
 * process by now. */
bool ttp_put_record(uint32_t process, uint64_t head, uint64_t tag_or_type, bool is_call,
                    uint64_t value);
/* Whether a handler forked just then and this is the child. */
bool ttp_is_inherited(const struct ttp_thread_page *before);
void ttp_count_dropped(void);
void ttp_correct_inherited(uintptr_t function);
/* Where a frame is to be pushed or popped: from here on it is this process's. */
void ttp_adopt_page(struct operation *op);
/* Of frames that were pushed or popped on the shadow stack. */
void ttp_put_call(const struct operation *op, uint64_t tag, uintptr_t function, long change);
void ttp_put_extension(const struct operation *op, uint64_t type, uint64_t payload, long change);

/* slow.c */
struct operation ttp_slow_begin(uintptr_t sp);
void ttp_slow_end(const struct operation *op);
/* The hot path did the frame; handlers must not end a drop period between the record's failure and
 * what accounts for it. */
struct operation ttp_slow_after_hot_path(const struct ttp_thread_page *page);
/* Moves to the stack that sp is on. False: another task runs on a copy of this thread's pointer. */
bool ttp_slow_move(struct operation *op, uintptr_t sp, bool *is_alternate);
/* Frames above it were left without their exits. */
void ttp_slow_unwind(struct operation *op, struct ttp_runtime_frame *top);
/* The innermost frame that is not gone. */
struct ttp_runtime_frame *ttp_slow_staying(const struct operation *op, uintptr_t sp,
                                           uintptr_t call_site, bool is_alternate);
/* The innermost frame ends. */
void ttp_slow_leave(struct operation *op, uintptr_t function);
/* A handler is told of the fault that it is called for. */
void ttp_fault_tell(uintptr_t location, uintptr_t function, uint32_t number);

/* frames/deep_frames.c */
void ttp_deep_enter(const struct operation *op, uintptr_t function);
void ttp_deep_enter_handler(const struct operation *op, uintptr_t function, uintptr_t location,
                            uint32_t number);
void ttp_deep_exit(const struct operation *op, uintptr_t function);
void ttp_deep_forget(const struct operation *op); /* all of them have ended */

/* frames/doubts.c: whether the innermost frame was doubted, which it is no more. */
bool ttp_doubt_take(void);
/* The innermost frame whose function calls there; NULL: it is not known, or what is called is a
 * part of an open frame. */
struct ttp_runtime_frame *ttp_doubt_caller(uintptr_t call_site, uintptr_t sp);

/* frames/tails.c: the innermost frame awaits what its function jumps to; target: where that is, 0:
 * not known. */
void ttp_tail_mark(struct ttp_runtime_frame *top, uintptr_t target);
/* Makes room in the chain for a function that is entered on the frame that awaits it; the bits of
 * its frame. */
uintptr_t ttp_tail_chain(struct operation *op, uintptr_t function);
/* What the innermost frames jumped to is not seen: they have ended. */
void ttp_tail_settle(struct operation *op);
/* frames/loose_stacks.c: the innermost frame that stays where a function is entered, of those that
 * seem to. */
struct ttp_runtime_frame *ttp_loose_staying(const struct operation *op,
                                            struct ttp_runtime_frame *stays, uintptr_t function);

#endif
