/* Functions of a process that runs already: which of its executable's and of its libraries' are
 * patched. */
#ifndef TOOL_RECORD_JOIN_H
#define TOOL_RECORD_JOIN_H

#include <tracetape/session.h>

#include "program/binary/patch_file.h"
#include "recorder/arena/patch_plan.h"
#include "tools/record/engines/record_patch.h"

/* A module of it, with functions that are chosen. */
struct tool_record_joined {
    char *path;
    struct tool_patch_given given;
    struct ttp_chosen_head *chosen; /* bits of functions behind it */
    uint32_t count;                 /* of those */
    uint32_t finds; /* 1 + the function that its symbols name as what unwinders ask; 0: none */
    struct ttp_chosen_head *before; /* the last change; NULL: as at first, or it was not there */
};

struct tool_record_asked;
struct tool_record_join {
    struct tool_record_joined *modules;
    size_t count, capacity;
    uint64_t function_count; /* of all that are chosen */
    bool reads_memory;       /* for values of some function */
    bool has_calls;          /* system calls are recorded, too */
    char *unasked; /* a library that finds nothing of how to unwind from code of ours; or NULL */
    /* Where other functions were chosen since: the patterns of the start, one a line; those before
     * the last change; and choices that are not in use any more. */
    char *first;
    struct tool_patterns before;
    struct ttp_chosen_head **kept;
    size_t kept_count, kept_capacity;
    /* Where nothing was asked for: */
    char *larger;    /* a library that has most of its code, and is not recorded; or NULL */
    bool makes_code; /* what it runs is in part in no file */
};

/* The process that is meant: by its number, or by the name of its program, where there is one. 0:
 * what is wrong was said. */
uint32_t tool_record_join_find(const char *word);
/* The path of its executable, to be freed; NULL: it was said why not. */
char *tool_record_join_image(uint32_t pid);
/* Chooses for --plan, of what this process has loaded. */
void tool_record_join_plan_of(struct tool_record_patch *patch, uint32_t pid,
                              const char *executable);
/* Plan and choice; while this process is small. Returns a tool_exit: what is wrong was said. */
int tool_record_join_open(struct tool_record_join *join, struct tool_record_patch *patch,
                          uint32_t pid);
/* The module's patch plan, and the choice; NULL: it is not one of them. */
const void *tool_record_join_plan(const struct tool_record_join *join, const char *module_path,
                                  const void **chosen);
/* The module of that path among them; NULL: there is none. It stays there until one is added. */
struct tool_record_joined *tool_record_join_module(const struct tool_record_join *join,
                                                   const char *path);
/* NULL, or why the module has no plan. One of which no function is chosen is none, unless it calls
 * libraries. `asked`: only what is called of it; or NULL. */
const char *tool_record_join_add(struct tool_record_join *join, struct tool_record_patch *patch,
                                 struct tool_record_asked *asked, const char *path);
/* Its choice, by the patterns that there are now. */
void tool_record_join_by_names(struct tool_record_join *join, struct tool_record_joined *module,
                               struct tool_record_patch *patch);
/* Whether its functions are chosen by their names: the executable, its own libraries, or what
 * --module names. */
bool tool_record_join_is_own(const struct tool_record_patch *patch, const char *path);
/* Adds a module that was not there at first, where it is chosen; does nothing for others. */
void tool_record_join_later(struct tool_record_join *join, struct tool_record_patch *patch,
                            const char *path);
/* record_answer.c: marks the function that unwinders ask for code, as handlers interrupt hooks and
 * stubs, and threads wait in those of system calls. False: there is none, as before glibc 2.35. */
bool tool_record_is_answer(ttape_string name);
bool tool_record_answer_add(struct tool_record_join *join, struct tool_record_patch *patch);
void tool_record_join_close(struct tool_record_join *join);
/* Says what is not known of values, in a line, where there may be such. */
void tool_record_join_say_values(const struct tool_record_join *join);
/* Says what was done to the process, in a line. */
void tool_record_join_say(const struct tool_record_join *join, const ttape_session_result *result,
                          uint32_t pid);

#endif
