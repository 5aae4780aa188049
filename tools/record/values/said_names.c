#include "tools/record/values/said_names.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

struct tool_record_value_names {
    ttape_value_name values[TOOL_SYMBOLS_VALUES];
    ttape_value_constant *constants; /* of all */
    size_t count, capacity;
};

static ttape_string as_string(const char *text) { return (ttape_string){text, strlen(text)}; }

/* Constants are linked once all are there: their memory may move. */
static bool take_value(struct tool_record_value_names *names, ttape_string *texts,
                       ttape_value_name *out)
{
    struct tool_symbols_value value;
    if (!tool_symbols_value_next(texts, &value))
        return false;
    *out = (ttape_value_name){.name = as_string(value.name),
                              .type = as_string(value.type),
                              .constant_count = value.constant_count};
    for (uint32_t i = 0; i < value.constant_count; i++) {
        ttape_value_constant constant;
        const char *name;
        if (!tool_symbols_constant_next(texts, &constant.value, &name))
            return false;
        constant.name = as_string(name);
        tool_grow((void **)&names->constants, &names->capacity, names->count + 1,
                  sizeof *names->constants);
        names->constants[names->count++] = constant;
    }
    if (value.constant_count != 0)
        out->enumeration = out->type;
    return true;
}

bool tool_record_value_names_of(struct tool_record_value_names **names,
                                const struct tool_record_said_texts *said, bool with_given,
                                ttape_site_values *out)
{
    ttape_string texts = said->texts;
    size_t first = 0;
    if (*names == NULL)
        *names = tool_allocate(1, sizeof **names);
    (*names)->count = 0;
    for (uint32_t i = 0; i < said->given + said->returned; i++)
        if (!take_value(*names, &texts, &(*names)->values[i]))
            return false;
    for (uint32_t i = 0; i < said->given + said->returned; i++) {
        ttape_value_name *value = &(*names)->values[i];
        value->constants = value->constant_count == 0 ? NULL : (*names)->constants + first;
        first += value->constant_count;
    }
    *out = (ttape_site_values){.enter = (*names)->values,
                               .enter_count = with_given ? said->given : 0,
                               .exit = (*names)->values + said->given,
                               .exit_count = said->returned};
    return out->enter_count + out->exit_count != 0;
}

void tool_record_value_names_close(struct tool_record_value_names *names)
{
    if (names != NULL)
        free(names->constants);
    free(names);
}
