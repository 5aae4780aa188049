#include "tools/record/values/said_hands.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/recording.h>

#include "tools/command/tool.h"
#include "tools/record/values/record_values.h"

/* These are as tool_symbols_value_next reads them: name, type, number of constants. */
static const char nameless[] = "\0\0"
                               "0",
                  character[] = "\0char\0"
                                "0",
                  called_from[] = "from\0\0"
                                  "0";

/* A list in the making: what is returned is behind what is given. */
struct list {
    struct ttp_value_place places[TOOL_SYMBOLS_VALUES];
    ttape_string texts[TOOL_SYMBOLS_VALUES];
    uint32_t count;
};

static void put_place(struct list *list, const struct ttp_value_place *place, ttape_string text)
{
    if (list->count == TOOL_SYMBOLS_VALUES)
        return;
    list->places[list->count] = *place;
    list->texts[list->count++] = text;
}

/* Each value's part of the texts. */
static void cut_texts(const struct tool_symbols_values *found, struct list *known)
{
    ttape_string rest = found->texts;
    for (uint32_t i = 0; i < found->given + found->returned && i < TOOL_SYMBOLS_VALUES; i++) {
        struct tool_symbols_value value;
        const char *start = rest.data, *name;
        int64_t number;
        bool is_read = tool_symbols_value_next(&rest, &value);
        for (uint32_t k = 0; is_read && k < value.constant_count; k++)
            is_read = tool_symbols_constant_next(&rest, &number, &name);
        put_place(known, &found->places[i],
                  is_read ? (ttape_string){start, (size_t)(rest.data - start)}
                          : (ttape_string){nameless, sizeof nameless});
        if (!is_read)
            rest.size_bytes = 0;
    }
}

/* A value has the type that debug information knows, unless one was said. */
static void put_said(struct list *into, const struct tool_record_hand *hand, uint32_t number,
                     const struct list *known, uint32_t from, uint32_t end)
{
    struct ttp_value_place place = hand->places[number];
    bool is_character = (hand->characters >> number & 1) != 0;
    for (uint32_t i = from; i < end && (hand->untyped >> number & 1) != 0; i++)
        if (known->places[i].base == 0 && known->places[i].at == place.at &&
            known->places[i].type != TTAPE_VALUE_BYTES)
            place = known->places[i];
    put_place(into, &place,
              is_character ? (ttape_string){character, sizeof character}
                           : (ttape_string){nameless, sizeof nameless});
}

/* A counter is read at both ends of a call. It stands behind all that has fields. */
static void put_counters(struct list *into, const struct tool_record_hand *hand, uint32_t most)
{
    for (uint32_t i = 0; i < TTP_VALUE_COUNTERS; i++)
        if ((hand->counters >> i & 1) != 0 && into->count < most)
            put_place(into,
                      &(struct ttp_value_place){.type = TTAPE_VALUE_UNSIGNED,
                                                .size_bytes = 8,
                                                .at = (uint8_t)(TTP_AT_COUNTER + i)},
                      tool_record_counter_texts[i]);
    for (uint32_t i = 0; i < hand->variable_count; i++)
        if (hand->variables[i].place.size_bytes != 0 && into->count < most)
            put_place(into, &hand->variables[i].place, hand->variables[i].text);
}

static void put_call_site(struct list *into, uint32_t wanted)
{
    const struct ttp_value_place place = {
        .type = TTP_VALUE_CALL_SITE, .size_bytes = 8, .at = TTP_AT_CALL_SITE};
    if ((wanted & TOOL_VALUES_CALL_SITE) != 0 && into->count < TTP_VALUES_MAX)
        put_place(into, &place, (ttape_string){called_from, sizeof called_from});
}

