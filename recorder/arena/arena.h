/* The arena: the shared mapping between traced processes and the recorder. The recorder makes the
 * file; the runtime writes records into blocks that it takes from it.
 *
 *     0        head (struct ttp_arena_head, 4 KiB)
 *     4096     block states, u32 each: owner's process id << 2 | state; 0 is free
 *     69632    notes of programs that are executed, 256 bytes each
 *     ...      blocks of 32 KiB: 64 bytes of head, then records
 *
 * Life of a block: free --(runtime: compare and swap)--> filling --(runtime)--> full, or done when
 * its thread ended --(recorder: copied to the spill file and zeroed)--> free. A free block is all
 * zero. So whatever dies, the recorder and `recover` find each committed record and its owner. All
 * this is memory of one machine while it runs: native byte order, natural alignment; nothing is
 * kept. */
#ifndef TTP_WRITER_ARENA_H
#define TTP_WRITER_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TTP_ARENA_MAGIC      0x6672636170617474ull /* "ttapacrf" */
#define TTP_ARENA_VERSION    8u
#define TTP_ARENA_HEAD_BYTES 4096u
#define TTP_BLOCK_BYTES      32768u
#define TTP_BLOCK_HEAD_BYTES 64u
#define TTP_BLOCK_RECORDS    ((TTP_BLOCK_BYTES - TTP_BLOCK_HEAD_BYTES) / 8u)
#define TTP_ARENA_BLOCKS_MAX 16384u /* 512 MiB */
/* In the head's page: the path of the recording's folder, a string; empty where it is longer. */
#define TTP_ARENA_FOLDER_AT    2624u
#define TTP_ARENA_FOLDER_BYTES 1472u

/* Names in the traced program's environment. */
#define TTP_ENV_ARENA  "TRACETAPE_ARENA"
#define TTP_ENV_OUTPUT "TRACETAPE"

enum ttp_block_state {
    TTP_BLOCK_FREE = 0,
    TTP_BLOCK_FILLING = 1,
    TTP_BLOCK_FULL = 2,
    TTP_BLOCK_DONE = 3 /* the last of its thread, which may make it filling once more */
};

/* States without an owner. */
#define TTP_BLOCK_TAKEN     TTP_BLOCK_DONE    /* the recorder is taking it */
#define TTP_BLOCK_WITHDRAWN TTP_BLOCK_FILLING /* it has no memory: nobody may use it */

enum ttp_arena_clock {
    TTP_CLOCK_TSC = 1,
    TTP_CLOCK_MONOTONIC = 2,
    TTP_CLOCK_COARSE = 3,
    TTP_CLOCK_NONE = 4
};

enum ttp_arena_mode { TTP_MODE_OFF = 0, TTP_MODE_ON = 1, TTP_MODE_STOPPED = 2 /* for ever */ };

/* Flags: what a program does that finds no free block. Without any it waits as wait_share.h says,
 * then drops events. */
#define TTP_ARENA_BLOCKING    1u /* waits as long as the recorder lives */
#define TTP_ARENA_DROPPING    2u /* drops at once */
#define TTP_ARENA_STALL_NS    1000000000u
#define TTP_ARENA_NAMES_BYTES 2048u

/* In the recording's folder: plans (plan.h), each by what is in its module's file. */
#define TTP_PLAN_FOLDER "plans"

/* System calls whose numbers are below have a bit each, others that of the last one; and what of
 * them is recorded. */
#define TTP_CALL_NUMBERS    512u
#define TTP_CALLS_ON        1u
#define TTP_CALLS_RESULTS   2u    /* with what they return */
#define TTP_CALLS_ARGUMENTS 4u    /* and what they are given */
#define TTP_CALLS_STACKS    8u    /* with the stack that led there */
#define TTP_CALLS_TRACED    16u   /* a tracer records them until the program does so itself */
#define TTP_CALLS_LINES     32u   /* of line_descriptors: what was written, by its hash */
#define TTP_CALLS_COUNTED   64u   /* with what they cost of call_counter */
#define TTP_LINE_HASHED     1024u /* bytes of it that the hash is of, at most */
#define TTP_CALL_STRING_MAX 4096u /* bytes of a string argument; a longer one is cut there */
#define TTP_CALL_DATA_MAX   4096u /* of a buffer, at most */

/* What a thread can ask the kernel of itself, without any rights. */
enum ttp_call_counter {
    TTP_COUNTER_CPU_TIME = 1, /* ns */
    TTP_COUNTER_PAGE_FAULTS = 2,
    TTP_COUNTER_CONTEXT_SWITCHES = 3
};

/* What a program tells its tracer, which stops it at each call: prctl(TTP_MARK, what, address), a
 * call that does nothing. */
