/* Opens the user's browser. Everybody can read the arguments of a process, so the address, which
 * has the key in it, is in a file that nobody else can read, and the browser gets that file. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/io/scratch_file.h"
#include "tools/view/view_server.h"

#define OPENER "xdg-open"
#define SUFFIX ".html"

extern char **environ;

static bool has_screen(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x11 != NULL && x11[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

/* The file, written; NULL: not made. The address has no character that HTML gives a meaning to but
 * '&'. */
static char *write_file(const char *address)
{
    char *path = NULL, *text = NULL;
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder == NULL || folder[0] != '/' ||
        asprintf(&path, "%s/tracetape-view-XXXXXX" SUFFIX, folder) < 0)
        return NULL;
    int fd = mkostemps(path, (int)strlen(SUFFIX), O_CLOEXEC); /* 0600 */
    int length = asprintf(&text,
                          "<!doctype html><meta charset=utf-8><title>tracetape view</title>"
                          "<meta http-equiv=refresh content=\"0;url=%s\">\n",
                          address);
    bool is_written = fd >= 0 && length > 0 && tool_write_full(fd, text, (size_t)length);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !is_written)
        unlink(path);
    if (length >= 0)
        free(text);
    if (is_written)
        return path;
    free(path);
    return NULL;
}

/* Its output would be between ours. */
static bool start_opener(char *path)
{
    char name[] = OPENER;
    char *const words[] = {name, path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0)
        failed =
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (failed == 0)
        failed = posix_spawnp(&child, OPENER, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}

char *view_browser_open(const char *address)
{
    char *path = has_screen() ? write_file(address) : NULL;
    if (path == NULL || start_opener(path))
        return path;
    view_browser_forget(path);
    return NULL;
}

void view_browser_forget(char *path)
{
    if (path != NULL)
        unlink(path);
    free(path);
}
