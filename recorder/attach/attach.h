/* Attaching to a process that runs: its functions are patched while it stands still for a moment,
 * record into an arena as those of a program that was started for it, and are put back as they
 * were. spec/attach.md is the contract. */
#ifndef TTP_ATTACH_H
#define TTP_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

struct ttp_patch_head;
struct ttp_chosen_head;
struct ttp_plan_head;

/* A module whose functions are patched. */
struct ttp_attach_wish {
    const char *module;                   /* its path */
    const struct ttp_patch_head *plan;    /* NULL: its system calls only */
    const struct ttp_chosen_head *chosen; /* NULL: all */
    const struct ttp_plan_head *calls;    /* NULL: no system calls; as rows gives them */
};

struct ttp_attach_options {
    uint32_t pid;
    const char *arena;                    /* the path of one that exists */
    const struct ttp_attach_wish *wishes; /* the one that may not be left out first */
    size_t wish_count;
    const uint32_t *threads; /* only these; thread_count 0: all */
    size_t thread_count;     /* at most TTP_AGENT_THREADS */
    /* The plan of a module, for stacks (ttape_trace_options.plan); at last with NULL. NULL: no call
     * that is open is known. */
    const void *(*rows)(void *context, const char *module_path, size_t *size_bytes);
    /* The patch plan of a library that is loaded later, and what is chosen; NULL: none. It is asked
     * for in ttp_attach_follow. Where this is NULL no function of such a library is patched. */
    const void *(*patch)(void *context, const char *module_path, const void **chosen);
    void *context;
};

/* How often all threads of a process stood still, or some of them in a try that failed; and for how
 * long at most, and in all. */
struct ttp_stood {
    uint32_t stops;
    uint64_t longest_ns, total_ns;
};

/* What became of it, for people. */
struct ttp_attach_counts {
    uint32_t modules, modules_left; /* patched; not, as their code cannot be changed */
    uint32_t functions, exits;      /* patched */
    uint32_t functions_left, exits_left;
    uint32_t busy;   /* of functions_left: somebody was inside each time */
    uint32_t faults; /* of them: the program minds faults, and moved code may fault */
    uint32_t threads;
    struct ttp_stood stood;
    uint32_t open_calls;        /* at the attach */
    uint32_t sites, sites_left; /* of system calls: patched, not */
    uint32_t followed;          /* libraries that were loaded meanwhile, and patched */
    uint32_t loaded;            /* others: nothing of them was recorded */
    uint32_t children;          /* forked meanwhile, at least: not recorded, and put back as well */
    bool is_left;               /* the segment stays: somebody may be inside */
    bool can_unwind;            /* who unwinds within it finds the way out of our code */
    bool was_debugged;          /* a debugger came, and all is back but for the segment */
    bool has_ended;             /* the process, before */
};

#define TTP_ATTACH_NAMED 4u
/* What became of another choice of functions. */
struct ttp_attach_changed {
    uint32_t added, removed;
    uint32_t recorded; /* that have jumps now, but for what others call in libraries */
    uint32_t left;     /* that are chosen, and cannot be patched */
    uint32_t busy;     /* somebody was inside each time: they stay as they were; the first are */
    struct {
        const char *module; /* its path; it stays as long as the handle */
        uint64_t address;   /* ELF address of the function */
    } inside[TTP_ATTACH_NAMED];
    uint32_t stops;
    uint64_t longest_ns;
};

struct ttp_attach;
/* Nothing of the process is changed after a failure. */
ttape_status ttp_attach_begin(struct ttp_attach **out, const struct ttp_attach_options *options,
                              struct ttp_attach_counts *counts, ttape_error *err);
/* Whether the process has ended, or does what ends attaching. */
bool ttp_attach_is_over(struct ttp_attach *attach);
/* Libraries that have been loaded since are patched as well, once a second at most. */
void ttp_attach_follow(struct ttp_attach *attach);
/* Patches the functions that these wishes choose, in the place of those that were chosen before:
 * the plans are the same for modules that were there, and what others call in libraries, and system
 * calls, stay. For functions that somebody is inside it stops TTP_ATTACH_TRIES times; the same may
 * be asked for once more, which stops it once. Nothing is changed after a failure. Plans and
 * choices stay as long as the handle. */
#define TTP_ATTACH_TRIES 8u
ttape_status ttp_attach_choose(struct ttp_attach *attach, const struct ttp_attach_wish *wishes,
                               size_t count, bool is_once_more, struct ttp_attach_changed *changed,
                               ttape_error *err);
/* Puts everything back; the handle is freed. Failures are those of a process that runs on with
 * what could not be put back: err says what. */
ttape_status ttp_attach_end(struct ttp_attach *attach, struct ttp_attach_counts *counts,
                            ttape_error *err);

#endif
