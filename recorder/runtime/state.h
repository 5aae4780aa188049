/* What the runtime knows: per thread (thread-local, page, stacks), per process.
 *
 *   thread-local ttp_thread ---> page (zeroed in a forked child, which goes on with another one):
 *        |  |                    gate, epoch, drop period
 *        |  |
 *        |  +--> stacks ---> frames (shadow stacks; private, copied to a forked child)
 *        +-----> next record in the thread's block of the arena (shared)
 *
 * A signal handler may run between any two instructions, on this same state. It leaves the state as
 * it found it or never returns. Three rules keep the state whole:
 *   - the cursor is only moved by ttp_add_here and ttp_swap_here;
 *   - a hook pushes or pops its frame first and reserves its record's place after, so that a
 *     handler sees either both or can find out (ttp_drop_record_missing);
 *   - the clock is read before the place is reserved, the epoch compared after. */
#ifndef TTP_RUNTIME_STATE_H
#define TTP_RUNTIME_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/arena/arena.h"
#include "recorder/arena/stack_sample.h"
#include "recorder/arena/verdicts.h"
#include "recorder/runtime/arch.h"
#include "recorder/runtime/library_functions.h"

/* What a hook does, by its thread's page. Zero is what a fresh thread and a forked child see. */
enum ttp_gate {
    TTP_GATE_NO_STATE = 0,       /* no state yet */
    TTP_GATE_TSC = 1,            /* record with the time stamp counter: the hot path */
    TTP_GATE_NO_CLOCK = 2,       /* record without a clock */
    TTP_GATE_CLOCK = 3,          /* record with clock_gettime */
    TTP_GATE_FILTER = 4,         /* with that counter, where calls may be left out (verdicts.h) or
                                  * branch values are kept */
    TTP_GATE_SITES = 5,          /* by the slow side: with where each call was made (hook_sites) */
    TTP_GATE_DROP = 6,           /* no block to be had: keep frames, count */
    TTP_GATE_UNUSABLE = 7,       /* the thread's state is being made, or was given up: nothing */
    TTP_GATE_VFORK_CHILD = 8,    /* a vfork child runs: nothing */
    TTP_GATE_RECORDER_THREAD = 9 /* the recorder's own thread: nothing */
};

/* An open call. */
struct ttp_runtime_frame {
    uintptr_t sp; /* the caller's stack pointer where the hook was called; TTP_FRAME_AWAITS */
    uintptr_t function;
    uintptr_t call_site; /* 0: unknown, agrees with any */
};

/* A signal handler's own frame: the bit in `function` keeps its exit off the hot path. Below it
 * lies the handler's mark: function 1 + signal number, call_site the address of the handler's
 * return address. */
#define TTP_FRAME_HANDLER ((uintptr_t)1 << 63)
/* Bits of frames that are left by a jump (frames/tails.c), which keep their exits off the hot path,
 * too: its function has jumped; the frame below it did, to this one. */
#define TTP_FRAME_JUMPED  ((uintptr_t)1 << 62)
#define TTP_FRAME_CHAINED ((uintptr_t)1 << 61)
/* It has jumped, and nothing is known yet of what it jumped to. This bit is in `sp` as well, so
 * that nothing fits on top of it. */
#define TTP_FRAME_AWAITS ((uintptr_t)1 << 60)
#define TTP_FRAME_TAILS  (TTP_FRAME_JUMPED | TTP_FRAME_CHAINED | TTP_FRAME_AWAITS)
/* In `sp` alone: an unwinder has been at work since, so the frame may be gone, and its slow side
 * looks more closely (frames/doubts.c). */
#define TTP_FRAME_DOUBTED ((uintptr_t)1 << 59)
/* Of calls that are left out and inlined in it (frameless.c), how many are open. */
#define TTP_FRAME_INLINED ((uintptr_t)1 << 48)
#define TTP_FRAME_ADDRESS (TTP_FRAME_INLINED - 1)
#define TTP_INLINED_MAX   1000u
#define TTP_FRAME_MARK    1u
#define TTP_MARKS         66u

#define TTP_FRAME_NONE UINTPTR_MAX /* below all frames of a stack */

static inline bool ttp_is_base(const struct ttp_runtime_frame *frame)
{
    return frame->function == TTP_FRAME_NONE;
}

static inline uintptr_t ttp_function_of(const struct ttp_runtime_frame *frame)
{
    return frame->function & TTP_FRAME_ADDRESS;
}

