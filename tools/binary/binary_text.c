/* What is in a binary, as lines for people. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/binary/binary_view.h"
#include "tools/io/table.h"

const char *tool_binary_kind_words(unsigned kind)
{
    static const char *const words[] = {"can be patched",
                                        "branches lead to where the jump would be",
                                        "the function is too short",
                                        "the instructions beside it cannot be moved",
                                        "another system call is too near",
                                        "its function has jumps to unknown places",
                                        "the C library compares its address",
                                        "it is in a restartable sequence"};
    return kind < sizeof words / sizeof words[0] ? words[kind] : "unknown";
}

void tool_binary_row_words(const struct ttp_plan_row *row, char cfa[32], char rbp[32])
{
    static const char *const bases[] = {"none", "rsp",    "rbp",       "(rbp", "(rsp",
                                        "plt",  "signal", "outermost", "rdi",  "hard"};
    static const char *const saved[] = {"same", "cfa", "rbp", "gone"};
    bool is_word = row->cfa_kind == TTP_PLAN_CFA_AT_RBP || row->cfa_kind == TTP_PLAN_CFA_AT_RSP;
    bool has_cfa = row->cfa_kind != TTP_PLAN_CFA_NONE && row->cfa_kind != TTP_PLAN_CFA_SIGNAL &&
                   row->cfa_kind != TTP_PLAN_CFA_OUTERMOST && row->cfa_kind != TTP_PLAN_CFA_HARD;
    bool has_offset = row->rbp_kind == TTP_PLAN_RBP_CFA || row->rbp_kind == TTP_PLAN_RBP_AT_RBP;
    rbp[0] = 0;
    if (!has_cfa)
        (void)snprintf(cfa, 32, "%s", bases[row->cfa_kind]);
    else
        (void)snprintf(cfa, 32, "%s%+d%s", bases[row->cfa_kind], row->cfa_offset,
                       is_word ? ")" : "");
    if (has_cfa && has_offset)
        (void)snprintf(rbp, 32, "%s%+d", saved[row->rbp_kind], row->rbp_offset);
    else if (has_cfa)
        (void)snprintf(rbp, 32, "%s", saved[row->rbp_kind]);
}

const char *tool_binary_function_name(const struct tool_binary *binary, uint32_t number)
{
    const struct tool_function *function = &binary->code.functions[number];
    const char *given = binary->names != NULL ? binary->names[number] : NULL;
    return function->name != NULL ? function->name : given != NULL ? given : "";
}

const char *tool_binary_origin_words(enum tool_symbols_from from)
{
    static const char *const words[] = {"nowhere", "the file", "its debug file", ".gnu_debugdata",
                                        "what it exports"};
    return (size_t)from < sizeof words / sizeof words[0] ? words[from] : "nowhere";
}

static void print_origin(const struct tool_binary *binary, struct tool_output *out)
{
    tool_output_printf(out, "names        from %s; lines from %s\n",
                       tool_binary_origin_words(binary->origin.names),
                       tool_binary_origin_words(binary->origin.lines));
    if (binary->debug_path[0] == '\0')
        return;
    tool_output_text(out, "debug file   ");
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                        (ttape_string){binary->debug_path, strlen(binary->debug_path)});
    tool_output_text(out, "\n");
}

static void print(struct tool_table *table, struct tool_output *out)
{
    tool_output_text(out, "\n");
    tool_table_print(table, out, tool_table_width(table, false), false);
    tool_table_close(table);
}

static void print_summary(const struct tool_binary *binary, struct tool_output *out)
{
    const struct tool_code *code = &binary->code;
    size_t counts[TTP_PLAN_REASONS] = {0}, pieces = 0, known = 0;
    for (size_t i = 0; i < code->site_count; i++) {
        counts[code->sites[i].plan.kind]++;
        known += code->sites[i].plan.number_known;
    }
    for (size_t i = 0; i < code->function_count; i++)
        pieces += (code->functions[i].flags & TTP_PLAN_FUNCTION_COLD) != 0;
    tool_output_text(out, "file         ");
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                        (ttape_string){binary->path, strlen(binary->path)});
    tool_output_text(out, "\nbuild id     ");
    for (uint32_t i = 0; i < binary->image.build_id_bytes; i++)
        tool_output_printf(out, "%02x", binary->image.build_id[i]);
    tool_output_printf(out, "%s\nfunctions    %zu, of these %zu pieces of others\n",
                       binary->image.build_id_bytes == 0 ? "none" : "", code->function_count,
                       pieces);
    print_origin(binary, out);
    tool_output_printf(out, "unwind rows  %zu", code->row_count);
    if (code->bad_frames > 0)
        tool_output_printf(out, ", %u entries are damaged", code->bad_frames);
    tool_output_printf(out, "\nsystem calls %zu, of %zu the number is known\n", code->site_count,
                       known);
    for (unsigned i = 0; i < TTP_PLAN_REASONS; i++)
        if (counts[i] > 0)
            tool_output_printf(out, "             %zu: %s\n", counts[i], tool_binary_kind_words(i));
    tool_output_printf(out, "plan         %zu bytes\n", binary->plan_bytes);
}

static void print_sites(const struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "address"},
        {.title = "call"},
        {.title = "window"},
        {.title = "bytes"},
        {.title = "function", .is_text = true},
        {.title = "patch", .is_text = true, .gives_way = true}};
    struct tool_table table;
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < binary->code.site_count; i++) {
        const struct ttp_plan_site *site = &binary->code.sites[i].plan;
        tool_table_printf(&table, TOOL_PLAIN, "%x", site->address);
        if (site->number_known)
            tool_table_printf(&table, TOOL_PLAIN, "%u", site->number);
        else
            tool_table_text(&table, TOOL_PLAIN, "");
        if (site->kind == TTP_PLAN_CAN) {
            tool_table_printf(&table, TOOL_PLAIN, "%x", site->window);
            tool_table_printf(&table, TOOL_PLAIN, "%u", site->window_bytes);
        } else {
            tool_table_text(&table, TOOL_PLAIN, "");
            tool_table_text(&table, TOOL_PLAIN, "");
        }
        tool_table_text(&table, TOOL_PLAIN, tool_binary_function_name(binary, site->function));
        tool_table_text(&table, TOOL_PLAIN, tool_binary_kind_words(site->kind));
    }
    print(&table, out);
}

static void print_functions(const struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "start"},
        {.title = "end"},
        {.title = "function", .is_text = true},
        {.title = "a piece of", .is_text = true, .gives_way = true}};
    struct tool_table table;
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < binary->code.function_count; i++) {
        const struct tool_function *function = &binary->code.functions[i];
        bool is_piece = (function->flags & TTP_PLAN_FUNCTION_COLD) != 0;
        tool_table_printf(&table, TOOL_PLAIN, "%x", function->start);
        tool_table_printf(&table, TOOL_PLAIN, "%x", function->end);
        tool_table_text(&table, TOOL_PLAIN, tool_binary_function_name(binary, (uint32_t)i));
        tool_table_text(&table, TOOL_PLAIN,
                        is_piece ? tool_binary_function_name(binary, function->parent) : "");
    }
    print(&table, out);
}

static void print_rows(const struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "from"}, {.title = "cfa", .is_text = true}, {.title = "rbp", .is_text = true}};
    struct tool_table table;
    char cfa[32], rbp[32];
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < binary->code.row_count; i++) {
        tool_binary_row_words(&binary->code.rows[i], cfa, rbp);
        tool_table_printf(&table, TOOL_PLAIN, "%x", binary->code.rows[i].address);
        tool_table_text(&table, TOOL_PLAIN, cfa);
        tool_table_text(&table, TOOL_PLAIN, rbp);
    }
    print(&table, out);
}

static void print_inlined(const struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "start"},
        {.title = "end"},
        {.title = "inlined", .is_text = true},
        {.title = "in", .is_text = true},
        {.title = "called at", .is_text = true, .gives_way = true}};
    struct tool_table table;
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < binary->inlined_count; i++) {
        const struct tool_binary_inlined *one = &binary->inlined[i];
        size_t number = one->start > UINT32_MAX
                            ? binary->code.function_count
                            : tool_code_function_at(&binary->code, (uint32_t)one->start);
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIx64, one->start);
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIx64, one->end);
        tool_table_text(&table, TOOL_PLAIN, one->name);
        tool_table_text(&table, TOOL_PLAIN,
                        number < binary->code.function_count
                            ? tool_binary_function_name(binary, (uint32_t)number)
                            : "");
        if (one->file[0] != 0)
            tool_table_printf(&table, TOOL_PLAIN, "%s:%u", one->file, one->line);
        else
            tool_table_text(&table, TOOL_PLAIN, "");
    }
    print(&table, out);
}

static void print_text(struct tool_table *table, ttape_string text)
{
    tool_table_bytes(table, TOOL_PLAIN, text.data, text.size_bytes);
}

static void print_marks(const struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "address"},
        {.title = "provider", .is_text = true},
        {.title = "mark", .is_text = true},
        {.title = "semaphore"},
        {.title = "values", .is_text = true, .gives_way = true}};
    struct tool_table table;
    tool_table_open(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < binary->marks.count; i++) {
        const struct tool_mark *mark = &binary->marks.items[i];
        tool_table_printf(&table, TOOL_PLAIN, "%x", mark->address);
        print_text(&table, mark->provider);
        print_text(&table, mark->name);
        if (mark->semaphore != 0)
            tool_table_printf(&table, TOOL_PLAIN, "%x", mark->semaphore);
        else
            tool_table_text(&table, TOOL_PLAIN, "");
        print_text(&table, mark->arguments);
    }
    print(&table, out);
}

struct printing {
    const struct tool_binary *binary;
    struct tool_table table;
};

static bool print_call(void *context, const struct tool_code_call *call)
{
    struct printing *printing = context;
    const struct tool_binary *binary = printing->binary;
    const char *callee = call->name != NULL                ? call->name
                         : call->kind == TOOL_CALL_POINTER ? "(a pointer)"
                         : call->callee != UINT32_MAX
                             ? tool_binary_function_name(binary, call->callee)
                             : "";
    tool_table_printf(&printing->table, TOOL_PLAIN, "%x", call->address);
    tool_table_text(&printing->table, TOOL_PLAIN,
                    tool_binary_function_name(binary, call->function));
    tool_table_text(&printing->table, TOOL_PLAIN, call->is_tail ? "jumps to" : "calls");
    tool_table_text(&printing->table, TOOL_PLAIN, callee);
    return true;
}

static bool print_calls(struct tool_binary *binary, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "address"},
        {.title = "caller", .is_text = true},
        {.title = "", .is_text = true},
        {.title = "callee", .is_text = true, .gives_way = true}};
    struct printing printing = {.binary = binary};
    tool_table_open(&printing.table, columns, sizeof columns / sizeof columns[0]);
    bool fits = tool_code_calls(&binary->code, print_call, &printing);
    print(&printing.table, out);
    return fits;
}

bool tool_binary_text(struct tool_binary *binary, struct tool_output *out)
{
    print_summary(binary, out);
    if (binary->wish.sites && binary->code.site_count > 0)
        print_sites(binary, out);
    if (binary->wish.functions)
        print_functions(binary, out);
    if (binary->wish.rows)
        print_rows(binary, out);
    if (binary->wish.inlined && binary->inlined_count > 0)
        print_inlined(binary, out);
    if (binary->wish.marks && binary->marks.count > 0)
        print_marks(binary, out);
    return !binary->wish.calls || print_calls(binary, out);
}
