/* Names of the sites that are recorded, while they are: from the symbol helper, many in one round
 * trip where the recorder knows what comes, as a trip costs more than a name. */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <tracetape/types.h>

#include "program/symbols/symbols.h"
#include "tools/record/modules/record_copies.h"

#define TOOL_RECORD_TARGET_BYTES 1024u /* of what a pointer points to, as it is named */

struct tool_expected; /* a name that was looked up before it was asked for */

struct tool_record_names {
    struct tool_symbols *symbols;      /* NULL: sites stay without names */
    struct tool_record_copies *copies; /* names of what was chosen; NULL: none */
    struct tool_expected *expected;
    size_t expected_count, expected_capacity;
    size_t next;             /* the first that was not asked for yet */
    bool has_warned;         /* that a module's names could not be looked up */
    bool asks_servers;       /* debug files are fetched */
    char *stripped;          /* the first module that has no names for what was recorded, or NULL */
    const char *not_fetched; /* why its debug file is not here, where it was to be fetched */
    uint64_t stripped_offset; /* of a function of it */
    char target[TOOL_RECORD_TARGET_BYTES];
};

/* For ttape_site_rules: `name` and `expect`. */
void tool_record_name(struct tool_record_names *names, ttape_site *site,
                      const ttape_module *module);
/* The address of a site in its module's file; false: it is not known. */
bool tool_record_elf_address(struct tool_record_names *names, const ttape_site *site,
                             const ttape_module *module, uint64_t *elf_address);
/* How large a function is; 0: it is not known. */
uint64_t tool_record_size(struct tool_record_names *names, const ttape_site *site,
                          const ttape_module *module);
void tool_record_expect(struct tool_record_names *names, const ttape_module *module,
                        const uint64_t *addresses, size_t count);
/* Fetches the debug file of a command that is about to start, where that was asked for, and those
 * of the libraries that it starts with and that are wanted: nothing is fetched later, as the
 * program would have to wait. False: nobody answers. */
typedef bool (*tool_record_wants)(const void *context, const char *path);
bool tool_record_names_ahead(struct tool_record_names *names, const char *command,
                             tool_record_wants wants, const void *context);
/* One line on names that are missing, and how to get them. */
void tool_record_names_say(const struct tool_record_names *names);
void tool_record_names_close(struct tool_record_names *names);

#endif
