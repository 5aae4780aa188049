/* Texts of filters: what is refused has a place in the text and a sentence, what is taken has rules
 * whose expressions are C strings and whose places are in the text; memory is bounded, and given
 * back. A rule's own text, alone, is taken again, as the same rule. */
#include <string.h>

#include <tracetape/filter.h>

#include "fuzz_common.h"

#define MEMORY_MOST (8u << 20)

static void check_text(ttape_string text)
{
    FUZZ_REQUIRE(text.size_bytes <= 2 * TTAPE_FILTER_MAX_PATTERN + 16);
    FUZZ_REQUIRE(text.size_bytes == 0 || strlen(text.data) == text.size_bytes);
}

static void check_condition(const ttape_filter_condition *condition)
{
    check_text(condition->text);
    FUZZ_REQUIRE(condition->compare <= TTAPE_FILTER_BITS);
    FUZZ_REQUIRE(condition->operand <= TTAPE_FILTER_SPAN);
    FUZZ_REQUIRE((condition->operand == TTAPE_FILTER_WORD ||
                  condition->operand == TTAPE_FILTER_TEXT) == (condition->text.size_bytes != 0));
    FUZZ_REQUIRE(condition->operand != TTAPE_FILTER_SPAN || condition->number <= INT64_MAX);
}

static void check_rule(const ttape_filter_rule *rule, ttape_string text)
{
    bool is_number = rule->kind >= TTAPE_FILTER_DEPTH && rule->kind <= TTAPE_FILTER_SIZE;
    FUZZ_REQUIRE(rule->kind < TTAPE_FILTER_KIND_COUNT);
    FUZZ_REQUIRE(is_number == (rule->function.size_bytes == 0));
    FUZZ_REQUIRE(rule->condition_count <= TTAPE_FILTER_MAX_CONDITIONS);
    FUZZ_REQUIRE(rule->text_at + (uint64_t)rule->text_bytes <= text.size_bytes);
    check_text(rule->function);
    check_text(rule->path);
    for (uint32_t i = 0; i < rule->condition_count; i++)
        check_condition(&rule->conditions[i]);
    ttape_filter *again;
    uint32_t count;
    const ttape_string own = {text.data + rule->text_at, rule->text_bytes};
    if (is_number || own.data[0] == '!')
        return;
    if (ttape_filter_parse(&again, own, NULL, NULL) != TTAPE_OK)
        return; /* a word of the language, where it was a function's name */
    const ttape_filter_rule *same = ttape_filter_get_rules(again, &count);
    FUZZ_REQUIRE(count != 1 || same->kind != TTAPE_FILTER_ONLY ||
                 (strcmp(same->function.data, rule->function.data) == 0 &&
                  same->condition_count == rule->condition_count));
    ttape_filter_close(again);
}

static void check_trigger(const ttape_trigger *trigger, const ttape_filter_rule *rules,
                          uint32_t rule_count, ttape_string text)
{
    bool has_calls = trigger->event <= TTAPE_TRIGGER_END;
    FUZZ_REQUIRE(trigger->event <= TTAPE_TRIGGER_EXIT && trigger->times > 0);
    FUZZ_REQUIRE(trigger->actions > 0 && trigger->actions < 2 * TTAPE_TRIGGER_TIME);
    FUZZ_REQUIRE(((trigger->actions & TTAPE_TRIGGER_DEPTH) != 0) == (trigger->depth != 0));
    FUZZ_REQUIRE((trigger->actions & TTAPE_TRIGGER_TIME) != 0 || trigger->min_ns == 0);
    FUZZ_REQUIRE(trigger->min_ns <= INT64_MAX);
    FUZZ_REQUIRE(trigger->event != TTAPE_TRIGGER_EXIT ||
                 (trigger->actions == TTAPE_TRIGGER_KEEP && trigger->number <= 255 &&
                  trigger->compare <= TTAPE_FILTER_BITS));
    FUZZ_REQUIRE(has_calls == (trigger->rule != TTAPE_NONE));
    FUZZ_REQUIRE(!has_calls ||
                 (trigger->rule < rule_count && rules[trigger->rule].kind == TTAPE_FILTER_CALLS));
    FUZZ_REQUIRE(trigger->text_at + (uint64_t)trigger->text_bytes <= text.size_bytes);
}

static void check_triggers(ttape_string text, const ttape_allocator *allocator)
{
    uint32_t count, rule_count;
    ttape_error err = {0};
    ttape_filter *filter;
    ttape_status status = ttape_filter_parse_triggers(&filter, text, allocator, &err);
    const ttape_trigger *triggers = ttape_filter_get_triggers(filter, &count);
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &rule_count);
    FUZZ_REQUIRE((status == TTAPE_OK) == (filter != NULL));
    FUZZ_REQUIRE(status == TTAPE_OK || (err.message[0] != '\0' && err.offset <= text.size_bytes));
    for (uint32_t i = 0; i < count; i++)
        check_trigger(&triggers[i], rules, rule_count, text);
    ttape_filter_close(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ttape_error err = {0};
    ttape_filter *filter;
    char *copy = fuzz_take(size + (size == 0)); /* exact, so that one byte too far is found */
    if (size != 0)
        memcpy(copy, data, size);
    const ttape_string text = {copy, size};
    struct fuzz_memory memory;
    fuzz_memory_open(&memory, MEMORY_MOST);
    ttape_status status = ttape_filter_parse(&filter, text, &memory.allocator, &err);
    FUZZ_REQUIRE((status == TTAPE_OK) == (filter != NULL));
    if (status != TTAPE_OK) {
        FUZZ_REQUIRE(status == TTAPE_E_ARGUMENT || status == TTAPE_E_LIMIT);
        FUZZ_REQUIRE(err.status == status && err.message[0] != '\0' && err.offset <= size);
    } else {
        uint32_t count;
        const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
        FUZZ_REQUIRE(count <= TTAPE_FILTER_MAX_RULES);
        for (uint32_t i = 0; i < count; i++)
            check_rule(&rules[i], text);
    }
    ttape_filter_close(filter);
    check_triggers(text, &memory.allocator);
    fuzz_memory_close(&memory);
    fuzz_release_all();
    return 0;
}
