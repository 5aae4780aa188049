#include "tools/record/engines/record_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

/* "arg2/s,arg3/s": which values are texts. */
static bool parse_texts(const char *at, uint32_t *values)
{
    do {
        char *end;
        unsigned long number = strncmp(at, "arg", 3) == 0 ? strtoul(at + 3, &end, 10) : 0;
        if (number == 0 || number > TTP_MARK_VALUES_MAX || strncmp(end, "/s", 2) != 0)
            return false;
        *values |= UINT32_C(1) << (number - 1);
        at = end + 2;
    } while (*at++ == ',');
    return at[-1] == '\0';
}

bool tool_parse_marks(const char *text, void *into)
{
    struct tool_record_marks *marks = into;
    marks->given = true;
    const char *at = text != NULL ? strstr(text, "@arg") : NULL;
    if (at == NULL)
        return text == NULL || tool_parse_pattern(text, &marks->names);
    tool_grow((void **)&marks->texts, &marks->text_capacity, marks->text_count + 1,
              sizeof *marks->texts);
    struct tool_record_mark_texts *texts = &marks->texts[marks->text_count++];
    *texts = (struct tool_record_mark_texts){.said = text};
    char *pattern = tool_copy_text(text, (size_t)(at - text));
    bool is_fine = parse_texts(at + 1, &texts->values) &&
                   tool_parse_pattern(pattern, &texts->names) &&
                   tool_parse_pattern(pattern, &marks->names);
    free(pattern);
    return is_fine;
}

void tool_record_marks_close(struct tool_record_marks *wanted)
{
    for (size_t i = 0; i < wanted->text_count; i++)
        tool_patterns_close(&wanted->texts[i].names);
    free(wanted->texts);
    tool_patterns_close(&wanted->names);
}

/* Texts are numbers that have room for an address and are said to be one of a text. */
static void set_texts(const struct tool_record_marks *wanted, const char *name,
                      struct ttp_mark_value *values, uint32_t count)
{
    uint32_t texts = 0;
    for (size_t i = 0; i < wanted->text_count; i++)
        if (tool_patterns_match(&wanted->texts[i].names, name))
            texts |= wanted->texts[i].values;
    for (uint32_t k = 0; k < count; k++)
        if ((texts >> k & 1) != 0 && values[k].size_bytes == 8 &&
            values[k].type != TTAPE_VALUE_FLOAT)
            values[k].type = TTAPE_VALUE_STRING;
}

void tool_record_mark_name(const struct tool_mark *mark, char name[TOOL_MARK_NAME_MAX])
{
    (void)snprintf(name, TOOL_MARK_NAME_MAX, "%.*s%s%.*s", (int)mark->provider.size_bytes,
                   mark->provider.data, mark->provider.size_bytes == 0 ? "" : ":",
                   (int)mark->name.size_bytes, mark->name.data);
}

bool tool_record_marks_find(const struct tool_record_marks *wanted, const char *path,
                            struct tool_marks *found)
{
    char name[TOOL_MARK_NAME_MAX];
    size_t kept = 0;
    *found = (struct tool_marks){.count = 0};
    if (!wanted->given)
        return false;
    if (!tool_marks_open(found, path))
        tool_out_of_memory();
    for (size_t i = 0; i < found->count; i++) {
        bool is_other = kept > 0 && found->items[kept - 1].address == found->items[i].address;
        tool_record_mark_name(&found->items[i], name);
        if (!is_other && (wanted->names.count == 0 || tool_patterns_match(&wanted->names, name)))
            found->items[kept++] = found->items[i];
    }
    found->count = kept;
    return kept != 0;
}

void tool_record_marks_places(const struct tool_marks *found, struct tool_patch_copy **copies,
                              size_t *count)
{
    size_t capacity = *count;
    if (found->count == 0)
        return;
    tool_grow((void **)copies, &capacity, *count + found->count, sizeof **copies);
    for (size_t i = 0; i < found->count; i++)
        (*copies)[(*count)++] =
            (struct tool_patch_copy){.entry = found->items[i].address, .is_mark = true};
}

struct ttp_marks_head *tool_record_marks_make(const struct tool_record_marks *wanted,
                                              const struct tool_marks *found, size_t *size_bytes)
{
    struct ttp_mark_value values[TTP_MARK_VALUES_MAX];
    char name[TOOL_MARK_NAME_MAX];
    struct ttp_marks_head head = {.row_count = (uint32_t)found->count};
    for (size_t i = 0; i < found->count; i++) {
        head.value_count += tool_marks_values(found, &found->items[i], values);
        tool_record_mark_name(&found->items[i], name);
        head.name_bytes += (uint32_t)strlen(name) + 1;
    }
    *size_bytes = sizeof head + head.value_count * sizeof *values +
                  head.row_count * sizeof(struct ttp_marks_row) + head.name_bytes;
    uint8_t *made = tool_allocate(*size_bytes, 1);
    memcpy(made, &head, sizeof head);
    uint8_t *value_at = made + sizeof head, *row_at = value_at + head.value_count * sizeof *values,
            *name_at = row_at + head.row_count * sizeof(struct ttp_marks_row);
    struct ttp_marks_row row = {.first = 0};
    for (size_t i = 0; i < found->count; i++) {
        row.address = found->items[i].address;
        row.semaphore = found->items[i].semaphore;
        row.value_count = (uint8_t)tool_marks_values(found, &found->items[i], values);
        tool_record_mark_name(&found->items[i], name);
        set_texts(wanted, name, values, row.value_count);
        memcpy(value_at + row.first * sizeof *values, values, row.value_count * sizeof *values);
        memcpy(row_at + i * sizeof row, &row, sizeof row);
        memcpy(name_at + row.name, name, strlen(name) + 1);
        row.first += row.value_count;
        row.name += (uint32_t)strlen(name) + 1;
    }
    return (struct ttp_marks_head *)(void *)made;
}
