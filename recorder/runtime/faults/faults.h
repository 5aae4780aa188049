/* Handlers of faults, which look at where the program was: at a stub they would find nothing, as
 * no table of the program's and no symbol has it. What faults in moved code is shown to them at
 * the program's own place, and goes on in the stub.
 *
 *     kernel --> front of the handler --jump--> handler --> restorer (the C library's)
 *                   if a stub was interrupted:              ours instead
 *                   registers are those of its window       and what is left of it is undone
 *
 * The front leaves no frame of its own. The program is told of its own handlers only. */
#ifndef TTP_RUNTIME_FAULTS_H
#define TTP_RUNTIME_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether handlers of this signal are given a front. */
bool ttp_fault_is_shown(int number);
/* What the kernel is to call for a handler: its front; itself, where there is no room for one. */
uintptr_t ttp_fault_front(uintptr_t handler);
/* The handler that it is the front of; itself, where it is none. */
uintptr_t ttp_fault_handler(uintptr_t front);
/* Whether a handler returns there whose fault was shown elsewhere. */
bool ttp_is_fault_return(uintptr_t call_site);

#endif
