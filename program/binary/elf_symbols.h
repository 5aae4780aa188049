/* Symbols and lines of one ELF file, with whatever separate debug file belongs to it: the inside
 * of the symbol helper.
 *
 *   elf_files.c      finds and opens files; separate ones must match
 *   elf_tables.c     symbol tables -> one sorted table
 *   elf_lines.c      DWARF line tables
 *   elf_functions.c  functions of DWARF, with copies of inlined ones
 *   elf_plt.c        linker stubs, by what they jump to; the main of a stripped program
 *   elf_module.c     all of it for one module
 *
 * These files are the door to elfutils. They run on bytes that may be forged, in code that
 * is not ours: only ever in the helper process (symbols_helper.c), whose death costs names and
 * nothing else. */
#ifndef TOOL_ELF_SYMBOLS_H
#define TOOL_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/elf/elf_head.h"

struct Elf;
struct Dwarf_Lines_s;

#define TOOL_ELF_PATH_MAX 4096u

/* Where files are looked for; borrowed. */
struct tool_elf_where {
    const char *root; /* the folder that the module's paths start from; NULL: / */
    const char *const *debug_folders;
    size_t debug_folder_count;
    const char *fetched; /* the folder that clients of debuginfod fetch into; NULL: none */
};

/* An open file; a zeroed one is none. */
struct tool_elf_file {
    struct Elf *elf; /* NULL: none */
    char *path;
    const char *root; /* that path is in; NULL: / */
    struct tool_elf_head head;
    uint64_t device, inode;
};

/* Returns NULL, or why not (static text). */
const char *tool_elf_file_open(struct tool_elf_file *file, const char *root, const char *path);
void tool_elf_file_close(struct tool_elf_file *file);

/* The separate file with debug information: by build id, then by the main file's debug link with
 * its checksum. Its build id is `build_id` in any case where that has bytes. `main_file` may be
 * none. What clients of debuginfod have fetched comes last. */
bool tool_elf_find_debug(const struct tool_elf_where *where, const struct tool_elf_file *main_file,
                         const uint8_t *build_id, size_t build_id_bytes,
                         struct tool_elf_file *debug);

/* The file that debug files share what they have in common with (dwz); its build id must match. */
bool tool_elf_find_shared(const struct tool_elf_where *where, const struct tool_elf_file *debug,
                          const char *name, const uint8_t *build_id, size_t build_id_bytes,
                          struct tool_elf_file *shared);

/* The small symbol table that is compressed into the file (.gnu_debugdata). */
bool tool_elf_find_embedded(const struct tool_elf_file *file, struct tool_elf_file *embedded);

/* One function symbol. Names live in the file. */
struct tool_elf_symbol {
    uint64_t start, size_bytes;
    const char *name;
    uint32_t rank;   /* among symbols of one address: the least is taken */
    char suffix[11]; /* "@plt", " [inlined]", or "" */
};

struct tool_elf_table {
    struct tool_elf_symbol *symbols; /* sorted once settled */
    uint64_t *ends;                  /* the greatest end of symbols [0, i] */
    size_t count, capacity;
    bool of_data; /* variables, not functions */
};

/* Adds the table's kind of symbols of .symtab (dynamic: .dynsym), moved by `move`. False: no such
 * table. */
bool tool_elf_table_add(struct tool_elf_table *table, const struct tool_elf_file *file,
                        bool dynamic, uint64_t move);
/* Adds one symbol as it is. */
void tool_elf_table_put(struct tool_elf_table *table, const struct tool_elf_symbol *symbol);
/* Adds the stubs of the procedure linkage table (x86-64). */
void tool_elf_table_add_stubs(struct tool_elf_table *table, const struct tool_elf_file *file);
/* Adds main, as the program's first code names it (x86-64, glibc). */
void tool_elf_table_add_main(struct tool_elf_table *table, const struct tool_elf_file *file);
void tool_elf_table_settle(struct tool_elf_table *table);
const struct tool_elf_symbol *tool_elf_table_find(const struct tool_elf_table *table,
                                                  uint64_t address);
void tool_elf_table_close(struct tool_elf_table *table);

