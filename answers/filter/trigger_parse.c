/* Triggers of a text, one after the other:
 *
 *   triggers   [trigger] {(";" | newline) [trigger]}
 *   trigger    event "do" action {"," action}
 *   event      ["end"] calls ["times" NUMBER]  |  "signal" (NAME | NUMBER)  |  "after" TIME
 *              |  "exit" OPERATOR NUMBER
 *   action     "on" | "off" | "depth" NUMBER | "time" TIME | "checkpoint" | "keep" | "finish"
 *
 * Calls are a filter's. One with a condition on a result or a time is about where it ends. */
#include <tracetape/filter.h>

#include <string.h>

#include "answers/filter/filter_parse.h"
#include "answers/filter/filter_value.h"
#include "base/text.h"
#include "format/base/fail.h"

#define SIGNALS_MOST 64u
#define STATUS_MOST  255u
#define ACTIONS      "on, off, depth N, time T, checkpoint, keep or finish"

/* ---- events ---- */

/* By number, without SIG. */
static const char *const signals[] = {
    [1] = "HUP",   [2] = "INT",     [3] = "QUIT",  [4] = "ILL",     [5] = "TRAP",  [6] = "ABRT",
    [7] = "BUS",   [8] = "FPE",     [9] = "KILL",  [10] = "USR1",   [11] = "SEGV", [12] = "USR2",
    [13] = "PIPE", [14] = "ALRM",   [15] = "TERM", [16] = "STKFLT", [17] = "CHLD", [18] = "CONT",
    [19] = "STOP", [20] = "TSTP",   [21] = "TTIN", [22] = "TTOU",   [23] = "URG",  [24] = "XCPU",
    [25] = "XFSZ", [26] = "VTALRM", [27] = "PROF", [28] = "WINCH",  [29] = "IO",   [30] = "PWR",
    [31] = "SYS"};

static ttape_status take_signal(struct ttp_filter_scan *s, uint64_t *number)
{
    const char *begin = s->at;
    ttape_string name = ttp_filter_take_name(s, false);
    if (name.size_bytes > 3 && memcmp(name.data, "SIG", 3) == 0)
        name = (ttape_string){name.data + 3, name.size_bytes - 3};
    for (uint32_t i = 1; name.size_bytes != 0 && i < sizeof signals / sizeof *signals; i++)
        if (ttp_text_is(name, signals[i])) {
            *number = i;
            return TTAPE_OK;
        }
    s->at = begin;
    if (ttp_filter_take_number(s, number) != TTAPE_OK || *number == 0 || *number > SIGNALS_MOST) {
        s->at = begin;
        return ttp_filter_fail(s, "no signal: write a name such as USR1, or a number up to 64");
    }
    return TTAPE_OK;
}

static bool is_late(const ttape_filter_rule *rule)
{
    for (uint32_t i = 0; i < rule->condition_count; i++)
        if (ttp_condition_is_late(&rule->conditions[i]))
            return true;
    return false;
}

static ttape_status take_calls(struct ttp_filter_parse *p, ttape_trigger *trigger)
{
    struct ttp_filter_scan *s = &p->scan;
    bool is_end = ttp_filter_take_word(s, "end");
    trigger->rule = p->filter->rule_count;
    TTP_TRY(ttp_filter_take_calls(p, TTAPE_FILTER_CALLS));
    is_end |= is_late(&p->filter->rules[trigger->rule]);
    trigger->event = is_end ? TTAPE_TRIGGER_END : TTAPE_TRIGGER_BEGIN;
    if (!ttp_filter_take_word(s, "times"))
        return TTAPE_OK;
    TTP_TRY(ttp_filter_take_number(s, &trigger->times));
    return trigger->times != 0 ? TTAPE_OK : ttp_filter_fail(s, "a call comes once at least");
}

/* Compared with a whole number: what the function exit returns, or how long it takes, is none. */
static bool is_status(struct ttp_filter_scan *behind, ttape_filter_operator *compare)
{
    ttape_string name = ttp_filter_take_name(behind, false);
    ttp_filter_skip(behind);
    if (!ttp_text_is(name, "exit") || !ttp_filter_take_operator(behind, compare))
        return false;
    ttp_filter_skip(behind);
    const char *end = behind->at;
    while (end < behind->end && *end >= '0' && *end <= '9')
        end++;
    return end > behind->at && (end == behind->end || strchr(" \t;\n", *end) != NULL);
}

static ttape_status take_exit(struct ttp_filter_scan *s, ttape_trigger *trigger)
{
    const char *begin = s->at;
    trigger->event = TTAPE_TRIGGER_EXIT;
    TTP_TRY(ttp_filter_take_number(s, &trigger->number));
    if (trigger->number <= STATUS_MOST)
        return TTAPE_OK;
    s->at = begin;
    return ttp_filter_fail(s, "an exit status is 255 at most");
}

