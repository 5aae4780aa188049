/* Functions of plans, by their addresses. */
#include "recorder/runtime/decide/decide.h"

uint32_t ttp_patch_function_around(const struct ttp_patch_head *plan, uint64_t address)
{
    const struct ttp_patch_function *functions = ttp_plan_at(plan, plan->functions_at);
    uint32_t from = 0, end = plan->function_count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (functions[middle].start <= address)
            from = middle + 1;
        else
            end = middle;
    }
    return from != 0 && address < functions[from - 1].end ? from - 1 : plan->function_count;
}

uint32_t ttp_patch_function_at(const struct ttp_patch_head *plan, uint64_t start)
{
    const struct ttp_patch_function *functions = ttp_plan_at(plan, plan->functions_at);
    uint32_t at = ttp_patch_function_around(plan, start);
    return at < plan->function_count && functions[at].start == start ? at : plan->function_count;
}

const struct ttp_values_row *ttp_values_row_of(const struct ttp_values_head *values, uint32_t start)
{
    const struct ttp_values_row *rows = (const struct ttp_values_row *)(values + 1);
    uint32_t from = 0, end = values->row_count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (rows[middle].start < start)
            from = middle + 1;
        else
            end = middle;
    }
    return from < values->row_count && rows[from].start == start ? &rows[from] : NULL;
}
