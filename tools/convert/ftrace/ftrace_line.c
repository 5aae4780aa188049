/* Lines of the kernel's tracer:
 *
 *   TASK-TID [(TGID)] [CPU] [FLAGS] SECONDS.FRACTION: EVENT: KEY=VALUE KEY=VALUE
 *                                                     FUNCTION <-CALLER
 *   SECONDS.FRACTION | CPU) TASK-TID | DURATION us | FUNCTION() {     (funcgraph-abstime, -proc) */
#include <string.h>

#include "tools/convert/ftrace/convert_ftrace.h"

#define DECIMAL     "0123456789"
#define HEX         "0123456789abcdefABCDEF"
#define WORD        DECIMAL "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define NANO_DIGITS 9
#define PARTS       4u /* of a line of the function graph */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

static ttape_string trim(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    return (ttape_string){from, (size_t)(to - from)};
}

/* A number has at most 18 digits. Returns their end, or NULL. */
static const char *read_number(const char *at, uint64_t *number)
{
    size_t size = strspn(at, DECIMAL);
    *number = 0;
    for (size_t i = 0; i < size && size <= 18; i++)
        *number = *number * 10 + (uint64_t)(at[i] - '0');
    return size > 0 && size <= 18 ? at + size : NULL;
}

/* A number of `unit` nanoseconds, with a fraction. Returns its end, or NULL. */
static const char *read_time(const char *at, uint64_t unit_ns, uint64_t *time_ns)
{
    uint64_t whole, rest, scale = 1;
    const char *end = read_number(at, &whole);
    if (end == NULL || *end != '.' || whole >= UINT64_MAX / 2 / unit_ns)
        return NULL;
    const char *fraction = end + 1;
    end = read_number(fraction, &rest);
    if (end == NULL || end - fraction > NANO_DIGITS)
        return NULL;
    for (ptrdiff_t i = end - fraction; i > 0; i--)
        scale *= 10;
    *time_ns = whole * unit_ns + rest * unit_ns / scale;
    return end;
}

/* "bash-42", or "<...>-42", whose name is not known. */
static bool read_task(ttape_string text, struct tool_ftrace_line *line)
{
    size_t digits = 0;
    while (digits < text.size_bytes &&
           strchr(DECIMAL, text.data[text.size_bytes - 1 - digits]) != NULL)
        digits++;
    size_t name = text.size_bytes - digits;
    if (digits == 0 || digits > 9 || name == 0 || text.data[name - 1] != '-')
        return false;
    (void)read_number(text.data + name, &line->tid);
    line->pid = line->tid;
    line->task = trim(text.data, text.data + name - 1);
    if (line->task.size_bytes == 5 && memcmp(line->task.data, "<...>", 5) == 0)
        line->task.size_bytes = 0;
    return true;
}

/* ---- the function graph ---- */

/* "0)  bash-42" */
static bool read_place(ttape_string text, struct tool_ftrace_line *line)
{
    uint64_t cpu;
    const char *end = read_number(text.data, &cpu);
    if (end == NULL || end >= text.data + text.size_bytes || *end != ')' || cpu > UINT32_MAX)
        return false;
    line->cpu = (uint32_t)cpu;
    return read_task(trim(end + 1, text.data + text.size_bytes), line);
}

/* "+ 12.345 us"; a letter in front says that it is long. */
static bool read_duration(ttape_string text, struct tool_ftrace_line *line)
{
    const char *at = text.data + strspn(text.data, "$@*#!+ \t");
    if (text.size_bytes == 0)
        return false;
    const char *end = read_time(at, 1000, &line->duration_ns);
    return end != NULL && strncmp(skip_blanks(end), "us", 2) == 0;
}

/* A kernel module's function is "f [module]": what is behind its name, at `at`. */
static const char *skip_module(const char *at)
{
    const char *next = skip_blanks(at);
    size_t size = *next == '[' ? strcspn(next, "]({;<") : 0;
    return size != 0 && next[size] == ']' ? next + size + 1 : at;
}

