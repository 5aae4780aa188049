/* Command lines by table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/command/wrap.h"

/* Its argument follows "=" or is not there. */
static bool is_optional(const struct tool_option *option)
{
    return option->argument != NULL && option->argument[0] == '[';
}

#define JOBS_MOST 64L

static const char usual_statuses[] = "  0  done\n"
                                     "  2  the command line is wrong\n"
                                     "  3  done, with a loss that a warning names\n"
                                     "  4  not done\n";

#define USAGE_BLANKS 15u /* "       tracetape " and a step */
#define HELP_BLANKS  31u /* in front of what is said of an option */

static void put_usage(struct tool_output *out, const struct tool_command *command, unsigned columns)
{
    const char *lead = "Usage: ";
    for (const char *line = command->usage; *line != '\0'; lead = "       ") {
        size_t length = strcspn(line, "\n");
        size_t at = strlen(lead) + strlen("tracetape ") + strlen(command->verb) + 1;
        tool_output_printf(out, "%stracetape %s ", lead, command->verb);
        tool_put_wrapped(out, line, length, at, USAGE_BLANKS, columns);
        line += length + (line[length] == '\n');
    }
}

static void put_option(struct tool_output *out, const char *name, const char *help,
                       unsigned columns)
{
    size_t at = strlen(name) + 3;
    tool_output_printf(out, "  %-28s ", name);
    tool_put_wrapped(out, help, strlen(help), at > HELP_BLANKS ? at : HELP_BLANKS, HELP_BLANKS,
                     columns);
}

static int print_help(const struct tool_command *command)
{
    struct tool_output out;
    unsigned columns = tool_terminal_columns();
    tool_output_open(&out, STDOUT_FILENO);
    put_usage(&out, command, columns);
    tool_output_text(&out, "\n");
    tool_put_paragraphs(&out, command->about, columns);
    tool_output_text(&out, "\nOptions:\n");
    for (const struct tool_option *option = command->options; option->name != NULL; option++) {
        char name[64];
        if (option->name[0] == '\0') {
            tool_output_printf(&out, " %s:\n", option->help);
            continue;
        }
        bool is_apart = option->argument != NULL && !is_optional(option);
        snprintf(name, sizeof(name), "%c%c%s--%s%s%s", option->letter != 0 ? '-' : ' ',
                 option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "  ",
                 option->name, is_apart ? " " : "",
                 option->argument != NULL ? option->argument : "");
        put_option(&out, name, option->help, columns);
    }
    put_option(&out, "-h, --help", "print this", columns);
    tool_output_printf(&out, "\nExamples:\n%s\nExit status:\n%s", command->examples,
                       command->statuses != NULL ? command->statuses : usual_statuses);
    return tool_output_close(&out);
}

