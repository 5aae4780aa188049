/* What the C library's manual pages call the parameters of its common functions. */
#ifndef TOOL_PARAMETER_NAMES_H
#define TOOL_PARAMETER_NAMES_H

#include <tracetape/reader.h>

/* Names of parameters that are recorded (recorder/arena/prototypes.h), parted by blanks, and behind
 * a slash the letter of those that have words; NULL: not one of these functions. */
const char *tool_parameter_names(ttape_string function);
/* The same of a site that is a function of a library, where it names as many values. A program may
 * have functions of its own that are called so: those are none. */
const char *tool_library_parameters(const ttape_reader *reader, const ttape_site *site,
                                    uint32_t value_count);
/* Takes the first of such names; "": there is none left. */
ttape_string tool_next_parameter(const char **names);
/* Where a name stands among such names; TTAPE_NONE: it does not. */
uint32_t tool_parameter_number(const char *names, ttape_string name);
/* The letter of the first of such names; 0: it has none. */
char tool_parameter_letter(const char *names);

#endif
