/* Names, source files and lines of addresses, for `record` and for `symbolize`.
 *
 *   caller                             helper process (a fork of the caller)
 *   module: path, build id  --------->  opens the file, finds its debug file, loads symbols
 *   addresses               --------->  looks them up, demangles
 *                           <---------  names, or its death
 *
 * ELF and DWARF come from anywhere and are read by code that is not ours, so it is read in
 * another process, with bounds on memory and on time for each request. When that dies or hangs,
 * the module in hand is given up for good, with a reason to print, and a new helper serves the
 * others. What the caller does itself is elf_head.h: plain reads of the file's head.
 *
 * One handle is used by one thread at a time; several handles work side by side. Calls block, up
 * to timeout_seconds each: a recorder that drains buffers makes them in a thread of its own.
 *
 * The helper inherits memory as fork has it: a recorder marks shared buffers MADV_DONTFORK. It
 * closes every descriptor but its own, ignores SIGINT, SIGTERM and SIGHUP, and ends when the
 * handle closes or the caller dies. It is a child process: a caller that waits for any child
 * will meet it and can forget about it, no harm is done. */
#ifndef TOOL_SYMBOLS_H
#define TOOL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tracetape/types.h>

#include "program/elf/elf_head.h"
#include "program/symbols/debuginfod.h"
#include "recorder/arena/patch_plan.h"

struct tool_symbols;
struct tool_symbols_module;

/* Zero means the default everywhere. What it points to is borrowed until close. */
struct tool_symbols_options {
    const char *root;                 /* folder that the modules' paths start from; NULL: / */
    const char *const *debug_folders; /* looked at before /usr/lib/debug */
    size_t debug_folder_count;
    bool no_lines, no_demangle;
    bool debuginfod; /* fetch debug files that are not here: debuginfod.h */
    struct tool_fetching fetching;
    uint32_t timeout_seconds; /* CPU and wall time of one request; default 60 */
    uint64_t memory_bytes;    /* that the helper may allocate; default 2 GiB */
};

/* NULL: memory is short. The helper starts with the first module that needs it. */
struct tool_symbols *tool_symbols_open(const struct tool_symbols_options *options);
void tool_symbols_close(struct tool_symbols *symbols);
/* Starts the helper now, while the caller is still small and has one thread: forking is cheaper
 * then. False: it cannot be started now. */
bool tool_symbols_start(struct tool_symbols *symbols);

/* What is known of a module. */
enum tool_symbols_state {
    TOOL_SYMBOLS_READY,      /* it can be asked */
    TOOL_SYMBOLS_MISSING,    /* neither the file nor a debug file of its build id is there */
    TOOL_SYMBOLS_UNREADABLE, /* what is there cannot be used: no ELF file, a folder, damaged, ... */
    TOOL_SYMBOLS_MISMATCH,   /* it is another build than the one asked for */
    TOOL_SYMBOLS_EMPTY,      /* right, but it has no symbols at all */
    TOOL_SYMBOLS_FAILED      /* the helper died or hung over it */
};

/* Opens a module, or finds it open already: by path and build id (bytes; none: any file with
 * that path will do). Never NULL; it lives until close. */
struct tool_symbols_module *tool_symbols_module_open(struct tool_symbols *symbols,
                                                     ttape_string path, ttape_string build_id);
enum tool_symbols_state tool_symbols_module_state(const struct tool_symbols_module *module);
/* Where a module's names and lines come from; its separate debug file. */
enum tool_symbols_from {
    TOOL_SYMBOLS_FROM_NOWHERE,
    TOOL_SYMBOLS_FROM_FILE,
    TOOL_SYMBOLS_FROM_DEBUG,    /* the separate file */
    TOOL_SYMBOLS_FROM_EMBEDDED, /* .gnu_debugdata, and what others link to */
    TOOL_SYMBOLS_FROM_EXPORTED, /* what others link to */
    TOOL_SYMBOLS_FROMS
};
struct tool_symbols_origin {
    enum tool_symbols_from names, lines;
    const char *debug_path; /* "": there is none; lives until close */
};
struct tool_symbols_origin tool_symbols_module_origin(const struct tool_symbols_module *module);
/* Why its debug file could not be fetched: static text, or NULL. */
const char *tool_symbols_module_not_fetched(const struct tool_symbols_module *module);
/* Once it was asked: has it at most the symbols that others link to? */
bool tool_symbols_module_is_stripped(const struct tool_symbols_module *module);
/* Head of the file (or of the debug file that stands in for it), whatever the state, for
 * tool_elf_address_in_module and its like; NULL where the right file is not there. It has the
 * build id too. */
const struct tool_elf_head *tool_symbols_module_head(const struct tool_symbols_module *module);
/* Why a module is not READY (lower case, without the path), and its path, the first time that this
 * is asked; else NULL. */
const char *tool_symbols_module_trouble(struct tool_symbols_module *module, const char **path);
/* From here on nothing is fetched: what is asked for while a recorder works must not wait. False:
 * it was over, as nobody answers. */
