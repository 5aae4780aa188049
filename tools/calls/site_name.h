/* Names of functions for people: escaped, made once for each site, told apart where several share
 * one. */
#ifndef TOOL_SITE_NAME_H
#define TOOL_SITE_NAME_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include <tracetape/names.h>
#include <tracetape/reader.h>

#include "tools/command/options.h"

/* --names. Not said: simple for people, full for programs. */
enum tool_name_style {
    TOOL_NAMES_USUAL,
    TOOL_NAMES_SIMPLE, /* app::fill; more only where two functions would be called the same */
    TOOL_NAMES_FULL,   /* with types and parameters */
    TOOL_NAMES_MANGLED /* as the trace has them */
};

bool tool_parse_names(const char *text, void *into); /* enum tool_name_style */
#define TOOL_NAMES_OPTION                                                                          \
    {                                                                                              \
        "names", 0, "HOW", "of C++ and Rust: simple, full (with types), mangled (as stored)",      \
            tool_parse_names, TOOL_AT(names)                                                       \
    }
/* What is meant where nothing was said. */
static inline enum tool_name_style tool_name_style(enum tool_name_style said, bool for_programs)
{
    return said != TOOL_NAMES_USUAL ? said : for_programs ? TOOL_NAMES_FULL : TOOL_NAMES_SIMPLE;
}

struct tool_site_names {
    const ttape_reader *reader;
    enum tool_name_style style;
    char **names;           /* by site, escaped; NULL: not asked for yet */
    ttape_names *made;      /* of this reader and, where there are several, of others */
    uint32_t number;        /* of the reader in it */
    const ttape_name *rows; /* by site */
    uint32_t site_count;
    bool is_shortened; /* some are shown shorter than they are */
    bool is_owner;     /* of what was made */
};

void tool_site_names_open_as(struct tool_site_names *names, const ttape_reader *reader,
                             enum tool_name_style style);
/* Of several traces: their functions are told apart from each other, too. */
void tool_site_names_open_all(struct tool_site_names *const *names,
                              const ttape_reader *const *readers, size_t count,
                              enum tool_name_style style);
void tool_site_names_close(struct tool_site_names *names);

/* The name; "module+0x12", or "0x..." where no module is known, where there is none; "?" for no
 * site at all. */
const char *tool_site_name(struct tool_site_names *names, uint32_t site);
/* The name, not escaped; where there is none an empty one. Lives as long as `names`. */
ttape_string tool_site_text(const struct tool_site_names *names, uint32_t site);
/* The same; where there is none what tool_site_name has, in `buffer` (TOOL_LABEL_BYTES): for
 * programs. */
#define TOOL_LABEL_BYTES 128u /* what ttape_site_name writes of a site without a symbol */
ttape_string tool_site_word(const struct tool_site_names *names, uint32_t site, char *buffer);
/* With types and parameters; as the trace has it where that is no mangled name. */
ttape_string tool_site_full(const struct tool_site_names *names, uint32_t site);
/* Is it called so, as it is shown, in short, in full, or as the trace has it? */
bool tool_site_is_called(const struct tool_site_names *names, uint32_t site, ttape_string name);
/* Does the name match as it is shown, in full, or as the trace has it? */
bool tool_site_matches(struct tool_site_names *names, uint32_t site, const regex_t *regex);
/* Where a site is, escaped, in `buffer` (TOOL_PLACE_BYTES): " (file.c:12)" or " (module+0x12)" with
 * the last parts of paths; "" where that is not known. */
#define TOOL_PLACE_BYTES 640u
const char *tool_site_where(const ttape_reader *reader, const ttape_site *site, char *buffer);
/* The same by number. */
const char *tool_site_place(const ttape_reader *reader, uint32_t site, char *buffer);

/* ---- find_function.c: one function, by its name ---- */

/* Does what ttape_names_find does. */
uint32_t tool_find_sites(const struct tool_site_names *names, const char *name, uint32_t *sites,
                         uint32_t capacity);
/* The same by site, for the caller to free; NULL: none is called so. */
bool *tool_sites_called(const struct tool_site_names *names, const char *name);
/* The module with the most functions without a name, as of a stripped file: one line, or none. */
void tool_say_nameless(const ttape_reader *reader);
/* Both return TOOL_CANNOT, and say where names are missing: the trace has no such function, and
 * which it has that are called nearly so; nothing matches this expression. */
int tool_no_function(struct tool_site_names *names, const char *trace, const char *name);
int tool_no_match(const ttape_reader *reader, const char *expression);

#endif
