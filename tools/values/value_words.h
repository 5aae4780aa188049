/* Values by their names and types, as all verbs print them:
 *
 *     open(pathname="x", flags=O_RDWR) = 3        paint(color=GREEN, alpha=true, key=97 'a')
 *
 * Names are the file's (F-VNM); without them those of common functions of the C library, where the
 * site is one of these and has as many values. What has no name is printed as it is. */
#ifndef TOOL_VALUE_WORDS_H
#define TOOL_VALUE_WORDS_H

#include <stdbool.h>

#include <tracetape/reader.h>

#include "tools/command/output.h"

/* What the values of one event are called. */
struct tool_value_names {
    const ttape_value_name *names; /* of the first `count` values, or NULL: then only `words` */
    uint32_t count;
    const char *words;          /* their names where those have none, parted by blanks, "" */
    bool is_branch;             /* of the call's blocks (branch.h), not what it returned */
    const ttape_reader *reader; /* whose site they are of */
    uint32_t site;
    uint32_t call_site; /* which value is where the call was made; TTAPE_NONE: none, or not known */
};

/* is_exit: of the site's exit; value_count: values that the event has. */
struct tool_value_names tool_find_value_names(const ttape_reader *reader, uint32_t site,
                                              bool is_exit, uint32_t value_count);

/* The same, of values that are there. */
struct tool_value_names tool_names_of_values(const ttape_reader *reader, uint32_t site,
                                             bool is_exit, const ttape_value *values,
                                             uint32_t count);

/* "(pathname="x", flags=O_RDWR, from main.c:12)"; of a system call as strace has it, "("x",
 * O_RDWR)" */
void tool_put_arguments(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                        const ttape_value *values, uint32_t count);
/* " = 3", further ones by name: " = 3, line="x""; of blocks " [branch 3452.../14]"; of a system
 * call " = -1 ENOENT (...)"; nothing where there are none. */
void tool_put_results(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                      const ttape_value *values, uint32_t count);
/* The texts of both, cut where they are long: half of the room is for what is returned. */
void tool_put_cut_values(struct tool_output *out, const struct tool_output *given,
                         const struct tool_output *returned);

#endif