#define TTP_MARK 0x74746170 /* "ttap" */
enum ttp_tracer_mark {
    TTP_MARK_STREAM = 1,  /* wants the thread's stream: struct ttp_mark_stream is at the address */
    TTP_MARK_RECORDS = 2, /* records its calls from here on */
    TTP_MARK_EXECUTES = 3 /* stops at no call, and is about to execute a program, which may have
                           * more rights: clone(VM | VFORK) with this and TTP_MARK where the kernel
                           * reads nothing, of a child that ends at once */
};
/* The tracer fills it in, as the thread's stream goes on with it; serial 0: there is none. */
struct ttp_mark_stream {
    uint64_t serial, sequence, image, started;
};

#define TTP_PROTOTYPES_MAX 256u

#define TTP_PERIODS_KEPT 4u

/* Requests, of traced programs and of `control`, are counters: the recorder acts when one has
 * changed. */
struct ttp_arena_head {
    uint64_t magic;
    uint32_t version;
    uint32_t block_bytes;
    uint32_t block_capacity; /* blocks that the file may ever have */
    uint32_t clock;          /* enum ttp_arena_clock */
    uint32_t flags;
    uint32_t recorder_pid;
    uint64_t blocks_offset; /* in the file */
    uint64_t pid_namespace; /* the recorder's: elsewhere, process ids mean others; 0: not known */
    uint64_t proc_device;   /* of the /proc that the recorder looks into; 0: not known */
    /* written by the recorder, `control` and traced programs, read by everybody */
    uint32_t mode;    /* enum ttp_arena_mode */
    uint32_t periods; /* counts the times that mode went on */
    /* Blocks that have memory: whoever finds too few adds some behind them (memory first, then this
     * number by compare and swap, then their states), up to the bound that the recorder gives. */
    uint32_t block_ready, block_bound;
    /* written by the recorder, read by everybody */
    uint64_t heartbeat;                    /* counts the recorder's rounds */
    uint64_t freed;                        /* counts blocks given back */
    uint32_t flushes_done, snapshots_done; /* requests served, as their counters were */
    uint32_t snapshots_failed, snapshots_written;
    uint64_t event_count, lost_count; /* appended to the trace; lost, but for `lost` below */
    /* written by traced programs; requests by `control`, too */
    uint64_t next_serial; /* of threads, from 1 */
    uint64_t lost;        /* events that no record counts: their threads never had a block, or are
                           * in a drop period whose GAP is not written yet */
    uint32_t flush_requests, snapshot_requests, module_changes, stop_requests;
    /* written by the recorder before all else */
    uint8_t trace_id[16]; /* of the recording: the journal has it, too */
    /* a program that waits for a block sets `waiters`; the recorder takes it back, counts `wakes`
     * and wakes who waits for that word (a futex) */
    uint32_t waiters, wakes;
    uint32_t free_from;      /* a hint: below this block none was free when last looked at */
    uint32_t recorder_alive; /* thread id of the recorder's; the kernel sets FUTEX_OWNER_DIED in it
                              * when that has ended; 0: not known */
    uint64_t stall_ticks;    /* TTP_ARENA_STALL_NS by the arena's clock; 0: it has none */
    uint64_t waited_ticks, stalls; /* of programs in all, and how often they waited */
    /* written by the recorder before snapshots_done: paths of the files of the last snapshot, each
     * with a zero behind it, as many as there is room for; turn is odd while they change */
    uint32_t snapshot_turn, snapshot_names_bytes;
    char snapshot_names[TTP_ARENA_NAMES_BYTES];
    /* notes that were written, that found no place; the last one's turn */
    uint32_t note_count, notes_missed, note_turn;
    /* before the magic: filters of system calls that the recorder is under; a program under more
     * may be ended for a call that the recorder may make */
    uint32_t filters;
    /* before the magic: system calls that are recorded, bits by their number, and how */
    uint64_t chosen_calls[TTP_CALL_NUMBERS / 64];
    uint32_t call_flags; /* of TTP_CALLS_*; 0: none is recorded */
    /* A program that wants a plan (plan.h) writes a note, and waits for plan_turn (a futex), which
     * the recorder counts up when it has made one, or could not. */
    uint32_t plan_turn;
    /* written by programs: keys given to calls with a path; what their system calls are not
     * recorded of, for the trace to say so: modules, and sites in modules that have a plan */
    uint32_t call_keys, unseen_modules, unseen_sites, seen_sites;
    /* before the magic: stacks are taken of one in so many calls of a thread, or of so many in a
     * second (stack_sample.h); 0: of all */
    uint32_t stack_every, stack_rate;
    /* before the magic: which functions are patched (patch_plan.h); 0: none */
    uint64_t patch_choice;
    /* written by programs: what was chosen, and patched or not; hooked: they record themselves;
     * modules without a plan */
    uint32_t patched_functions, patched_exits, unpatched_functions, unpatched_exits;
    uint32_t hooked_functions, unpatched_modules;
    /* before the magic: bytes of a buffer that are recorded with a system call (call_contents.h) */
    uint32_t call_data_bytes;
    uint32_t no_blocks;   /* before the magic: basic blocks are not recorded */
    uint32_t patch_flags; /* before the magic: of TTP_PATCH_*, with patch_choice */
    /* written by programs: copies of inlined functions that were chosen, and patched or not */
    uint32_t patched_inlined, unpatched_inlined;
    uint32_t has_verdicts; /* before the magic: not 0: verdicts.h, in front of the blocks */
    /* before the magic: functions of prototypes.h, by their places there, of which is not recorded
     * what they are given, what they return */
    uint64_t left_given[TTP_PROTOTYPES_MAX / 64], left_returned[TTP_PROTOTYPES_MAX / 64];
    uint64_t line_descriptors; /* before the magic: bits; with call_flags 32 */
    uint64_t lost_sandboxed;   /* written by programs: of `lost`, what threads call that may not
                                * read their clock; a GAP says from when on */
    /* By whoever switches recording off, or stops it, before `mode`: when that was, by the arena's
     * clock; of the period (as `periods` counts them) that ends, at its number modulo their count.
     * 0: not known */
    uint64_t off_ticks[TTP_PERIODS_KEPT];
    /* written by programs: forked children that cannot know their id, in another namespace of
     * process ids, and under a filter */
    uint32_t unknown_elsewhere, unknown_sandboxed;
    uint64_t wait_share; /* written by programs: wait_share.h */
    /* written by programs: plans that were waited for in vain; plan_turn, and one, when somebody
     * last did so for as long as may be */
    uint32_t late_plans, silent_turn;
    uint32_t planner; /* written by the recorder: thread id of who makes plans; 0: nobody yet */
    uint32_t call_counter; /* before the magic: enum ttp_call_counter, with call_flags 64 */
    /* written by programs: static probes that were chosen, and patched or not */
    uint32_t patched_marks, unpatched_marks;
    uint32_t off_requests; /* changes when somebody asks for mode to be off, also where it is */
    /* written by programs that were attached to: forked children that called what is patched */
    uint32_t children_left;
    /* by who has attached, and `control`: other functions may be chosen; a request, and that it was
     * served, as the counter was */
    uint32_t takes_functions, function_requests, functions_done;
    uint32_t hook_sites; /* before the magic: hooks record where their functions were called */
};

