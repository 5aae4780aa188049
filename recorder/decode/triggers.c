/* What triggers do (spec/filters.md): the recorder acts when it reads what they wait for. */
#include "recorder/decode/layouts.h"

static void act(struct ttp_encode *e, uint32_t actions, uint64_t ns)
{
    if ((actions & TTAPE_TRIGGER_CHECKPOINT) != 0 && e->shared != NULL)
        ttp_hit_put(&e->shared->hits, ns);
    if ((actions & TTAPE_TRIGGER_FINISH) != 0 && e->shared != NULL)
        ttp_shared_stop(e->shared, TTAPE_STOP_ASKED);
}

void ttp_judging_fire(struct ttp_encode *e, uint64_t rules, ttape_trigger_event event, uint64_t ns)
{
    act(e, ttp_triggers_of_call(&e->judging.triggers, rules, event), ns);
}

void ttp_judging_see(struct ttp_encode *e, const ttape_event *event)
{
    act(e, ttp_triggers_of_event(&e->judging.triggers, event), event->time_ns);
}
