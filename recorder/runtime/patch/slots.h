/* A debugger that comes later puts breakpoints, bytes of cc, where lines begin. Within a jump's
 * distance that would send the program anywhere. So jumps over such lines have a distance of which
 * these bytes are cc already: a breakpoint there changes nothing, and does not stop.
 *
 *     code:   e9 cc cc cc cc        slots: an image of the code, 0x33333334 below it
 *                  `--------------> e9 stub
 *
 * The image has jumps only, each where its window's is, so none lies over another one. What is at a
 * low place has nothing below it: there the last byte cannot be cc. Where a line begins at it, the
 * jump is one byte longer, by a prefix that does nothing (2e e9 cc cc cc xx), if there is room. */
#ifndef TTP_RUNTIME_SLOTS_H
#define TTP_RUNTIME_SLOTS_H

#include "recorder/runtime/patch/patch.h"

struct ttp_slots {
    const struct ttp_module_seen *module;
    uint64_t bias;
    uintptr_t code_start, code_end; /* in memory */
    struct ttp_slot_image images[TTP_SLOT_IMAGES];
};

/* Makes room for the slots of jumps over such lines, where there is any. What goes into it is
 * decided (decide/decide.h). */
void ttp_slots_map(struct ttp_slots *slots, uint8_t lines);
/* They can be executed from then on. Without slots nothing is to be done. */
bool ttp_slots_seal(struct ttp_slots *slots);
/* Where nothing leads to them. */
void ttp_slots_drop(struct ttp_slots *slots);

#endif
