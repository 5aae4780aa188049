/* Jumps over bytes where lines begin, and their slots (breakpoints/slots.h draws them). */
#include "recorder/runtime/decide/decide.h"

#define SECOND_LINE 1u
#define LAST_LINE   8u  /* at the last byte of a jump of five */
#define PREFIX_LAST 16u /* of six, with a prefix */
#define PREFIX      0x2e

enum { PLAIN, PREFIXED, NOWHERE };

bool ttp_lines_need_slot(uint8_t lines) { return (lines & (PREFIX_LAST - 1)) != 0; }

bool ttp_lines_need_prefix(uint8_t lines) { return (lines & LAST_LINE) != 0; }

static uint32_t image_of(const struct ttp_slot_image *images, const struct ttp_slot_jump *jump)
{
    bool has_last = ttp_lines_need_prefix(jump->lines) && !images[PLAIN].keeps_all;
    if (!has_last)
        return images[PLAIN].memory != 0 ? PLAIN : NOWHERE;
    bool can_prefix =
        (jump->lines & (PREFIX_LAST | SECOND_LINE)) == 0 && jump->room > TTP_PLAN_WINDOW_MIN;
    return can_prefix && images[PREFIXED].memory != 0 ? PREFIXED : NOWHERE;
}

bool ttp_slot_make(const struct ttp_slot_image *images, const struct ttp_slot_jump *jump,
                   uint64_t stub)
{
    if (!ttp_lines_need_slot(jump->lines))
        return true;
    uint32_t number = image_of(images, jump);
    if (number == NOWHERE)
        return false;
    const struct ttp_slot_image *image = &images[number];
    uint8_t *slot = (uint8_t *)(uintptr_t)(jump->at + image->distance - image->shift);
    struct ttp_code_put w = {.at = slot, .end = slot + TTP_PLAN_WINDOW_MIN, .shift = image->shift};
    TTP_PUT(&w, 0xe9);
    ttp_put_distance(&w, stub, 4);
    return !w.failed;
}

uint64_t ttp_slot_jump_bytes(const struct ttp_slot_image *images, const struct ttp_slot_jump *jump,
                             uint64_t stub, uint32_t *count)
{
    uint32_t number = ttp_lines_need_slot(jump->lines) ? image_of(images, jump) : NOWHERE;
    uint64_t target = number == NOWHERE ? stub : jump->at + images[number].distance;
    bool is_prefixed = number == PREFIXED;
    uint64_t bytes = ttp_jump_bytes(jump->at + is_prefixed, target);
    *count = TTP_PLAN_WINDOW_MIN + is_prefixed;
    return is_prefixed ? PREFIX | bytes << 8 : bytes;
}
