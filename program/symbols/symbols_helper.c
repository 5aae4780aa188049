/* The symbol helper: a process that reads modules on behalf of its parent and may die of it.
 *
 * Its bounds: memory by RLIMIT_AS (what is mapped of files comes on top, elf_files.c), and CPU time
 * by RLIMIT_CPU, set anew for each request. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "program/binary/call_sites.h"
#include "program/binary/elf_symbols.h"
#include "program/binary/inlined_calls.h"
#include "program/binary/values/elf_values.h"
#include "program/names/demangle.h"
#include "program/process/child.h"
#include "program/symbols/debuginfod.h"
#include "program/symbols/symbols_wire.h"

#define STACK_BYTES (8u * 1024u * 1024u) /* what demangling may need, where the user allows it */

struct helping {
    int fd;
    const struct tool_symbols_options *options;
    struct tool_elf_where where;
    struct tool_elf_module **modules; /* by the user's numbers; NULL: not open */
    size_t count, capacity;
    size_t size_bytes; /* of the answers that wait in out[] */
    char out[64u * 1024u];
    char name[TOOL_DEMANGLE_OUTPUT_MAX + sizeof(((struct tool_elf_symbol *)NULL)->suffix)];
};

static void allow_time(const struct helping *help)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_SELF, &used);
    tool_child_limit(RLIMIT_CPU, (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec +
                                     1 + help->options->timeout_seconds);
}

static void send_answers(struct helping *help)
{
    if (!tool_child_send(help->fd, help->out, help->size_bytes, 0))
        _exit(0); /* the user of the helper is gone */
    help->size_bytes = 0;
}

static void answer(struct helping *help, const void *data, size_t size_bytes)
{
    const char *from = data;
    while (size_bytes > 0) {
        size_t room = sizeof(help->out) - help->size_bytes;
        size_t part = size_bytes < room ? size_bytes : room;
        memcpy(help->out + help->size_bytes, from, part);
        help->size_bytes += part;
        from += part;
        size_bytes -= part;
        if (help->size_bytes == sizeof(help->out))
            send_answers(help);
    }
}

static void ask(const struct helping *help, void *data, size_t size_bytes)
{
    if (!tool_child_receive(help->fd, data, size_bytes, 0))
        _exit(0);
}

static void release(struct helping *help, uint32_t number)
{
    if (number < help->count && help->modules[number] != NULL) {
        tool_elf_module_close(help->modules[number]);
        free(help->modules[number]);
        help->modules[number] = NULL;
    }
}

static uint32_t names_from(const struct tool_elf_module *module, const char *reason)
{
    if (reason != NULL)
        return TOOL_SYMBOLS_FROM_NOWHERE;
    if (!module->is_stripped)
        return module->are_names_of_debug ? TOOL_SYMBOLS_FROM_DEBUG : TOOL_SYMBOLS_FROM_FILE;
    return module->embedded.elf != NULL ? TOOL_SYMBOLS_FROM_EMBEDDED : TOOL_SYMBOLS_FROM_EXPORTED;
}

static void open_module(struct helping *help, const struct tool_wire_request *request)
{
    uint8_t build_id[TOOL_BUILD_ID_BYTES_MAX];
    char path[TOOL_WIRE_PATH_MAX + 1];
    struct tool_wire_opened opened;
    if (request->count > sizeof(build_id) || request->size_bytes >= sizeof(path))
        tool_child_give_up();
    ask(help, build_id, request->count);
    ask(help, path, request->size_bytes);
    path[request->size_bytes] = '\0';
    memset(&opened, 0, sizeof(opened));
    release(help, request->module);
    tool_child_grow((void **)&help->modules, &help->capacity, request->module + 1u,
                    sizeof(struct tool_elf_module *));
    for (; help->count <= request->module; help->count++)
        help->modules[help->count] = NULL;
    struct tool_elf_module *module = tool_child_allocate(1, sizeof(struct tool_elf_module));
    help->modules[request->module] = module;
    const char *reason = tool_elf_module_open(module, &help->where, path, build_id, request->count,
                                              !help->options->no_lines);
    opened.has_symbols = reason == NULL;
    opened.is_stripped = module->is_stripped;
    opened.has_lines = module->lines != NULL;
    opened.missing = module->missing;
    opened.names_from = names_from(module, reason);
    opened.lines_from = module->lines == NULL        ? TOOL_SYMBOLS_FROM_NOWHERE
                        : module->are_lines_of_debug ? TOOL_SYMBOLS_FROM_DEBUG
                                                     : TOOL_SYMBOLS_FROM_FILE;
    if (module->debug.path != NULL && strlen(module->debug.path) < sizeof(opened.debug_path))
        strcpy(opened.debug_path, module->debug.path);
    if (module->head != NULL) {
        opened.has_head = 1;
        opened.head = *module->head;
    }
    if (reason != NULL)
        (void)snprintf(opened.reason, sizeof(opened.reason), "%s", reason);
    answer(help, &opened, sizeof(opened));
}

