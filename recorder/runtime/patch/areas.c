/* Areas of stubs: which there are, and memory for them near a module. They are added and taken away
 * by whoever has the loader's lock, or the only thread there is; read at any time, by any thread. A
 * thread that is in a stub finds it: an area goes with its module, in which nobody is any more. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/probe.h"

#define PAGE            4096u
#define REACH           0x70000000ull /* of a jump, with room for sizes */
#define HINT_STEP       0x1000000ull
#define HINTS           96u
#define FIXED_NOREPLACE 0x100000

/* turn: odd while the area changes. */
static struct slot {
    uint32_t turn;
    struct ttp_area area; /* start == end: there is none */
} slots[TTP_AREAS];
static uint32_t slot_count;

static void put_area(struct slot *slot, const struct ttp_area *area)
{
    __atomic_store_n(&slot->turn, slot->turn + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    slot->area = *area;
    __atomic_store_n(&slot->turn, slot->turn + 1, __ATOMIC_RELEASE);
}

struct ttp_area *ttp_area_add(const struct ttp_area *area)
{
    for (uint32_t i = 0; i < TTP_AREAS; i++) {
        if (i < slot_count && slots[i].area.start != slots[i].area.end)
            continue;
        put_area(&slots[i], area);
        if (i == slot_count)
            __atomic_store_n(&slot_count, i + 1, __ATOMIC_RELEASE);
        ttp_debugger_add(i, area);
        return &slots[i].area;
    }
    return NULL;
}

void ttp_area_drop(struct ttp_area *area)
{
    const struct ttp_area none = {0};
    struct slot *slot = (struct slot *)((char *)area - offsetof(struct slot, area));
    ttp_debugger_drop((uint32_t)(slot - slots));
    put_area(slot, &none);
}

static bool holds_code(struct slot *slot, uintptr_t code)
{
    uint32_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
    uintptr_t start = *(volatile const uintptr_t *)&slot->area.start;
    uintptr_t end = *(volatile const uintptr_t *)&slot->area.end;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return code - start < end - start && turn % 2 == 0 &&
           turn == __atomic_load_n(&slot->turn, __ATOMIC_RELAXED);
}

bool ttp_is_in_stubs(uintptr_t code) { return ttp_area_of(code) != NULL; }

const struct ttp_area *ttp_area_of(uintptr_t code)
{
    uint32_t count = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (holds_code(&slots[i], code))
            return &slots[i].area;
    return NULL;
}

/* The start of the last module with stubs that begins in front of it; 0: there is none. */
static uintptr_t module_around(uint64_t pc, uint32_t count)
{
    uintptr_t start = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_area *area = &slots[i].area;
        if (area->start != area->end && area->module_start <= pc && area->module_start > start)
            start = area->module_start;
    }
    return start;
}

uint64_t ttp_area_place(uint64_t pc)
{
    uint32_t count = __atomic_load_n(&slot_count, __ATOMIC_ACQUIRE);
    uintptr_t start = module_around(pc, count);
    for (uint32_t i = 0; i < count && start != 0; i++) {
        const struct ttp_area *area = &slots[i].area;
        if (area->start == area->end || area->module_start != start || area->slot_distance != 0)
            continue;
        uint64_t place =
            area->plan != NULL ? ttp_stub_place_any(area, pc) : ttp_probe_place_any(area, pc);
        if (place != pc)
            return place;
    }
    return pc;
}

const struct ttp_area *ttp_area_with(uintptr_t module_start, const struct ttp_plan_head *plan)
{
    for (uint32_t i = 0; i < slot_count; i++)
        if (slots[i].area.start != slots[i].area.end &&
            slots[i].area.module_start == module_start && slots[i].area.plan == plan)
            return &slots[i].area;
    return NULL;
}

void ttp_probe_areas_gone(uintptr_t start, size_t bytes)
{
    for (uint32_t i = 0; i < slot_count; i++) {
        const struct ttp_area area = slots[i].area;
        if (area.start == area.end || area.plan != NULL || area.module_start - start >= bytes)
            continue;
        uintptr_t memory = area.start - TTP_AREA_DATA;
        const struct ttp_probe_data *data = (const struct ttp_probe_data *)memory;
        ttp_area_drop(&slots[i].area);
        if (ttp_process.avoids_system_calls) /* it stays */
            continue;
        if (area.slot_distance == 0 && data->values != NULL)
            ttp_chosen_unmap(ttp_values_chosen(data->values));
        ttp_syscall(SYS_munmap, (long)memory, (long)(area.end - memory), 0, 0, 0, 0);
    }
}

/* -- memory near a module -- */

static long map_at(uintptr_t hint, size_t bytes)
{
    return ttp_syscall(SYS_mmap, (long)hint, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | (hint != 0 ? FIXED_NOREPLACE : 0), -1, 0);
}

struct reached {
    uint64_t low, high;
};

/* A module that is as long as jumps reach has zeros for the most part: of it the code is reached,
 * and what moved instructions refer to. */
static struct reached reached_of(const struct ttp_module_seen *module,
                                 const struct ttp_reach *reach)
{
    if (module->end - module->start < REACH)
        return (struct reached){module->start, module->end};
    struct reached all = {reach->bias + reach->code_start, reach->bias + reach->code_end};
    for (uint32_t i = 0; i < reach->fixup_count; i++) {
        uint64_t target = reach->bias + reach->fixups[i].target;
        all.low = target < all.low ? target : all.low;
        all.high = target > all.high ? target : all.high;
    }
    return all;
}

static bool is_near(struct reached all, uintptr_t at, size_t bytes)
{
    uint64_t low = all.low < at ? all.low : at;
    uint64_t high = all.high > at + bytes ? all.high : at + bytes;
    return high - low < REACH;
}

/* Where the kernel puts it by itself, then below the module, then above; 0: nowhere. */
uintptr_t ttp_map_near(const struct ttp_module_seen *module, const struct ttp_reach *reach,
                       size_t bytes)
{
    struct reached all = reached_of(module, reach);
    uintptr_t low = module->start & ~(uintptr_t)(PAGE - 1);
    uintptr_t high = (module->end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    for (uint32_t i = 0; i <= 2 * HINTS; i++) {
        uintptr_t step = (i - 1) / 2 * HINT_STEP + PAGE;
        uintptr_t hint = i == 0 ? 0 : i % 2 != 0 ? low - bytes - step : high + step;
        if (i != 0 && !is_near(all, hint, bytes))
            continue;
        long memory = map_at(hint, bytes);
        if (ttp_failed(memory))
            continue;
        if (is_near(all, (uintptr_t)memory, bytes))
            return (uintptr_t)memory;
        ttp_syscall(SYS_munmap, memory, (long)bytes, 0, 0, 0, 0);
    }
    return 0;
}

bool ttp_area_seal(const struct ttp_area *area)
{
    uintptr_t data = area->start - TTP_AREA_DATA;
    ttp_debugger_prepare(area);
    return ttp_syscall(SYS_mprotect, (long)data, TTP_AREA_DATA, PROT_READ, 0, 0, 0) == 0 &&
           ttp_syscall(SYS_mprotect, (long)area->start, (long)(area->end - area->start),
                       PROT_READ | PROT_EXEC, 0, 0, 0) == 0;
}
