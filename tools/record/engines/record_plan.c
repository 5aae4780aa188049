/* The chosen functions of a patch plan, one a row:
 *
 *     function   entry  exits  not patched
 *     main       5 B    3 of 3
 *     sum        pad    1 of 2 another window is too near
 *     spin       -             it branches to its own start
 *
 * With --inlined also each chosen copy of an inlined function. */
#include "tools/record/engines/record_plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/binary/patch_file.h"
#include "tools/command/tool.h"
#include "tools/io/json.h"
#include "tools/io/table.h"
#include "tools/record/modules/record_image.h"
#include "tools/record/modules/record_modules.h"
#include "tools/record/output/record_output.h"

struct planned {
    const char *path;
    const struct tool_patch_given *given;
    char **names; /* NULL: it is not chosen */
    uint64_t chosen, entries, exits, exits_can, exits_all;
    uint64_t entry_reasons[TTP_PATCH_REASONS], exit_reasons[TTP_PATCH_REASONS];
    struct tool_patch_given copies; /* of inlined functions; without bytes: none is chosen */
    struct tool_record_copies *copy_names;
    struct tool_marks marks; /* that are chosen; their windows are among the copies */
    bool is_inlined, has_marks;
    struct tool_record_lines lines;
};

/* Exits of a function: how many, how many of them can be patched, and why the first one cannot. */
struct exits {
    uint32_t count, can;
    enum ttp_patch_reason reason;
};

/* Into `reasons`, too, where it is given. */
static struct exits count_exits(const struct planned *planned,
                                const struct ttp_patch_function *function, uint64_t *reasons)
{
    struct exits exits = {0};
    for (uint32_t i = 1; i < function->probe_count; i++) {
        struct ttp_patch_probe probe = tool_patch_probe_at(planned->given, function, i);
        if (probe.kind == TTP_PATCH_HOST)
            continue;
        exits.count++;
        exits.can += probe.reason == TTP_PATCH_CAN;
        if (reasons != NULL)
            reasons[probe.reason % TTP_PATCH_REASONS]++;
        if (exits.reason == TTP_PATCH_CAN)
            exits.reason = probe.reason;
    }
    return exits;
}

static void take_name(void *context, uint32_t number, ttape_string name, bool is_chosen)
{
    struct planned *planned = context;
    struct ttp_patch_function function = tool_patch_function_at(planned->given, number);
    if (!is_chosen)
        return;
    planned->names[number] = tool_copy_text(name.data, name.size_bytes);
    planned->chosen++;
    enum ttp_patch_reason reason = tool_patch_probe_at(planned->given, &function, 0).reason;
    planned->entry_reasons[reason % TTP_PATCH_REASONS]++;
    if (reason != TTP_PATCH_CAN)
        return;
    struct exits exits = count_exits(planned, &function, planned->exit_reasons);
    planned->entries++;
    planned->exits += exits.count;
    planned->exits_can += exits.can;
    planned->exits_all += exits.count == exits.can;
}

/* -- copies of inlined functions, and marks -- */

static uint32_t copy_count(const struct planned *planned)
{
    return planned->copies.bytes != NULL ? planned->copies.head.function_count : 0;
}

static struct ttp_patch_probe copy_probe(const struct planned *planned, uint32_t number)
{
    struct ttp_patch_function copy = tool_patch_function_at(&planned->copies, number);
    return tool_patch_probe_at(&planned->copies, &copy, 0);
}

/* Those of one kind are counted, by reason, and in all. A mark in no function is none of the
 * plan's. */
static uint64_t count_kind(const struct planned *planned, enum ttp_patch_kind kind,
                           uint64_t reasons[TTP_PATCH_REASONS])
{
    uint64_t count = 0;
    memset(reasons, 0, TTP_PATCH_REASONS * sizeof *reasons);
    for (uint32_t i = 0; i < copy_count(planned); i++) {
        struct ttp_patch_probe probe = copy_probe(planned, i);
        if (probe.kind != kind)
            continue;
        reasons[probe.reason % TTP_PATCH_REASONS]++;
        count++;
    }
    if (kind != TTP_PATCH_MARK || count == planned->marks.count)
        return count;
    reasons[TTP_PATCH_ELSEWHERE] += planned->marks.count - count;
    return planned->marks.count;
}