/* What is behind the last bar: "f() {", "f();", "}", and comments. */
static void read_function(ttape_string text, bool has_duration, struct tool_ftrace_line *line)
{
    size_t word = strcspn(text.data, "( \t{;");
    const char *next = skip_module(text.data + word);
    const char *end = text.data + text.size_bytes, *note = strstr(text.data, "/*");
    ttape_string code = trim(text.data, note != NULL && note < end ? note : end);
    if (code.size_bytes == 1 && code.data[0] == '}') {
        line->kind = TOOL_FTRACE_EXIT;
        return;
    }
    if (word == 0 || next >= code.data + code.size_bytes || *next != '(')
        return;
    line->name = (ttape_string){code.data, word};
    if (code.data[code.size_bytes - 1] == '{')
        line->kind = TOOL_FTRACE_ENTER;
    else if (code.data[code.size_bytes - 1] == ';' && has_duration)
        line->kind = TOOL_FTRACE_LEAF;
}

static void parse_graph(const char *text, const char *bar, struct tool_ftrace_line *line)
{
    ttape_string parts[PARTS];
    const char *from = text;
    for (unsigned i = 0; i < PARTS; i++) {
        const char *to = i + 1 < PARTS ? bar : from + strlen(from);
        if (to == NULL)
            return;
        parts[i] = trim(from, to);
        from = *to != '\0' ? to + 1 : to;
        bar = strchr(from, '|');
    }
    const char *end = read_time(parts[0].data, 1000000000, &line->time_ns);
    if (end != parts[0].data + parts[0].size_bytes || !read_place(parts[1], line))
        return;
    read_function(parts[3], read_duration(parts[2], line), line);
}

/* ---- events and functions ---- */

static void read_event(const char *at, struct tool_ftrace_line *line)
{
    size_t word = strcspn(at, ":( \t");
    const char *next = skip_blanks(skip_module(at + word));
    line->name = (ttape_string){at, word};
    if (word == 0)
        return;
    if (strncmp(next, "<-", 2) == 0 || (*next == '(' && strstr(next, ") <-") != NULL)) {
        line->kind = TOOL_FTRACE_FUNCTION;
        return;
    }
    if (strspn(at, WORD) < word)
        return;
    line->kind = TOOL_FTRACE_EVENT;
    line->text = trim(*next == ':' ? next + 1 : next, next + strlen(next));
}

/* What is behind the task: the process, the processor, flags, the time. */
static const char *read_head(const char *at, struct tool_ftrace_line *line)
{
    uint64_t cpu, pid;
    at = skip_blanks(at);
    if (*at == '(') {
        if (read_number(skip_blanks(at + 1), &pid) != NULL)
            line->pid = pid;
        at += 1 + strspn(at + 1, DECIMAL " -"); /* no search: a line may have many of them */
        if (*at != ')')
            return NULL;
        at = skip_blanks(at + 1);
    }
    const char *end = *at == '[' ? read_number(at + 1, &cpu) : NULL;
    if (end == NULL || *end != ']' || cpu > UINT32_MAX)
        return NULL;
    line->cpu = (uint32_t)cpu;
    at = skip_blanks(end + 1);
    end = read_time(at, 1000000000, &line->time_ns);
    if (end == NULL) { /* flags first */
        at = skip_blanks(at + strcspn(at, " \t"));
        end = read_time(at, 1000000000, &line->time_ns);
    }
    return end != NULL && *end == ':' ? end + 1 : NULL;
}

/* A task's name may have anything in it: the first place where the rest is right. */
static void parse_event(const char *text, struct tool_ftrace_line *line)
{
    const char *start = skip_blanks(text);
    for (const char *at = strchr(start, '-'); at != NULL; at = strchr(at + 1, '-')) {
        const char *end = at + 1 + strspn(at + 1, DECIMAL);
        if (end == at + 1 || (*end != ' ' && *end != '\t'))
            continue;
        const char *rest = read_task((ttape_string){start, (size_t)(end - start)}, line)
                               ? read_head(end, line)
                               : NULL;
        if (rest == NULL)
            continue;
        read_event(skip_blanks(rest), line);
        return;
    }
}