bool tool_symbols_end_fetching(struct tool_symbols *symbols);
/* Frees what the helper keeps of it; it is loaded again when it is asked again. */
void tool_symbols_module_release(struct tool_symbols *symbols, struct tool_symbols_module *module);

#define TOOL_SYMBOLS_COPY 1u

/* One address. `entry`: it is a function's entry, so its line is that of the function's
 * beginning. `section`: the lines that its function was written in, instead of its own. */
struct tool_symbols_query {
    uint64_t elf_address;
    bool entry, section;
    bool data; /* it may be in a variable, too */
};

/* Strings are borrowed until the next call. */
struct tool_symbol {
    ttape_string name; /* "": no symbol contains the address. Of an entry that is no symbol's, but
                        * is TOOL_SYMBOLS_COPY above where a copy of an inlined function is entered,
                        * "name [inlined]" */
    ttape_string file; /* "": no line is known */
    uint32_t line, last_line; /* last: of a section */
    bool begins;              /* the line table has a row that starts at the address */
    bool is_optimized;        /* an optimizer has had the code there; not known of entries */
    bool is_data;             /* the symbol is a variable's */
    uint64_t start;           /* ELF address where the symbol starts */
    uint64_t size_bytes;      /* of the symbol; 0: not known */
};

/* Looks up one address; false: nothing is known of it, or the module is not READY (any more). */
bool tool_symbols_find(struct tool_symbols *symbols, struct tool_symbols_module *module,
                       const struct tool_symbols_query *query, struct tool_symbol *found);

/* Looks up many, in as few round trips as possible; fastest by ascending address. Calls `take` for
 * each answer, in order, with the query's number. Returns how many were answered: all, unless the
 * module is not READY or was given up on the way. */
typedef void (*tool_symbols_take)(void *context, size_t number, const struct tool_symbol *found);
size_t tool_symbols_find_all(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             const struct tool_symbols_query *queries, size_t count,
                             tool_symbols_take take, void *context);

/* A variable of that name, as it is linked or as people read it: `start` and `size_bytes`. */
bool tool_symbols_variable(struct tool_symbols *symbols, struct tool_symbols_module *module,
                           ttape_string name, struct tool_symbol *found);

/* A copy of an inlined function's code: its range of ELF addresses, and where it is called. */
struct tool_symbols_inlined {
    uint64_t start, end;
    uint64_t entry;          /* of the copy, which may lie in another range of it */
    ttape_string name, file; /* borrowed until the next one */
    uint32_t line;
};

/* Lists those of a module that has debug information, in its order; copies of parts of a function
 * are each one of its own. False: the module is not READY (any more), or has said too much. */
typedef void (*tool_symbols_take_inlined)(void *context, const struct tool_symbols_inlined *found);
bool tool_symbols_inlined_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                               tool_symbols_take_inlined take, void *context);

/* The same of calls whose callee debug information names: `start` is where the instruction begins,
 * 0: `end` is where it ends; `entry` is the callee, 0: it is in another file; `name` the callee's
 * as it is linked; `line` is 1 for a tail call. */
bool tool_symbols_calls_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             tool_symbols_take_inlined take, void *context);

/* A call: of the function that has the address `caller` by ELF address, to the one that begins at
 * `callee`; 0: in another file, which has that name, as it is linked or as people read it. */
struct tool_symbols_between {
    uint64_t caller, callee;
    ttape_string name;
};
/* Lists the inlined functions that it was made in, outermost first, by name alone: as far as debug
 * information leaves only one answer. */
bool tool_symbols_inlined_between(struct tool_symbols *symbols, struct tool_symbols_module *module,
                                  const struct tool_symbols_between *between,
                                  tool_symbols_take_inlined take, void *context);

/* What a function is given and returns, as far as debug information tells it. */
#define TOOL_SYMBOLS_VALUES (2u * TTP_VALUES_MAX)
struct tool_symbols_values {
    uint64_t entry;           /* ELF address */
    uint32_t given, returned; /* at most TTP_VALUES_MAX each, with fields; what it returns is behind
                               * what it is given */
    struct ttp_value_place places[TOOL_SYMBOLS_VALUES];
    ttape_string texts; /* borrowed until the next one: tool_symbols_value_next */
};
/* As tool_symbols_inlined_list. */
typedef void (*tool_symbols_take_values)(void *context, const struct tool_symbols_values *found);
bool tool_symbols_values_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                              tool_symbols_take_values take, void *context);
/* What the next value is called, from the texts of a function, which get shorter; its constants are
 * to be read before the next one. False: there is none, or it makes no sense. */
struct tool_symbols_value {
    const char *name, *type; /* "": not known */
    uint32_t constant_count;
};
bool tool_symbols_value_next(ttape_string *texts, struct tool_symbols_value *value);
bool tool_symbols_constant_next(ttape_string *texts, int64_t *value, const char **name);

#endif
