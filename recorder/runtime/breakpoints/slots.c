/* Slots: where jumps lead to whose distance a breakpoint must not change. */
#include "recorder/runtime/breakpoints/slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/code_put.h"

#define PAGE            4096u
#define FIXED_NOREPLACE 0x100000
#define ALL_LINES       0xccccccccu
#define LOW_LINES       0x00ccccccu
#define SECOND_LINE     1u
#define LAST_LINE       8u  /* at the last byte of a jump of five */
#define PREFIX_LAST     16u /* of six, with a prefix */
#define PREFIX          0x2e
#define HIGH_TRIES      0x40u

enum { PLAIN, PREFIXED, IMAGES, NOWHERE = IMAGES };

struct slots_data {
    uint8_t debugger[TTP_DEBUGGER_BYTES] __attribute__((aligned(8)));
    uint8_t unwind_head[TTP_UNWIND_HEAD_BYTES], unwind[TTP_UNWIND_BYTES];
};
_Static_assert(sizeof(struct slots_data) <= TTP_AREA_DATA, "it has a page");

/* -- images -- */

static bool map_at(const struct ttp_slots *slots, struct ttp_slot_image *image, uint32_t jump_bytes,
                   uint32_t relative)
{
    uint64_t distance = jump_bytes + (uint64_t)(int64_t)(int32_t)relative;
    uintptr_t start = (slots->code_start + distance) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = slots->code_end + distance + TTP_PLAN_WINDOW_MIN;
    if (start > end || start < 2 * PAGE)
        return false;
    size_t bytes = ((end - start + PAGE - 1) & ~(size_t)(PAGE - 1)) + TTP_AREA_DATA;
    long memory =
        ttp_syscall(SYS_mmap, (long)(start - TTP_AREA_DATA), (long)bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | FIXED_NOREPLACE, -1, 0);
    if (ttp_failed(memory))
        return false;
    *image = (struct ttp_slot_image){.memory = (uintptr_t)memory,
                                     .bytes = bytes,
                                     .distance = distance,
                                     .keeps_all = relative == ALL_LINES,
                                     .was_tried = true};
    if ((uintptr_t)memory == start - TTP_AREA_DATA)
        return true;
    ttp_syscall(SYS_munmap, memory, (long)bytes, 0, 0, 0,
                0); /* an old kernel takes it for a hint */
    image->memory = 0;
    return false;
}

/* Below, near first; then above, where a program at a low place has room. */
static bool map(struct ttp_slots *slots, uint32_t number)
{
    struct ttp_slot_image *image = &slots->images[number];
    uint32_t jump_bytes = TTP_PLAN_WINDOW_MIN + number;
    if (image->was_tried)
        return image->memory != 0;
    image->was_tried = true;
    if (slots->code_start > UINT32_MAX && map_at(slots, image, jump_bytes, ALL_LINES))
        return true;
    for (uint32_t i = 1; i < HIGH_TRIES; i++)
        if (map_at(slots, image, jump_bytes, -i << 24 | LOW_LINES))
            return true;
    for (uint32_t i = HIGH_TRIES; i < 2 * HIGH_TRIES; i++)
        if (map_at(slots, image, jump_bytes, i << 24 | LOW_LINES))
            return true;
    return false;
}

/* -- one jump -- */

static uint32_t image_of(const struct ttp_slots *slots, const struct ttp_slot_jump *jump)
{
    bool has_last = (jump->lines & LAST_LINE) != 0 && !slots->images[PLAIN].keeps_all;
    if (!has_last)
        return slots->images[PLAIN].memory != 0 ? PLAIN : NOWHERE;
    bool can_prefix =
        (jump->lines & (PREFIX_LAST | SECOND_LINE)) == 0 && jump->room > TTP_PLAN_WINDOW_MIN;
    return can_prefix && slots->images[PREFIXED].memory != 0 ? PREFIXED : NOWHERE;
}

static bool needs_slot(const struct ttp_slot_jump *jump)
{
    return (jump->lines & (PREFIX_LAST - 1)) != 0;
}