static const char *copy_name(const struct planned *planned, uint32_t start,
                             char mark[TOOL_MARK_NAME_MAX])
{
    const struct ttp_patch_head *head = &planned->given->head;
    ttape_site site = {.symbol = {"", 0}};
    for (size_t i = 0; i < planned->marks.count; i++)
        if (planned->marks.items[i].address == start) {
            tool_record_mark_name(&planned->marks.items[i], mark);
            return mark;
        }
    (void)tool_record_copies_find(
        planned->copy_names, (ttape_string){(const char *)head->build_id, head->build_id_bytes},
        start, &site);
    return site.symbol.data;
}

static void plan_copies(struct planned *planned, struct tool_record_patch *patch)
{
    uint32_t count = planned->given->head.function_count;
    uint64_t *chosen = tool_allocate((size_t)count / 64 + 1, sizeof *chosen);
    struct tool_patch_copy *copies = NULL;
    for (uint32_t i = 0; i < count; i++)
        chosen[i / 64] |= (uint64_t)(planned->names[i] != NULL) << i % 64;
    size_t range_count =
        patch->inlined ? tool_record_patch_copies(patch, planned->given, planned->path, &copies)
                       : 0;
    tool_record_marks_places(&planned->marks, &copies, &range_count);
    const struct tool_plan_wish wish = {.path = planned->path, .cache = patch->cache};
    const char *reason = tool_patch_inlined_give(&wish, &planned->given->head, chosen, copies,
                                                 range_count, &planned->copies);
    if (reason != NULL)
        tool_message("'%s': no plan of inlined functions and marks: %s", planned->path, reason);
    planned->copy_names = &patch->copies;
    free(copies);
    free(chosen);
}

/* -- for people -- */

static double share_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void print_reasons(struct tool_output *out, const uint64_t *counts, const char *one,
                          const char *more)
{
    for (unsigned i = 1; i < TTP_PATCH_REASONS; i++)
        if (counts[i] > 0)
            tool_output_printf(out, "  %llu %s not: %s\n", (unsigned long long)counts[i],
                               counts[i] == 1 ? one : more, tool_patch_reason_text(i));
}

static void print_kind(const struct planned *planned, struct tool_output *out,
                       enum ttp_patch_kind kind, const char *what, const char *one,
                       const char *more)
{
    uint64_t reasons[TTP_PATCH_REASONS];
    uint64_t count = count_kind(planned, kind, reasons), can = reasons[TTP_PATCH_CAN];
    if (count == 0)
        return;
    tool_output_printf(out, "  %llu of %llu %s can be patched (%.1f %%)\n", (unsigned long long)can,
                       (unsigned long long)count, what, share_percent(can, count));
    print_reasons(out, reasons, one, more);
}

static void print_summary(const struct planned *planned, struct tool_output *out)
{
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                        (ttape_string){planned->path, strlen(planned->path)});
    tool_output_printf(out,
                       ": %llu of %llu functions can be patched (%.1f %%), %llu of them with "
                       "all exits (%.1f %%)\n",
                       (unsigned long long)planned->entries, (unsigned long long)planned->chosen,
                       share_percent(planned->entries, planned->chosen),
                       (unsigned long long)planned->exits_all,
                       share_percent(planned->exits_all, planned->entries));
    print_reasons(out, planned->entry_reasons, "function", "functions");
    print_reasons(out, planned->exit_reasons, "exit", "exits");
    print_kind(planned, out, TTP_PATCH_INLINED, "copies of inlined functions", "copy", "copies");
    print_kind(planned, out, TTP_PATCH_MARK, "marks", "mark", "marks");
}

static const char *entry_words(const struct ttp_patch_probe *entry)
{
    return entry->reason != TTP_PATCH_CAN           ? "no"
           : (entry->flags & TTP_PATCH_PAD) != 0    ? "pad"
           : (entry->flags & TTP_PATCH_PUSHES) != 0 ? "call"
                                                    : "code";
}

