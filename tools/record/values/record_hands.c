#include "tools/record/values/record_hands.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define COUNTER(name)                                                                              \
    {                                                                                              \
        (name "\0\0"                                                                               \
              "0"),                                                                                \
            sizeof(name) + 3                                                                       \
    }
const ttape_string tool_record_counter_texts[TTP_VALUE_COUNTERS] = {
    [TTP_VALUE_CPU_TIME] = COUNTER("cpu-time"),
    [TTP_VALUE_PAGE_FAULTS] = COUNTER("page-faults"),
    [TTP_VALUE_CONTEXT_SWITCHES] = COUNTER("context-switches"),
    [TTP_VALUE_MAX_RSS] = COUNTER("max-rss"),
    [TTP_VALUE_CPU] = COUNTER("cpu"),
};

#define REGISTERS 6u
#define FLOATS    8u

/* Where the specification begins; NULL: it is a pattern alone. */
static const char *specification_of(const char *text)
{
    const char *at = strrchr(text, '@');
    return at != NULL && (strncmp(at, "@arg", 4) == 0 || strncmp(at, "@fparg", 6) == 0 ||
                          strncmp(at, "@retval", 7) == 0 || strncmp(at, "@%", 2) == 0)
               ? at
               : NULL;
}

bool tool_record_is_by_hand(const char *text) { return specification_of(text) != NULL; }

static bool take_number(const char **text, uint32_t most, uint32_t *number)
{
    char *end;
    if (**text < '1' || **text > '9')
        return false;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *number = (uint32_t)value;
    return value <= most;
}

/* "%rdi", "%xmm1", "%stack+2", of which 1 is the word above the return address. */
static bool take_register(const char **text, struct ttp_value_place *place)
{
    static const char *const names[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%rax"};
    uint32_t number;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(*text, names[i], size) == 0) {
            *text += size;
            place->at = (uint8_t)i;
            return place->type != TTAPE_VALUE_FLOAT;
        }
    }
    if (strncmp(*text, "%xmm", 4) == 0 && (*text)[4] >= '0' && (*text)[4] < '0' + (char)FLOATS) {
        place->type = TTAPE_VALUE_FLOAT;
        place->at = (uint8_t)(TTP_AT_XMM + (uint32_t)((*text)[4] - '0'));
        *text += 5;
        return place->size_bytes == 0 || place->size_bytes >= 4;
    }
    if (strncmp(*text, "%stack+", 7) != 0)
        return false;
    *text += 7;
    if (!take_number(text, TTP_AT_STACK_WORDS, &number))
        return false;
    place->at = (uint8_t)(TTP_AT_STACK + number - 1);
    return true;
}

/* "arg2", "fparg1", "retval", or a register. */
static bool take_place(const char **text, struct ttp_value_place *place, bool *is_result)
{
    uint32_t number;
    if (**text == '%')
        return take_register(text, place);
    *is_result = strncmp(*text, "retval", 6) == 0;
    if (*is_result) {
        *text += 6;
        place->at = TTP_AT_RAX;
        return true;
    }
    if (strncmp(*text, "fparg", 5) == 0) {
        *text += 5;
        place->type = TTAPE_VALUE_FLOAT;
        if (!take_number(text, FLOATS, &number))
            return false;
        place->at = (uint8_t)(TTP_AT_XMM + number - 1);
        return true;
    }
    if (strncmp(*text, "arg", 3) != 0)
        return false;
    *text += 3;
    if (!take_number(text, REGISTERS + TTP_AT_STACK_WORDS, &number))
        return false;
    place->at = (uint8_t)(number <= REGISTERS ? number - 1 : TTP_AT_STACK + number - REGISTERS - 1);
    return true;
}

static bool set_kind(char letter, struct ttp_value_place *place)
{
    switch (letter) {
    case 'i':
    case 'd': place->type = TTAPE_VALUE_SIGNED; return true;
    case 'u': place->type = TTAPE_VALUE_UNSIGNED; return true;
    case 'x':
    case 'p': place->type = TTAPE_VALUE_POINTER; return true;
    case 'f': place->type = TTAPE_VALUE_FLOAT; return true;
    case 's': place->type = TTAPE_VALUE_STRING; return true;
    case 'c':
        place->type = TTAPE_VALUE_SIGNED;
        place->size_bytes = 1;
        return true;
    default: return false;
    }
}

