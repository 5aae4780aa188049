#include "tools/command/defaults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"

#define NAME       ".tracetape"
#define BYTES_MOST 65536
#define WORDS_MOST 256

/* Why the file is left alone; NULL: it may be used. */
static const char *find_fault(int fd, struct stat *file)
{
    if (fstat(fd, file) != 0 || !S_ISREG(file->st_mode))
        return "it is no file";
    if (file->st_uid != geteuid())
        return "it is not yours";
    if ((file->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "others may write it";
    return file->st_size > BYTES_MOST ? "it has more than 64 KiB" : NULL;
}

static char *read_all(int fd, size_t size)
{
    char *text = tool_allocate(size + 1, 1);
    size_t done = 0;
    for (ssize_t got = 1; done < size && got > 0; done += got > 0 ? (size_t)got : 0)
        got = read(fd, text + done, size - done);
    text[done] = '\0';
    return text;
}

/* NULL: there is none, or it is not used, which has been said. */
static char *read_file(void)
{
    struct stat file;
    char *text = NULL;
    int fd = open(NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno == ELOOP)
            tool_message("'" NAME "' of this folder is left alone: it is a link");
        return NULL;
    }
    const char *fault = find_fault(fd, &file);
    if (fault == NULL)
        text = read_all(fd, (size_t)file.st_size);
    else
        tool_message("'" NAME "' of this folder is left alone: %s", fault);
    (void)close(fd);
    return text;
}

/* The next word of a line, without its quotes; *at is behind it. NULL: there is none; "": a quote
 * is not closed. */
static char *take_word(char **at)
{
    char *from = *at + strspn(*at, " \t"), *word = from, *to = from, quote = '\0';
    if (*from == '\0' || *from == '#')
        return NULL;
    for (; *from != '\0' && (quote != '\0' || strchr(" \t", *from) == NULL); from++)
        if (quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote == *from)
            quote = '\0';
        else
            *to++ = *from;
    *at = from + (*from != '\0');
    *to = '\0';
    if (quote != '\0')
        *word = '\0';
    return word;
}

/* What writes elsewhere, or over something, removes it, or lets others write, is typed. */
static bool is_allowed(const char *word)
{
    static const char *const others[] = {"output", "force",  "report", "rollup",
                                         "lcov",   "listen", "clean"};
    size_t size = strcspn(word + 2, "=");
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strlen(others[i]) == size && memcmp(word + 2, others[i], size) == 0)
            return false;
    return true;
}

static int take_line(struct tool_defaults *defaults, char *line, unsigned number)
{
    for (char *word = take_word(&line); word != NULL; word = take_word(&line)) {
        bool is_option = word[0] == '-' && word[1] == '-' && word[2] != '\0';
        if (!is_option)
            return tool_fail("'" NAME
                             "', line %u: '%s' is no option: write --NAME, or --NAME=VALUE, "
                             "quoted where there are blanks; or tracetape --no-defaults VERB",
                             number, word);
        if (!is_allowed(word))
            return tool_fail("'" NAME "', line %u: '%s' says where something is written, or what "
                             "goes: that is typed; or tracetape --no-defaults VERB",
                             number, word);
        if (defaults->count > 2 * WORDS_MOST)
            return tool_fail("'" NAME "', line %u: there are more than %d options", number,
                             WORDS_MOST);
        defaults->words[defaults->count++] = word;
        defaults->words[defaults->count++] = defaults->words[0];
    }
    return TOOL_OK;
}

/* Lines of the verb. */
static int take_lines(struct tool_defaults *defaults, const char *verb)
{
    int status = TOOL_OK;
    char *next = defaults->text;
    for (unsigned number = 1; next != NULL && status == TOOL_OK; number++) {
        char *line = next;
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        const char *of = take_word(&line);
        if (of != NULL && strcmp(of, verb) == 0)
            status = take_line(defaults, line, number);
    }
    return status;
}

static void say(const struct tool_defaults *defaults)
{
    size_t size = 1;
    for (int i = 1; i < defaults->count; i += 2)
        size += strlen(defaults->words[i]) + 1;
    char *line = tool_allocate(size, 1), *at = line;
    for (int i = 1; i < defaults->count; i += 2) {
        *at++ = ' ';
        at = stpcpy(at, defaults->words[i]);
    }
    tool_message("%s%s (by '" NAME "' of this folder)", defaults->words[0], line);
    free(line);
}

int tool_defaults_open(struct tool_defaults *defaults, int argc, char **argv)
{
    *defaults = (struct tool_defaults){.text = read_file()};
    defaults->words = tool_allocate((size_t)argc + 2 * WORDS_MOST + 2, sizeof(char *));
    defaults->words[defaults->count++] = argv[0];
    int status = take_lines(defaults, argv[0]);
    if (status == TOOL_OK && defaults->count > 1)
        say(defaults);
    for (int i = 1; i < argc && status == TOOL_OK; i++)
        defaults->words[defaults->count++] = argv[i];
    defaults->words[defaults->count] = NULL;
    return status == TOOL_OK ? TOOL_OK : TOOL_USAGE;
}

void tool_defaults_close(struct tool_defaults *defaults)
{
    free(defaults->text);
    free(defaults->words);
}