/* The build id of the file that a debug file shares things with and that is not there. */
struct tool_elf_missing {
    uint32_t build_id_bytes; /* 0: nothing is missing */
    uint8_t build_id[TOOL_BUILD_ID_BYTES_MAX];
};

/* Line tables of a file; NULL where it has none. */
struct tool_elf_lines;
struct tool_elf_lines *tool_elf_lines_open(const struct tool_elf_where *where,
                                           const struct tool_elf_file *file,
                                           struct tool_elf_missing *missing);
/* The source line of an address: of a function's entry the first one that the compiler gives,
 * otherwise the last; whether it begins there. `*file` lives until the next call. */
bool tool_elf_lines_find(struct tool_elf_lines *lines, uint64_t address, bool entry,
                         const char **file, uint32_t *line, bool *begins);
/* Whether an optimizer has had the code there, which joins lines and moves them: not with -O0, -Og.
 */
bool tool_elf_lines_optimized(struct tool_elf_lines *lines, uint64_t address);
void tool_elf_lines_close(struct tool_elf_lines *lines);
struct Dwarf *tool_elf_lines_dwarf(struct tool_elf_lines *lines);
/* The rows of the unit that has the address. They live until the next call of any of these. */
bool tool_elf_lines_rows(struct tool_elf_lines *lines, uint64_t address,
                         struct Dwarf_Lines_s **rows, size_t *count);
/* The unit that has the address, by its place in the debug information. */
bool tool_elf_lines_unit(struct tool_elf_lines *lines, uint64_t address, uint64_t *offset);

/* A copy of an inlined function's code: a range of addresses as the line tables have them. The line
 * is that of the call. */
struct tool_elf_inlined {
    uint64_t start, end;
    uint64_t entry;          /* of the copy, which may lie in another range of it */
    const char *name, *file; /* as linked; file: NULL: not known */
    uint32_t line;
};
/* Lists all of a file; `take` returns false to end it. */
typedef bool (*tool_elf_take_inlined)(void *context, const struct tool_elf_inlined *inlined);
void tool_elf_inlined_list(struct tool_elf_lines *lines, tool_elf_take_inlined take, void *context);

/* Functions by their code. Closed before the lines. */
struct tool_elf_functions;
struct tool_elf_functions *tool_elf_functions_open(struct tool_elf_lines *lines);
void tool_elf_functions_close(struct tool_elf_functions *functions);
/* The outermost copy that is entered at an address. False: there is none. */
bool tool_elf_inlined_at(struct tool_elf_functions *functions, uint64_t address,
                         struct tool_elf_inlined *inlined);
/* The lines that a function was written in. `file` lives until close. */
struct tool_elf_section {
    const char *file;
    uint32_t first, last;
};
/* Of the function whose code has the address, or of the outermost copy that is entered there.
 * False: it is not known. */
bool tool_elf_section_at(struct tool_elf_functions *functions, uint64_t address, bool is_copy,
                         struct tool_elf_section *section);

/* Everything about one module. */
struct tool_elf_module {
    struct tool_elf_file main_file, debug, embedded;
    const struct tool_elf_head *head;  /* of the file that addresses are meant for */
    struct tool_elf_table table, data; /* data: tool_elf_module_data */
    struct tool_elf_lines *lines;
    struct tool_elf_functions *functions; /* NULL: without lines */
    uint64_t lines_move;                  /* ELF address minus this: address in the line tables */
    bool is_stripped;                     /* it has at most the symbols that others link to */
    bool are_names_of_debug, are_lines_of_debug;
    struct tool_elf_missing missing;
};

/* Opens a module whose build id is known to be build_id (none: any file will do). Returns NULL,
 * or why it has no symbols (static text). Close it in any case. */
const char *tool_elf_module_open(struct tool_elf_module *module, const struct tool_elf_where *where,
                                 const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                 bool with_lines);
/* Its variables, looked for when that is first asked. */
const struct tool_elf_table *tool_elf_module_data(struct tool_elf_module *module);
void tool_elf_module_close(struct tool_elf_module *module);

#endif
