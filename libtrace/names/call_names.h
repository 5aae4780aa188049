/* Names of system calls, for sites whose message has their number only. */
#ifndef TTP_NAMES_CALL_NAMES_H
#define TTP_NAMES_CALL_NAMES_H

#include <stdint.h>

#define TTP_CALL_NAME_BYTES 32u

/* The name is the kernel headers'; one that is newer is syscall_N. */
void ttp_call_name(uint32_t number, char name[TTP_CALL_NAME_BYTES]);

#endif