static void print_copy(const struct planned *planned, struct tool_table *table, uint32_t number)
{
    char mark[TOOL_MARK_NAME_MAX];
    struct ttp_patch_function copy = tool_patch_function_at(&planned->copies, number);
    struct ttp_patch_probe entry = tool_patch_probe_at(&planned->copies, &copy, 0);
    tool_table_printf(table, TOOL_PLAIN, "%x",
                      entry.kind == TTP_PATCH_MARK ? copy.start : entry.window);
    tool_table_text(table, TOOL_PLAIN, copy_name(planned, copy.start, mark));
    tool_table_text(table, TOOL_PLAIN, entry_words(&entry));
    tool_table_text(table, TOOL_PLAIN, "");
    tool_table_text(table, TOOL_PLAIN,
                    entry.reason == TTP_PATCH_CAN ? "" : tool_patch_reason_text(entry.reason));
}

static void print_row(const struct planned *planned, struct tool_table *table, uint32_t number)
{
    struct ttp_patch_function function = tool_patch_function_at(planned->given, number);
    struct ttp_patch_probe entry = tool_patch_probe_at(planned->given, &function, 0);
    struct exits exits = count_exits(planned, &function, NULL);
    enum ttp_patch_reason reason = entry.reason != TTP_PATCH_CAN ? entry.reason : exits.reason;
    tool_table_printf(table, TOOL_PLAIN, "%x", function.start);
    tool_table_text(table, TOOL_PLAIN, planned->names[number]);
    tool_table_text(table, TOOL_PLAIN, entry_words(&entry));
    if (entry.reason != TTP_PATCH_CAN)
        tool_table_text(table, TOOL_PLAIN, "");
    else
        tool_table_printf(table, TOOL_PLAIN, "%u of %u", exits.can, exits.count);
    tool_table_text(table, TOOL_PLAIN,
                    reason == TTP_PATCH_CAN ? "" : tool_patch_reason_text(reason));
}

static void print_text(const struct planned *planned, struct tool_output *out, bool is_next)
{
    static const struct tool_column columns[] = {
        {.title = "address"},
        {.title = "function", .is_text = true},
        {.title = "entry", .is_text = true},
        {.title = "exits"},
        {.title = "why not", .is_text = true, .gives_way = true}};
    struct tool_table table;
    if (is_next)
        tool_output_text(out, "\n");
    print_summary(planned, out);
    if (planned->chosen == 0 && copy_count(planned) == 0)
        return;
    tool_output_text(out, "\n");
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < planned->given->head.function_count; i++)
        if (planned->names[i] != NULL)
            print_row(planned, &table, i);
    for (uint32_t i = 0; i < copy_count(planned); i++)
        print_copy(planned, &table, i);
    tool_table_print(&table, out, tool_table_width(&table, false), false);
    tool_table_close(&table);
    tool_record_lines_print(&planned->lines, out);
}

/* -- for programs -- */

