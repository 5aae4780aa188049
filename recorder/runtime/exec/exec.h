/* What a program is executed with: recording.md, 2.10. Everything here is safe in signal handlers
 * and in a vfork child: system calls and the caller's stack, no locks, nothing that stays. */
#ifndef TTP_RUNTIME_EXEC_H
#define TTP_RUNTIME_EXEC_H

#include "recorder/runtime/slow.h"

#define TTP_EXEC_STACK_BYTES 2048u /* of a copy on the stack, which may be a handler's */
#define TTP_EXEC_NO_FILE     (-1)
#define TTP_EXEC_UNKNOWN     (-2) /* nor is the path enough */
#define TTP_EXEC_LINK_BYTES  32u

/* What the file of a program says of our library in its LD_PRELOAD. */
enum ttp_exec_fit {
    TTP_EXEC_FITS,    /* or nothing is known against it */
    TTP_EXEC_FOREIGN, /* its loader complains of it, or ends the program: 32 bits, another libc */
    TTP_EXEC_SECURE   /* its loader looks at no such thing: set-user-id */
};
/* exec_program.c: of a path, or an open file. Interpreters of scripts are followed. */
enum ttp_exec_fit ttp_exec_fit_of(const char *path, bool is_searched, int file);
/* Where the kernel shows an open file. */
void ttp_exec_link(int file, char link[TTP_EXEC_LINK_BYTES]);
/* Of execveat: the folder does not matter. */
bool ttp_exec_is_whole_path(int folder, const char *path);
/* Whether a program of this process can read that file. */
bool ttp_exec_can_read(const char *path);

enum ttp_exec_wish { TTP_EXEC_AS_GIVEN, TTP_EXEC_WITH_OURS, TTP_EXEC_WITHOUT_OURS };

struct ttp_exec {
    char *const *given, *const *handed; /* environments: of the caller; to the kernel */
    size_t count;                       /* entries that were given */
    size_t preload_at, arena_at;        /* of these; count: it has none */
    const char *preload;                /* the value there */
    bool is_known; /* it could be read, and this process may change it and tell of it */
    bool has_ours; /* our library is in it */
    enum ttp_exec_wish wish;
    uint32_t flags;   /* of the note */
    size_t bytes;     /* of a copy; 0: none is needed */
    bool is_mapped;   /* that has memory of its own */
    bool drops_arena; /* the copy is without the arena's name, too */
};
/* exec_environment.c, in this order: what there is to do; memory for a copy, where it is too large
 * for the stack (NULL: none); the copy, or without memory what was given; and where that was not
 * executed, the memory goes. */
void ttp_exec_look(struct ttp_exec *exec, const char *path, int file, uint32_t flags,
                   char *const *environment);
void *ttp_exec_map(struct ttp_exec *exec);
void ttp_exec_make(struct ttp_exec *exec, void *memory);
void ttp_exec_end(struct ttp_exec *exec);
/* The kernel had no room for all of it: whether there is something of ours to leave out. */
bool ttp_exec_less(struct ttp_exec *exec);

#endif
