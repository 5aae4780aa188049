#include "answers/filter/trigger_state.h"

void ttp_triggers_begin(struct ttp_triggers *t, const ttape_filter *parsed, uint32_t first_rule,
                        bool is_off)
{
    *t = (struct ttp_triggers){.is_off = is_off};
    t->all = ttape_filter_get_triggers(parsed, &t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t rule = (uint64_t)first_rule + t->all[i].rule;
        t->actions |= t->all[i].actions;
        if (t->all[i].rule == TTAPE_NONE || rule >= TTAPE_FILTER_MAX_RULES)
            continue;
        t->of_rule[rule] = &t->all[i];
        t->rules |= UINT64_C(1) << rule;
    }
}

static uint32_t act(struct ttp_triggers *t, const ttape_trigger *trigger)
{
    if ((trigger->actions & TTAPE_TRIGGER_ON) != 0)
        t->is_off = false;
    if ((trigger->actions & TTAPE_TRIGGER_OFF) != 0)
        t->is_off = true;
    if ((trigger->actions & TTAPE_TRIGGER_DEPTH) != 0)
        t->depth = trigger->depth;
    if ((trigger->actions & TTAPE_TRIGGER_TIME) != 0)
        t->min_ns = trigger->min_ns;
    return trigger->actions;
}

uint32_t ttp_triggers_of_call(struct ttp_triggers *t, uint64_t rules, ttape_trigger_event event)
{
    uint32_t actions = 0;
    for (uint64_t left = rules & t->rules; left != 0; left &= left - 1) {
        uint32_t rule = (uint32_t)__builtin_ctzll(left);
        const ttape_trigger *trigger = t->of_rule[rule];
        if (trigger->event == event && ++t->came[rule] % trigger->times == 0)
            actions |= act(t, trigger);
    }
    return actions;
}

/* All that are due act, and it is noted when the next one is. */
static uint32_t see_time(struct ttp_triggers *t, uint64_t passed_ns)
{
    uint64_t last_ns = t->passed_ns, next_ns = UINT64_MAX;
    uint32_t actions = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->all[i].event != TTAPE_TRIGGER_AFTER || t->all[i].number < last_ns)
            continue;
        if (t->all[i].number <= passed_ns)
            actions |= act(t, &t->all[i]);
        else if (t->all[i].number < next_ns)
            next_ns = t->all[i].number;
    }
    t->passed_ns = passed_ns + 1;
    t->next_ns = next_ns;
    return actions;
}

uint32_t ttp_triggers_of_event(struct ttp_triggers *t, const ttape_event *event)
{
    uint32_t actions = 0;
    if (t->count == 0)
        return 0;
    if (!t->has_begun)
        t->first_ns = event->time_ns;
    t->has_begun = true;
    if (event->time_ns >= t->first_ns && event->time_ns - t->first_ns >= t->next_ns)
        actions = see_time(t, event->time_ns - t->first_ns);
    for (uint32_t i = 0; event->kind == TTAPE_EVENT_SIGNAL_BEGIN && i < t->count; i++)
        if (t->all[i].event == TTAPE_TRIGGER_SIGNAL && t->all[i].number == event->argument)
            actions |= act(t, &t->all[i]);
    return actions;
}