bool ttp_slot_make(struct ttp_slots *slots, const struct ttp_slot_jump *jump, const uint8_t *stub)
{
    if (!needs_slot(jump))
        return true;
    if (!map(slots, PLAIN))
        return false;
    uint32_t image = image_of(slots, jump);
    if (image == NOWHERE && map(slots, PREFIXED))
        image = image_of(slots, jump);
    if (image == NOWHERE)
        return false;
    uint8_t *slot = (uint8_t *)(jump->at + slots->images[image].distance);
    struct ttp_code_put w = {.at = slot, .end = slot + TTP_PLAN_WINDOW_MIN};
    TTP_PUT(&w, 0xe9);
    ttp_put_distance(&w, (uintptr_t)stub, 4);
    return !w.failed;
}

void ttp_slot_jump_put(const struct ttp_slots *slots, const struct ttp_slot_jump *jump,
                       const uint8_t *stub)
{
    uint8_t *at = (uint8_t *)jump->at;
    uint32_t image = needs_slot(jump) ? image_of(slots, jump) : NOWHERE;
    if (image != NOWHERE)
        stub = at + slots->images[image].distance;
    if (image == PREFIXED)
        *at++ = PREFIX;
    ttp_jump_put(at, stub);
}

/* -- how to unwind -- */

/* What is interrupted in a slot was at its jump:  CFA = rsp;  rip = rip - distance */
static const uint8_t cie[] = {
    0x20, 0,    0,   0,    0, 0,    0,    0, 1,
    'z',  'R',  'S', 0,    1, 0x78, 0x10, 1, 0x1b, /* factors 1 and -8, rip, distances */
    0x0c, 7,    0,                                 /* DW_CFA_def_cfa rsp + 0 */
    0x16, 0x10, 12,  0x80, 0, 0x0e};               /* DW_CFA_val_expression rip: breg16; const8u */

static void fill(const struct ttp_slot_image *image, struct slots_data *data)
{
    uint8_t *at = data->unwind;
    for (uint32_t i = 0; i < sizeof(cie); i++)
        *at++ = cie[i];
    at = ttp_put_word(at, image->distance, 8);
    *at++ = 0x1c; /* minus */
    ttp_unwind_put(data->unwind_head, data->unwind, (uint32_t)(at - data->unwind),
                   image->memory + TTP_AREA_DATA, image->bytes - TTP_AREA_DATA);
}
_Static_assert(sizeof(cie) + 9 == 0x20 + 4, "as it says");
_Static_assert(sizeof(cie) + 9 + TTP_FDE_BYTES + 4 <= TTP_UNWIND_BYTES, "there is room");

static bool seal(struct ttp_slots *slots, const struct ttp_slot_image *image)
{
    struct slots_data *data = (struct slots_data *)image->memory;
    const struct ttp_area area = {.start = image->memory + TTP_AREA_DATA,
                                  .end = image->memory + image->bytes,
                                  .module_start = slots->module->start,
                                  .bias = slots->bias,
                                  .slot_distance = image->distance,
                                  .unwind_head = data->unwind_head};
    fill(image, data);
    return ttp_area_seal(&area) && ttp_area_add(&area) != NULL;
}

bool ttp_slots_seal(struct ttp_slots *slots)
{
    for (uint32_t i = 0; i < IMAGES; i++)
        if (slots->images[i].memory != 0 && !seal(slots, &slots->images[i]))
            return false;
    return true;
}

void ttp_slots_drop(struct ttp_slots *slots)
{
    for (uint32_t i = 0; i < IMAGES; i++) {
        const struct ttp_slot_image *image = &slots->images[i];
        const struct ttp_area *area =
            image->memory == 0 ? NULL : ttp_area_of(image->memory + TTP_AREA_DATA);
        if (area != NULL)
            ttp_area_drop((struct ttp_area *)area);
        if (image->memory != 0)
            ttp_syscall(SYS_munmap, (long)image->memory, (long)image->bytes, 0, 0, 0, 0);
    }
}
