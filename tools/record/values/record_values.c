/* Patterns against names; debug information, or what a person says, for where values are. */
#include "tools/record/values/record_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "recorder/arena/patch_plan.h"
#include "tools/command/tool.h"
#include "tools/record/modules/record_place.h"
#include "tools/record/values/record_hands.h"
#include "tools/record/values/said_hands.h"
#include "tools/record/values/said_names.h"

#define VALUES_BYTES_MAX  (1u << 28)                                  /* of a module */
#define TOOL_VALUES_ADDED (TOOL_VALUES_HANDS | TOOL_VALUES_CALL_SITE) /* to what is known */

struct tool_record_known_values {
    struct tool_record_place place;
    struct tool_record_said_texts values; /* its texts are ours */
    uint32_t wanted;
};

/* -- options -- */

static void count_in(struct tool_record_values *values, const char *what, const char *text)
{
    values->given = true;
    if (values->number == 0)
        values->number = UINT64_C(0xcbf29ce484222325);
    values->number =
        ttp_chosen_number(ttp_chosen_number(values->number, what), text != NULL ? text : "");
    values->number = ttp_chosen_number(values->number, "\n");
}

static bool take_hand(struct tool_record_values *values, const char *text,
                      bool (*parse)(const char *, struct tool_record_hand *))
{
    struct tool_record_hand hand;
    if (!parse(text, &hand))
        return false;
    if (values->hand_count == TOOL_VALUES_HANDS_MOST) {
        values->has_more_hands = true;
        tool_record_hand_close(&hand);
        return true;
    }
    tool_grow((void **)&values->hands, &values->hand_capacity, values->hand_count + 1,
              sizeof *values->hands);
    values->hands[values->hand_count++] = hand;
    return true;
}

bool tool_parse_values(const char *text, void *into)
{
    struct tool_record_values *values = into;
    count_in(values, "given", text);
    if (text == NULL) {
        values->all_arguments = true;
        return true;
    }
    return tool_record_is_by_hand(text) ? take_hand(values, text, tool_record_hand_parse)
                                        : tool_parse_pattern(text, &values->arguments);
}

bool tool_parse_results(const char *text, void *into)
{
    struct tool_record_values *values = into;
    count_in(values, "returned", text);
    values->all_results |= text == NULL;
    if (text != NULL && tool_record_is_by_hand(text))
        return take_hand(values, text, tool_record_hand_parse);
    return text == NULL || tool_parse_pattern(text, &values->results);
}

bool tool_parse_measured(const char *text, void *into)
{
    struct tool_record_values *values = into;
    count_in(values, "measured", text);
    values->has_counters = true;
    return take_hand(values, text, tool_record_hand_measure);
}

bool tool_parse_values_excluded(const char *text, void *into)
{
    struct tool_record_values *values = into;
    bool was_given = values->given;
    count_in(values, "excluded", text);
    values->given = was_given;
    return tool_parse_pattern(text, &values->excluded);
}

bool tool_parse_call_sites(const char *text, void *into)
{
    struct tool_record_values *values = into;
    count_in(values, "called", text);
    values->all_called |= text == NULL;
    return text == NULL || tool_parse_pattern(text, &values->called);
}

bool tool_record_values_have_sites(const struct tool_record_values *values)
{
    return values->all_called || values->called.count != 0;
}

bool tool_record_values_are_given(const struct tool_record_values *values)
{
    return values->all_arguments || values->all_results || values->arguments.count != 0 ||
           values->results.count != 0 || values->hand_count != 0;
}

void tool_record_values_open(struct tool_record_values *values)
{
    (void)pthread_mutex_init(&values->lock, NULL);
    values->has_called = tool_allocate(1, sizeof *values->has_called);
    *values->has_called = false;
}

