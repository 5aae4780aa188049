/* What a library's functions are given and return, by their names in the C library's manual. */
#ifndef TTP_RUNTIME_PROTOTYPES_H
#define TTP_RUNTIME_PROTOTYPES_H

#include <stdint.h>

/* A function of a library that the executable calls, once it is patched. */
struct ttp_library_function {
    uint64_t address;
    const char *name;    /* in the memory of who calls it */
    const char *letters; /* prototypes.c; NULL: not known */
    uint32_t place;      /* among what was looked for */
};

/* By address; count 0: arguments are not recorded. Written while there is one thread. */
struct ttp_library_functions {
    const struct ttp_library_function *list;
    uint32_t count;
};

/* What it returns, then what it is given; NULL: not known. */
const char *ttp_prototype_of(const char *name);

#endif
