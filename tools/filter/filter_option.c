#include "tools/filter/filter_option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define SHOWN_BYTES 40u /* of what is wrong */

/* ---- what was said ---- */

bool tool_parse_filter_trigger(const char *text, void *into)
{
    struct tool_filter *filter = into;
    tool_grow((void **)&filter->triggers, &filter->trigger_capacity, filter->trigger_count + 1,
              sizeof(char *));
    filter->triggers[filter->trigger_count++] = tool_copy_text(text, strlen(text));
    return true;
}

static void add(struct tool_filter *filter, char *text)
{
    tool_grow((void **)&filter->texts, &filter->capacity, filter->count + 1, sizeof(char *));
    filter->texts[filter->count++] = text;
}

bool tool_parse_filter(const char *text, void *into)
{
    add(into, tool_copy_text(text, strlen(text)));
    return true;
}

/* An expression between slashes has none inside but behind a backslash. */
static bool add_expression(struct tool_filter *filter, const char *rule, const char *expression)
{
    size_t size = strlen(rule);
    char *text = tool_allocate(size + 2 * strlen(expression) + 3, 1), *at = text + size;
    memcpy(text, rule, size);
    *at++ = '/';
    for (const char *c = expression; *c != '\0'; c++) {
        if (*c == '/')
            *at++ = '\\';
        else if (*c == '\\' && c[1] != '\0')
            *at++ = *c++;
        *at++ = *c;
    }
    *at++ = '/';
    *at = '\0';
    add(filter, text);
    return *expression != '\0';
}

bool tool_parse_filter_below(const char *text, void *into)
{
    return add_expression(into, "below ", text);
}

bool tool_parse_filter_not_below(const char *text, void *into)
{
    return add_expression(into, "!below ", text);
}

void tool_filter_close(struct tool_filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        free(filter->texts[i]);
    free(filter->texts);
    for (size_t i = 0; i < filter->trigger_count; i++)
        free(filter->triggers[i]);
    free(filter->triggers);
    *filter = (struct tool_filter){0};
}

/* ---- what it means ---- */

static int refuse_text(const char *verb, const char *what, const char *text, const ttape_error *err)
{
    size_t size = strlen(text);
    if (err->status == TTAPE_E_MEMORY)
        return tool_fail("%s", err->message);
    if (err->offset >= size)
        return tool_usage(verb, "%s '%.*s': %s, at its end", what, (int)SHOWN_BYTES * 4, text,
                          err->message);
    return tool_usage(verb, "%s '%.*s': %s, at '%.*s' (character %" PRIu64 ")", what,
                      (int)SHOWN_BYTES * 4, text, err->message, (int)SHOWN_BYTES,
                      text + err->offset, err->offset + 1);
}

char *tool_filter_text(const struct tool_filter *filter)
{
    size_t size = 1;
    for (size_t i = 0; i < filter->count; i++)
        size += strlen(filter->texts[i]) + 2;
    char *joined = tool_allocate(size, 1), *at = joined;
    for (size_t i = 0; i < filter->count; i++)
        at += sprintf(at, "%s%s", i > 0 ? "; " : "", filter->texts[i]);
    return joined;
}

typedef ttape_status (*parser)(ttape_filter **out, ttape_string text,
                               const ttape_allocator *allocator, ttape_error *err);

/* Each text alone, so that a place is one of what was typed; then all of them. */
static int parse(ttape_filter **out, const char *verb, const struct tool_filter *filter,
                 parser take)
{
    const char *what = take == ttape_filter_parse ? "filter" : "trigger";
    ttape_error err = {0};
    for (size_t i = 0; i < filter->count; i++) {
        const char *text = filter->texts[i];
        ttape_filter *one;
        if (take(&one, (ttape_string){text, strlen(text)}, NULL, &err) != TTAPE_OK)
            return refuse_text(verb, what, text, &err);
        ttape_filter_close(one);
    }
    char *joined = tool_filter_text(filter);
    ttape_status status = take(out, (ttape_string){joined, strlen(joined)}, NULL, &err);
    int result = status == TTAPE_OK ? TOOL_OK : refuse_text(verb, what, joined, &err);
    free(joined);
    return result;
}

static int compile(const char *verb, regex_t *regex, bool *is_there, ttape_string expression)
{
    if (expression.size_bytes == 0)
        return TOOL_OK;
    if (regcomp(regex, expression.data, REG_EXTENDED | REG_NOSUB) != 0)
        return tool_usage(verb, "cannot use '%s' as a regular expression", expression.data);
    *is_there = true;
    return TOOL_OK;
}

static int compile_texts(const char *verb, struct tool_filter_rule *made,
                         const ttape_filter_rule *rule)
{
    made->texts = tool_allocate(rule->condition_count + 1u, sizeof(regex_t));
    for (uint32_t i = 0; i < rule->condition_count; i++) {
        bool is_there = false;
        ttape_string text = rule->conditions[i].operand == TTAPE_FILTER_TEXT
                                ? rule->conditions[i].text
                                : (ttape_string){"", 0};
        int status = compile(verb, &made->texts[i], &is_there, text);
        if (status != TOOL_OK) {
            while (i-- > 0)
                if (rule->conditions[i].operand == TTAPE_FILTER_TEXT)
                    regfree(&made->texts[i]);
            free(made->texts);
            made->texts = NULL;
            return status;
        }
    }
    return TOOL_OK;
}

