/* Names of the sites that are recorded, while they are: from the symbol helper, many in one round
 * trip where the recorder knows what comes, as a trip costs more than a name. */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <tracetape/types.h>

#include "tools/symbols/symbols.h"

struct tool_expected; /* a name that was looked up before it was asked for */

struct tool_record_names {
    struct tool_symbols *symbols; /* NULL: sites stay without names */
    struct tool_expected *expected;
    size_t expected_count, expected_capacity;
    size_t next;     /* the first that was not asked for yet */
    bool has_warned; /* that a module's names could not be looked up */
};

/* For ttape_site_rules: `name` and `expect`. */
void tool_record_name(struct tool_record_names *names, ttape_site *site,
                      const ttape_module *module);
void tool_record_expect(struct tool_record_names *names, const ttape_module *module,
                        const uint64_t *addresses, size_t count);
void tool_record_names_close(struct tool_record_names *names);

#endif