/* The name to show: demangled where that works, and cut at TOOL_WIRE_NAME_MAX. */
static const char *shown_name(struct helping *help, const struct tool_elf_symbol *symbol,
                              size_t *size_bytes)
{
    size_t length = help->options->no_demangle ? 0 : tool_demangle(symbol->name, help->name);
    if (length == 0) {
        length = strnlen(symbol->name, TOOL_DEMANGLE_OUTPUT_MAX - 1);
        const char *version = memchr(symbol->name + 1, '@', length > 0 ? length - 1 : 0);
        length = version != NULL ? (size_t)(version - symbol->name) : length;
        memcpy(help->name, symbol->name, length);
    }
    size_t suffix = strlen(symbol->suffix);
    memcpy(help->name + length, symbol->suffix, suffix);
    length += suffix;
    *size_bytes = length < TOOL_WIRE_NAME_MAX ? length : TOOL_WIRE_NAME_MAX;
    return help->name;
}

/* A function that is entered at no symbol's start is a copy of an inlined one. */
static bool find_inlined(const struct tool_elf_module *module, const struct tool_wire_query *query,
                         struct tool_elf_symbol *symbol, const char **file, uint32_t *line)
{
    struct tool_elf_inlined inlined;
    if (query->entry == 0 || module->lines == NULL ||
        !tool_elf_inlined_at(module->functions,
                             query->elf_address - TOOL_SYMBOLS_COPY - module->lines_move, &inlined))
        return false;
    *symbol = (struct tool_elf_symbol){
        .start = query->elf_address, .name = inlined.name, .suffix = " [inlined]"};
    *file = inlined.file;
    *line = inlined.line;
    return true;
}

/* The lines that a function was written in; of what is entered at no symbol's start, those of the
 * copy's. */
static bool find_section(const struct tool_elf_module *module, const struct tool_wire_query *query,
                         const struct tool_elf_symbol *symbol, struct tool_elf_section *section)
{
    uint64_t address = query->elf_address - module->lines_move;
    bool is_start = symbol != NULL && symbol->start == query->elf_address;
    return (!is_start &&
            tool_elf_section_at(module->functions, address - TOOL_SYMBOLS_COPY, true, section)) ||
           tool_elf_section_at(module->functions, address, false, section);
}

static void answer_section(struct helping *help, const struct tool_elf_module *module,
                           const struct tool_wire_query *query,
                           const struct tool_elf_symbol *symbol)
{
    struct tool_wire_found found;
    struct tool_elf_section section = {0};
    memset(&found, 0, sizeof(found));
    if (module->functions != NULL && find_section(module, query, symbol, &section)) {
        size_t size_bytes = strnlen(section.file, TOOL_WIRE_FILE_MAX + 1);
        found.file_bytes = size_bytes <= TOOL_WIRE_FILE_MAX ? (uint32_t)size_bytes : 0;
        found.line = section.first;
        found.last_line = section.last;
    }
    answer(help, &found, sizeof(found));
    answer(help, section.file, found.file_bytes);
}