/* Says when a period ends, just before it does. */
static inline void ttp_arena_note_off(struct ttp_arena_head *head, uint64_t ticks)
{
    uint32_t period = __atomic_load_n(&head->periods, __ATOMIC_RELAXED);
    if (__atomic_load_n(&head->mode, __ATOMIC_RELAXED) == TTP_MODE_ON)
        __atomic_store_n(&head->off_ticks[period % TTP_PERIODS_KEPT], ticks, __ATOMIC_RELAXED);
}

/* Asks for the mode to be off. The recorder may switch it off for its own reasons just now, and on
 * again later. It sees by the count: so that is added to on both sides of the change. */
static inline void ttp_arena_ask_off(struct ttp_arena_head *head, uint64_t ticks)
{
    uint32_t expected = TTP_MODE_ON;
    ttp_arena_note_off(head, ticks);
    (void)__atomic_add_fetch(&head->off_requests, 1, __ATOMIC_ACQ_REL);
    (void)__atomic_compare_exchange_n(&head->mode, &expected, TTP_MODE_OFF, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE);
    (void)__atomic_add_fetch(&head->off_requests, 1, __ATOMIC_ACQ_REL);
}

/* When that period ended, or, where it is too long ago, the first that is known to have. */
static inline uint64_t ttp_arena_off_ticks(const struct ttp_arena_head *head, uint32_t period)
{
    uint32_t now = __atomic_load_n(&head->periods, __ATOMIC_RELAXED);
    if (now - period >= TTP_PERIODS_KEPT)
        period = now - (TTP_PERIODS_KEPT - 1);
    return __atomic_load_n(&head->off_ticks[period % TTP_PERIODS_KEPT], __ATOMIC_RELAXED);
}

#define TTP_PATCH_MODULES   1u  /* functions of any module, not of the executable only */
#define TTP_PATCH_CALLS     2u  /* those of libraries where the executable calls them, */
#define TTP_PATCH_ARGUMENTS 4u  /* with what they are given, and return */
#define TTP_PATCH_NESTED    8u  /* and where one library calls another */
#define TTP_PATCH_PLANS     16u /* there are plans, for a program's own system calls */

/* What a process tells of the programs that it executes, for the recorder to know who never came.
 * They lie between states and blocks. */
