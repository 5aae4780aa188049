/* CTF traces below a folder: any folder with a file `metadata` that begins as CTF's does. LTTng
 * puts them some levels down (ust/uid/0/64-bit). Nothing outside is looked at: links are not
 * followed, and refused where a trace would be read through them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/convert/ctf/convert_ctf_events.h"
#include "tools/io/scratch_file.h"

#define DEPTH_MAX        12
#define INDEX_HEAD_BYTES 24 /* of a file of LTTng's index/ */
#define MAGIC            UINT32_C(0x75D11D57)

struct finding {
    bool is_probe;  /* quiet; the first one is enough */
    bool has_other; /* a trace of CTF 2 */
    char **folders;
    size_t count, capacity;
    int status;
};

static char *join_path(const char *path, const char *name)
{
    size_t size = strlen(path) + strlen(name) + 2;
    char *joined = tool_allocate(size, 1);
    snprintf(joined, size, "%s/%s", path, name);
    return joined;
}

/* Packetised metadata begins with a magic number in either byte order, plain metadata with a
 * comment; that of CTF 2 is a sequence of JSON texts. */
static bool is_trace(int directory, bool *is_other)
{
    char head[16] = {0};
    uint32_t magic;
    struct stat status;
    int fd = openat(directory, "metadata", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_read = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   tool_read_full(fd, head, sizeof(head) - 1, 0) > 4;
    if (fd >= 0)
        close(fd);
    memcpy(&magic, head, sizeof(magic));
    *is_other = *is_other || (is_read && head[0] == '\x1e');
    return is_read && (magic == MAGIC || magic == __builtin_bswap32(MAGIC) ||
                       strncmp(head, "/* CTF 1.", 9) == 0);
}

/* What babeltrace2 would open in a trace's folder: plain files only. */
static void check_files(struct finding *found, DIR *listing, const char *path)
{
    struct dirent *entry;
    rewinddir(listing);
    while (found->status == TOOL_OK && (entry = readdir(listing)) != NULL) {
        struct stat status;
        if (fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
            found->status = tool_fail("cannot read '%s/%s': no regular file", path, entry->d_name);
    }
}

/* A trace may be in there: without it, the rest is not the recording. */
static void cannot(struct finding *found, const char *path, const char *name)
{
    if (!found->is_probe)
        found->status = tool_fail("cannot open '%s/%s': %s", path, name, strerror(errno));
}

static void search(struct finding *found, int fd, const char *path, int depth)
{
    DIR *listing = fdopendir(fd);
    struct dirent *entry;
    if (listing == NULL) {
        cannot(found, path, "");
        close(fd);
        return;
    }
    if (is_trace(fd, &found->has_other)) {
        if (found->count == TOOL_CTF_TRACES_MAX)
            found->status = tool_fail("'%s': more than %u traces in it", path, TOOL_CTF_TRACES_MAX);
        if (!found->is_probe)
            check_files(found, listing, path);
        tool_grow((void **)&found->folders, &found->capacity, found->count + 1, sizeof(char *));
        found->folders[found->count++] = tool_copy_text(path, strlen(path));
    }
    rewinddir(listing);
    while (found->status == TOOL_OK && depth < DEPTH_MAX &&
           !(found->is_probe && (found->count > 0 || found->has_other)) &&
           (entry = readdir(listing)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        int inside =
            openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (inside >= 0) {
            char *joined = join_path(path, entry->d_name);
            search(found, inside, joined, depth + 1);
            free(joined);
        } else if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT) {
            cannot(found, path, entry->d_name);
        }
    }
    closedir(listing);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool tool_ctf_is_any(int directory)
{
    struct finding found = {.is_probe = true, .status = TOOL_OK};
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        search(&found, fd, "", 0);
    for (size_t i = 0; i < found.count; i++)
        free(found.folders[i]);
    free(found.folders);
    return found.count > 0 || found.has_other;
}

int tool_ctf_find(int directory, const char *path, char ***folders, size_t *count)
{
    struct finding found = {.status = TOOL_OK};
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    search(&found, fd, path, 0);
    if (found.count > 0)
        qsort(found.folders, found.count, sizeof(char *), compare_paths);
    *folders = found.folders;
    *count = found.count;
    if (found.status == TOOL_OK && found.has_other) {
        return tool_fail("'%s' is a trace of CTF 2, and CTF 1.8 is read: babeltrace2 (from 2.1 on) "
                         "'%s' --component=sink.ctf.fs --params='path=\"OTHER\",ctf-version=\"1\"'",
                         path, path);
    }
    return found.status;
}

/* LTTng writes an index beside each stream file: without packets, it is a head alone. */
static bool has_packets(int directory, const char *name, bool otherwise)
{
    char path[NAME_MAX + sizeof("index/.idx")];
    struct stat status;
    snprintf(path, sizeof(path), "index/%s.idx", name);
    return fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0
               ? status.st_size > INDEX_HEAD_BYTES
               : otherwise;
}

static void warn_of(struct tool_conversion *conversion, const char *folder, const char *name,
                    const char *what)
{
    folder += strlen(conversion->input);
    folder += strspn(folder, "/");
    tool_conversion_warn(conversion, "'%s%s%s' %s: what was in it is missing", folder,
                         *folder != '\0' ? "/" : "", name, what);
}

static void warn_in(struct tool_conversion *conversion, const char *folder, int directory,
                    const char *listed)
{
    bool is_index = *listed != '.';
    int fd = openat(directory, listed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        struct stat status;
        char *end = strrchr(entry->d_name, '.');
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "metadata") == 0)
            continue;
        if (!is_index) {
            if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(status.st_mode) && status.st_size == 0 &&
                has_packets(directory, entry->d_name, true))
                warn_of(conversion, folder, entry->d_name, "is empty");
        } else if (end != NULL && strcmp(end, ".idx") == 0) {
            *end = '\0';
            if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
                errno == ENOENT && has_packets(directory, entry->d_name, false))
                warn_of(conversion, folder, entry->d_name, "is not there, and its index is");
        }
    }
    if (listing != NULL)
        closedir(listing);
}

void tool_ctf_warn_empty(struct tool_conversion *conversion, const struct tool_ctf_folders *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        int fd = open(folders->paths[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        warn_in(conversion, folders->paths[i], fd, ".");
        warn_in(conversion, folders->paths[i], fd, "index");
        close(fd);
    }
}