static const struct tool_option *find_option(const struct tool_command *command, const char *name,
                                             size_t length)
{
    for (const struct tool_option *option = command->options; option->name != NULL; option++)
        if (length != 0 && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const struct tool_option *find_letter(const struct tool_command *command, char letter)
{
    for (const struct tool_option *option = command->options; option->name != NULL; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

/* The place in a command line. */
struct place {
    const struct tool_command *command;
    const char *end; /* the very word behind each option of a project's file */
    char *options;
    int argc, at, operand_count;
    char **argv;
};

/* The place of the option is its meaning: store() knows it. */
bool tool_parse_here(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

/* False: the argument is not understood. */
static bool store(struct place *line, const struct tool_option *option, const char *text)
{
    void *into = line->options + option->at;
    if (option->parse == tool_parse_here)
        *(int *)into = line->operand_count;
    if (option->parse != NULL)
        return option->parse(text, into);
    if (option->argument == NULL)
        *(bool *)into = true;
    else
        *(const char **)into = text;
    return true;
}

/* Takes the option's argument: attached (may be NULL), or the next word. */
static int take_option(struct place *line, const struct tool_option *option, const char *attached)
{
    const char *verb = line->command->verb;
    if (option->argument == NULL) {
        if (attached != NULL)
            return tool_usage(verb, "option '--%s' takes no argument", option->name);
        (void)store(line, option, NULL);
        return TOOL_OK;
    }
    if (attached == NULL && !is_optional(option)) {
        if (line->at + 1 >= line->argc || line->argv[line->at + 1] == line->end)
            return tool_usage(verb, "option '--%s' needs %s", option->name, option->argument);
        attached = line->argv[++line->at];
    }
    if (store(line, option, attached))
        return TOOL_OK;
    return tool_usage(verb, "cannot use '%s' as %s of option '--%s'", attached, option->argument,
                      option->name);
}

/* Names that users of earlier builds and of other tools try, and what to write instead. */
static const char *find_successor(const struct tool_command *command, const char *name,
                                  size_t length)
{
    static const struct {
        const char *verb, *name, *now; /* verb NULL: of any */
    } gone[] = {
        {"convert", "time", "--resolution HOW"},
        {"record", "time", "--resolution HOW"},
        {NULL, "from", "--time A..B"},
        {"export", "to", "--format FORMAT"},
        {NULL, "to", "--time A..B"},
        {NULL, "tid", "--thread TID"},
        {"cut", "partitions", "--partition A..B"},
        {"report", "match", "--group REGEX"},
        {"graph", "dot", "--format dot"},
        {"graph", "svg", "--format svg"},
        {NULL, "top", "--limit N"},
        {"graph", "by", "--weight TIME"},
    };
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        if ((gone[i].verb == NULL || strcmp(gone[i].verb, command->verb) == 0) &&
            strlen(gone[i].name) == length && memcmp(gone[i].name, name, length) == 0 &&
            find_option(command, gone[i].now + 2, strcspn(gone[i].now + 2, " ")) != NULL)
            return gone[i].now;
    return NULL;
}

static int say_unknown(const struct tool_command *command, const char *name, size_t length)
{
    const char *now = find_successor(command, name, length);
    if (now != NULL)
        return tool_usage(command->verb, "unknown option '--%.*s': write '%s'", (int)length, name,
                          now);
    struct tool_nearest nearest = {.word = name, .length = length};
    for (const struct tool_option *option = command->options; option->name != NULL; option++)
        tool_nearest_try(&nearest, option->name);
    if (nearest.found == NULL)
        return tool_usage(command->verb, "unknown option '--%.*s'", (int)length, name);
    return tool_usage(command->verb, "unknown option '--%.*s': is it '--%s'?", (int)length, name,
                      nearest.found);
}

static int take_long(struct place *line, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct tool_option *option = find_option(line->command, name, length);
    if (option == NULL)
        return say_unknown(line->command, name, length);
    return take_option(line, option, equals != NULL ? equals + 1 : NULL);
}

static int take_short(struct place *line, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct tool_option *option = find_letter(line->command, *letters);
        if (option == NULL)
            return tool_usage(line->command->verb, "unknown option '-%c'", *letters);
        if (option->argument != NULL)
            return take_option(line, option, letters[1] != '\0' ? letters + 1 : NULL);
        int status = take_option(line, option, NULL);
        if (status != TOOL_OK)
            return status;
    }
    return TOOL_OK;
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int check_operands(const struct tool_command *command, int count, char **argv)
{
    if (count < command->operands_min) {
        return tool_usage(command->verb, "%s needs %s", command->verb,
                          command->runs_command        ? "a command"
                          : command->operands_min == 2 ? "two files"
                                                       : "a file");
    }
    if (count > command->operands_max)
        return tool_usage(command->verb, "cannot use operand '%s'", argv[command->operands_max]);
    return TOOL_OK;
}

enum tool_parsed tool_options_parse(const struct tool_command *command, int argc, char **argv,
                                    void *options, int *operand_count, int *status)
{
    *status = TOOL_OK;
    if (!command->runs_command && asks_help(argc, argv)) {
        *status = print_help(command);
        return TOOL_PARSED_HELP;
    }
    struct place line = {
        .command = command, .end = argv[0], .options = options, .argc = argc, .argv = argv};
    bool ended = false;
    for (line.at = 1; line.at < argc && *status == TOOL_OK; line.at++) {
        char *word = argv[line.at];
        if (word == line.end)
            continue;
        if (ended || word[0] != '-' || word[1] == '\0') {
            argv[line.operand_count++] = word;
            ended |= command->runs_command;
        } else if (command->runs_command &&
                   (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            *status = print_help(command);
            return TOOL_PARSED_HELP;
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else if (word[1] == '-') {
            *status = take_long(&line, word + 2);
        } else {
            *status = take_short(&line, word + 1);
        }
    }
    if (*status == TOOL_OK)
        *status = check_operands(command, line.operand_count, argv);
    *operand_count = line.operand_count;
    return *status == TOOL_OK ? TOOL_PARSED_GO : TOOL_PARSED_ERROR;
}

uint32_t tool_jobs(uint32_t asked)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (asked != 0)
        return asked;
    return count < 1 ? 1 : count > JOBS_MOST ? (uint32_t)JOBS_MOST : (uint32_t)count;
}