void tool_record_values_close(struct tool_record_values *values)
{
    for (size_t i = 0; i < values->hand_count; i++)
        tool_record_hand_close(&values->hands[i]);
    for (size_t i = 0; i < values->known_count; i++)
        free((void *)(uintptr_t)values->known[i].values.texts.data);
    tool_record_value_names_close(values->names);
    free(values->has_called);
    free(values->hands);
    free(values->known);
    tool_patterns_close(&values->arguments);
    tool_patterns_close(&values->results);
    tool_patterns_close(&values->excluded);
    tool_patterns_close(&values->called);
}

static void say_unknown(const struct tool_record_hand *hand)
{
    for (uint32_t i = 0; i < hand->variable_count; i++)
        if (!__atomic_load_n(&hand->variables[i].is_found, __ATOMIC_RELAXED))
            tool_message(
                "nothing that was patched has a variable '%s' of 1, 2, 4 or 8 bytes, or of "
                "as many as '%s' says",
                hand->variables[i].name, hand->text);
}

void tool_record_values_say_unused(const struct tool_record_values *values)
{
    for (size_t i = 0; i < values->hand_count; i++)
        if (!__atomic_load_n(&values->hands[i].is_used, __ATOMIC_RELAXED))
            tool_message("no function was patched that '%s' is said of, and the command asks no "
                         "library for any: see --patch, --module, and --plan for names",
                         values->hands[i].text);
        else
            say_unknown(&values->hands[i]);
}

void tool_record_values_say_uncalled(const struct tool_record_values *values)
{
    if (values->called.count != 0 && !values->all_called && values->has_called != NULL &&
        !__atomic_load_n(values->has_called, __ATOMIC_RELAXED))
        tool_message("--call-sites: no function of that name was patched, or has hooks and was "
                     "called, and the command asks no library for any: --plan has names");
}

/* -- what is wanted -- */

uint32_t tool_record_values_wanted(const struct tool_record_values *values, ttape_string name)
{
    bool is_called = values->all_called || tool_patterns_match_name(&values->called, name);
    if (is_called && values->has_called != NULL)
        __atomic_store_n(values->has_called, true, __ATOMIC_RELAXED);
    uint32_t wanted = is_called ? TOOL_VALUES_CALL_SITE : 0;
    if (tool_patterns_match_name(&values->excluded, name))
        return wanted;
    for (size_t i = 0; i < values->hand_count; i++)
        if (tool_patterns_match_name(&values->hands[i].names, name)) {
            bool has_places = values->hands[i].given + values->hands[i].returned != 0;
            wanted |= (has_places ? TOOL_VALUES_BY_HAND : 0) | UINT32_C(1)
                                                                   << (TOOL_VALUES_HAND_SHIFT + i);
            __atomic_store_n(&values->hands[i].is_used, true, __ATOMIC_RELAXED);
        }
    if (tool_patterns_match_name(&values->arguments, name))
        wanted |= TTAPE_VALUES_GIVEN | TTAPE_VALUES_RETURNED | TOOL_VALUES_POINTED;
    if (tool_patterns_match_name(&values->results, name))
        wanted |= TTAPE_VALUES_RETURNED | TOOL_VALUES_POINTED;
    if (values->all_arguments)
        wanted |= TTAPE_VALUES_GIVEN | TTAPE_VALUES_RETURNED;
    return wanted | (values->all_results ? TTAPE_VALUES_RETURNED : 0);
}

/* -- the table -- */

struct making {
    struct tool_record_values *values;
    const struct tool_patch_given *given;
    const uint32_t *wanted;
    struct tool_record_hand *by_hand; /* by function; NULL: nothing is said of any */
    struct ttp_values_row *rows;
    struct ttp_value_place *places;
    size_t count, capacity;
};

static void add_place(struct making *m, const struct ttp_value_place *place)
{
    tool_grow((void **)&m->places, &m->capacity, m->count + 1, sizeof *m->places);
    m->places[m->count++] = *place;
}

