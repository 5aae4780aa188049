/* Lines at which a debugger's breakpoint does not stop any more, once the program is patched: they
 * begin within a window, behind its first byte. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/patch_lines.h"
#include "tools/command/tool.h"
#include "tools/record/engines/record_plan.h"

struct finding {
    struct tool_record_lines *lines;
    const struct tool_patch_given *given;
    uint64_t *hidden; /* a bit for each byte of code */
};

static bool is_hidden(const struct finding *f, uint64_t address)
{
    uint64_t bit = address - f->given->head.code_start;
    return address >= f->given->head.code_start && address < f->given->head.code_end &&
           (f->hidden[bit / 64] >> bit % 64 & 1) != 0;
}

static void hide(const struct finding *f, const struct ttp_patch_probe *probe)
{
    for (uint32_t i = 1; probe->reason == TTP_PATCH_CAN && i < probe->window_bytes; i++) {
        uint32_t bit = probe->window + i - f->given->head.code_start;
        if (bit < f->given->head.code_end - f->given->head.code_start)
            f->hidden[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static void add_line(struct tool_record_lines *lines, uint64_t address, const char *file,
                     uint32_t line)
{
    tool_grow((void **)&lines->all, &lines->capacity, lines->count + 1, sizeof *lines->all);
    lines->all[lines->count++] = (struct tool_record_line){
        .address = (uint32_t)address, .line = line, .file = tool_copy_text(file, strlen(file))};
}

static void take_line(void *context, uint64_t address, const char *file, uint32_t line)
{
    const struct finding *f = context;
    if (is_hidden(f, address))
        add_line(f->lines, address, file, line);
}

static int compare_lines(const void *a, const void *b)
{
    const struct tool_record_line *one = a, *other = b;
    int by_file = strcmp(one->file, other->file);
    if (by_file != 0)
        return by_file;
    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return one->address < other->address ? -1 : one->address > other->address;
}

void tool_record_lines_find(struct tool_record_lines *lines, const struct tool_patch_given *given,
                            const char *path, char *const *names)
{
    const struct ttp_patch_head *head = &given->head;
    struct finding f = {.lines = lines, .given = given};
    *lines = (struct tool_record_lines){0};
    if (head->code_start >= head->code_end)
        return;
    f.hidden =
        tool_allocate((size_t)(head->code_end - head->code_start) / 64 + 1, sizeof *f.hidden);
    for (uint32_t i = 0; i < head->function_count; i++) {
        struct ttp_patch_function function = tool_patch_function_at(given, i);
        bool is_patched =
            names[i] != NULL && tool_patch_probe_at(given, &function, 0).reason == TTP_PATCH_CAN;
        for (uint32_t n = 0; is_patched && n < function.probe_count; n++) {
            struct ttp_patch_probe probe = tool_patch_probe_at(given, &function, n);
            hide(&f, &probe);
        }
    }
    tool_patch_lines_each(path, take_line, &f);
    if (lines->count > 0)
        qsort(lines->all, lines->count, sizeof *lines->all, compare_lines);
    free(f.hidden);
}

void tool_record_lines_close(struct tool_record_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->all[i].file);
    free(lines->all);
    *lines = (struct tool_record_lines){0};
}

/* One row a file, with each line once. */
void tool_record_lines_print(const struct tool_record_lines *lines, struct tool_output *out)
{
    const struct tool_record_line *before = NULL;
    for (size_t i = 0; i < lines->count; i++) {
        const struct tool_record_line *at = &lines->all[i];
        bool is_next = before == NULL || strcmp(before->file, at->file) != 0;
        if (!is_next && before->line == at->line)
            continue;
        if (before == NULL)
            tool_output_text(out, "\nbreakpoints that are set later do not stop everywhere in:");
        tool_output_text(out, is_next ? "\n  " : ", ");
        if (is_next)
            tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                                (ttape_string){at->file, strlen(at->file)});
        tool_output_printf(out, "%s%u", is_next ? ":" : "", at->line);
        before = at;
    }
    if (before != NULL)
        tool_output_text(out, "\n");
}

void tool_record_lines_put(const struct tool_record_lines *lines, struct tool_json *json)
{
    tool_json_begin(json, "lines_without_stops", '[');
    for (size_t i = 0; i < lines->count; i++) {
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "address", lines->all[i].address);
        tool_json_text(json, "file", lines->all[i].file);
        tool_json_number(json, "line", lines->all[i].line);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}
