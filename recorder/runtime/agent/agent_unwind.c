/* How to unwind from code of ours. The C library's _dl_find_object, which unwinders ask whose code
 * something is, has a stub that asks here first; what is not ours goes on to it.
 *
 *     agent: by its own table, as the linker made it
 *     stub:  by the table in the data in front of the stubs (decide/probe_stubs.c, call_stubs.c)
 *
 * Nothing but the segment is read, so that any handler may unwind, and any thread. */
#include "recorder/runtime/agent/agent.h"
#include "recorder/runtime/decide/stub_layout.h"

#define TABLE_KIND 0x3b031b01u /* the first bytes of a table of stubs: ttp_unwind_put */

/* As the C library has it. */
struct found_object {
    uint64_t flags, map_start, map_end, link_map, table, reserved[7];
};

extern const uint8_t ttp_agent_head[], ttp_agent_code_end[], ttp_agent_rows[];
bool ttp_agent_answer(uintptr_t function, uintptr_t call_site, uintptr_t sp);

static bool is_within(uint64_t code, uint64_t at, uint64_t bytes) { return code - at < bytes; }

/* What lies in front of the stub; NULL: it is none. */
static const struct ttp_probe_data *data_of(const struct ttp_agent_area *area, uint64_t code)
{
    const struct ttp_probe_stub *stub =
        (const struct ttp_probe_stub *)(code & ~(uint64_t)(TTP_PROBE_BYTES - 1));
    uint64_t at = (uint64_t)stub - stub->data_below;
    const struct ttp_probe_data *data = (const struct ttp_probe_data *)at;
    uint32_t kind;
    if (!stub->is_used || at % TTP_AREA_DATA != 0 || !is_within(at, area->at, area->bytes) ||
        (uint64_t)stub - at < TTP_AREA_DATA)
        return NULL;
    __builtin_memcpy(&kind, data->unwind_head, sizeof kind);
    return kind == TABLE_KIND ? data : NULL;
}

/* Threads wait in stubs of system calls, which have a table, too; NULL: it is no such stub. */
static const uint8_t *find_of_call(uint64_t code)
{
    const struct ttp_agent_module *modules = ttp_agent_shared.modules;
    for (uint32_t i = 0; i < TTP_AGENT_MODULES && modules[i].high != 0; i++)
        if (is_within(code, modules[i].calls, modules[i].calls_bytes))
            return ((const struct ttp_area_data *)modules[i].calls)->unwind_head;
    return NULL;
}

static const uint8_t *find_table(uint64_t code)
{
    const struct ttp_agent_area *areas = ttp_agent_shared.areas;
    const uint8_t *of_call = find_of_call(code);
    if (of_call != NULL)
        return of_call;
    if (is_within(code, (uint64_t)ttp_agent_head, (uint64_t)(ttp_agent_code_end - ttp_agent_head)))
        return ttp_agent_rows;
    for (uint32_t i = 0; i < TTP_AGENT_AREAS; i++)
        if (is_within(code, areas[i].at, areas[i].bytes)) {
            const struct ttp_probe_data *data = data_of(&areas[i], code);
            return data == NULL ? NULL : data->unwind_head;
        }
    return NULL;
}

/* Whether it was answered. */
bool ttp_agent_answer(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const uint64_t *saved = (const uint64_t *)sp;
    uint64_t code = *(saved - TTP_SAVED_RDI);
    const uint8_t *table = find_table(code);
    (void)function;
    (void)call_site;
    if (table == NULL)
        return false;
    struct found_object *found = (struct found_object *)*(saved - TTP_SAVED_RSI);
    *found = (struct found_object){.map_start = code & ~(uint64_t)(TTP_PROBE_BYTES - 1),
                                   .map_end = (code | (TTP_PROBE_BYTES - 1)) + 1,
                                   .table = (uint64_t)table};
    return true;
}