static void find_one(struct helping *help, struct tool_elf_module *module,
                     const struct tool_wire_query *query)
{
    struct tool_wire_found found;
    struct tool_elf_symbol copy;
    const char *name = "", *file = NULL;
    size_t name_bytes = 0;
    memset(&found, 0, sizeof(found));
    const struct tool_elf_symbol *symbol = tool_elf_table_find(&module->table, query->elf_address);
    uint64_t address = query->elf_address;
    found.is_data = symbol == NULL && query->data != 0;
    if (found.is_data)
        symbol = tool_elf_table_find(tool_elf_module_data(module), address);
    if (query->section != 0) {
        answer_section(help, module, query, symbol);
        return;
    }
    bool is_copy = (symbol == NULL || symbol->start != address) &&
                   find_inlined(module, query, &copy, &file, &found.line);
    if (is_copy) {
        name = shown_name(help, &copy, &name_bytes);
        found.start = address;
    } else if (symbol != NULL) {
        name = shown_name(help, symbol, &name_bytes);
        found.start = symbol->start;
        found.size_bytes = symbol->size_bytes;
        address = query->entry != 0 ? symbol->start : address;
    }
    bool begins = false;
    if (!is_copy && module->lines != NULL &&
        !tool_elf_lines_find(module->lines, address - module->lines_move, query->entry != 0, &file,
                             &found.line, &begins))
        file = NULL;
    found.begins = begins;
    if (!is_copy && module->lines != NULL && query->entry == 0)
        found.is_optimized = tool_elf_lines_optimized(module->lines, address - module->lines_move);
    size_t file_bytes = file != NULL ? strnlen(file, TOOL_WIRE_FILE_MAX + 1) : 0;
    if (file_bytes > TOOL_WIRE_FILE_MAX)
        file_bytes = 0;
    found.line = file_bytes > 0 ? found.line : 0;
    found.name_bytes = (uint32_t)name_bytes;
    found.file_bytes = (uint32_t)file_bytes;
    answer(help, &found, sizeof(found));
    answer(help, name, name_bytes);
    answer(help, file, file_bytes);
}

static void find_batch(struct helping *help, const struct tool_wire_request *request)
{
    struct tool_wire_query queries[TOOL_WIRE_BATCH];
    if (request->count > TOOL_WIRE_BATCH || request->module >= help->count ||
        help->modules[request->module] == NULL ||
        request->size_bytes != request->count * sizeof(queries[0]))
        tool_child_give_up();
    ask(help, queries, request->size_bytes);
    for (uint32_t i = 0; i < request->count; i++)
        find_one(help, help->modules[request->module], &queries[i]);
}

struct telling {
    struct helping *help;
    uint64_t move;
};

static bool tell_inlined(void *context, const struct tool_elf_inlined *inlined)
{
    struct telling *telling = context;
    struct helping *help = telling->help;
    struct tool_elf_symbol symbol = {.name = inlined->name};
    struct tool_wire_inlined wire = {.start = inlined->start + telling->move,
                                     .end = inlined->end + telling->move,
                                     .entry = inlined->entry + telling->move,
                                     .line = inlined->line};
    size_t name_bytes, file_bytes = 0;
    const char *name = shown_name(help, &symbol, &name_bytes);
    if (inlined->file != NULL)
        file_bytes = strnlen(inlined->file, TOOL_WIRE_FILE_MAX + 1);
    if (file_bytes > TOOL_WIRE_FILE_MAX)
        file_bytes = 0;
    wire.name_bytes = (uint32_t)name_bytes;
    wire.file_bytes = (uint32_t)file_bytes;
    if (wire.end != 0) { /* 0 ends the list */
        answer(help, &wire, sizeof(wire));
        answer(help, name, name_bytes);
        answer(help, inlined->file, file_bytes);
    }
    return true;
}

static bool tell_call(void *context, const struct tool_elf_call *call)
{
    struct telling *telling = context;
    size_t name_bytes = call->name != NULL ? strnlen(call->name, TOOL_WIRE_NAME_MAX + 1) : 0;
    uint64_t start = call->end != 0 ? 0 : call->start + telling->move;
    struct tool_wire_inlined wire = {.start = start,
                                     .end = call->end != 0 ? call->end + telling->move : start + 1,
                                     .entry = call->callee != 0 ? call->callee + telling->move : 0,
                                     .name_bytes = (uint32_t)name_bytes,
                                     .line = call->is_tail};
    if (wire.end != 0 && name_bytes <= TOOL_WIRE_NAME_MAX) {
        answer(telling->help, &wire, sizeof(wire));
        answer(telling->help, call->name, name_bytes);
    }
    return true;
}