#define TTP_NOTES_AT        (TTP_ARENA_HEAD_BYTES + TTP_ARENA_BLOCKS_MAX * 4u)
#define TTP_NOTES           112u
#define TTP_NOTES_KEPT      32u /* the first, which PATCHED does not take */
#define TTP_NOTE_PATH_BYTES 224u

enum ttp_note_state { TTP_NOTE_FREE = 0, TTP_NOTE_WRITING = 1, TTP_NOTE_THERE = 2 };
enum ttp_note_kind {
    TTP_NOTE_EXEC = 1,    /* a program is executed */
    TTP_NOTE_FAILED = 2,  /* it was not */
    TTP_NOTE_CAME = 3,    /* it has mapped the arena */
    TTP_NOTE_IMAGE = 4,   /* it has a number, as a process image */
    TTP_NOTE_PLAN = 5,    /* it wants a plan of that file */
    TTP_NOTE_PATCHED = 6, /* functions of that file were patched */
    TTP_NOTE_ASIDE = 7    /* it makes threads without the C library: no more is recorded of it */
};
#define TTP_NOTE_SEARCHED    1u   /* the name is looked for in PATH */
#define TTP_NOTE_ENVIRONMENT 2u   /* without the arena's name or the runtime in its environment */
#define TTP_NOTE_USER        4u   /* by another user */
#define TTP_NOTE_NAMESPACE   8u   /* in another namespace of process ids */
#define TTP_NOTE_FUNCTIONS   16u  /* of a plan: a patch plan, too, with its choice */
#define TTP_NOTE_NO_CALLS    32u  /* of a plan: only that, and no plan of system calls */
#define TTP_NOTE_UNREACHABLE 64u  /* the runtime or the arena cannot be read there */
#define TTP_NOTE_SANDBOX     128u /* of CAME: under a filter of system calls */
#define TTP_NOTE_LET_GO      256u /* of EXEC, by a tracer: it does not trace it, for its rights */
#define TTP_NOTE_TURN_SHIFT  2u

struct ttp_note {
    uint32_t state; /* enum ttp_note_state, above it the turn */
    uint32_t kind, pid, flags;
    uint64_t image; /* of PATCHED: functions and, from bit 32 on, exits */
    uint32_t turn;
    uint32_t left;                  /* of PATCHED: chosen functions that were not */
    char path[TTP_NOTE_PATH_BYTES]; /* of PATCHED: names of such functions behind it */
};

/* Blocks that have memory and are below block_ready may be taken. */
static inline void ttp_blocks_offer(uint32_t *states, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        uint32_t withdrawn = TTP_BLOCK_WITHDRAWN;
        (void)__atomic_compare_exchange_n(&states[i], &withdrawn, TTP_BLOCK_FREE, 0,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

/* One thread's blocks have ascending sequence numbers. */
struct ttp_block_head {
    uint64_t serial; /* of the thread image; stored last: not 0 when the rest is there */
    uint64_t sequence;
    uint64_t epoch;   /* high bits of the clock at the first record */
    uint64_t started; /* clock when the thread began */
    uint32_t process_id, thread_id;
    uint64_t image; /* serial of the process image: of its first thread */
    char name[16];
};

_Static_assert(sizeof(struct ttp_arena_head) <= TTP_ARENA_FOLDER_AT, "the folder is behind it");
/* Lines of the cache: each hook reads `mode`, so that what is written all the time lies elsewhere;
 * and no block has a line of another one, which may be another thread's. */
_Static_assert(offsetof(struct ttp_arena_head, periods) + 4 <= 64 &&
                   offsetof(struct ttp_arena_head, heartbeat) >= 64 &&
                   offsetof(struct ttp_arena_head, mode) + 4 <= 64,
               "the first line changes when recording goes on or off only");
_Static_assert(TTP_BLOCK_BYTES % 64 == 0 && TTP_BLOCK_HEAD_BYTES % 64 == 0 &&
                   (TTP_NOTES_AT + TTP_NOTES * sizeof(struct ttp_note)) % 64 == 0,
               "blocks begin a line");
_Static_assert(sizeof(struct ttp_note) == 256, "as drawn");
_Static_assert(TTP_NOTES_AT + TTP_NOTES * sizeof(struct ttp_note) == 3 * TTP_BLOCK_BYTES,
               "they end where blocks begin");
_Static_assert(sizeof(struct ttp_block_head) == TTP_BLOCK_HEAD_BYTES, "as drawn");

/* Whether a call is among those whose bits are set. */
static inline bool ttp_call_is_among(const uint64_t chosen[TTP_CALL_NUMBERS / 64], uint32_t number)
{
    uint32_t bit = number < TTP_CALL_NUMBERS ? number : TTP_CALL_NUMBERS - 1;
    return (chosen[bit / 64] >> bit % 64 & 1) != 0;
}

#endif