static inline uintptr_t ttp_inlined_in(const struct ttp_runtime_frame *frame)
{
    return (frame->function & ~(TTP_FRAME_HANDLER | TTP_FRAME_TAILS)) / TTP_FRAME_INLINED;
}

static inline uintptr_t ttp_sp_of(const struct ttp_runtime_frame *frame)
{
    return frame->sp & ~(TTP_FRAME_AWAITS | TTP_FRAME_DOUBTED);
}

static inline bool ttp_awaits(const struct ttp_runtime_frame *frame)
{
    return !ttp_is_base(frame) && (frame->function & TTP_FRAME_AWAITS) != 0;
}

static inline bool ttp_is_mark(const struct ttp_runtime_frame *frame)
{
    return frame->function - TTP_FRAME_MARK < TTP_MARKS;
}

/* A stack that the thread runs on. The three counts are used in a drop period (drop_period.c). */
struct ttp_runtime_stack {
    uintptr_t low, high; /* addresses that belong to it, half-open */
    struct ttp_runtime_frame *base, *top, *end;
    uint64_t generation;           /* of the registered range that it was made from; 0: none */
    size_t recorded_count;         /* frames that are open according to the records */
    size_t intact_count;           /* of those, the outermost ones that are still open */
    size_t expected_count;         /* frames that operations of the drop period expect */
    bool exact;                    /* bounds are known, not guessed */
    bool is_loose;                 /* they follow its frames (frames/loose_stacks.c) */
    uintptr_t lowest;              /* of a loose one: where frames were seen to be */
    bool is_stale;                 /* the memory is another coroutine's now */
    bool is_lent;                  /* another thread went on with it meanwhile */
    bool has_start;                /* nobody has called its outermost frame: it is there once */
    struct ttape_branch *branches; /* branch/branch_value.c: of each frame; NULL: none yet */
};

#define TTP_STACKS_INLINE 32u
#define TTP_STACKS_MAX    8192u
#define TTP_FRAMES_MAIN   65536u /* of a thread's own stack: 1.5 MiB, touched as used */
#define TTP_FRAMES_OTHER  4096u
#define TTP_FRAMES_SPARE  32u   /* at the end, for handlers in the middle of a switch */
#define TTP_LARGE_FRAME   1024u /* bytes; calls with more below are looked at more closely */
#define TTP_STACK_GUESS   65536u
#define TTP_DEEP_HANDLERS 6u

#define TTP_SITES_ANNOUNCED 256u /* a power of two; other sites are announced again */

/* The stacks of a thread; a forked child goes on with its copy. */
struct ttp_stacks {
    uint32_t count, current, capacity;
    uint32_t frame_count; /* of the thread's own stack */
    struct ttp_runtime_stack *list;
    uintptr_t alternate_low, alternate_high; /* of the alternate signal stack, as last seen */
    uintptr_t first_sp;
    bool has_marks; /* there has been a handler */
    bool has_loose; /* and a stack that nobody announced; */
    uint16_t *near; /* by the page of a stack pointer: 1 + the stack that was there; NULL: none */
    struct ttp_runtime_stack first[TTP_STACKS_INLINE];
};

/* Where a module's functions are looked up that unwinders have asked for. */
#define TTP_UNWIND_TABLES 4u
#define TTP_COUNTED_CALLS 8u /* of a thread at a time: in handlers within calls */
/* A system call whose cost is counted (patch/call_counters.c); sp 0: none. */
struct ttp_counted_call {
    uintptr_t sp;
    uint64_t count; /* when it began */
};
struct ttp_unwind_table {
    uintptr_t start, end; /* addresses of the module; end is 0 while it is written */
    const void *table;
    uint32_t module_changes; /* of the process, when it was there */
};