/* Copies of inlined functions, or call sites. */
static void list_code(struct helping *help, const struct tool_wire_request *request, bool is_calls)
{
    struct tool_wire_inlined last = {0};
    if (request->module >= help->count || help->modules[request->module] == NULL)
        tool_child_give_up();
    const struct tool_elf_module *module = help->modules[request->module];
    struct telling telling = {help, module->lines_move};
    if (module->lines != NULL && is_calls)
        tool_elf_calls_list(module->lines, tell_call, &telling);
    else if (module->lines != NULL)
        tool_elf_inlined_list(module->lines, tell_inlined, &telling);
    answer(help, &last, sizeof(last));
}

/* Who a call is asked of: a place of this file, or a name. */
struct calling {
    struct telling telling; /* the first member: what is told is told of it */
    const struct tool_elf_table *table;
    uint64_t callee;
    const char *name;
};

/* Compilers say behind a point what they made of a function. */
static bool is_name(const char *symbol, const char *name)
{
    size_t size = strlen(name);
    return size > 0 && strncmp(symbol, name, size) == 0 &&
           (symbol[size] == '\0' || symbol[size] == '.' || symbol[size] == '@');
}

static bool is_callee(void *context, const char *linked)
{
    struct calling *calling = context;
    const struct tool_elf_table *table = calling->table;
    if (calling->callee == 0) {
        struct tool_elf_symbol symbol = {.name = linked};
        size_t size;
        return strcmp(calling->name, linked) == 0 ||
               strcmp(shown_name(calling->telling.help, &symbol, &size), calling->name) == 0;
    }
    const struct tool_elf_symbol *symbol = tool_elf_table_find(table, calling->callee);
    for (; symbol != NULL && symbol > table->symbols && symbol[-1].start == calling->callee;)
        symbol--;
    for (; symbol != NULL && symbol < table->symbols + table->count &&
           symbol->start == calling->callee;
         symbol++)
        if (is_name(symbol->name, linked))
            return true;
    return false;
}

static void list_between(struct helping *help, const struct tool_wire_request *request)
{
    struct tool_wire_inlined last = {0};
    struct tool_wire_between asked;
    char name[TOOL_WIRE_NAME_MAX + 1];
    if (request->module >= help->count || help->modules[request->module] == NULL ||
        request->size_bytes >= sizeof name)
        tool_child_give_up();
    ask(help, &asked, sizeof asked);
    ask(help, name, request->size_bytes);
    name[request->size_bytes] = '\0';
    const struct tool_elf_module *module = help->modules[request->module];
    struct calling calling = {.telling = {help, module->lines_move},
                              .table = &module->table,
                              .callee = asked.callee,
                              .name = name};
    const struct tool_elf_between between = {
        .caller = asked.caller - module->lines_move,
        .callee = asked.callee != 0 ? asked.callee - module->lines_move : 0,
        .is_named = is_callee,
        .context = &calling};
    if (module->lines != NULL)
        tool_elf_inlined_between(module->lines, &between, tell_inlined);
    answer(help, &last, sizeof last);
}

static bool is_variable(struct helping *help, const struct tool_elf_symbol *symbol,
                        const char *name)
{
    size_t size;
    return is_name(symbol->name, name) || (strncmp(symbol->name, "_Z", 2) == 0 &&
                                           strcmp(shown_name(help, symbol, &size), name) == 0);
}

static void find_variable(struct helping *help, const struct tool_wire_request *request)
{
    char name[TOOL_WIRE_NAME_MAX + 1];
    struct tool_wire_found found;
    memset(&found, 0, sizeof(found));
    if (request->module >= help->count || help->modules[request->module] == NULL ||
        request->size_bytes >= sizeof name)
        tool_child_give_up();
    ask(help, name, request->size_bytes);
    name[request->size_bytes] = '\0';
    const struct tool_elf_table *data = tool_elf_module_data(help->modules[request->module]);
    for (size_t i = 0; i < data->count && found.size_bytes == 0; i++)
        if (is_variable(help, &data->symbols[i], name)) {
            found.start = data->symbols[i].start;
            found.size_bytes = data->symbols[i].size_bytes;
        }
    answer(help, &found, sizeof(found));
}

