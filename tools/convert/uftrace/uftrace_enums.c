/* Enumerations, so that a value is shown as its constant: "enum color {RED,GREEN=5}", in lines
 * "E: ..." of a module's debug file and, of the C library's, one behind the other in `info`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/uftrace/uftrace.h"

#define BLANKS " \t\n"

/* The next of "NAME", "NAME = 5" up to the comma or brace behind it. False: there is none. */
static bool take_constant(char **at, int64_t *next, ttape_value_constant *constant)
{
    *at += strspn(*at, BLANKS ",");
    size_t size = strcspn(*at, BLANKS ",=}");
    char *end = *at + size;
    if (size == 0)
        return false;
    *constant = (ttape_value_constant){.value = *next, .name = {*at, size}};
    end += strspn(end, BLANKS);
    if (*end == '=') {
        char *rest;
        end += 1 + strspn(end + 1, BLANKS);
        errno = 0;
        constant->value = *end == '-' ? strtoll(end, &rest, 0) : (int64_t)strtoull(end, &rest, 0);
        if (rest == end || errno != 0)
            return false;
        end = rest + strspn(rest, BLANKS);
    }
    *next = (int64_t)((uint64_t)constant->value + 1);
    *at = end;
    return *end == ',' || *end == '}';
}

static void add_enumeration(struct tool_uft_recording *recording, uint32_t module,
                            const struct tool_uft_enumeration *found)
{
    size_t size = sizeof(module) + found->name.size_bytes;
    char *key = tool_allocate(size, 1);
    bool is_new;
    memcpy(key, &module, sizeof(module));
    memcpy(key + sizeof(module), found->name.data, found->name.size_bytes);
    uint32_t *known = tool_names_find(&recording->enumeration_of, key, size, &is_new);
    free(key);
    tool_grow((void **)&recording->enumerations, &recording->enumeration_capacity,
              recording->enumeration_count + 1, sizeof(*found));
    recording->enumerations[recording->enumeration_count++] = *found;
    if (is_new) /* the first one counts, as for its own reader */
        *known = (uint32_t)recording->enumeration_count;
}

/* "enum NAME {A,B=5}"; what is none is passed over. */
static void take_enumeration(struct tool_uft_recording *recording, uint32_t module,
                             const char *text)
{
    const char *rest = tool_after(text + strspn(text, BLANKS), "enum ");
    if (rest == NULL)
        return;
    struct tool_uft_enumeration found = {.text = tool_copy_text(rest, strlen(rest))};
    char *at = found.text + strspn(found.text, BLANKS);
    found.name = (ttape_string){at, strcspn(at, BLANKS "{")};
    at += found.name.size_bytes;
    at += strspn(at, BLANKS);
    size_t capacity = 0;
    int64_t next = 0;
    ttape_value_constant constant;
    bool is_good = *at++ == '{' && found.name.size_bytes > 0;
    while (is_good && found.count < TTAPE_ENUMERATION_MAX_CONSTANTS &&
           take_constant(&at, &next, &constant)) {
        tool_grow((void **)&found.constants, &capacity, found.count + 1, sizeof(constant));
        found.constants[found.count++] = constant;
    }
    add_enumeration(recording, module, &found);
}

static void read_info(struct tool_uft_recording *recording)
{
    const char *text = recording->info.enumerations;
    for (size_t length; text != NULL && *text != '\0'; text += length + (text[length] == ';')) {
        length = strcspn(text, ";");
        char *one = tool_copy_text(text, length);
        take_enumeration(recording, TTAPE_NONE, one);
        free(one);
    }
}

uint32_t tool_uft_find_enumeration(struct tool_uft_recording *recording, uint32_t module,
                                   const char *name, size_t size_bytes)
{
    const uint32_t modules[] = {module, TTAPE_NONE};
    uint32_t number = 0;
    if (!recording->modules[module].has_enumerations) {
        recording->modules[module].has_enumerations = true;
        tool_uft_each_debug(recording, module, "E: ", take_enumeration);
    }
    if (!recording->has_enumerations) {
        recording->has_enumerations = true;
        read_info(recording);
    }
    char *key = tool_allocate(sizeof(module) + size_bytes, 1);
    memcpy(key + sizeof(module), name, size_bytes);
    for (int i = 0; i < 2 && number == 0; i++) {
        bool is_new;
        memcpy(key, &modules[i], sizeof(module));
        uint32_t *known =
            tool_names_find(&recording->enumeration_of, key, sizeof(module) + size_bytes, &is_new);
        *known = is_new ? 0 : *known;
        number = *known;
    }
    free(key);
    return number;
}

/* What is known of the values of a layout, allocated; NULL: nothing. */
static ttape_value_name *name_layout(const struct tool_uft_recording *recording,
                                     const struct tool_uft_layout *layout, uint32_t *count)
{
    ttape_value_name *names = NULL;
    uint32_t values = 0;
    *count = 0;
    for (uint32_t i = 0; layout != NULL && i < layout->count; i++) {
        const struct tool_uft_spec *spec = &layout->specs[i];
        if (spec->size_bytes == 0)
            continue; /* it leaves no value */
        if (spec->enumeration > 0) {
            const struct tool_uft_enumeration *of = &recording->enumerations[spec->enumeration - 1];
            names = names != NULL ? names : tool_allocate(layout->count, sizeof(*names));
            names[values] = (ttape_value_name){
                .constants = of->constants, .constant_count = of->count, .enumeration = of->name};
            *count = values + 1;
        }
        values++;
    }
    return names;
}

ttape_status tool_uft_name_values(const struct tool_uft_recording *recording, uint32_t site,
                                  const struct tool_uft_layout *arguments,
                                  const struct tool_uft_layout *returns, ttape_error *err)
{
    ttape_site_values values = {0};
    ttape_value_name *enter = name_layout(recording, arguments, &values.enter_count);
    ttape_value_name *exit = name_layout(recording, returns, &values.exit_count);
    ttape_status status = TTAPE_OK;
    values.enter = enter;
    values.exit = exit;
    if (enter != NULL || exit != NULL)
        status = ttape_writer_name_values(recording->conversion->writer, site, &values, err);
    free(enter);
    free(exit);
    return status;
}

void tool_uft_close_enumerations(struct tool_uft_recording *recording)
{
    for (size_t i = 0; i < recording->enumeration_count; i++) {
        free(recording->enumerations[i].text);
        free(recording->enumerations[i].constants);
    }
    free(recording->enumerations);
    tool_names_close(&recording->enumeration_of);
}