/* Fields stay where what they are in is as debug information has it. */
static void put_fields(struct list *into, const struct list *known, uint32_t given,
                       const bool *is_typed, bool with_pointed)
{
    for (uint32_t i = 0; i < given; i++) {
        const struct ttp_value_place *place = &known->places[i];
        if (place->base != 0 && !is_typed[place->base - 1] && into->count < TTP_VALUES_MAX &&
            (with_pointed || !place->is_pointed))
            put_place(into, &known->places[i], known->texts[i]);
    }
}

static void put_given(struct list *into, const struct tool_record_hand *hand,
                      const struct list *known, uint32_t given, uint32_t wanted)
{
    bool is_all = (wanted & TTAPE_VALUES_GIVEN) != 0;
    bool is_said[TOOL_HAND_VALUES + 1] = {false}, is_typed[TTP_VALUES_MAX] = {false};
    for (uint32_t i = 0; i < given && is_all; i++) {
        if (known->places[i].base != 0)
            continue;
        uint32_t number = tool_record_hand_find(hand, &known->places[i]);
        is_typed[i] = number < hand->given && (hand->untyped >> number & 1) == 0;
        put_place(into, is_typed[i] ? &hand->places[number] : &known->places[i], known->texts[i]);
        if (number < hand->given)
            is_said[number] = true;
    }
    for (uint32_t i = 0; i < hand->given; i++)
        if (!is_said[i] && into->count < TTP_VALUES_MAX)
            put_said(into, hand, i, known, 0, given);
    put_counters(into, hand, TTP_VALUES_MAX);
    put_call_site(into, wanted);
    if (is_all)
        put_fields(into, known, given, is_typed, (wanted & TOOL_VALUES_POINTED) != 0);
}

/* A value with its fields, or as it was said, and what counters stand at. */
static void put_returned(struct list *into, const struct tool_record_hand *hand,
                         const struct list *known, uint32_t given, uint32_t wanted)
{
    uint32_t most = into->count + TTP_VALUES_MAX, end = given;
    bool is_all = (wanted & TTAPE_VALUES_RETURNED) != 0 && known->count > given;
    if (hand->returned != 0 && !(is_all && (hand->untyped >> hand->given & 1) != 0))
        put_said(into, hand, hand->given, known, given, known->count);
    else if (is_all)
        end = known->count;
    for (uint32_t i = given; i < end; i++)
        if (known->places[i].base == 0)
            put_place(into, &known->places[i], known->texts[i]);
    put_counters(into, hand, most);
    for (uint32_t i = given; i < end && into->count < most; i++)
        if (known->places[i].base != 0 &&
            (!known->places[i].is_pointed || (wanted & TOOL_VALUES_POINTED) != 0))
            put_place(into, &known->places[i], known->texts[i]);
}

static void join_texts(struct tool_record_said *said, const struct list *list)
{
    size_t size_bytes = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        size_bytes += list->texts[i].size_bytes;
        said->is_named |= list->texts[i].data != nameless;
    }
    said->text = tool_allocate(size_bytes + 1, 1);
    said->values.texts = (ttape_string){said->text, size_bytes};
    char *at = said->text;
    for (uint32_t i = 0; i < list->count; i++) {
        memcpy(at, list->texts[i].data, list->texts[i].size_bytes);
        at += list->texts[i].size_bytes;
    }
}

void tool_record_said_make(struct tool_record_said *said, const struct tool_record_hand *hand,
                           const struct tool_symbols_values *found, uint32_t wanted)
{
    struct list known = {.count = 0}, list = {.count = 0};
    uint32_t given = 0;
    *said = (struct tool_record_said){0};
    if (found != NULL) {
        cut_texts(found, &known);
        given = found->given < known.count ? found->given : known.count;
    }
    put_given(&list, hand, &known, given, wanted);
    said->values.given = list.count;
    put_returned(&list, hand, &known, given, wanted);
    said->values.returned = list.count - said->values.given;
    memcpy(said->values.places, list.places, sizeof list.places);
    join_texts(said, &list);
}

void tool_record_said_close(struct tool_record_said *said) { free(said->text); }
