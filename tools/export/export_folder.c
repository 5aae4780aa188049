/* Folders made under a temporary name. Signals only set a flag meanwhile: a folder cannot be
 * removed in a handler. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/export/export_folder.h"

static const int caught[TOOL_FOLDER_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t interrupted;

static void note(int number) { interrupted = number; }

int tool_folder_interrupted(void) { return (int)interrupted; }

static void catch_signals(struct tool_folder *folder)
{
    for (size_t i = 0; i < TOOL_FOLDER_SIGNALS; i++) {
        struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(caught[i], NULL, &folder->before[i]);
        if (folder->before[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

int tool_folder_open(struct tool_folder *folder, const char *path, bool force)
{
    struct stat status;
    *folder = (struct tool_folder){.path = path, .force = force};
    if (lstat(path, &status) == 0 && (!force || !S_ISDIR(status.st_mode))) {
        return S_ISDIR(status.st_mode) ? tool_fail("'%s' exists already; --force replaces it", path)
                                       : tool_fail("'%s' exists already and is no folder", path);
    }
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    catch_signals(folder);
    folder->temporary = tool_allocate(size + 16, 1);
    folder->inside = tool_allocate(size + 16, 1);
    memcpy(folder->temporary, path, size);
    memcpy(folder->temporary + size, ".XXXXXX", 8);
    if (mkdtemp(folder->temporary) == NULL) {
        int status_of = tool_fail("cannot make a folder beside '%s': %s", path, strerror(errno));
        free(folder->temporary);
        folder->temporary = NULL;
        tool_folder_close(folder);
        return status_of;
    }
    snprintf(folder->inside, size + 16, "%s/trace", folder->temporary);
    return TOOL_OK;
}

/* Removes a folder of files; refuses one that holds anything else. */
static bool remove_flat(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool is_flat = listing != NULL;
    while (is_flat && (entry = readdir(listing)) != NULL) {
        struct stat status;
        bool is_dot = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        is_flat = is_dot || (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISREG(status.st_mode));
    }
    if (is_flat) {
        rewinddir(listing);
        while ((entry = readdir(listing)) != NULL)
            (void)unlinkat(fd, entry->d_name, 0);
    }
    if (listing != NULL)
        closedir(listing);
    else if (fd >= 0)
        close(fd);
    if (!is_flat) {
        errno = ENOTEMPTY;
        return false;
    }
    return rmdir(path) == 0;
}

/* Files get the mode that any other output has. */
static void open_modes(const char *path)
{
    mode_t mask = umask(0);
    umask(mask);
    DIR *listing = opendir(path);
    struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        if (entry->d_name[0] != '.')
            (void)fchmodat(dirfd(listing), entry->d_name, 0666 & ~mask, 0);
    if (listing != NULL)
        closedir(listing);
}

int tool_folder_commit(struct tool_folder *folder)
{
    struct stat status;
    open_modes(folder->inside);
    if (folder->force && lstat(folder->path, &status) == 0 && !remove_flat(folder->path))
        return tool_fail("cannot replace '%s': %s", folder->path, strerror(errno));
    if (rename(folder->inside, folder->path) != 0)
        return tool_fail("cannot make '%s': %s", folder->path, strerror(errno));
    return TOOL_OK;
}

void tool_folder_close(struct tool_folder *folder)
{
    if (folder->temporary != NULL) {
        (void)remove_flat(folder->inside);
        (void)rmdir(folder->temporary);
        free(folder->temporary);
        folder->temporary = NULL;
    }
    free(folder->inside);
    folder->inside = NULL;
    for (size_t i = 0; i < TOOL_FOLDER_SIGNALS; i++)
        sigaction(caught[i], &folder->before[i], NULL);
    if (interrupted != 0)
        raise((int)interrupted);
}
