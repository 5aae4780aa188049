/* Which package a file came with is in the lists of dpkg: one path a line, 11 MB in all, read once
 * at most. With /usr merged into / a list may have the other path. */
#define _GNU_SOURCE /* asprintf */
#include "program/symbols/name_advice.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/symbols/debuginfod.h"

#define LISTS          "/var/lib/dpkg/info"
#define LIST_BYTES_MAX (16u << 20)
#define ALL_BYTES_MAX  (256u << 20) /* of all of them */
#define PATH_BYTES     4096u
#define MERGED         "/usr"

/* One line of /etc/os-release: ID=debian. */
static void read_system(char id[32])
{
    char line[256];
    FILE *file = fopen("/etc/os-release", "re");
    id[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "ID=\"%31[a-z-]", id) == 1 || sscanf(line, "ID=%31[a-z-]", id) == 1)
            break;
    if (file != NULL)
        (void)fclose(file);
}

const char *tool_debuginfod_server(void)
{
    static const struct {
        const char *id, *server;
    } servers[] = {{"debian", "https://debuginfod.debian.net"},
                   {"ubuntu", "https://debuginfod.ubuntu.com"},
                   {"fedora", "https://debuginfod.fedoraproject.org"},
                   {"arch", "https://debuginfod.archlinux.org"},
                   {"opensuse", "https://debuginfod.opensuse.org"}};
    char id[32];
    read_system(id);
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++)
        if (strncmp(id, servers[i].id, strlen(servers[i].id)) == 0)
            return servers[i].server;
    return "https://debuginfod.elfutils.org";
}

/* Is it a line of the list? */
static bool has_line(const char *text, size_t size_bytes, const char *line)
{
    size_t length = strlen(line);
    const char *end = text + size_bytes;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), line, length)) != NULL; at++)
        if ((at == text || at[-1] == '\n') && at + length < end && at[length] == '\n')
            return true;
    return false;
}

/* How many bytes it is; 0: none. */
static size_t read_list(int folder, const char *name, char *text)
{
    size_t size_bytes = 0;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = fd < 0 ? 0 : 1;
    while (got > 0 && size_bytes < LIST_BYTES_MAX) {
        got = read(fd, text + size_bytes, LIST_BYTES_MAX - size_bytes);
        size_bytes += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return size_bytes;
}

/* "libc6:amd64.list" -> "libc6"; false: it is no list. */
static bool package_of(const char *list, char package[128])
{
    size_t length = strlen(list), ending = strlen(".list");
    if (length <= ending || strcmp(list + length - ending, ".list") != 0 || length >= 128)
        return false;
    size_t name = strcspn(list, ":");
    name = name < length - ending ? name : length - ending;
    memcpy(package, list, name);
    package[name] = '\0';
    return true;
}

/* *is_known: this system has such lists. */
static bool find_package(const char *path, char package[128], bool *is_known)
{
    DIR *lists = opendir(LISTS);
    struct dirent *entry;
    size_t all_bytes = 0;
    bool is_found = false;
    const char *other =
        strncmp(path, MERGED "/", sizeof MERGED) == 0 ? path + sizeof MERGED - 1 : path;
    *is_known = lists != NULL;
    if (lists == NULL)
        return false;
    char *text = malloc(LIST_BYTES_MAX);
    *is_known = text != NULL;
    while (text != NULL && !is_found && all_bytes < ALL_BYTES_MAX &&
           (entry = readdir(lists)) != NULL) {
        if (!package_of(entry->d_name, package))
            continue;
        size_t size_bytes = read_list(dirfd(lists), entry->d_name, text);
        all_bytes += size_bytes;
        is_found = has_line(text, size_bytes, path) || has_line(text, size_bytes, other);
    }
    free(text);
    (void)closedir(lists);
    return is_found;
}

char *tool_name_advice(ttape_string path, bool was_asked)
{
    static const char own[] =
        "build it without -s and strip, or give its debug file's folder with --debug-dir";
    char copy[PATH_BYTES], package[128], *advice = NULL, *real = NULL;
    if (path.size_bytes < sizeof copy) {
        (void)snprintf(copy, sizeof copy, "%.*s", (int)path.size_bytes, path.data);
        real = realpath(copy, NULL);
    }
    bool is_known = false;
    bool has_package = real != NULL && real[0] == '/' && find_package(real, package, &is_known);
    free(real);
    if (is_known && !has_package)
        return strdup(own);
    bool is_usual = has_package && strcmp(package, "libc6") == 0; /* in the standard archive */
    bool is_debian = strstr(tool_debuginfod_server(), "debian") != NULL;
    const char *ending = is_usual ? "-dbg" : is_debian ? "-dbgsym of debian-debug" : "-dbgsym";
    /* Which servers there are, that option says itself. */
    if (asprintf(&advice, "%s--debuginfod fetches names%s%s%s%s",
                 was_asked ? "tracetape symbolize " : "", has_package ? ", or " : "",
                 has_package ? package : "", has_package ? ending : "",
                 has_package ? " has them" : "") < 0)
        return NULL;
    return advice;
}