static void put_fixups(const struct tool_patch_given *given, struct tool_json *json,
                       const struct ttp_patch_probe *probe)
{
    tool_json_begin(json, "fixups", '[');
    for (uint32_t i = 0; i < probe->fixup_count; i++) {
        struct ttp_plan_fixup fixup;
        memcpy(&fixup,
               given->bytes + given->head.fixups_at +
                   ((size_t)probe->first_fixup + i) * sizeof fixup,
               sizeof fixup);
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "at", fixup.at);
        tool_json_number(json, "tail", fixup.tail);
        tool_json_number(json, "target", fixup.target);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_probe(const struct tool_patch_given *given, struct tool_json *json,
                      const struct ttp_patch_probe *probe)
{
    static const char *const kinds[] = {
        "entry", "return", "tail", "conditional", "host", "inlined", "conditional-return", "mark"};
    const uint8_t *bytes = given->bytes + given->head.bytes_at + probe->bytes;
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "kind", kinds[probe->kind % 8]);
    tool_json_text(json, "reason", tool_patch_reason_word(probe->reason));
    tool_json_number(json, "address", probe->window);
    tool_json_number(json, "window_bytes", probe->window_bytes);
    tool_json_number(json, "jump", probe->jump);
    if (probe->reason == TTP_PATCH_CAN) {
        tool_json_bool(json, "pad", (probe->flags & TTP_PATCH_PAD) != 0);
        tool_json_bool(json, "pushes", (probe->flags & TTP_PATCH_PUSHES) != 0);
        tool_json_number(json, "lines", probe->lines);
        tool_json_hex(json, "original", bytes, probe->window_bytes);
        tool_json_hex(json, "before", bytes + probe->window_bytes, probe->before_bytes);
        tool_json_hex(json, "after", bytes + probe->window_bytes + probe->before_bytes,
                      probe->after_bytes);
        put_fixups(given, json, probe);
    }
    tool_json_end(json, '}');
}

