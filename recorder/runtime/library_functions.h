/* What a library's functions are given and return, by their names in the C library's manual. */
#ifndef TTP_RUNTIME_LIBRARY_FUNCTIONS_H
#define TTP_RUNTIME_LIBRARY_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct ttp_said_function; /* recorder/arena/said_values.h */

/* A function of a library that the executable calls, once it is patched. */
struct ttp_library_function {
    uint64_t address;
    const char *name;                     /* in the memory of who calls it */
    const char *also;                     /* another one of its names; or NULL */
    const char *letters;                  /* recorder/arena/prototypes.h; NULL: not known */
    const struct ttp_said_function *said; /* by a person; or NULL */
    uint32_t place;                       /* among what was looked for */
    bool is_given_wanted, is_returned_wanted;
    bool is_fronted; /* it is recorded elsewhere, and named here */
};

/* By address; count 0: arguments are not recorded. Written while there is one thread. */
struct ttp_library_functions {
    const struct ttp_library_function *list;
    uint32_t count;
};

#endif
