/* Library calls that no window can see: of memcpy and the like, whose variants jump into one
 * another, and of what the kernel has (time). They are led through a front of ours. */
#ifndef TTP_RUNTIME_LED_CALLS_H
#define TTP_RUNTIME_LED_CALLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A function of the C library's of this name takes registers only, calls nothing of the program,
 * and does not look who called it. */
bool ttp_plain_is(const char *name);
/* While there is one thread. A module jumps to this one, which it has under that name, through a
 * word of its table, at `slot`. */
void ttp_plain_add(const char *name, uintptr_t function, uint64_t *slot,
                   const struct dl_phdr_info *info);
/* Whether such words are known of what lies there. */
bool ttp_plain_has(uintptr_t function);
/* It has a window. */
void ttp_plain_is_seen(uintptr_t function);
/* Leads the others through fronts, and tells their names. */
void ttp_plain_begin(void);

#endif