static void put_function(const struct planned *planned, struct tool_json *json, uint32_t number)
{
    struct ttp_patch_function function = tool_patch_function_at(planned->given, number);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "start", function.start);
    tool_json_number(json, "end", function.end);
    tool_json_text(json, "name", planned->names[number]);
    tool_json_begin(json, "probes", '[');
    for (uint32_t i = 0; i < function.probe_count; i++) {
        struct ttp_patch_probe probe = tool_patch_probe_at(planned->given, &function, i);
        put_probe(planned->given, json, &probe);
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_reasons(struct tool_json *json, const char *key, const uint64_t *counts)
{
    tool_json_begin(json, key, '{');
    for (unsigned i = 0; i < TTP_PATCH_REASONS; i++)
        if (counts[i] > 0)
            tool_json_number(json, tool_patch_reason_word(i), counts[i]);
    tool_json_end(json, '}');
}

/* Copies of inlined functions, or marks: under `chosen`, `patched`, `why` and `list`. */
static void put_copies(const struct planned *planned, struct tool_json *json,
                       enum ttp_patch_kind kind, const char *const keys[4])
{
    char mark[TOOL_MARK_NAME_MAX];
    uint64_t reasons[TTP_PATCH_REASONS];
    tool_json_number(json, keys[0], count_kind(planned, kind, reasons));
    tool_json_number(json, keys[1], reasons[TTP_PATCH_CAN]);
    put_reasons(json, keys[2], reasons);
    tool_json_begin(json, keys[3], '[');
    for (uint32_t i = 0; i < copy_count(planned); i++) {
        struct ttp_patch_function copy = tool_patch_function_at(&planned->copies, i);
        struct ttp_patch_probe probe = copy_probe(planned, i);
        if (probe.kind != kind)
            continue;
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "name", copy_name(planned, copy.start, mark));
        tool_json_begin(json, "probes", '[');
        put_probe(&planned->copies, json, &probe);
        tool_json_end(json, ']');
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_module(const struct planned *planned, struct tool_json *json)
{
    static const char *const copy_keys[] = {"chosen_copies", "patched_copies", "copy_reasons",
                                            "copies"};
    static const char *const mark_keys[] = {"chosen_marks", "patched_marks", "mark_reasons",
                                            "marks"};
    const struct ttp_patch_head *head = &planned->given->head;
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "module", planned->path);
    tool_json_hex(json, "build_id", head->build_id, head->build_id_bytes % 33);
    tool_json_number(json, "all_functions", head->function_count);
    tool_json_number(json, "chosen_functions", planned->chosen);
    tool_json_number(json, "patched_functions", planned->entries);
    tool_json_number(json, "functions_with_all_exits", planned->exits_all);
    tool_json_number(json, "exits", planned->exits);
    tool_json_number(json, "patched_exits", planned->exits_can);
    put_reasons(json, "entry_reasons", planned->entry_reasons);
    put_reasons(json, "exit_reasons", planned->exit_reasons);
    tool_json_begin(json, "functions", '[');
    for (uint32_t i = 0; i < head->function_count; i++)
        if (planned->names[i] != NULL)
            put_function(planned, json, i);
    tool_json_end(json, ']');
    if (planned->is_inlined)
        put_copies(planned, json, TTP_PATCH_INLINED, copy_keys);
    if (planned->has_marks)
        put_copies(planned, json, TTP_PATCH_MARK, mark_keys);
    tool_record_lines_put(&planned->lines, json);
    tool_json_end(json, '}');
}

/* One module is printed, or those that patterns of modules choose. */
struct printing {
    struct tool_record_patch *patch;
    struct tool_output out;
    struct tool_json json;
    bool as_json;
    uint32_t count; /* of modules */
};

static void print(struct printing *p, const struct planned *planned)
{
    if (p->as_json)
        put_module(planned, &p->json);
    else
        print_text(planned, &p->out, p->count != 0);
    p->count++;
}

/* NULL, or why there is no plan. */
static const char *plan_module(struct printing *p, const char *path)
{
    struct tool_patch_given given = {0};
    const struct tool_plan_wish wish = {.path = path, .cache = p->patch->cache};
    const char *reason = tool_patch_give(&wish, &given);
    if (reason == NULL) {
        struct planned planned = {.path = path, .given = &given};
        planned.names = tool_allocate((size_t)given.head.function_count + 1, sizeof(char *));
        tool_record_patch_each(p->patch, &given, path, take_name, &planned);
        planned.is_inlined = p->patch->inlined;
        planned.has_marks = tool_record_marks_find(&p->patch->marks, path, &planned.marks);
        if (planned.is_inlined || planned.has_marks)
            plan_copies(&planned, p->patch);
        tool_record_lines_find(&planned.lines, &given, path, planned.names);
        print(p, &planned);
        tool_record_lines_close(&planned.lines);
        tool_patch_given_close(&planned.copies);
        tool_marks_close(&planned.marks);
        for (uint32_t i = 0; i < given.head.function_count; i++)
            free(planned.names[i]);
        free(planned.names);
    }
    tool_patch_given_close(&given);
    return reason;
}

/* Of a command, what is loaded later is not known. */
static int plan_modules(struct printing *p, const char *program)
{
    char **started = p->patch->loaded == NULL ? tool_record_modules(program) : NULL;
    char **modules = started != NULL ? started : p->patch->loaded;
    int status = TOOL_OK;
    for (char **path = modules; *path != NULL; path++) {
        const char *reason =
            tool_record_patch_covers(p->patch, *path) ? plan_module(p, *path) : NULL;
        if (reason != NULL)
            status = tool_fail("'%s': %s", *path, reason);
    }
    if (started != NULL)
        tool_record_modules_free(started);
    if (p->count == 0 && status == TOOL_OK)
        status = tool_fail("no module that '%s' %s matches", program,
                           started != NULL ? "starts with" : "has loaded");
    return status;
}

int tool_record_plan(struct tool_record_patch *patch, const char *command, bool as_json)
{
    struct printing p = {.patch = patch, .as_json = as_json};
    bool is_list = patch->module->count != 0 || patch->own != NULL;
    char *path = is_list ? tool_record_image(command) : tool_record_find_command(command);
    int status = TOOL_OK;
    if (path == NULL)
        return tool_fail("there is no command '%s'", command);
    tool_output_open(&p.out, STDOUT_FILENO);
    if (as_json)
        tool_json_open(&p.json, &p.out);
    if (as_json && is_list) {
        tool_json_begin(&p.json, NULL, '{');
        tool_json_begin(&p.json, "modules", '[');
    }
    if (is_list) {
        status = plan_modules(&p, path);
    } else {
        const char *reason = plan_module(&p, path);
        status = reason != NULL ? tool_fail("'%s': %s", path, reason) : TOOL_OK;
    }
    if (as_json && is_list) {
        tool_json_end(&p.json, ']');
        tool_json_end(&p.json, '}');
    }
    free(path);
    int written = tool_output_close(&p.out);
    return status != TOOL_OK ? status : written;
}
