/* Words are kept as they were given; what they choose is asked of names. */
#include "tools/kernel/kernel_choice.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/kernel/kernel_calls.h"

static const struct tool_kernel_class *class_named(const char *name)
{
    const struct tool_kernel_class *class = tool_kernel_classes;
    while (class->name != NULL && strcmp(class->name, name) != 0)
        class ++;
    return class->name != NULL ? class : NULL;
}

/* What a word is behind its "!". */
static const char *plain(const char *word) { return word + (*word == '!'); }

static bool match_regex(const char *word, const char *name, bool *is_regex)
{
    regex_t regex;
    char *text = tool_copy_text(word + 1, strlen(word) - 2);
    *is_regex = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) == 0;
    bool matches = *is_regex && regexec(&regex, name, 0, NULL, 0) == 0;
    if (*is_regex)
        regfree(&regex);
    free(text);
    return matches;
}

static bool is_regex_word(const char *word)
{
    size_t size = strlen(word);
    return size >= 3 && word[0] == '/' && word[size - 1] == '/';
}

/* Is it a word that means something? */
static bool is_known(const char *word)
{
    bool is_regex;
    if (is_regex_word(word)) {
        (void)match_regex(word, "", &is_regex);
        return is_regex;
    }
    return *word == '%' ? class_named(word + 1) != NULL
                        : strcmp(word, "all") == 0 || tool_kernel_number(word) != TOOL_KERNEL_NONE;
}

static bool word_matches(const char *word, const char *name)
{
    bool is_regex;
    if (is_regex_word(word))
        return match_regex(word, name, &is_regex);
    if (*word != '%')
        return strcmp(word, "all") == 0 || strcmp(word, name) == 0;
    const struct tool_kernel_call *call = tool_kernel_call_numbered(tool_kernel_number(name));
    const struct tool_kernel_class *class = class_named(word + 1);
    return call != NULL && class != NULL && strchr(call->classes, class->letter) != NULL;
}

/* A comma ends a word, but inside of a regular expression. */
bool tool_parse_call_choice(const char *text, void *into)
{
    struct tool_call_choice *choice = into;
    while (*text != '\0') {
        const char *start = plain(text), *close = *start == '/' ? strchr(start + 1, '/') : NULL;
        size_t size = (size_t)((close != NULL ? close : text) - text);
        size += strcspn(text + size, ",");
        char *word = tool_copy_text(text, size);
        tool_grow((void **)&choice->words, &choice->capacity, choice->count + 1,
                  sizeof(*choice->words));
        choice->words[choice->count++] = word;
        if (!is_known(plain(word))) {
            tool_call_choice_close(choice);
            return false;
        }
        text += size;
        text += *text == ',';
    }
    return choice->count > 0;
}

void tool_call_choice_close(struct tool_call_choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        free(choice->words[i]);
    free(choice->words);
    *choice = (struct tool_call_choice){0};
}

/* The last word that says something of a name decides. Where the first takes away, all else is
 * there. */
bool tool_call_is_chosen(const struct tool_call_choice *choice, const char *name)
{
    bool is_chosen = choice->count == 0 || choice->words[0][0] == '!';
    for (size_t i = 0; i < choice->count; i++)
        if (word_matches(plain(choice->words[i]), name))
            is_chosen = choice->words[i][0] != '!';
    return is_chosen;
}

uint8_t *tool_calls_choose(const struct tool_call_choice *choice, const ttape_reader *reader)
{
    ttape_info info;
    ttape_site site;
    if (choice->count == 0)
        return NULL;
    ttape_reader_get_info(reader, &info);
    uint8_t *chosen = tool_allocate(info.site_count + 1u, 1);
    for (uint32_t i = 0; i < info.site_count; i++) {
        if (ttape_reader_get_site(reader, i, &site) != TTAPE_OK || site.kind != TTAPE_SITE_SYSCALL)
            continue;
        char *name = tool_copy_text(site.symbol.data, site.symbol.size_bytes);
        chosen[i] = tool_call_is_chosen(choice, name);
        free(name);
    }
    return chosen;
}
