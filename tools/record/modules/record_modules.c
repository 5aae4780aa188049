/* The loader is asked with --list, which maps the program and its libraries, and runs none of their
 * code:
 *
 *     libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)
 *     /lib64/ld-linux-x86-64.so.2 (0x00007f...) */
#define _GNU_SOURCE /* pipe2 */
#include "tools/record/modules/record_modules.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/tool.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

extern char **environ;

struct modules {
    char **paths;
    size_t count, capacity;
};

static void add_module(struct modules *modules, const char *path, size_t size)
{
    tool_grow((void **)&modules->paths, &modules->capacity, modules->count + 2,
              sizeof *modules->paths);
    modules->paths[modules->count++] = tool_copy_text(path, size);
    modules->paths[modules->count] = NULL;
}

static void take_line(struct modules *modules, const char *line)
{
    const char *arrow = strstr(line, " => "), *path = arrow != NULL ? arrow + 4 : line;
    path += strspn(path, " \t");
    const char *end = strstr(path, " (0x");
    if (path[0] == '/' && end != NULL)
        add_module(modules, path, (size_t)(end - path));
}

/* Its output; -1: it does not start. */
static int start_loader(const char *program, pid_t *pid)
{
    const char *const words[] = {LOADER, "--list", program, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    bool is_set = posix_spawn_file_actions_init(&actions) == 0;
    bool is_started =
        is_set && posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(pid, LOADER, &actions, NULL, (char *const *)words, environ) == 0;
    if (is_set)
        (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    if (!is_started)
        (void)close(ends[0]);
    return is_started ? ends[0] : -1;
}

char **tool_record_modules(const char *program)
{
    struct modules modules = {0};
    char *line = NULL;
    size_t room = 0;
    pid_t pid = -1;
    add_module(&modules, program, strlen(program));
    int fd = start_loader(program, &pid);
    FILE *said = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (said != NULL && getline(&line, &room, said) > 0)
        take_line(&modules, line);
    free(line);
    if (said != NULL)
        (void)fclose(said);
    else if (fd >= 0)
        (void)close(fd);
    if (fd >= 0)
        (void)waitpid(pid, NULL, 0);
    return modules.paths;
}

void tool_record_modules_free(char **modules)
{
    for (char **module = modules; *module != NULL; module++)
        free(*module);
    free(modules);
}

bool tool_record_is_basic_module(const char *name)
{
    static const char *const basic[] = {"libc.",      "libc-",      "libm.",       "libm-",
                                        "libpthread", "libdl.",     "librt.",      "ld-",
                                        "ld.",        "libstdc++.", "libc++.",     "libc++abi.",
                                        "libgcc_s.",  "linux-vdso", "libtracetape"};
    for (size_t i = 0; i < sizeof basic / sizeof basic[0]; i++)
        if (strncmp(name, basic[i], strlen(basic[i])) == 0)
            return true;
    return false;
}
