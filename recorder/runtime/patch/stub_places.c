/* Places in stubs of system calls, and the places of the program's code that they stand for. */
#include "recorder/runtime/patch/patch.h"

/* In the stub: what stood behind the call is there twice. */
static uint64_t after_at(const struct ttp_plan_site *site, bool is_plain)
{
    uint32_t test = ttp_stub_knows(site) ? TTP_STUB_TEST_KNOWN : TTP_STUB_TEST_UNKNOWN;
    return TTP_STUB_HEAD + (uint64_t)site->before_bytes + test + TTP_STUB_WAYS +
           (is_plain ? (uint64_t)site->after_bytes + TTP_STUB_JUMP + TTP_STUB_CALL : 0);
}

static const struct ttp_plan_site *site_of(const struct ttp_area *area, uint64_t pc)
{
    const struct ttp_plan_site *sites = ttp_plan_at(area->plan, area->plan->sites_at);
    return &sites[(pc - area->start) / TTP_STUB_BYTES];
}

uint64_t ttp_stub_origin(const struct ttp_area *area, uint64_t pc)
{
    const struct ttp_plan_site *site = site_of(area, pc);
    uint64_t in = pc % TTP_STUB_BYTES, call = area->bias + site->address;
    if (in - TTP_STUB_HEAD < site->before_bytes)
        return area->bias + site->window + in - TTP_STUB_HEAD;
    for (uint32_t i = 0; i < 2; i++)
        if (in - after_at(site, i == 1) < site->after_bytes)
            return call + TTP_STUB_CALL + in - after_at(site, i == 1);
    return call;
}

uint64_t ttp_stub_place(const struct ttp_area *area, uint64_t in_stub, uint64_t pc)
{
    const struct ttp_plan_site *site = site_of(area, in_stub);
    uint64_t stub = in_stub & ~(uint64_t)(TTP_STUB_BYTES - 1), call = area->bias + site->address;
    uint64_t start = area->bias + site->window;
    if (pc <= start || pc >= start + site->window_bytes)
        return pc;
    return stub + (pc <= call ? TTP_STUB_HEAD + pc - start
                              : after_at(site, true) + pc - (call + TTP_STUB_CALL));
}

/* Whether the window leads to its stub. */
static bool is_jump_to(uint64_t window, uint64_t target)
{
    const uint8_t *bytes = (const uint8_t *)window;
    int32_t distance;
    __builtin_memcpy(&distance, bytes + 1, sizeof distance);
    return bytes[0] == 0xe9 && window + 5 + (uint64_t)(int64_t)distance == target;
}

uint64_t ttp_stub_place_any(const struct ttp_area *area, uint64_t pc)
{
    const struct ttp_plan_site *sites = ttp_plan_at(area->plan, area->plan->sites_at);
    for (uint64_t i = 0; i < (area->end - area->start) / TTP_STUB_BYTES; i++) {
        uint64_t window = area->bias + sites[i].window, stub = area->start + i * TTP_STUB_BYTES;
        if (pc > window && pc - window < sites[i].window_bytes &&
            is_jump_to(window, stub + TTP_STUB_HEAD))
            return ttp_stub_place(area, stub, pc);
    }
    return pc;
}