static ttape_status take_event(struct ttp_filter_parse *p, ttape_trigger *trigger)
{
    struct ttp_filter_scan *s = &p->scan;
    if (ttp_filter_take_word(s, "signal")) {
        trigger->event = TTAPE_TRIGGER_SIGNAL;
        return take_signal(s, &trigger->number);
    }
    if (ttp_filter_take_word(s, "after")) {
        trigger->event = TTAPE_TRIGGER_AFTER;
        return ttp_filter_take_span(s, &trigger->number);
    }
    struct ttp_filter_scan behind = *s;
    if (is_status(&behind, &trigger->compare)) {
        *s = behind;
        return take_exit(s, trigger);
    }
    return take_calls(p, trigger);
}

/* ---- actions ---- */

/* What holds of calls from then on: one number of each kind. */
static ttape_status take_limit(struct ttp_filter_scan *s, ttape_trigger *trigger, uint32_t bit)
{
    uint64_t depth;
    ttp_filter_skip(s);
    if ((trigger->actions & bit) != 0)
        return ttp_filter_fail(s, "a trigger says one depth, and one time");
    if (bit == TTAPE_TRIGGER_TIME)
        return ttp_filter_take_span(s, &trigger->min_ns);
    const char *begin = s->at;
    TTP_TRY(ttp_filter_take_number(s, &depth));
    trigger->depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    if (depth != 0)
        return TTAPE_OK;
    s->at = begin;
    return ttp_filter_fail(s, "a depth is 1 at least: 'off' leaves calls out");
}

static ttape_status take_action(struct ttp_filter_scan *s, ttape_trigger *trigger)
{
    static const struct {
        const char *word;
        uint32_t bit;
    } all[] = {{"on", TTAPE_TRIGGER_ON},
               {"off", TTAPE_TRIGGER_OFF},
               {"depth", TTAPE_TRIGGER_DEPTH},
               {"time", TTAPE_TRIGGER_TIME},
               {"checkpoint", TTAPE_TRIGGER_CHECKPOINT},
               {"keep", TTAPE_TRIGGER_KEEP},
               {"finish", TTAPE_TRIGGER_FINISH}};
    const char *begin = s->at;
    ttape_string word = ttp_filter_take_name(s, false);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!ttp_text_is(word, all[i].word))
            continue;
        if ((all[i].bit & (TTAPE_TRIGGER_DEPTH | TTAPE_TRIGGER_TIME)) != 0)
            TTP_TRY(take_limit(s, trigger, all[i].bit));
        trigger->actions |= all[i].bit;
        return TTAPE_OK;
    }
    s->at = begin;
    return ttp_filter_fail(s, "no action: " ACTIONS);
}

static ttape_status take_actions(struct ttp_filter_scan *s, ttape_trigger *trigger)
{
    for (;;) {
        TTP_TRY(take_action(s, trigger));
        ttp_filter_skip(s);
        if (ttp_filter_char(s) != ',')
            break;
        s->at++;
        ttp_filter_skip(s);
    }
    if (!ttp_filter_at_end(s))
        return ttp_filter_fail(s, "this belongs to no trigger: ';' parts triggers, ',' actions");
    return (trigger->actions & TTAPE_TRIGGER_ON) == 0 || (trigger->actions & TTAPE_TRIGGER_OFF) == 0
               ? TTAPE_OK
               : ttp_filter_fail(s, "a trigger switches on, or off");
}

/* ---- all ---- */

static ttape_status take_trigger(struct ttp_filter_parse *p)
{
    struct ttp_filter_scan *s = &p->scan;
    ttape_filter *filter = p->filter;
    if (filter->trigger_count == TTAPE_FILTER_MAX_RULES)
        return ttp_fail(s->err, TTAPE_E_LIMIT, "", (uint64_t)(s->at - s->begin),
                        "there are more than %u triggers", TTAPE_FILTER_MAX_RULES);
    ttape_trigger *trigger = &filter->triggers[filter->trigger_count++];
    *trigger =
        (ttape_trigger){.rule = TTAPE_NONE, .times = 1, .text_at = (uint32_t)(s->at - s->begin)};
    TTP_TRY(take_event(p, trigger));
    ttp_filter_skip(s);
    if (!ttp_filter_take_word(s, "do"))
        return ttp_filter_fail(s, "'do' and an action are missing: " ACTIONS);
    const char *actions = s->at;
    TTP_TRY(take_actions(s, trigger));
    if (trigger->event == TTAPE_TRIGGER_EXIT && trigger->actions != TTAPE_TRIGGER_KEEP) {
        s->at = actions;
        return ttp_filter_fail(s, "recording is over at the exit: 'keep' is the only action");
    }
    trigger->text_bytes = (uint32_t)(s->at - s->begin) - trigger->text_at;
    return TTAPE_OK;
}

ttape_status ttape_filter_parse_triggers(ttape_filter **out, ttape_string text,
                                         const ttape_allocator *allocator, ttape_error *err)
{
    return ttp_filter_take_text(out, text, allocator, take_trigger, err);
}

const ttape_trigger *ttape_filter_get_triggers(const ttape_filter *filter, uint32_t *trigger_count)
{
    *trigger_count = filter != NULL ? filter->trigger_count : 0;
    return filter != NULL ? filter->triggers : NULL;
}
