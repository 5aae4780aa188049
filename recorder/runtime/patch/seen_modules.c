/* Which modules are known, and by which plan. Changed at the start of the process and in visits of
 * the loader's list, which has a lock; read at any time, by any thread: entries are added behind
 * the others, and what is gone stays as it was but for that word. */
#include "recorder/runtime/patch/patch.h"

#define MODULES 512u

static struct ttp_seen_module modules[MODULES];
static uint32_t sorted_count; /* those of the start, by address */
static uint32_t module_count;
static uint32_t gone_count;

uint32_t ttp_seen_modules_gone_count(void)
{
    return __atomic_load_n(&gone_count, __ATOMIC_RELAXED);
}

static const struct ttp_seen_module *is_at(const struct ttp_seen_module *module, uint64_t address)
{
    bool is_there = address - module->start < module->end - module->start &&
                    !__atomic_load_n(&module->is_gone, __ATOMIC_ACQUIRE);
    return is_there ? module : NULL;
}

const struct ttp_seen_module *ttp_seen_module_at(uint64_t address)
{
    uint32_t low = 0, high = sorted_count;
    uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (modules[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ttp_seen_module *found = low < sorted_count ? is_at(&modules[low], address) : NULL;
    for (uint32_t i = sorted_count; found == NULL && i < count; i++)
        found = is_at(&modules[i], address);
    return found;
}

bool ttp_seen_module_add(const struct ttp_module_seen *module, uint64_t bias,
                         const struct ttp_plan_head *plan, bool is_start)
{
    uint32_t at = module_count;
    if (at == MODULES)
        return false;
    for (; is_start && at != 0 && modules[at - 1].start > module->start; at--)
        modules[at] = modules[at - 1];
    modules[at] = (struct ttp_seen_module){
        .start = module->start, .end = module->end, .bias = bias, .plan = plan};
    __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
    if (is_start)
        sorted_count = module_count;
    return true;
}

void ttp_seen_module_own(uint64_t start)
{
    for (uint32_t i = 0; i < module_count; i++)
        modules[i].is_own |= modules[i].start == start;
}

bool ttp_seen_module_miss(const struct ttp_module_seen *module)
{
    if (ttp_seen_module_at(module->start) != NULL || !ttp_seen_module_add(module, 0, NULL, false))
        return false;
    modules[module_count - 1].is_missed = true;
    return true;
}

bool ttp_seen_module_unmiss(const struct ttp_module_seen *module)
{
    for (uint32_t i = sorted_count; i < module_count; i++)
        if (modules[i].is_missed && !modules[i].is_gone && modules[i].start == module->start) {
            __atomic_store_n(&modules[i].is_gone, true, __ATOMIC_RELEASE);
            return true;
        }
    return false;
}

const struct ttp_plan_head *ttp_seen_module_again(const struct ttp_module_seen *module,
                                                  uint64_t bias,
                                                  const uint8_t content[TTP_PLAN_CONTENT_BYTES])
{
    for (uint32_t i = 0; i < module_count; i++) {
        struct ttp_seen_module *known = &modules[i];
        if (known->is_gone && known->start == module->start && known->end == module->end &&
            known->bias == bias && known->plan != NULL &&
            ttp_is_same(known->plan->content, content, TTP_PLAN_CONTENT_BYTES)) {
            __atomic_store_n(&known->is_gone, false, __ATOMIC_RELEASE);
            return known->plan;
        }
    }
    return NULL;
}

void ttp_seen_modules_gone(uint64_t start, uint64_t bytes)
{
    uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        if (modules[i].is_gone || modules[i].start - start >= bytes)
            continue;
        __atomic_store_n(&modules[i].is_gone, true, __ATOMIC_RELEASE);
        __atomic_add_fetch(&gone_count, 1, __ATOMIC_RELAXED);
    }
}
