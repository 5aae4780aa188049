/* Library calls with what they are given and what they return. */
#ifndef TTP_RUNTIME_LIBRARY_VALUES_H
#define TTP_RUNTIME_LIBRARY_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/runtime/library_functions.h"

/* Whether a library whose calls are recorded, as the executable's are, has that call site. */
bool ttp_library_is_by_callers(uintptr_t call_site);
/* Whether a function is called from outside of its module, and not by us; sp is where its return
 * address lies. */
bool ttp_library_is_other(uintptr_t call_site, uintptr_t sp);
/* A call with what it is given, and its end with what it returns. */
void ttp_library_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_library_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);

/* What is known of a function, by its name: of the C library's, and what a person says. */
void ttp_prototype_find(struct ttp_library_function *function);
void ttp_said_find_all(struct ttp_library_function *list, uint32_t count);

#endif