/* Both lists of rules as one. */
static int join_rules(struct tool_filter_made *made, const char *verb)
{
    uint32_t own, more;
    const ttape_filter_rule *rules = ttape_filter_get_rules(made->parsed, &own);
    const ttape_filter_rule *of_triggers = ttape_filter_get_rules(made->triggers, &more);
    if (own + more > TTAPE_FILTER_MAX_RULES)
        return tool_usage(verb, "--filter and --on have more than %u functions together",
                          TTAPE_FILTER_MAX_RULES);
    made->rules = own > 0 ? rules : of_triggers;
    made->rule_count = own + more;
    if (own == 0 || more == 0)
        return TOOL_OK;
    made->joined = tool_allocate(own + more, sizeof(*made->joined));
    memcpy(made->joined, rules, own * sizeof(*rules));
    memcpy(made->joined + own, of_triggers, more * sizeof(*rules));
    made->rules = made->joined;
    return TOOL_OK;
}

static int compile_rules(struct tool_filter_made *made, const char *verb)
{
    int status = TOOL_OK;
    made->made = tool_allocate(made->rule_count + 1u, sizeof(*made->made));
    for (uint32_t i = 0; i < made->rule_count && status == TOOL_OK; i++) {
        struct tool_filter_rule *rule = &made->made[i];
        status = compile(verb, &rule->function, &rule->has_function, made->rules[i].function);
        if (status == TOOL_OK)
            status = compile(verb, &rule->path, &rule->has_path, made->rules[i].path);
        if (status == TOOL_OK)
            status = compile_texts(verb, rule, &made->rules[i]);
    }
    return status;
}

static int make(struct tool_filter_made *made, const char *verb, int status)
{
    if (status == TOOL_OK)
        status = join_rules(made, verb);
    if (status == TOOL_OK)
        status = compile_rules(made, verb);
    if (status != TOOL_OK)
        tool_filter_unmake(made);
    return status;
}

/* What is recorded can be copied meanwhile; what is read is there. */
static int check_actions(const char *verb, const struct tool_filter *said,
                         const ttape_filter *triggers)
{
    uint32_t count;
    const ttape_trigger *all = ttape_filter_get_triggers(triggers, &count);
    for (uint32_t i = 0; i < count; i++)
        if ((all[i].actions & (TTAPE_TRIGGER_CHECKPOINT | TTAPE_TRIGGER_KEEP)) != 0)
            return tool_usage(verb,
                              "--on '%s': %s is of recordings; here are on, off, depth N, time T "
                              "and finish",
                              said->texts[0],
                              (all[i].actions & TTAPE_TRIGGER_KEEP) != 0 ? "keep" : "checkpoint");
    return TOOL_OK;
}

int tool_filter_make(struct tool_filter_made *made, const char *verb,
                     const struct tool_filter *filter)
{
    const struct tool_filter triggers = {.texts = filter->triggers, .count = filter->trigger_count};
    *made = (struct tool_filter_made){0};
    int status = parse(&made->parsed, verb, filter, ttape_filter_parse);
    if (status == TOOL_OK && triggers.count > 0)
        status = parse(&made->triggers, verb, &triggers, ttape_filter_parse_triggers);
    if (status == TOOL_OK)
        status = check_actions(verb, &triggers, made->triggers);
    return make(made, verb, status);
}

int tool_triggers_make(struct tool_filter_made *made, const char *verb,
                       const struct tool_filter *triggers)
{
    *made = (struct tool_filter_made){0};
    return make(made, verb, parse(&made->triggers, verb, triggers, ttape_filter_parse_triggers));
}

void tool_filter_unmake(struct tool_filter_made *made)
{
    for (uint32_t i = 0; made->made != NULL && i < made->rule_count; i++) {
        struct tool_filter_rule *rule = &made->made[i];
        if (rule->has_function)
            regfree(&rule->function);
        if (rule->has_path)
            regfree(&rule->path);
        for (uint32_t k = 0; rule->texts != NULL && k < made->rules[i].condition_count; k++)
            if (made->rules[i].conditions[k].operand == TTAPE_FILTER_TEXT)
                regfree(&rule->texts[k]);
        free(rule->texts);
    }
    free(made->made);
    free(made->copy);
    free(made->joined);
    ttape_filter_close(made->parsed);
    ttape_filter_close(made->triggers);
    *made = (struct tool_filter_made){0};
}

bool tool_filter_matches(struct tool_filter_made *made, const regex_t *regex, ttape_string text)
{
    tool_grow((void **)&made->copy, &made->copy_capacity, text.size_bytes + 1, 1);
    if (text.size_bytes != 0)
        memcpy(made->copy, text.data, text.size_bytes);
    made->copy[text.size_bytes] = '\0';
    return regexec(regex, made->copy, 0, NULL, 0) == 0;
}

const char *tool_filter_unmatched(const struct tool_filter_made *made)
{
    static const ttape_filter_kind kinds[] = {TTAPE_FILTER_ONLY, TTAPE_FILTER_BELOW,
                                              TTAPE_FILTER_TO};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        const ttape_filter_rule *first = NULL;
        bool is_matched = false;
        for (uint32_t i = 0; i < made->rule_count; i++)
            if (made->rules[i].kind == kinds[k]) {
                first = first != NULL ? first : &made->rules[i];
                is_matched = is_matched || made->matched[i];
            }
        if (first != NULL && !is_matched)
            return first->function.data;
    }
    return NULL;
}

int tool_filter_check(const struct tool_filter_made *made)
{
    const char *unmatched = tool_filter_unmatched(made);
    for (uint32_t i = 0; i < made->rule_count; i++)
        if (made->rules[i].kind == TTAPE_FILTER_CALLS && !made->matched[i])
            tool_message("--on: nothing that was called matches '%s'",
                         made->rules[i].function.data);
    return unmatched == NULL ? TOOL_OK
                             : tool_fail("nothing that was called matches '%s'", unmatched);
}
