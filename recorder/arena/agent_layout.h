/* The segment of a program that was attached to (spec/attach.md): what is where in it, as who
 * attaches and the agent in it both see it.
 *
 *     agent: code | agent: data | states of threads | list of changes | stubs | blocks of the arena
 *     r-x           rw-                                                 r-x     rw-, shared
 *
 * The agent is one image without relocations, whose first bytes are this head. Distances in it are
 * from its start. */
#ifndef TTP_WRITER_AGENT_LAYOUT_H
#define TTP_WRITER_AGENT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define TTP_AGENT_MAGIC   0x746e656761707474ull /* "ttpagent" */
#define TTP_AGENT_VERSION 13u
#define TTP_AGENT_PATH    512u   /* bytes of the arena's path */
#define TTP_AGENT_KNOWN   1024u  /* threads that were there at the attach, and are told apart */
#define TTP_AGENT_CALLS   65536u /* of them all that were open */
#define TTP_AGENT_AREAS   32u    /* of stubs */
#define TTP_AGENT_LATER   24u    /* times that libraries have come later */
#define TTP_AGENT_MODULES 256u   /* that are changed */
#define TTP_AGENT_THREADS 64u    /* that are named */
#define TTP_AGENT_PAGE    4096u
#define TTP_AGENT_MEMORY  16384u /* of a thread, for texts among values */
#define TTP_AGENT_RANGES  64u
#define TTP_AGENT_NOT_YET 1 /* the result of what is not over */

/* Threads by a hash of their control blocks; of a table with a page for each place these bits say
 * which one. And where the arena's head has its mode. */
#define TTP_AGENT_SLOTS   4096u
#define TTP_AGENT_HASHED  0xfff000
#define TTP_AGENT_MODE_AT 56

/* The hooks' entries do the same in their own words. */
static inline uint32_t ttp_agent_place(uint64_t block)
{
    uint32_t low = (uint32_t)block;
    return (low + (low >> 9)) & TTP_AGENT_HASHED;
}

/* What who attaches reads of a thread: in its page the thread's id, in its memory first the address
 * of its state and behind a page frames of these bytes, and in its state the place of the innermost
 * one. */
#define TTP_AGENT_TOP_AT      8u
#define TTP_AGENT_ID_AT       328u
#define TTP_AGENT_FRAMES_AT   TTP_AGENT_PAGE
#define TTP_AGENT_FRAME_BYTES 24u
#define TTP_AGENT_FUNCTION_AT 8u                        /* in a frame, with bits above these: */
#define TTP_AGENT_FUNCTION    ((UINT64_C(1) << 48) - 1) /* its address */

struct ttp_agent_head {
    uint64_t magic;
    uint32_t version, head_bytes;
    uint32_t code_bytes, image_bytes, file_bytes; /* whole pages; file_bytes: what is not zero */
    uint32_t begin;                               /* where the thread begins that maps the rest */
    uint32_t shared, arena; /* struct ttp_agent_shared; the page that the arena's lies over */
    uint32_t enter, exit, tail, joined, joined_tail, library_enter, library_exit; /* for stubs */
    uint32_t enter_valued, exit_valued;
    uint32_t call_enter, call_exit; /* for those of system calls */
    uint32_t find_object;           /* for that of what unwinders ask */
    uint32_t rows;                  /* how to unwind from its code: as .eh_frame_hdr */
};

/* A thread that was there. */
struct ttp_agent_known {
    uint32_t thread_id;
    uint32_t is_stack_whole; /* up from where the thread is in it, all of it is there while the
                              * thread is */
    uint64_t serial, sequence, started; /* its stream, where one has begun; else 0 */
    uint64_t place, epoch; /* of its next record: distance from the blocks; 0: in another block */
    uint64_t stack_low, stack_high;  /* of its stack */
    uint32_t first_call, call_count; /* that were open, outermost first: they are in its stream */
    char name[16];
};