/* "/i32", "/s", "/64" behind a place; without one a number of 64 bits. */
static bool take_kind(const char **text, struct ttp_value_place *place, bool is_result)
{
    uint32_t bits;
    bool is_float = place->type == TTAPE_VALUE_FLOAT;
    place->size_bytes = 8;
    if (!is_float)
        place->type = TTAPE_VALUE_SIGNED;
    if (**text != '/')
        return true;
    ++*text;
    char letter = **text;
    if (letter < '0' || letter > '9') {
        if (!set_kind(*(*text)++, place) || (is_float && place->type != TTAPE_VALUE_FLOAT))
            return false;
    }
    if (**text >= '0' && **text <= '9') {
        bool has_size = letter != 's' && letter != 'c' && letter != 'p';
        if (!has_size || !take_number(text, 64, &bits) ||
            (bits != 8 && bits != 16 && bits != 32 && bits != 64))
            return false;
        place->size_bytes = (uint8_t)(bits / 8);
    }
    if (place->type == TTAPE_VALUE_FLOAT && place->size_bytes < 4)
        return false;
    if (place->type == TTAPE_VALUE_FLOAT && is_result)
        place->at = TTP_AT_XMM;
    return place->type != TTAPE_VALUE_FLOAT || place->at >= TTP_AT_XMM;
}

/* "NAME", "NAME/x32": a number that is not followed. */
static bool take_variable(const char *at, size_t size, struct tool_record_hand *hand)
{
    const char *slash = memchr(at, '/', size), *end = at + size;
    size_t name_size = slash != NULL ? (size_t)(slash - at) : size;
    struct tool_record_variable made = {
        .place = {.type = TTAPE_VALUE_SIGNED, .at = TTP_AT_VARIABLE}};
    uint32_t bits = 0;
    if (slash != NULL) {
        at = slash + 1;
        if (!set_kind(*at++, &made.place) || made.place.type == TTAPE_VALUE_STRING ||
            (at < end && !take_number(&at, 64, &bits)) || at != end)
            return false;
    }
    if (name_size == 0 || hand->variable_count == TOOL_HAND_VARIABLES || bits % 8 != 0)
        return false;
    made.wanted_bytes = (uint8_t)(bits != 0 ? bits / 8 : made.place.size_bytes);
    made.name = tool_allocate(name_size + 4, 1); /* with no type, and "0" constants */
    memcpy(made.name, end - size, name_size);
    made.name[name_size + 2] = '0';
    made.text = (ttape_string){made.name, name_size + 4};
    hand->variables[hand->variable_count++] = made;
    return true;
}

void tool_record_hand_find_variables(struct tool_record_hand *hand, struct tool_symbols *symbols,
                                     struct tool_symbols_module *module)
{
    for (uint32_t i = 0; i < hand->variable_count; i++) {
        struct tool_record_variable *one = &hand->variables[i];
        struct tool_symbol found;
        one->place.size_bytes = 0;
        if (!tool_symbols_variable(symbols, module, (ttape_string){one->name, strlen(one->name)},
                                   &found) ||
            found.start > UINT32_MAX)
            continue;
        uint64_t bytes = one->wanted_bytes != 0 ? one->wanted_bytes : found.size_bytes;
        bool is_float = one->place.type == TTAPE_VALUE_FLOAT;
        if (bytes > found.size_bytes || bytes > 8 || (bytes & (bytes - 1)) != 0 ||
            (is_float && bytes < 4))
            continue;
        one->place.size_bytes = (uint8_t)bytes;
        one->place.offset = (uint16_t)found.start;
        one->place.then = (uint8_t)(found.start >> 16);
        one->place.is_pointed = (uint8_t)(found.start >> 24);
        __atomic_store_n(&one->is_found, true, __ATOMIC_RELAXED);
    }
}

static uint32_t find_counter(const char *text, size_t size)
{
    uint32_t i = 0;
    while (i < TTP_VALUE_COUNTERS && (strlen(tool_record_counter_texts[i].data) != size ||
                                      memcmp(tool_record_counter_texts[i].data, text, size) != 0))
        i++;
    return i;
}

/* Says why a measure is none; false. */
static bool refuse_measure(const char *at, int size, bool is_variable)
{
    if (is_variable)
        tool_message("'%.*s' is no variable: var:NAME, or var:NAME/x32, with i, u, x, c or f and 8 "
                     "to 64 bits; %u of them at most",
                     size, at, TOOL_HAND_VARIABLES);
    else
        tool_message("no thread can ask for its '%.*s' at each call of a function: cpu-time, "
                     "page-faults, context-switches, max-rss, cpu and var:NAME it can",
                     size, at);
    return false;
}

