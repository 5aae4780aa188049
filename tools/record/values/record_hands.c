#include "tools/record/values/record_hands.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define REGISTERS 6u
#define FLOATS    8u

/* Where the specification begins; NULL: it is a pattern alone. */
static const char *specification_of(const char *text)
{
    const char *at = strrchr(text, '@');
    return at != NULL && (strncmp(at, "@arg", 4) == 0 || strncmp(at, "@fparg", 6) == 0 ||
                          strncmp(at, "@retval", 7) == 0)
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

/* "arg2", "fparg1" or "retval". */
static bool take_place(const char **text, struct ttp_value_place *place, bool *is_result)
{
    uint32_t number;
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
        bool is_result;
        at++;
        is_fine = is_fine && take_place(&at, &place, &is_result) &&
                  take_kind(&at, &place, is_result) && (*at == ',' || *at == '\0') &&
                  (is_result ? hand->returned == 0 : hand->given < TTP_VALUES_MAX);
        if (is_fine && is_result) {
            result = place;
            hand->returned = 1;
        } else if (is_fine) {
            hand->places[hand->given++] = place;
        }
    } while (is_fine && *at == ',');
    hand->places[hand->given] = result;
    if (!is_fine)
        tool_record_hand_close(hand);
    return is_fine;
}

void tool_record_hand_close(struct tool_record_hand *hand) { tool_patterns_close(&hand->names); }