/* "CPU:1 [LOST 12 EVENTS]" */
static bool parse_loss(const char *text, struct tool_ftrace_line *line)
{
    const char *at = strstr(text, " [LOST ");
    if (strncmp(text, "CPU:", 4) != 0 || at == NULL ||
        read_number(at + strlen(" [LOST "), &line->lost_count) == NULL)
        return false;
    line->kind = TOOL_FTRACE_LOST;
    return true;
}

/* "0)  bash-42  =>  ls-43" is a rule between threads. */
static bool is_nothing(const char *text)
{
    const char *at = skip_blanks(text), *place = strchr(at, ')'), *arrow = strstr(at, " => ");
    return *at == '\0' || *at == '\r' || *at == '#' || strncmp(at, "------", 6) == 0 ||
           strncmp(at, "cpus=", 5) == 0 || (place != NULL && arrow != NULL && place < arrow);
}

void tool_ftrace_parse(const char *text, struct tool_ftrace_line *line)
{
    const char *bar = strchr(text, '|');
    *line = (struct tool_ftrace_line){.task = {"", 0}, .name = {"", 0}, .text = {"", 0}};
    if (parse_loss(text, line))
        return;
    parse_event(text, line);
    if (line->kind == TOOL_FTRACE_OTHER && bar != NULL)
        parse_graph(text, bar, line);
    if (line->kind == TOOL_FTRACE_OTHER && is_nothing(text))
        line->kind = TOOL_FTRACE_NOTHING;
}

/* ---- fields ---- */

/* Where the next KEY= begins, from `at` on; the end, if none does. */
static const char *find_key(const char *at, const char *end)
{
    for (; at < end; at++) {
        size_t size = strspn(at, WORD ".");
        if (size > (size_t)(end - at))
            size = (size_t)(end - at);
        if (size > 0 && at + size < end && at[size] == '=')
            return at;
        at += size;
        while (at < end && *at != ' ')
            at++;
    }
    return end;
}

bool tool_ftrace_next_field(ttape_string *text, struct tool_ftrace_field *field)
{
    const char *at = text->data, *end = at + text->size_bytes, *key = find_key(at, end);
    if (at == end)
        return false;
    if (key != at) { /* in front of the first */
        *field = (struct tool_ftrace_field){{"", 0}, trim(at, key)};
        *text = (ttape_string){key, (size_t)(end - key)};
        return true;
    }
    size_t size = strcspn(at, "=");
    const char *value = at + size + 1, *next = find_key(value, end);
    field->key = (ttape_string){at, size};
    field->value = trim(value, next);
    if (field->value.size_bytes >= 4 &&
        memcmp(field->value.data + field->value.size_bytes - 4, " ==>", 4) == 0)
        field->value = trim(value, field->value.data + field->value.size_bytes - 4);
    *text = (ttape_string){next, (size_t)(end - next)};
    return true;
}

static bool read_hex(ttape_string text, uint64_t *number)
{
    *number = 0;
    if (text.size_bytes < 3 || text.size_bytes > 18 || text.data[0] != '0' || text.data[1] != 'x')
        return false;
    for (size_t i = 2; i < text.size_bytes; i++) {
        char c = text.data[i];
        if (strchr(HEX, c) == NULL || c == '\0')
            return false;
        *number = *number << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
}

ttape_value tool_ftrace_value(ttape_string text)
{
    uint64_t number;
    bool is_less = text.size_bytes > 1 && text.data[0] == '-';
    const char *end = text.data + text.size_bytes;
    if (read_hex(text, &number))
        return (ttape_value){.type = TTAPE_VALUE_POINTER, .number = number};
    if (text.size_bytes != 0 && read_number(text.data + is_less, &number) == end)
        return (ttape_value){.type = is_less ? TTAPE_VALUE_SIGNED : TTAPE_VALUE_UNSIGNED,
                             .number = is_less ? 0 - number : number};
    return (ttape_value){.type = TTAPE_VALUE_STRING, .bytes = text};
}
