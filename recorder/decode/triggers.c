/* What triggers do (spec/filters.md): the recorder acts when it reads what they wait for. */
#include "recorder/decode/layouts.h"

static void act(struct ttp_encode *e, uint32_t actions, uint64_t ns)
{
    if ((actions & TTAPE_TRIGGER_ON) != 0)
        e->judging.is_off = false;
    if ((actions & TTAPE_TRIGGER_OFF) != 0)
        e->judging.is_off = true;
    if ((actions & TTAPE_TRIGGER_CHECKPOINT) != 0 && e->shared != NULL)
        ttp_hit_put(&e->shared->hits, ns);
    if ((actions & TTAPE_TRIGGER_FINISH) != 0 && e->shared != NULL)
        ttp_shared_stop(e->shared, TTAPE_STOP_ASKED);
}

void ttp_triggers_fire(struct ttp_encode *e, uint64_t rules, ttape_trigger_event event, uint64_t ns)
{
    for (uint64_t left = rules; left != 0; left &= left - 1) {
        uint32_t rule = (uint32_t)__builtin_ctzll(left);
        const ttape_trigger *trigger = e->judging.of_rule[rule];
        if (trigger != NULL && trigger->event == event &&
            ++e->judging.came[rule] % trigger->times == 0)
            act(e, trigger->actions, ns);
    }
}

/* All that are due, and when the next one is. */
static void see_time(struct ttp_encode *e, const ttape_trigger *triggers, uint32_t count,
                     uint64_t ns)
{
    uint64_t passed = ns - e->judging.first_ns, last = e->judging.passed_ns, next = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (triggers[i].event != TTAPE_TRIGGER_AFTER || triggers[i].number < last)
            continue;
        if (triggers[i].number <= passed)
            act(e, triggers[i].actions, ns);
        else if (triggers[i].number < next)
            next = triggers[i].number;
    }
    e->judging.passed_ns = passed + 1;
    e->judging.next_ns = next;
}

void ttp_triggers_see(struct ttp_encode *e, const ttape_event *event)
{
    struct ttp_judging *judging = &e->judging;
    uint32_t count;
    const ttape_trigger *triggers =
        ttape_filter_get_triggers(e->options.conditions.triggers, &count);
    if (count == 0)
        return;
    if (judging->first_ns == 0)
        judging->first_ns = event->time_ns;
    if (event->time_ns > judging->first_ns &&
        event->time_ns - judging->first_ns >= judging->next_ns)
        see_time(e, triggers, count, event->time_ns);
    for (uint32_t i = 0; event->kind == TTAPE_EVENT_SIGNAL_BEGIN && i < count; i++)
        if (triggers[i].event == TTAPE_TRIGGER_SIGNAL && triggers[i].number == event->argument)
            act(e, triggers[i].actions, event->time_ns);
}
