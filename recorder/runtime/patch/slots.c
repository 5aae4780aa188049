/* Slots: where jumps lead to whose distance a breakpoint must not change. */
#include "recorder/runtime/patch/slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE            4096u
#define FIXED_NOREPLACE 0x100000
#define ALL_LINES       0xccccccccu
#define LOW_LINES       0x00ccccccu
#define HIGH_TRIES      0x40u

enum { PLAIN, PREFIXED };

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

void ttp_slots_map(struct ttp_slots *slots, uint8_t lines)
{
    if (ttp_lines_need_slot(lines) && map(slots, PLAIN) && ttp_lines_need_prefix(lines) &&
        !slots->images[PLAIN].keeps_all)
        (void)map(slots, PREFIXED);
}

/* -- how to unwind -- */

/* What is interrupted in a slot was at its jump:  CFA = rsp;  rip = rip - distance */
static const uint8_t cie[] = {
    0x20, 0,    0,   0,    0, 0,    0,    0, 1,
    'z',  'R',  'S', 0,    1, 0x78, 0x10, 1, 0x1b, /* factors 1 and -8, rip, distances */
    0x0c, 7,    0,                                 /* DW_CFA_def_cfa rsp + 0 */
    0x16, 0x10, 12,  0x80, 0, 0x0e};               /* DW_CFA_val_expression rip: breg16; const8u */

static void fill_image(const struct ttp_slot_image *image, struct slots_data *data)
{
    uint8_t *at = data->unwind;
    for (uint32_t i = 0; i < sizeof(cie); i++)
        *at++ = cie[i];
    at = ttp_put_word(at, image->distance, 8);
    *at++ = 0x1c; /* minus */
    ttp_unwind_put(data->unwind_head, data->unwind, (uint32_t)(at - data->unwind), 0,
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
    fill_image(image, data);
    return ttp_area_seal(&area) && ttp_area_add(&area) != NULL;
}

bool ttp_slots_seal(struct ttp_slots *slots)
{
    for (uint32_t i = 0; i < TTP_SLOT_IMAGES; i++)
        if (slots->images[i].memory != 0 && !seal(slots, &slots->images[i]))
            return false;
    return true;
}

void ttp_slots_drop(struct ttp_slots *slots)
{
    for (uint32_t i = 0; i < TTP_SLOT_IMAGES; i++) {
        const struct ttp_slot_image *image = &slots->images[i];
        const struct ttp_area *area =
            image->memory == 0 ? NULL : ttp_area_of(image->memory + TTP_AREA_DATA);
        if (area != NULL)
            ttp_area_drop((struct ttp_area *)area);
        if (image->memory != 0)
            ttp_syscall(SYS_munmap, (long)image->memory, (long)image->bytes, 0, 0, 0, 0);
    }
}
