/* Library calls with what they are given and what they return. */
#ifndef TTP_RUNTIME_LIBRARY_VALUES_H
#define TTP_RUNTIME_LIBRARY_VALUES_H

#include <stdint.h>

/* A call with what it is given, and its end with what it returns. */
void ttp_library_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);
void ttp_library_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp);

#endif