/* A call that was open, as the agent keeps them. */
struct ttp_agent_call {
    uint64_t sp, function, call_site;
};

/* Stubs of modules that lie together; the first one is in the segment. */
struct ttp_agent_area {
    uint64_t at, bytes; /* 0: there is none */
};

/* Memory that stays, and can be read. */
struct ttp_agent_range {
    uint64_t low, high; /* 0: there is none */
};

/* A module that is changed; it may be unloaded, and another one lie there. */
struct ttp_agent_module {
    uint64_t low, high, device, inode;
    uint32_t is_caller, reserved; /* whose calls of libraries are recorded */
    uint64_t calls, calls_bytes;  /* stubs of its system calls, with the page in front; 0: none */
};

/* Changes of modules that came later, in a room of their own: those of each list are sorted. */
struct ttp_agent_later {
    uint64_t changes;
    uint32_t change_count, first_module, module_count, reserved;
};

/* What the attaching process fills in before the agent begins, and what the agent says then. */
struct ttp_agent_shared {
    uint64_t region, region_bytes; /* first, where who knows no more finds them */
    uint64_t states; /* memory of threads: state_count of state_bytes; the first two are nobody's */
    uint64_t pages;  /* a page for each of them, zero in forked children */
    uint32_t state_count, state_bytes, frame_count;
    uint32_t thread_id_at; /* in a thread's control block; 0: not known */
    uint64_t changes;      /* struct ttp_change, change_count: what of the code is ours */
    uint64_t calls;        /* struct ttp_agent_call, of all threads */
    uint32_t change_count, process_id;
    uint64_t unwind_at; /* the change in what unwinders ask, which is put back last; 0: none */
    /* where the arena's blocks go; in its file they begin at blocks_offset */
    uint64_t blocks, blocks_offset, file_bytes;
    uint32_t block_count, known_count;
    uint64_t image;
    uint64_t libc_low, libc_high;
    char path[TTP_AGENT_PATH]; /* of the arena; all up to here is there from the first stop on */
    struct ttp_agent_area areas[TTP_AGENT_AREAS];
    struct ttp_agent_module modules[TTP_AGENT_MODULES]; /* each list's sorted; the rest is zero */
    struct ttp_agent_later later[TTP_AGENT_LATER];
    uint32_t module_count, later_count;  /* of the first list, those in `changes`; of the others */
    uint64_t frame;                      /* of registers, as the kernel restores them */
    uint64_t next_state;                 /* counted by the agent */
    uint32_t threads[TTP_AGENT_THREADS]; /* only these, */
    uint32_t thread_count;               /* where there are any */
    uint32_t memory_at;                  /* in a thread's state; 0: no values are recorded */
    uint32_t calls_have_values;          /* those of libraries' functions */
    uint32_t has_begun;                  /* all first jumps are there: hooks record from now on */
    struct ttp_agent_range constants[TTP_AGENT_RANGES]; /* sorted */
    int64_t result; /* of mapping: 0, or a negative errno; TTP_AGENT_NOT_YET */
    struct ttp_agent_known known[TTP_AGENT_KNOWN];
};

_Static_assert(sizeof(struct ttp_agent_head) == 96, "no hidden padding");

/* tools/attach/gdb/ has these numbers, too. */
_Static_assert(offsetof(struct ttp_agent_head, shared) == 32 &&
                   offsetof(struct ttp_agent_head, rows) == 88 &&
                   offsetof(struct ttp_agent_shared, changes) == 48 &&
                   offsetof(struct ttp_agent_shared, change_count) == 64 &&
                   offsetof(struct ttp_agent_shared, unwind_at) == 72 &&
                   offsetof(struct ttp_agent_shared, areas) == 648 &&
                   offsetof(struct ttp_agent_shared, modules) == 1160 &&
                   offsetof(struct ttp_agent_module, calls) == 40 &&
                   sizeof(struct ttp_agent_module) == 56,
               "as gdb's file reads it");

#endif
