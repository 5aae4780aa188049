/* What branches say of what was compared; what is left where ways meet. */
#include <string.h>

#include "program/binary/code/ways/flow_inside.h"

/* The most that what was compared can be, if the branch goes this way. */
static bool most_of(const struct tool_facts *facts, uint8_t condition, bool is_taken,
                    uint32_t *most)
{
    uint8_t holds = is_taken ? condition : condition ^ 1u;
    *most = facts->compared;
    if (holds == TOOL_STEP_NOT_ABOVE || holds == TOOL_STEP_EQUAL)
        return true;
    if (holds != TOOL_STEP_BELOW || facts->compared == 0)
        return false;
    --*most;
    return true;
}

/* What is added to a number that is so large that the sum is small again. */
static void bound_sums(struct tool_facts *facts, uint8_t holds)
{
    for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++) {
        struct tool_fact *fact = &facts->of[i];
        bool is_over = fact->added_to > 0 && (uint64_t)fact->added + facts->compared > UINT32_MAX;
        if (is_over && holds == TOOL_STEP_NOT_BELOW && facts->compared_each == 4 &&
            (facts->compared_holders >> (fact->added_to - 1) & 1) != 0)
            tool_fact_limit(fact, fact->added - 1);
    }
}

void tool_facts_branch(struct tool_facts *facts, uint8_t condition, bool is_taken)
{
    uint32_t most;
    unsigned width = tool_fact_width(facts->compared_each);
    if (facts->has_compared)
        bound_sums(facts, is_taken ? condition : condition ^ 1u);
    if (!facts->has_compared || !most_of(facts, condition, is_taken, &most))
        return;
    for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++) {
        struct tool_fact *fact = &facts->of[i];
        if ((facts->compared_holders >> i & 1) == 0)
            continue;
        bool is_all = width == 3 || (fact->is_narrow && fact->limits[2] <= tool_fact_whole(width));
        if (is_all)
            tool_fact_limit(fact, most);
        for (unsigned w = 0; w <= width && w < 3; w++)
            if (most < fact->limits[w] && (w == width || most <= tool_fact_whole(w)))
                fact->limits[w] = most;
    }
    if (facts->compared_holders == 0 && width < 3) {
        facts->has_bounded = true;
        facts->bounded_memory = facts->compared_memory;
        facts->bounded_each = facts->compared_each;
        facts->bounded = most;
    }
}

/* ---- where ways meet ---- */

static bool is_same_fact(const struct tool_fact *one, const struct tool_fact *other)
{
    return one->kind == other->kind && one->place == other->place && one->base == other->base &&
           one->each == other->each && one->shift == other->shift &&
           one->is_signed == other->is_signed && one->stride == other->stride &&
           one->count == other->count && one->added_to == other->added_to &&
           one->added == other->added;
}

/* Limits do not grow step by step: what differs is not known. */
static bool meet_fact(struct tool_fact *kept, const struct tool_fact *come)
{
    struct tool_fact before = *kept;
    if (memcmp(kept, come, sizeof before) == 0)
        return false; /* as nearly all are */
    if (!is_same_fact(kept, come)) {
        kept->kind = (uint8_t)tool_fact_of_both(kept, come);
        kept->place = kept->base = kept->count = kept->added = 0;
        kept->added_to = 0;
        kept->each = kept->shift = 0;
        kept->is_signed = false;
        kept->stride = 0;
    }
    kept->is_narrow = kept->is_narrow && come->is_narrow;
    kept->low_zeros = come->low_zeros < kept->low_zeros ? come->low_zeros : kept->low_zeros;
    for (unsigned width = 0; width < 3; width++) {
        kept->limits[width] = come->limits[width] > kept->limits[width] ? tool_fact_whole(width)
                                                                        : kept->limits[width];
        kept->same[width] &= come->same[width];
    }
    return memcmp(&before, kept, sizeof before) != 0;
}

/* Where `come` has a slot of `kept`; and bits of holders that are the same in both. */
static uint32_t match_slots(const struct tool_facts *kept, const struct tool_facts *come,
                            unsigned at[TOOL_FACTS_SLOTS])
{
    uint32_t same = (1u << TOOL_FLOW_REGISTERS) - 1;
    for (unsigned i = 0; i < TOOL_FACTS_SLOTS; i++) {
        at[i] =
            kept->slots[i].is_used ? tool_facts_slot_at(come, &kept->slots[i]) : TOOL_FACTS_HOLDER;
        if (at[i] == TOOL_FLOW_REGISTERS + i)
            same |= 1u << at[i];
        if (at[i] < TOOL_FACTS_HOLDER &&
            come->slots[at[i] - TOOL_FLOW_REGISTERS].bytes != kept->slots[i].bytes)
            at[i] = TOOL_FACTS_HOLDER;
    }
    return same;
}

bool tool_facts_meet(struct tool_facts *kept, const struct tool_facts *come)
{
    unsigned at[TOOL_FACTS_SLOTS];
    bool is_less = kept->has_compared || kept->has_bounded;
    uint32_t same = match_slots(kept, come, at);
    for (unsigned i = 0; i < TOOL_FACTS_SLOTS; i++)
        if (kept->slots[i].is_used && at[i] == TOOL_FACTS_HOLDER) {
            tool_facts_free_slot(kept, TOOL_FLOW_REGISTERS + i);
            is_less = true;
        }
    for (unsigned i = 0; i < TOOL_FACTS_HOLDER; i++) {
        unsigned other = i < TOOL_FLOW_REGISTERS ? i : at[i - TOOL_FLOW_REGISTERS];
        if (other == TOOL_FACTS_HOLDER)
            continue;
        struct tool_fact fact = come->of[other];
        for (unsigned width = 0; width < 3; width++)
            fact.same[width] &= same;
        is_less |= meet_fact(&kept->of[i], &fact);
    }
    kept->has_compared = kept->has_bounded = false;
    return is_less;
}