#define NUMBER_BYTES    24u /* of a text */
#define NAMES_BYTES_MAX (TOOL_SYMBOLS_VALUES * (2 * TOOL_VALUE_TEXT_MAX + NUMBER_BYTES))

/* Texts of a function's values. */
struct saying {
    char *text;
    size_t used;
    bool is_full;
};

static void say_text(struct saying *saying, const char *text)
{
    size_t size = strlen(text) + 1;
    if (saying->is_full || size > TOOL_WIRE_NAME_MAX - saying->used) {
        saying->is_full = true;
        return;
    }
    memcpy(saying->text + saying->used, text, size);
    saying->used += size;
}

static void say_number(struct saying *saying, int64_t number)
{
    char text[NUMBER_BYTES];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    say_text(saying, text);
}

/* Constants are left out where they would take the room of values' names. */
static uint32_t count_constants(const struct saying *saying, const struct tool_elf_value *value)
{
    size_t size = saying->used + NAMES_BYTES_MAX;
    for (uint32_t i = 0; i < value->constant_count; i++)
        size += NUMBER_BYTES + strlen(value->constants[i].name) + 1;
    return size <= TOOL_WIRE_NAME_MAX ? value->constant_count : 0;
}

static void say_value(struct saying *saying, const struct tool_elf_value *value)
{
    uint32_t count = count_constants(saying, value);
    say_text(saying, value->name);
    say_text(saying, value->type);
    say_number(saying, count);
    for (uint32_t i = 0; i < count; i++) {
        say_number(saying, value->constants[i].value);
        say_text(saying, value->constants[i].name);
    }
}

static void tell_values(void *context, const struct tool_elf_function_values *function)
{
    struct telling *telling = context;
    struct saying saying = {.text = telling->help->name};
    struct tool_wire_values wire = {.entry = function->entry + telling->move,
                                    .given = function->given,
                                    .returned = function->returned};
    _Static_assert(sizeof(telling->help->name) >= TOOL_WIRE_NAME_MAX, "texts have room");
    for (uint32_t i = 0; i < function->given + function->returned; i++) {
        wire.places[i] = function->values[i].place;
        say_value(&saying, &function->values[i]);
    }
    if (saying.is_full)
        return;
    wire.text_bytes = (uint32_t)saying.used;
    answer(telling->help, &wire, sizeof(wire));
    answer(telling->help, saying.text, saying.used);
}

static void list_values(struct helping *help, const struct tool_wire_request *request)
{
    struct tool_wire_values last = {0};
    if (request->module >= help->count || help->modules[request->module] == NULL)
        tool_child_give_up();
    const struct tool_elf_module *module = help->modules[request->module];
    struct telling telling = {help, module->lines_move};
    tool_elf_values_list(module, tell_values, &telling);
    answer(help, &last, sizeof(last));
}

void tool_symbols_serve(int fd, const void *context)
{
    const struct tool_symbols_options *options = context;
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_BYTES)
        tool_child_limit(RLIMIT_STACK, STACK_BYTES);
    struct helping *help = tool_child_allocate(1, sizeof(*help)); /* the stack may be small */
    help->fd = fd;
    help->options = options;
    help->where = (struct tool_elf_where){.root = options->root,
                                          .debug_folders = options->debug_folders,
                                          .debug_folder_count = options->debug_folder_count,
                                          .fetched = tool_debuginfod_cache()};
    for (;;) {
        struct tool_wire_request request;
        ask(help, &request, sizeof(request));
        allow_time(help);
        switch (request.what) {
        case TOOL_WIRE_OPEN: open_module(help, &request); break;
        case TOOL_WIRE_FIND: find_batch(help, &request); break;
        case TOOL_WIRE_RELEASE: release(help, request.module); break;
        case TOOL_WIRE_VALUES: list_values(help, &request); break;
        case TOOL_WIRE_INLINED: list_code(help, &request, false); break;
        case TOOL_WIRE_CALLS: list_code(help, &request, true); break;
        case TOOL_WIRE_BETWEEN: list_between(help, &request); break;
        case TOOL_WIRE_VARIABLE: find_variable(help, &request); break;
        default: tool_child_give_up();
        }
        send_answers(help);
    }
}
