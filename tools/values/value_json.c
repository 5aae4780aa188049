/* Values, and what is known of them, as JSON. */
#include "tools/values/value_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/io/dump_values.h"
#include "tools/values/parameter_names.h"
#include "tools/values/value_parts.h"

enum part { NAMES, TYPES, CONSTANTS };

/* A value that is one of a list, or points to what has a name, in words; false: in none. */
static bool put_constant(struct tool_output *words, struct tool_value_names *names,
                         const ttape_value *value, uint32_t index)
{
    const ttape_value_name *type = tool_value_type(names, index);
    bool is_integer = value->type == TTAPE_VALUE_UNSIGNED || value->type == TTAPE_VALUE_SIGNED;
    char letter = tool_parameter_letter(names->words);
    if (*names->words != '\0')
        (void)tool_next_value_name(names, index);
    if (tool_put_target(words, names, value))
        return true;
    if (letter != '\0')
        return tool_put_kernel_words(words, value, letter);
    return type != NULL && type->constant_count != 0 && is_integer &&
           tool_put_enumeration(words, value, type);
}

/* What is known of a value: "" for nothing. `words` is room for constants. */
static ttape_string part_of(enum part part, struct tool_value_names *names,
                            const ttape_value *value, uint32_t index, struct tool_output *words)
{
    const ttape_value_name *type = tool_value_type(names, index);
    if (part == NAMES)
        return tool_next_value_name(names, index);
    if (part == TYPES)
        return type != NULL ? type->type : (ttape_string){"", 0};
    words->size_bytes = 0;
    if (!put_constant(words, names, value, index))
        return (ttape_string){"", 0};
    return (ttape_string){words->data, words->size_bytes};
}

/* Where the arrays go: into an object of a writer, or behind what stands in a line. */
struct target {
    struct tool_json *json; /* or NULL */
    struct tool_output *out;
};

static void put_item(const struct target *to, uint32_t index, ttape_string text)
{
    if (to->json != NULL) {
        if (text.size_bytes > 0)
            tool_json_string(to->json, NULL, text);
        else
            tool_json_null(to->json, NULL);
        return;
    }
    tool_output_text(to->out, index > 0 ? "," : "");
    tool_output_text(to->out, text.size_bytes > 0 ? "\"" : "null");
    tool_output_escaped(to->out, TTP_ESCAPE_JSON, text);
    tool_output_text(to->out, text.size_bytes > 0 ? "\"" : "");
}

static void put_part(const struct target *to, const char *key, enum part part,
                     struct tool_value_names names, const ttape_value *values, uint32_t count,
                     struct tool_output *words)
{
    struct tool_value_names again = names;
    bool is_known = false;
    for (uint32_t i = 0; i < count && !is_known; i++)
        is_known = part_of(part, &again, &values[i], i, words).size_bytes > 0;
    if (!is_known)
        return;
    if (to->json != NULL)
        tool_json_begin(to->json, key, '[');
    else
        tool_output_printf(to->out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++)
        put_item(to, i, part_of(part, &names, &values[i], i, words));
    if (to->json != NULL)
        tool_json_end(to->json, ']');
    else
        tool_output_text(to->out, "]");
}

static void put_parts(const struct target *to, const char *key, struct tool_value_names names,
                      const ttape_value *values, uint32_t count)
{
    static const char *const ends[] = {"_names", "_types", "_constants"};
    struct tool_output words;
    char text[32];
    if (count == 0 ||
        (names.names == NULL && names.words[0] == '\0' && names.call_site == TTAPE_NONE))
        return;
    tool_output_open(&words, -1);
    for (enum part part = NAMES; part <= CONSTANTS; part++) {
        (void)snprintf(text, sizeof(text), "%s%s", key, ends[part]);
        put_part(to, text, part, names, values, count, &words);
    }
    free(words.data);
}

void tool_json_values(struct tool_json *json, const char *key, const ttape_reader *reader,
                      uint32_t site, bool is_exit, const ttape_value *values, uint32_t count)
{
    struct tool_output words;
    char text[32];
    (void)snprintf(text, sizeof(text), "%ss", key);
    tool_output_open(&words, -1);
    tool_json_begin(json, text, '[');
    for (uint32_t i = 0; i < count; i++) {
        words.size_bytes = 0;
        tool_dump_value(&words, &values[i]);
        tool_json_string(json, NULL, (ttape_string){words.data, words.size_bytes});
    }
    tool_json_end(json, ']');
    free(words.data);
    put_parts(&(struct target){.json = json}, key,
              tool_names_of_values(reader, site, is_exit, values, count), values, count);
}

void tool_line_value_names(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                           bool is_exit, const ttape_value *values, uint32_t count)
{
    put_parts(&(struct target){.out = out}, "value",
              tool_names_of_values(reader, site, is_exit, values, count), values, count);
}
