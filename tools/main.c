/* The command: a verb table. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/types.h>

#include "tools/command/defaults.h"
#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"

static const struct tool_verb verbs[] = {
    {"record", "run a command and record its calls", tool_verb_record},
    {"attach", "record the calls of a program that runs, and leave it as it was", tool_verb_attach},
    {"control", "steer a recording that runs: on, off, flush, snapshot, stop", tool_verb_control},
    {"recover", "make a trace of what a killed recorder left behind", tool_verb_recover},
    {"receive", "take traces that other machines send while they record", tool_verb_receive},
    {"send", "send a trace, or the rest of one, to such a receiver", tool_verb_send},
    {"convert", "turn a recording of another tool into a trace", tool_verb_convert},
    {"last", "say how threads ended, and what they called last", tool_verb_last},
    {"info", "say what is in a trace and where its bytes went", tool_verb_info},
    {"verify", "check a trace against every rule of the format", tool_verb_verify},
    {"dump", "print events as a call tree, CSV or JSON lines", tool_verb_dump},
    {"tree", "show what called what, opened where you look", tool_verb_tree},
    {"view", "show a trace in the browser", tool_verb_view},
    {"report", "say where the time went: functions, modules, threads, callers", tool_verb_report},
    {"syscalls", "show system calls, and the code paths that led to them", tool_verb_syscalls},
    {"lines", "show which lines of source code ran", tool_verb_lines},
    {"slow", "show the longest calls of a function, or of all", tool_verb_slow},
    {"cut", "copy a part of a trace", tool_verb_cut},
    {"merge", "join traces, or the pieces of one", tool_verb_merge},
    {"symbolize", "fill in names, files and lines from the binaries", tool_verb_symbolize},
    {"binary", "say what is in an executable or a library", tool_verb_binary},
    {"callgraph", "say who can call whom in a program and its libraries", tool_verb_callgraph},
    {"context", "say which calls a context value stands for", tool_verb_context},
    {"graph", "say who called whom, as a table or a picture", tool_verb_graph},
    {"diff", "say what differs between two traces", tool_verb_diff},
    {"export", "write a trace in a format that other tools read", tool_verb_export},
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int print_help(void)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_text(&out, "Usage: tracetape VERB [OPTION]... FILE...\n"
                           "       tracetape help VERB\n"
                           "       tracetape --version\n"
                           "\n"
                           "Execution traces: every call of a program, in small files.\n"
                           "\n"
                           "Verbs:\n");
    for (size_t i = 0; i < VERB_COUNT; i++)
        tool_output_printf(&out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    tool_output_text(&out, "\n"
                           "Options:\n"
                           "  -h, --help      print this; after a verb, print the verb's help\n"
                           "  --version       print the version\n"
                           "  --no-defaults   before a verb: without options of the folder's "
                           ".tracetape\n"
                           "\n"
                           "Examples:\n"
                           "  tracetape record -o run.ttape ./program\n"
                           "  tracetape report run.ttape\n"
                           "  tracetape slow run.ttape\n"
                           "\n"
                           "Exit status:\n"
                           "  0  done\n"
                           "  1  verify found something\n"
                           "  2  the command line is wrong\n"
                           "  3  done, with a loss that a warning names\n"
                           "  4  not done\n");
    return tool_output_close(&out);
}

static int print_version(void)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "tracetape %s\n", ttape_version_string());
    return tool_output_close(&out);
}

static const struct tool_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int say_unknown(const char *name)
{
    struct tool_nearest nearest = {.word = name, .length = strlen(name)};
    if (name[0] == '-')
        return tool_usage(NULL, "unknown option '%s'", name);
    for (size_t i = 0; i < VERB_COUNT; i++)
        tool_nearest_try(&nearest, verbs[i].name);
    if (nearest.found == NULL)
        return tool_usage(NULL, "unknown verb '%s'", name);
    return tool_usage(NULL, "unknown verb '%s': is it '%s'?", name, nearest.found);
}

/* A closed standard descriptor would be taken by the next file that is opened: messages would end
 * up in it. */
static void guard_descriptors(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY,
                                O_WRONLY}; /* so that writing data still fails */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            _exit(TOOL_CANNOT);
}

static int help_verb(int argc, char **argv)
{
    if (argc < 3)
        return print_help();
    const struct tool_verb *verb = find_verb(argv[2]);
    if (verb == NULL)
        return say_unknown(argv[2]);
    char help[] = "--help";
    char *arguments[] = {argv[2], help, NULL};
    return verb->run(2, arguments);
}

static int run(const struct tool_verb *verb, int argc, char **argv)
{
    struct tool_defaults defaults;
    int status = tool_defaults_open(&defaults, argc, argv);
    if (status == TOOL_OK)
        status = verb->run(defaults.count, defaults.words);
    tool_defaults_close(&defaults);
    return status;
}

int main(int argc, char **argv)
{
    guard_descriptors();
    tool_signals_catch();
    if (argc < 2)
        return tool_usage(NULL, "a verb is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_help();
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    if (strcmp(argv[1], "help") == 0)
        return help_verb(argc, argv);
    bool has_defaults = strcmp(argv[1], "--no-defaults") != 0;
    if (!has_defaults && argc < 3)
        return tool_usage(NULL, "a verb is missing");
    argv += !has_defaults;
    argc -= !has_defaults;
    const struct tool_verb *verb = find_verb(argv[1]);
    if (verb == NULL)
        return say_unknown(argv[1]);
    return has_defaults ? run(verb, argc - 1, argv + 1) : verb->run(argc - 1, argv + 1);
}
