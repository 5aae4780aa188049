/* Places in stubs of functions, and the places of the program's code that they stand for. */
#include "recorder/runtime/patch/probe.h"

void ttp_probe_origin(const struct ttp_area *area, uint64_t *pc, uint64_t *sp)
{
    if (area->slot_distance != 0) {
        *pc -= area->slot_distance;
        return;
    }
    const struct ttp_probe_data *data =
        (const struct ttp_probe_data *)(area->start - TTP_AREA_DATA);
    uint64_t in = *pc & (TTP_PROBE_BYTES - 1);
    const struct ttp_probe_stub *stub = (const struct ttp_probe_stub *)(*pc - in);
    uint64_t at = in - stub->hook_at + TTP_PROBE_MIDDLE;
    uint64_t of_window = in - data->added[at];
    *pc = stub->window + (of_window <= stub->last ? of_window : stub->last);
    *sp += data->lower[at] + (in >= stub->lower_at ? TTP_PUSHED_BYTES : 0);
}

uint64_t ttp_probe_rdi(const struct ttp_area *area, uint64_t pc, uint64_t sp, uint64_t rdi)
{
    if (area->slot_distance != 0)
        return rdi;
    const struct ttp_probe_data *data =
        (const struct ttp_probe_data *)(area->start - TTP_AREA_DATA);
    uint64_t in = pc & (TTP_PROBE_BYTES - 1);
    const struct ttp_probe_stub *stub = (const struct ttp_probe_stub *)(pc - in);
    bool is_pushed = data->lower[in - stub->hook_at + TTP_PROBE_MIDDLE] == TTP_RED_ZONE + 8;
    return is_pushed ? *(const uint64_t *)sp : rdi;
}

/* Moved instructions stand behind an entry's hook, byte for byte, and in front of an exit's, but
 * for the exit itself, which comes with its hook. */
uint64_t ttp_probe_place(uint64_t in_stub, uint64_t pc)
{
    const struct ttp_probe_stub *stub =
        (const struct ttp_probe_stub *)(in_stub & ~(uint64_t)(TTP_PROBE_BYTES - 1));
    uint64_t from = pc - (stub->window + TTP_PROBE_HEAD);
    bool is_entry = stub->hook_at == TTP_PROBE_HEAD, pushes = stub->lower_at != TTP_PROBE_BYTES;
    uint64_t last = stub->last - TTP_PROBE_HEAD;
    bool goes_on = from == last && (is_entry ? !pushes : stub->hook_at != stub->last);
    if (from == 0 || from > last || goes_on)
        return pc;
    return (uintptr_t)stub + TTP_PROBE_HEAD + from + (is_entry ? TTP_PROBE_HOOK : 0);
}

uint64_t ttp_probe_place_any(const struct ttp_area *area, uint64_t pc)
{
    const struct ttp_probe_data *data =
        (const struct ttp_probe_data *)(area->start - TTP_AREA_DATA);
    if (pc - data->module_start >= data->module_bytes)
        return pc;
    for (uintptr_t at = area->start; at < area->end; at += TTP_PROBE_BYTES) {
        const struct ttp_probe_stub *stub = (const struct ttp_probe_stub *)at;
        uint64_t place = stub->is_used ? ttp_probe_place(at, pc) : pc;
        if (place != pc)
            return place;
    }
    return pc;
}
