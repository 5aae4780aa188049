/* Functions of plans, by their addresses. */
#include "recorder/runtime/decide/decide.h"

#define JUMPS_MAX 4u /* of one function to the next, that are followed */

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

/* Where a function leaves by a jump, the function that it jumps to, or into; else their count. */
static uint32_t find_jumped_to(const struct ttp_patch_head *plan,
                               const struct ttp_patch_probe *probe)
{
    const struct ttp_plan_fixup *fixups = ttp_plan_at(plan, plan->fixups_at);
    bool is_jump = probe->kind == TTP_PATCH_TAIL || probe->kind == TTP_PATCH_TAIL_IF;
    if (is_jump && probe->reason == TTP_PATCH_ELSEWHERE)
        return ttp_patch_function_around(plan, probe->jump);
    if (!is_jump || probe->reason != TTP_PATCH_CAN || probe->fixup_count == 0)
        return plan->function_count;
    return ttp_patch_function_at(plan, fixups[probe->first_fixup + probe->fixup_count - 1].target);
}

/* Whether any was added. */
static bool choose_next(const struct ttp_patch_head *plan, uint64_t *bits)
{
    const struct ttp_patch_probe *probes = ttp_plan_at(plan, plan->probes_at);
    bool is_any = false;
    for (uint32_t i = 0; i < plan->probe_count; i++) {
        uint32_t of = probes[i].function;
        if ((bits[of / 64] >> of % 64 & 1) == 0)
            continue;
        uint32_t at = find_jumped_to(plan, &probes[i]);
        if (at < plan->function_count && (bits[at / 64] >> at % 64 & 1) == 0) {
            bits[at / 64] |= (uint64_t)1 << at % 64;
            is_any = true;
        }
    }
    return is_any;
}

void ttp_choose_jumped_to(const struct ttp_patch_head *plan, uint64_t *bits)
{
    for (uint32_t i = 0; i < JUMPS_MAX && choose_next(plan, bits); i++)
        continue;
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