struct ttp_thread_page {
    uint32_t gate;
    uint32_t period;      /* of the arena, when this thread last recorded */
    uint64_t epoch_start; /* clock there: a multiple of what the bits of time can say */
    struct ttp_runtime_frame *frames_end;
    /* Of calls that are left out, which have no frame: the process image that verdicts are of; and
     * from where on, below the frame left_top, the stack is known to be the same. */
    uint64_t verdict_image, verdict_seed;
    uintptr_t left_low;
    const struct ttp_runtime_frame *left_top;
    struct ttp_runtime_frame *hot_end; /* frames_end; NULL: each call goes beside the hot path */
    /* cold from here */
    /* Of calls that lie far below the innermost frame, and their caller's own: what the slow side
     * has found for this frame (frames/far_calls.c). */
    const struct ttp_runtime_frame *far_top; /* NULL: nothing is known */
    uintptr_t far_top_sp, far_call_site;     /* of that frame; of no handler */
    uintptr_t far_low, far_high;             /* from here to there it was called, on its stack */
    uint64_t far_stacks;                     /* ttp_process.stack_changes then */
    uint64_t dropped;                        /* events since the last that was recorded */
    uint64_t published; /* of those, the ones that the arena's `lost` counts for now */
    uint64_t freed_seen;
    uint64_t deep_frames;            /* frames above the shadow stack's end */
    uint64_t unrecorded_deep_frames; /* of those, the outermost ones that have no record */
    uint64_t deep_handlers[TTP_DEEP_HANDLERS]; /* depths among them that are handlers' own frames */
    uint32_t deep_handler_count;
    uint32_t gap_reason;
    uint32_t failed_resumes;  /* times that a hook under way kept the drop period from ending */
    uint32_t announced_stack; /* stack that the records are on; UINT32_MAX: to be announced */
    bool has_unwound;         /* frames were left in the drop period, maybe a left hook's */
    bool is_ending;           /* the thread does, while recording is off */
    bool is_unfollowed;       /* frames were not followed, and `period` is one too small */
    bool is_named;            /* by ttape_rt_thread_name: the kernel calls it otherwise */
    uint64_t stopped_ticks;   /* when recording was switched off, where that is the gap's reason */
    uint64_t waited_from, waited_until; /* for the recorder, and not told yet; 0: it did not */
    bool has_pending_process;           /* the image's PROCESS message could not be written yet */
    uint64_t pending_parent;
    struct ttp_runtime_frame *forked_top; /* of a forked child that began in a handler: the frames
                                           * below that handler */
    uintptr_t forked_function;            /* function of the innermost frame at the fork */
    uintptr_t block_sp;                   /* of the last block within a large frame, */
    const struct ttp_runtime_frame *block_top; /* and that */
    uintptr_t operation_sp;                    /* not 0: a slow operation is under way there */
    const struct ttp_runtime_frame *jump_top;  /* the frame that jumped last, and where to: */
    uintptr_t jump_target;                     /* 0: not known */
    uintptr_t jump_registers;                  /* what they held, mixed */
    uint32_t thread_id;
    char name[16];
    struct ttp_unwind_table tables[TTP_UNWIND_TABLES]; /* frames/doubts.c */
    uint32_t tables_turn, counted_turn;
    struct ttp_counted_call counted[TTP_COUNTED_CALLS];
    uintptr_t announced[TTP_SITES_ANNOUNCED]; /* sites that this stream has announced, by hash */
};

#define TTP_SHARERS 8u /* that are told apart */

/* results/restrictions.c: a place for a GAP; NULL: none. */
struct ttp_gap_place {
    uint64_t *place;
    uint64_t now;
    uint32_t process;
};

/* A call that may forbid the thread system calls or its clock. */
struct ttp_restriction {
    uint32_t what;
    bool is_silent, clock_is_call;
    struct ttp_gap_place gap;
};

struct ttp_thread_state {
    uint64_t cursor; /* address of the next record; TTP_NO_BLOCK in it: no block */
    struct ttp_runtime_frame *top;
    struct ttp_thread_page *page; /* never NULL */
    struct ttp_stacks *stacks;
    struct ttp_thread_page *parent_page; /* the thread's own, while a vfork child runs */
    uint64_t serial;                     /* of the thread image, 0: none yet */
    uint64_t sequence;                   /* of its last block */
    uint64_t started;                    /* clock when the thread image began */
    uint32_t process_id;                 /* of the process that drew the serial */
    uint32_t destructor_rounds;          /* at the thread's end */
    uint64_t done_block_end; /* where the records end in a done block, 0: no block to go on in */
    uint64_t done_block_epoch;
    uint64_t lost_before_state; /* events lost while the state was being made */
    uint64_t start_number;      /* of the thread's start, 0: not known, or written already */
    uint32_t starter_id;        /* of the thread that started this one */
    bool is_starting;
    /* while processes have this thread's state as well: sharing.c */
    uint32_t sharer_count, sharers[TTP_SHARERS];
    uint32_t sharing_lost; /* events meanwhile */
    struct ttp_thread_page *shared_page;
    struct ttp_gap_place shared_gap;
    uintptr_t shared_sp; /* of the system call that makes such a process; 0: none does */
    bool shared_with_vfork;
    struct ttp_walk_cache *walk_cache;    /* patch/call_paths.c */
    struct ttp_call_texts *call_texts;    /* patch/call_texts.c */
    struct ttp_stack_sample stack_sample; /* patch/calls.c */
    struct ttp_context_cache *context;    /* context/context_value.c */
    struct ttape_branch *branch;          /* branch/branch_value.c: of the whole thread */
    uintptr_t line_sp;    /* context/context_lines.c: not 0: of a write to a chosen descriptor, */
    uint32_t line_number; /* and which call it is */
    void *exec_memory;    /* exec/exec_environment.c: of a copy of an environment; NULL: none */
    size_t exec_bytes;
    /* results/: a call that may forbid something, under way; what a thread without a clock has */
    uint32_t told_depth; /* such calls under way in front of the C library's functions; */
    uintptr_t told_sp;   /* in a stub, 0: there is none, */
    struct ttp_restriction told;
    uint32_t told_number; /* of a call that makes a process */
    bool told_with_vfork;
    struct ttp_thread_page *silent_page;
    uint64_t silent_lost;
    bool is_silence_told, silent_for_good;
    bool child_avoids; /* a process in the same memory may be under a filter */
};

