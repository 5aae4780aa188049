/* What the C library's manual pages call the parameters of its common functions. */
#ifndef TOOL_PARAMETER_NAMES_H
#define TOOL_PARAMETER_NAMES_H

#include <tracetape/types.h>

/* Names of parameters that are recorded (recorder/arena/prototypes.h), parted by blanks, and behind
 * a slash the letter of those that have words; NULL: not one of these functions. */
const char *tool_parameter_names(ttape_string function);
/* Where a name stands among such names; TTAPE_NONE: it does not. */
uint32_t tool_parameter_number(const char *names, ttape_string name);
/* The letter of the first of such names; 0: it has none. */
char tool_parameter_letter(const char *names);

#endif