static bool find_function(const struct tool_patch_given *given, uint64_t entry, uint32_t *index)
{
    struct ttp_bisect s = {.end = given->head.function_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, tool_patch_function_at(given, (uint32_t)s.middle).start < entry);
    *index = (uint32_t)s.first;
    return s.first < given->head.function_count &&
           tool_patch_function_at(given, *index).start == entry;
}

/* `values` may be of anybody: it is copied. */
static void know(struct making *m, const struct tool_symbols_values *found, uint32_t wanted)
{
    struct tool_record_values *values = m->values;
    struct tool_record_known_values known = {
        .place = tool_record_place_of(
            (ttape_string){(const char *)m->given->head.build_id, m->given->head.build_id_bytes},
            found->entry),
        .values = {found->given, found->returned, found->texts},
        .wanted = wanted};
    known.values.texts.data = tool_copy_text(found->texts.data, found->texts.size_bytes);
    (void)pthread_mutex_lock(&values->lock);
    tool_grow((void **)&values->known, &values->known_capacity, values->known_count + 1,
              sizeof known);
    values->known[values->known_count++] = known;
    values->is_sorted = false;
    (void)pthread_mutex_unlock(&values->lock);
}

/* Puts the values of a function that a person said something of, or not all that it has. */
static void put_by_hand(struct making *m, uint32_t index, const struct tool_symbols_values *found)
{
    struct tool_record_said said;
    struct ttp_values_row *row = &m->rows[index];
    uint32_t wanted = m->wanted[index];
    const struct tool_record_hand none = {.given = 0};
    bool is_said = (wanted & TOOL_VALUES_HANDS) != 0;
    tool_record_said_make(&said, is_said ? &m->by_hand[index] : &none, found, wanted);
    *row = (struct ttp_values_row){.first = (uint32_t)m->count,
                                   .given = (uint8_t)said.values.given,
                                   .returned = (uint8_t)said.values.returned};
    for (uint32_t i = 0; i < said.values.given + said.values.returned; i++)
        add_place(m, &said.values.places[i]);
    said.values.entry = tool_patch_function_at(m->given, index).start;
    if (said.is_named)
        know(m, &said.values, wanted | TTAPE_VALUES_GIVEN);
    tool_record_said_close(&said);
}

static bool has_pointed(const struct tool_symbols_values *found)
{
    for (uint32_t i = 0; i < found->given + found->returned; i++)
        if (found->places[i].is_pointed)
            return true;
    return false;
}

static void take_values(void *context, const struct tool_symbols_values *found)
{
    struct making *m = context;
    uint32_t index;
    if (!find_function(m->given, found->entry, &index) || m->wanted[index] == 0 ||
        m->rows[index].given + m->rows[index].returned != 0 ||
        found->given > TTP_VALUES_MAX) /* two units may tell of one function */
        return;
    bool is_whole = (m->wanted[index] & TOOL_VALUES_POINTED) != 0 || !has_pointed(found);
    if ((m->wanted[index] & TOOL_VALUES_ADDED) != 0 || !is_whole) {
        put_by_hand(m, index, found);
        return;
    }
    struct ttp_values_row *row = &m->rows[index];
    row->first = (uint32_t)m->count;
    if ((m->wanted[index] & TTAPE_VALUES_GIVEN) != 0)
        for (; row->given < found->given; row->given++)
            add_place(m, &found->places[row->given]);
    for (; row->returned < found->returned; row->returned++)
        add_place(m, &found->places[found->given + row->returned]);
    if (row->given + row->returned != 0)
        know(m, found, m->wanted[index]);
}

/* What is said of each function by hand, all of it. NULL: nothing. */
static void add_hands(struct making *m)
{
    for (uint32_t i = 0; i < m->given->head.function_count; i++) {
        if ((m->wanted[i] & TOOL_VALUES_HANDS) == 0)
            continue;
        if (m->by_hand == NULL)
            m->by_hand = tool_allocate(m->given->head.function_count, sizeof *m->by_hand);
        for (uint32_t k = 0; k < m->values->hand_count; k++)
            if ((m->wanted[i] >> (TOOL_VALUES_HAND_SHIFT + k) & 1) != 0)
                tool_record_hand_add(&m->by_hand[i], &m->values->hands[k]);
    }
}

