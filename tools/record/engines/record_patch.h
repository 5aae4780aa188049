/* Which functions the runtime patches: names against patterns, for one module at a time. */
#ifndef TOOL_RECORD_PATCH_H
#define TOOL_RECORD_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/recording.h>

#include "program/binary/patch_file.h"
#include "program/symbols/symbols.h"
#include "tools/io/debug_files.h"
#include "tools/record/engines/record_marks.h"
#include "tools/record/modules/record_copies.h"
#include "tools/record/rules/record_rules.h"
#include "tools/record/values/record_values.h"

struct tool_record_patch {
    struct tool_record_rules rules;          /* its patterns `function`; none: nothing is patched */
    const struct tool_patterns *no_function; /* of these names none; NULL: all */
    const struct tool_record_rules *filter;  /* what its filter leaves out is not patched */
    /* Of modules' paths. Without `module` it is the executable only. */
    const struct tool_patterns *module, *no_module;
    bool arguments;              /* with what functions of libraries are given, and return */
    bool library_calls;          /* of executables, too, */
    bool nested_calls;           /* and of libraries into one another, */
    struct tool_patterns called; /* of these names; none: all */
    uint32_t only_functions, only_patchable, only_exits_left; /* what `only` has */
    bool has_hooks; /* the command, and nothing of it was asked for */
    bool by_name;   /* of `only` those whose names the command line has not left out */
    char *only;     /* not asked for: all functions of this one module, the command's; or NULL */
    bool
        minds_lines; /* a log's lines are hashed: its writes are to be in the program's own calls */
    bool only_called; /* of it no functions, as it has hooks: only its calls of libraries */
    char **own;       /* with it: and of these libraries, NULL behind the last; or NULL */
    char **loaded;    /* what a process that runs has loaded, in the same way; or NULL */
    struct tool_symbols *symbols;  /* in the thread that makes plans only */
    struct tool_plan_cache *cache; /* of plans */
    const struct tool_debug_files *debug;
    /* Choices in the folder that hold for this recording only: functions were left for want of a
     * name, which a debug file may bring. */
    char **passing;
    size_t passing_count, passing_capacity;
    bool leaves_unnamed; /* of the module that is being named */
    uint64_t choice;
    char *image;                      /* of the command; NULL: not known */
    char *link;                       /* by which it is called, by another name; or NULL */
    bool inlined;                     /* copies of inlined functions, too */
    struct tool_record_copies copies; /* that are patched */
    struct tool_record_values values; /* of what functions are given and return */
    struct tool_record_marks marks;   /* static probes of all modules */
    const char *measure;              /* of system calls; or NULL */
};

/* Of which modules and functions none is patched, as the command line's rules say. */
static inline void tool_record_patch_rules(struct tool_record_patch *patch,
                                           const struct tool_record_rules *rules)
{
    patch->module = &rules->module;
    patch->no_module = &rules->no_module;
    patch->no_function = &rules->no_function;
    patch->filter = rules;
}

bool tool_parse_record_patch(const char *text, void *into); /* tool_record_patch */
bool tool_parse_libcalls(const char *text, void *into);     /* the same; NULL: all */
bool tool_parse_nest_libcalls(const char *text, void *into);
/* The same: COUNTER of each system call, or COUNTER,...=REGEX of functions. */
bool tool_parse_record_measure(const char *text, void *into);
bool tool_record_patch_is_given(const struct tool_record_patch *patch);
/* Whose functions are patched: "": of each program; the path of one; NULL: of none. */
const char *tool_record_patch_tries(const struct tool_record_patch *patch);
/* Where functions were not asked for: all of the command's own image, if that has no hooks, and of
 * libraries that are its own; and its library calls. What else is asked for takes none away. */
void tool_record_patch_by_itself(struct tool_record_patch *patch, const char *command);
/* Of modules that are not patched, too, library calls were asked for. */
bool tool_record_patch_calls_all(const struct tool_record_patch *patch);
/* Whether a command records itself, as its compiler or who wrote it has put hooks in. */
bool tool_record_has_hooks(const char *command);
/* Whether a module is a library that is the command's own. */
bool tool_record_patch_owns(const struct tool_record_patch *patch, const char *module_path);
/* Whether it is the command's own image, where nobody asked for functions. */
bool tool_record_patch_is_command(const struct tool_record_patch *patch, const char *module_path);
/* The name by which people call a module: the command's is that of the link that they typed. */
const char *tool_record_patch_called(const struct tool_record_patch *patch,
                                     const char *module_path);
/* Whether functions of a module are patched; of one that is not the executable, where patterns of
 * modules are given only. */
bool tool_record_patch_covers(const struct tool_record_patch *patch, const char *module_path);
/* Says that nothing of this command can be patched, as it runs by ptrace, and patches nothing. */
void tool_record_patch_leave(struct tool_record_patch *patch, const char *command);
/* `module`, `no_module` and `cache` are set. Call it while this process is small. False: there is
 * no folder of plans. */
bool tool_record_patch_open(struct tool_record_patch *patch, ttape_recording_options *into);
/* Makes the plans of the command, so that it does not wait for them. What a script needs is made
 * when that runs. */
void tool_record_patch_ahead(struct tool_record_patch *patch, const char *command);
/* A file beside the plans that is removed when the recording ends. */
void tool_record_patch_pass(struct tool_record_patch *patch, const char *name);
/* What is wanted of a library's function (TTAPE_VALUES_*); `context` is the patch. */
uint32_t tool_record_patch_wanted(void *context, const char *function);
/* Calls `take` for each function of a plan, in order, with its name as people see it. */
typedef void (*tool_record_take_function)(void *context, uint32_t index, ttape_string name,
                                          bool is_chosen);
void tool_record_patch_each(struct tool_record_patch *patch, const struct tool_patch_given *given,
                            const char *path, tool_record_take_function take, void *context);
/* What was patched, by module, for the metadata; before the recording is finished. */
void tool_record_patch_keep(struct tool_record_patch *patch, ttape_recording *recording);
/* Where the chosen copies of inlined functions are, range by range; *copies is to be freed. */
size_t tool_record_patch_copies(struct tool_record_patch *patch,
                                const struct tool_patch_given *given, const char *path,
                                struct tool_patch_copy **copies);
/* One line at the end, where it was asked for. */
void tool_record_patch_say(struct tool_record_patch *patch, const ttape_recording *recording);
void tool_record_patch_close(struct tool_record_patch *patch);

#endif
