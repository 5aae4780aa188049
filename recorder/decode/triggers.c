/* What triggers do (spec/filters.md): the recorder acts when it reads what they wait for, and keeps
 * the trace or not when it has read all. */
#include <string.h>

#include "answers/filter/filter_value.h"
#include "recorder/decode/layouts.h"

#define SIGNAL_STATUS 128u

static void act(struct ttp_encode *e, uint32_t actions, uint64_t ns)
{
    if ((actions & TTAPE_TRIGGER_CHECKPOINT) != 0 && e->shared != NULL)
        ttp_hit_put(&e->shared->hits, ns);
    if ((actions & TTAPE_TRIGGER_KEEP) != 0 && e->shared != NULL)
        e->shared->is_kept = true;
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

/* The status is as a shell has it; false: nobody has said how the command ended. */
static bool find_status(const struct ttp_encode *e, uint64_t *status)
{
    const struct ttp_number *numbers = e->numbers.data;
    for (size_t i = 0; i < e->numbers.count; i++) {
        bool is_signal = strcmp(numbers[i].key, "signal") == 0;
        if (!is_signal && strcmp(numbers[i].key, "exit_code") != 0)
            continue;
        *status = numbers[i].value + (is_signal ? SIGNAL_STATUS : 0);
        return true;
    }
    return false;
}

static bool status_fits(const struct ttp_encode *e, const ttape_trigger *trigger)
{
    const ttape_filter_condition asked = {.compare = trigger->compare, .number = trigger->number};
    uint64_t status;
    return !find_status(e, &status) || ttp_span_fits(&asked, (int64_t)status);
}

bool ttp_triggers_keep(const struct ttp_encode *e)
{
    uint32_t count;
    const ttape_trigger *all = ttape_filter_get_triggers(e->options.conditions.at_end, &count);
    if (count == 0 || e->shared == NULL || e->shared->is_kept)
        return true;
    bool is_asked = false, has_lost = ttp_arena_lost(e->shared) + e->lost + e->uncounted != 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((all[i].actions & TTAPE_TRIGGER_KEEP) == 0)
            continue;
        is_asked = true;
        if (all[i].event == TTAPE_TRIGGER_EXIT ? status_fits(e, &all[i]) : has_lost)
            return true;
    }
    return !is_asked;
}
