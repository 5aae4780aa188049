/* Which programs were executed under the recorder and recorded nothing, and why. */
#ifndef TTP_RECORDING_UNRECORDED_H
#define TTP_RECORDING_UNRECORDED_H

#include <stdbool.h>

#include <tracetape/recording.h>

#include "recorder/arena/arena.h"
#include "recorder/state/word_map.h"
#include "writer/growing.h"

struct ttp_encode;

/* What a program's file says; false where nothing can be read. */
struct ttp_program_file {
    bool is_readable, is_static, is_other_machine, is_set_uid;
    bool has_hooks, has_sanitizer;
    bool is_go, makes_threads;         /* threads by the C library */
    bool is_other_libc, is_older_libc; /* by its loader: not glibc; a glibc before 2.35 */
};

/* The file of a command, as execvp looks for it; to be freed. NULL: no memory. */
char *ttp_program_find(const char *command);
/* program_file.c: follows the interpreters of scripts. */
void ttp_program_file_look(const char *path, struct ttp_program_file *file);
/* Whether a library that it asks for is in none of the places that loaders look into. */
bool ttp_program_lacks_library(const char *path);

/* What was patched, and what was not, as the arena's head counts it. */
enum ttp_unseen {
    TTP_UNSEEN_MODULES, /* of system calls: modules without a plan; sites in others */
    TTP_UNSEEN_SITES,
    TTP_PATCHED_FUNCTIONS,
    TTP_PATCHED_EXITS,
    TTP_UNPATCHED_FUNCTIONS,
    TTP_UNPATCHED_EXITS,
    TTP_UNPATCHED_HOOKED,
    TTP_UNPATCHED_MODULES,
    TTP_PATCHED_INLINED,
    TTP_UNPATCHED_INLINED,
    TTP_PATCHED_MARKS,
    TTP_UNPATCHED_MARKS,
    TTP_LATE_PLANS,
    TTP_UNSEEN_COUNT
};

struct ttp_unrecorded {
    struct ttp_growing processes; /* struct of unrecorded.c */
    struct ttp_growing came;      /* programs that came, and have been followed by another one */
    struct ttp_growing taken;     /* notes, in one round */
    struct ttp_word_map by_pid;
    uint32_t notes_seen; /* the arena's note_count */
    uint32_t first_pid;
    uint32_t bare_pid; /* started without the recorder's entries; 0: none is known */
    bool only_first;   /* others are not looked at */
    char *examples[TTAPE_UNRECORDED_COUNT]; /* paths */
    _Atomic uint64_t *counts;               /* by reason */
    const ttape_recording_options *options; /* who makes plans */
    struct ttp_growing patched;             /* modules: patched.c */
    _Atomic uint64_t *unseen;               /* by enum ttp_unseen */
};

/* Takes the notes that are there. */
void ttp_unrecorded_take(struct ttp_unrecorded *u, const ttape_allocator *allocator,
                         struct ttp_arena_head *head);
/* Of a process that the recorder itself has started. */
void ttp_unrecorded_started(struct ttp_unrecorded *u, const ttape_allocator *allocator,
                            uint32_t pid, const char *command);
/* Of one that it waited for. */
void ttp_unrecorded_ended(struct ttp_unrecorded *u, uint32_t pid, int wait_status);
/* Nobody comes any more, and all is decoded. */
void ttp_unrecorded_settle(struct ttp_unrecorded *u, const ttape_allocator *allocator,
                           const struct ttp_encode *e, const struct ttp_arena_head *head);
void ttp_unrecorded_close(struct ttp_unrecorded *u, const ttape_allocator *allocator);
/* patched.c: a module of a process whose functions were patched. */
void ttp_patched_take(struct ttp_growing *patched, const ttape_allocator *allocator,
                      const struct ttp_note *note);
void ttp_patched_close(struct ttp_growing *patched, const ttape_allocator *allocator);
/* Metadata key of a reason. */
const char *ttp_unrecorded_key(uint32_t reason);

#endif
