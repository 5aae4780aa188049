/* A log: where its lines have values (sixteen hexadecimal digits, a slash, a depth; or what --value
 * says), and the same lines with the stacks behind them. What else is in a line stays as it is, but
 * for what would act on a terminal: anybody may have written a log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/context/context_turns.h"
#include "tools/context/context_writes.h"
#include "tools/io/lines.h"

#define VALUE_DIGITS 16u

struct token {
    size_t start, end;
    uint64_t value;
    uint32_t depth;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int tool_context_set_form(struct tool_contexts *contexts, const char *text)
{
    contexts->form = tool_allocate(1, sizeof *contexts->form);
    if (regcomp(contexts->form, text, REG_EXTENDED) == 0)
        return TOOL_OK;
    free(contexts->form);
    contexts->form = NULL;
    return tool_usage("context", "cannot use '%s' as a regular expression", text);
}

static bool take_depth(const char *text, size_t size_bytes, uint32_t *depth)
{
    uint64_t number = 0;
    size_t at = 0;
    for (; at < size_bytes && is_digit(text[at]) && number < TOOL_CONTEXT_ANY_DEPTH; at++)
        number = number * 10 + (uint64_t)(text[at] - '0');
    *depth = (uint32_t)number;
    return at == size_bytes && at > 0 && number < TOOL_CONTEXT_ANY_DEPTH;
}

/* The next match that is a value; the text behind it is that of the line. */
static bool find_formed(const regex_t *form, const char *text, size_t size_bytes, size_t from,
                        struct token *token)
{
    regmatch_t found[3];
    for (; from < size_bytes; from = (size_t)found[0].rm_eo + (found[0].rm_eo == found[0].rm_so)) {
        found[0] = (regmatch_t){.rm_so = (regoff_t)from, .rm_eo = (regoff_t)size_bytes};
        if (regexec(form, text, 3, found, REG_STARTEND | (from > 0 ? REG_NOTBOL : 0)) != 0)
            return false;
        const regmatch_t *value = &found[found[1].rm_so >= 0 ? 1 : 0], *depth = &found[2];
        bool is_value =
            tool_context_parse(text + value->rm_so, (size_t)(value->rm_eo - value->rm_so),
                               &token->value, &token->depth);
        if (is_value && found[1].rm_so >= 0 && depth->rm_so >= 0)
            is_value = take_depth(text + depth->rm_so, (size_t)(depth->rm_eo - depth->rm_so),
                                  &token->depth);
        token->start = (size_t)found[0].rm_so;
        token->end = (size_t)found[0].rm_eo;
        if (is_value && token->end > token->start)
            return true;
    }
    return false;
}

static bool find_token(const struct tool_contexts *contexts, const char *text, size_t size_bytes,
                       size_t from, struct token *token)
{
    if (contexts->form != NULL)
        return find_formed(contexts->form, text, size_bytes, from, token);
    for (size_t at = from; at + VALUE_DIGITS + 1 < size_bytes; at++) {
        size_t end = at;
        if (at > 0 && is_word(text[at - 1]))
            continue;
        while (end < at + VALUE_DIGITS && is_lower_hex(text[end]))
            end++;
        if (end != at + VALUE_DIGITS || text[end] != '/')
            continue;
        for (end++; end < size_bytes && is_digit(text[end]);)
            end++;
        if (end < size_bytes && is_word(text[end]))
            continue;
        if (!tool_context_parse(text + at, end - at, &token->value, &token->depth))
            continue;
        token->start = at;
        token->end = end;
        return true;
    }
    return false;
}

int tool_context_scan_log(struct tool_contexts *contexts, int fd)
{
    struct tool_lines lines;
    struct tool_line line = {0};
    struct token token;
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line))
        for (size_t at = 0; find_token(contexts, line.text, line.size_bytes, at, &token);
             at = token.end)
            (void)tool_context_add(contexts, token.value, token.depth);
    int failed = lines.failed_errno;
    tool_lines_close(&lines);
    return failed != 0 ? tool_fail("cannot read the log: %s", strerror(failed)) : TOOL_OK;
}

static void put_meaning(const struct tool_context_wanted *wanted, struct tool_output *out)
{
    const char *certainty = tool_context_certainty(wanted);
    tool_output_text(out, " {");
    if (strcmp(certainty, "certain") != 0)
        tool_output_text(out, certainty);
    bool is_open = strcmp(certainty, "open") == 0;
    for (size_t i = 0; i < (is_open ? tool_context_shown(wanted) : 1) && i < wanted->answer_count;
         i++) {
        if (strcmp(certainty, "certain") != 0)
            tool_output_text(out, i == 0 ? ": " : " | ");
        tool_context_put_stack(&wanted->answers[i], "", " > ", out);
    }
    tool_output_text(out, wanted->more != 0 ? " | ...}" : "}");
}

static struct tool_context_wanted *wanted_of(struct tool_contexts *contexts,
                                             const struct token *token)
{
    struct tool_context_wanted *wanted = tool_context_find(contexts, token->value);
    while (wanted != NULL && wanted->depth != token->depth)
        wanted = wanted->next == TTAPE_NONE ? NULL : &contexts->wanted[wanted->next];
    return wanted;
}

/* Tabs, and the return in front of a line's end, do no harm. */
static void put_text(struct tool_output *out, const char *text, size_t size_bytes, bool is_end)
{
    bool has_return = is_end && size_bytes > 0 && text[size_bytes - 1] == '\r';
    const char *end = text + size_bytes - has_return;
    while (text < end) {
        const char *tab = memchr(text, '\t', (size_t)(end - text));
        const char *piece = tab != NULL ? tab : end;
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){text, (size_t)(piece - text)});
        if (tab != NULL)
            tool_output_text(out, "\t");
        text = tab != NULL ? tab + 1 : end;
    }
    if (has_return)
        tool_output_text(out, "\r");
}

int tool_context_annotate(struct tool_contexts *contexts, struct tool_context_writes *writes,
                          int fd, struct tool_output *out)
{
    struct tool_lines lines;
    struct tool_line line = {0};
    struct token token;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return tool_fail("cannot read the log a second time: %s", strerror(errno));
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line)) {
        size_t at = 0;
        while (find_token(contexts, line.text, line.size_bytes, at, &token)) {
            struct tool_context_wanted *wanted = wanted_of(contexts, &token);
            if (wanted != NULL && wanted->answer_count > 1 && contexts->printers != NULL)
                tool_context_narrow(contexts, wanted, line.text, line.size_bytes);
            put_text(out, line.text + at, token.end - at, false);
            if (wanted != NULL)
                put_meaning(wanted, out);
            at = token.end;
        }
        put_text(out, line.text + at, line.size_bytes - at, true);
        tool_context_put_writer(writes, line.offset, out);
        tool_output_text(out, "\n");
        if (line.too_long)
            tool_message("line %llu is longer than a mebibyte: the rest is left out",
                         (unsigned long long)line.number);
    }
    int failed = lines.failed_errno;
    tool_lines_close(&lines);
    return failed != 0 ? tool_fail("cannot read the log: %s", strerror(failed)) : TOOL_OK;
}
