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

struct ttp_slot_image {
    uintptr_t memory; /* 0: there is none */
    size_t bytes;
    uint64_t distance; /* from where a jump begins to its slot */
    bool keeps_all;    /* else the distance's last byte is not cc */
    bool was_tried;
};

struct ttp_slots {
    const struct ttp_module_seen *module;
    uint64_t bias;
    uintptr_t code_start, code_end;  /* in memory */
    struct ttp_slot_image images[2]; /* of jumps without a prefix, with one */
};

/* A jump to a stub, and the lines that begin within it: bit 0 at its second byte. */
struct ttp_slot_jump {
    uintptr_t at;
    uint32_t room; /* bytes that it may have */
    uint8_t lines;
};

/* Makes the slot that a jump needs. False: there is none. */
bool ttp_slot_make(struct ttp_slots *slots, const struct ttp_slot_jump *jump, const uint8_t *stub);
/* Puts the jump, to its slot where it has one. */
void ttp_slot_jump_put(const struct ttp_slots *slots, const struct ttp_slot_jump *jump,
                       const uint8_t *stub);
/* They can be executed from then on. Without slots nothing is to be done. */
bool ttp_slots_seal(struct ttp_slots *slots);
/* Where nothing leads to them. */
void ttp_slots_drop(struct ttp_slots *slots);

#endif