/* What each hook reads and writes of a thread lies in two lines of the cache: one of the
 * thread-local state, one of the page, which begins one. */
#define TTP_LINE_BYTES       64u
#define TTP_THREAD_ALIGNMENT 32u
_Static_assert(offsetof(struct ttp_thread_state, page) + sizeof(void *) <= TTP_THREAD_ALIGNMENT,
               "cursor, top and page are in one line");
_Static_assert(offsetof(struct ttp_thread_page, left_top) + sizeof(void *) <= TTP_LINE_BYTES,
               "gate, epoch and the frames' end are in one line");

/* The cursor without a block: different after each block and in each process, and without room as
 * the hot path sees it. */
#define TTP_NO_BLOCK      ((uint64_t)1 << 63)
#define TTP_CURSOR_SHIFT  15u /* bits of a place in a block */
#define TTP_CURSOR_BLOCKS 0x1FFFFFFFFull
#define TTP_CURSOR_OWNER  48u /* 14 bits of the process id */

#ifdef TTP_AGENT
/* agent/agent_threads.c: in a program that was attached to there is no thread-local storage of
 * ours. The same for as long as a hook runs. */
struct ttp_thread_state *ttp_agent_thread(void) __attribute__((const));
#define ttp_thread (*ttp_agent_thread())
#else
extern __thread struct ttp_thread_state ttp_thread __attribute__((tls_model("initial-exec")));
#endif

static inline uint64_t ttp_no_block(uint64_t sequence)
{
    return TTP_NO_BLOCK | (uint64_t)(ttp_thread.process_id & 0x3FFF) << TTP_CURSOR_OWNER |
           (sequence & TTP_CURSOR_BLOCKS) << TTP_CURSOR_SHIFT;
}

/* Pages of threads that have none of their own: not yet; given up; a vfork child's; the recorder's;
 * of one that may not read its clock. */
extern struct ttp_thread_page ttp_page_no_state, ttp_page_unusable, ttp_page_vfork_child,
    ttp_page_recorder_thread, ttp_page_silent;

static inline bool ttp_has_state(void)
{
    uint32_t gate = ttp_thread.page->gate;
    return gate >= TTP_GATE_TSC && gate <= TTP_GATE_DROP;
}

/* Of block_first, then as many again, ...: 1 to TTP_ARENA_BLOCKS_MAX blocks. */
#define TTP_EXTENTS_MAX 16u

enum ttp_process_state {
    TTP_PROCESS_NEW = 0,
    TTP_PROCESS_STARTING,
    TTP_PROCESS_ON,
    TTP_PROCESS_NEVER
};

/* In a page of its own, zeroed in a forked child. */
struct ttp_process_page {
    uint64_t image; /* serial of the first thread */
    uint32_t process_id;
    uint32_t patching; /* threads that change code now */
    uint32_t keeping;  /* a list of modules is being kept, or written: kept_modules.c */
    uint32_t reserved;
};

/* Modules whose functions are patched, and whose calls into libraries are recorded, too. */
#define TTP_CALLERS_MAX 64u
struct ttp_caller {
    uintptr_t low, bytes;
};

#define TTP_OWN_PATH_BYTES    1024u
#define TTP_ARENA_ENTRY_BYTES 1664u