bool tool_record_hand_measure(const char *text, struct tool_record_hand *hand)
{
    const char *end = strchr(text, '=');
    *hand = (struct tool_record_hand){.given = 0};
    for (const char *at = text; end != NULL; at++) {
        size_t size = strcspn(at, ",=");
        uint32_t counter = find_counter(at, size);
        bool is_variable = strncmp(at, "var:", 4) == 0;
        if (is_variable ? !take_variable(at + 4, size - 4, hand) : counter == TTP_VALUE_COUNTERS)
            return refuse_measure(at, (int)size, is_variable);
        hand->counters |= is_variable ? 0 : UINT32_C(1) << counter;
        at += size;
        if (at == end)
            break;
    }
    if (end == NULL || !tool_parse_pattern(end + 1, &hand->names))
        return false;
    hand->text = tool_copy_text(text, strlen(text));
    return true;
}

/* The bit of a result is behind those of what is given. */
static void move_bits(struct tool_record_hand *hand, uint32_t from, uint32_t to)
{
    uint32_t bit = UINT32_C(1) << from;
    bool is_untyped = (hand->untyped & bit) != 0, is_character = (hand->characters & bit) != 0;
    hand->untyped = (hand->untyped & ~bit) | (uint32_t)is_untyped << to;
    hand->characters = (hand->characters & ~bit) | (uint32_t)is_character << to;
}

/* What the words behind a place say, beside its type. A floating-point number has one. */
static void note_kind(struct tool_record_hand *hand, const char *at,
                      const struct ttp_value_place *place, bool is_result)
{
    uint32_t bit = UINT32_C(1) << (is_result ? TOOL_HAND_VALUES : hand->given);
    if (*at != '/' && place->type != TTAPE_VALUE_FLOAT)
        hand->untyped |= bit;
    if (at[0] == '/' && at[1] == 'c')
        hand->characters |= bit;
}

bool tool_record_hand_parse(const char *text, struct tool_record_hand *hand)
{
    const char *at = specification_of(text);
    *hand = (struct tool_record_hand){.given = 0};
    if (at == NULL || at == text)
        return false;
    struct ttp_value_place result = {0};
    char *pattern = tool_copy_text(text, (size_t)(at - text));
    bool is_fine = tool_parse_pattern(pattern, &hand->names);
    free(pattern);
    do {
        struct ttp_value_place place = {0};
        bool is_result = false;
        at++;
        is_fine = is_fine && take_place(&at, &place, &is_result);
        if (is_fine)
            note_kind(hand, at, &place, is_result);
        is_fine = is_fine && take_kind(&at, &place, is_result) &&
                  (*at != '%' || take_register(&at, &place)) && (*at == ',' || *at == '\0') &&
                  (is_result ? hand->returned == 0 : hand->given < TOOL_HAND_VALUES);
        if (is_fine && is_result) {
            result = place;
            hand->returned = 1;
        } else if (is_fine) {
            hand->places[hand->given++] = place;
        }
    } while (is_fine && *at == ',');
    hand->places[hand->given] = result;
    move_bits(hand, TOOL_HAND_VALUES, hand->given);
    if (is_fine)
        hand->text = tool_copy_text(text, strlen(text));
    else
        tool_record_hand_close(hand);
    return is_fine;
}

void tool_record_hand_close(struct tool_record_hand *hand)
{
    tool_patterns_close(&hand->names);
    for (uint32_t i = 0; i < hand->variable_count; i++)
        free(hand->variables[i].name);
    free(hand->text);
}

/* -- several for one function -- */

uint32_t tool_record_hand_find(const struct tool_record_hand *hand,
                               const struct ttp_value_place *place)
{
    uint32_t i = 0;
    while (i < hand->given && hand->places[i].at != place->at)
        i++;
    return i;
}

static void set_place(struct tool_record_hand *hand, uint32_t at,
                      const struct tool_record_hand *more, uint32_t from)
{
    uint32_t bit = UINT32_C(1) << at;
    hand->places[at] = more->places[from];
    hand->untyped = (hand->untyped & ~bit) | (more->untyped >> from & 1) << at;
    hand->characters = (hand->characters & ~bit) | (more->characters >> from & 1) << at;
}

void tool_record_hand_add(struct tool_record_hand *hand, const struct tool_record_hand *more)
{
    for (uint32_t i = 0; i < more->given; i++) {
        uint32_t at = tool_record_hand_find(hand, &more->places[i]);
        if (at == TOOL_HAND_VALUES)
            continue;
        if (at == hand->given) {
            hand->places[at + 1] = hand->places[at]; /* what it returns */
            move_bits(hand, at, at + 1);
            hand->given++;
        }
        set_place(hand, at, more, i);
    }
    if (more->returned != 0)
        set_place(hand, hand->given, more, more->given);
    hand->returned |= more->returned;
    hand->counters |= more->counters;
    for (uint32_t i = 0; i < more->variable_count && hand->variable_count < TOOL_HAND_VARIABLES;
         i++)
        hand->variables[hand->variable_count++] = more->variables[i];
}