/* Takes what is said of functions that debug information does not know. */
static void take_hands(struct making *m)
{
    for (uint32_t i = 0; i < m->given->head.function_count; i++)
        if ((m->wanted[i] & TOOL_VALUES_ADDED) != 0 && m->rows[i].given + m->rows[i].returned == 0)
            put_by_hand(m, i, NULL);
    free(m->by_hand);
}

/* What is wanted of some function. */
static uint32_t wanted_of_all(const struct making *m)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < m->given->head.function_count; i++)
        all |= m->wanted[i];
    return all;
}

struct ttp_values_head *
tool_record_values_make(struct tool_record_values *values, const struct tool_patch_given *given,
                        const uint32_t *wanted, struct tool_symbols *symbols,
                        struct tool_symbols_module *module, size_t *size_bytes)
{
    uint32_t count = given->head.function_count;
    struct making m = {.values = values, .given = given, .wanted = wanted};
    m.rows = tool_allocate((size_t)count + 1, sizeof *m.rows);
    uint32_t wanted_at_all = wanted_of_all(&m);
    for (size_t i = 0; i < values->hand_count; i++)
        if ((wanted_at_all >> (TOOL_VALUES_HAND_SHIFT + i) & 1) != 0)
            tool_record_hand_find_variables(&values->hands[i], symbols, module);
    add_hands(&m);
    if ((wanted_at_all & ~TOOL_VALUES_CALL_SITE) != 0) /* all debug information is read for it */
        (void)tool_symbols_values_list(symbols, module, take_values, &m);
    take_hands(&m);
    uint32_t row_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        m.rows[i].start = tool_patch_function_at(given, i).start;
        if (m.rows[i].given + m.rows[i].returned == 0)
            continue;
        const struct ttp_value_place *places = m.places + m.rows[i].first;
        m.rows[i].reads = ttp_value_places_read(places, m.rows[i].given) ||
                          ttp_value_places_read(places + m.rows[i].given, m.rows[i].returned);
        m.rows[row_count++] = m.rows[i];
    }
    size_t row_bytes = row_count * sizeof *m.rows, place_bytes = m.count * sizeof *m.places;
    struct ttp_values_head *head = NULL;
    *size_bytes = sizeof *head + row_bytes + place_bytes;
    if (m.count != 0 && *size_bytes <= VALUES_BYTES_MAX) {
        head = tool_allocate(*size_bytes, 1);
        *head = (struct ttp_values_head){.row_count = row_count, .place_count = (uint32_t)m.count};
        memcpy(head + 1, m.rows, row_bytes);
        memcpy((uint8_t *)(head + 1) + row_bytes, m.places, place_bytes);
    }
    free(m.rows);
    free(m.places);
    return head;
}

/* -- names -- */

bool tool_record_values_name(struct tool_record_values *values, ttape_string build_id,
                             uint64_t elf_address, ttape_site_values *out)
{
    struct tool_record_known_values key = {.place = tool_record_place_of(build_id, elf_address)},
                                    *found = NULL;
    (void)pthread_mutex_lock(&values->lock);
    if (!values->is_sorted && values->known_count > 0)
        qsort(values->known, values->known_count, sizeof key, tool_record_place_compare);
    values->is_sorted = true;
    if (values->known_count > 0)
        found = bsearch(&key, values->known, values->known_count, sizeof key,
                        tool_record_place_compare);
    bool is_named =
        found != NULL && tool_record_value_names_of(&values->names, &found->values,
                                                    (found->wanted & TTAPE_VALUES_GIVEN) != 0, out);
    (void)pthread_mutex_unlock(&values->lock);
    return is_named;
}