struct ttp_runtime_process {
    uint32_t state;          /* enum ttp_process_state */
    uint32_t block_first;    /* blocks of the first extent, a power of two */
    uint32_t block_capacity; /* blocks that the file may ever have */
    uint32_t *block_states;
    struct ttp_note *notes;            /* NULL: there is no arena */
    const uint64_t *verdicts;          /* of calls that end; NULL: each call is recorded */
    const uint64_t *enter_verdicts;    /* of calls that begin; NULL after a dlclose, too */
    uint8_t *extents[TTP_EXTENTS_MAX]; /* where blocks are mapped, aligned to their size; each
                                        * extent is as large as all before it. NULL: not yet */
    struct ttp_process_page *page;
    const char *executed; /* as the kernel was asked for it; at the top of the first stack */
    uint32_t user;        /* whose the arena is */
    uint64_t last_image;  /* this process's, or in a forked child its parent's */
    uint64_t (*clock)(void);
    struct ttp_library_functions library; /* library_functions.h: with arguments */
    bool library_floats;                  /* some of these are in xmm0 to xmm7 */
    uintptr_t caller_low, caller_bytes;   /* the executable, where its library calls are recorded */
    uint32_t caller_count;                /* of libraries whose calls are, by address */
    struct ttp_caller callers[TTP_CALLERS_MAX];
    uint64_t stack_changes;               /* how often memory was announced as a stack */
    uintptr_t vfork_function;             /* the C library's */
    uintptr_t fronted_low, fronted_bytes; /* the C library, where it is called through fronts */
    uintptr_t own_low, own_bytes;  /* the runtime, where those of libraries are; else 0 bytes */
    uintptr_t libc_low, libc_high; /* code of the C library, where its signal trampoline is */
    uint32_t tid_offset;           /* of a thread's id in its control block; 0: ask the kernel */
    uint32_t module_changes;       /* since the process began */
    uint32_t closings;             /* of modules, under way */
    uint32_t signal_changes;       /* of handlers */
    uint64_t arena_file, arena_device; /* as the kernel's list of mappings has them */
    uint32_t thread_key;
    bool has_thread_key;
    bool follows_exit;  /* it will tell us its exit code, */
    bool is_exiting;    /* and has, */
    bool has_ended;     /* or what is loaded has been ended before */
    bool has_no_tsc;    /* some thread may not read a clock */
    bool forks_by_hand; /* memory is not cleared in forked children: started under a filter */
    bool locks_memory;  /* mlockall was called */
    bool is_elsewhere;  /* in another namespace of process ids than the recorder */
    bool records_calls; /* system calls; its tracer knows that */
    bool calls_nested;  /* library calls of libraries are recorded, too */
    /* its own system calls are looked at, though nothing of it is recorded by them: aside.c; and
     * each of them is */
    bool minds_program, program_has_stubs;
    bool calls_exports;           /* of functions that no relocation of the executable names, too */
    uint32_t avoids_system_calls; /* filters of system calls that may be on: no call of ours */
    bool is_preloaded;            /* by LD_PRELOAD, where it is called own_path */
    char own_path[TTP_OWN_PATH_BYTES], arena_entry[TTP_ARENA_ENTRY_BYTES]; /* for other programs */
};

/* Hidden, so that hooks find it without a table of addresses. */
extern struct ttp_runtime_process ttp_process __attribute__((visibility("hidden")));

/* The arena's first page is mapped over this one, so that hooks find it without a pointer. Before
 * that, and for ever where there is no arena, it is the process's own. */
extern union ttp_arena_page {
    struct ttp_arena_head head;
    uint8_t bytes[TTP_ARENA_HEAD_BYTES];
} ttp_arena __attribute__((visibility("hidden")));

/* process/aside.c: not 0: threads may run whose thread pointer is not the C library's. */
extern uint8_t ttp_is_aside;

/* slow.c. Before the first three, the hook did nothing. Before the others, it pushed or popped the
 * frame, and the record is missing; `slot` is the place that the hook reserved for it, and `page`
 * the thread's page when the hook began. */
void ttp_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp);
/* Of a part of a function: its call site may be 0, which is not known then. */
void ttp_part_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp);
struct ttp_call_values; /* slow.h; NULL: none */
void ttp_probe_enter_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                          const struct ttp_call_values *values);
void ttp_exit_slow(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                   const struct ttp_call_values *values);
void ttp_enter_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page);
/* Of basic blocks: sp is the stack pointer there. */
void ttp_block_slow(uintptr_t address, uintptr_t sp);
void ttp_block_put(uintptr_t address, uint64_t slot, const struct ttp_thread_page *page);
void ttp_exit_put(uintptr_t function, uint64_t slot, const struct ttp_thread_page *page);
/* frameless.c: calls that are left out, where what is around them has to be looked at. Of the
 * first, false: record it. */
bool ttp_left_out_enter(uintptr_t call_site, uintptr_t sp);
void ttp_left_out_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp);

#endif
