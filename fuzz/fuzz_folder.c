/* Unpacking into a folder of this process, in memory where there is such a place. */
#define _GNU_SOURCE
#include "fuzz_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char names[128][256]; /* of files and folders, those outside first */
static unsigned name_count, file_count;

static void path_of(char path[sizeof folder + sizeof names[0]], const char *name)
{
    (void)strcat(strcat(strcpy(path, folder), "/"), name);
}

static void remove_folder(void)
{
    fuzz_folder_empty();
    (void)rmdir(folder);
}

const char *fuzz_folder_begin(void)
{
    if (folder[0] == '\0') {
        strcpy(folder, "/dev/shm/ttape-fuzz-XXXXXX");
        if (mkdtemp(folder) == NULL) {
            strcpy(folder, "/tmp/ttape-fuzz-XXXXXX");
            FUZZ_REQUIRE(mkdtemp(folder) != NULL);
        }
        (void)atexit(remove_folder);
    }
    fuzz_folder_empty();
    return folder;
}

static bool is_good(const char *name)
{
    size_t length = strcspn(name, "/");
    if (length == 0 || (name[0] == '.' && length <= 2))
        return false;
    return name[length] == '\0' || is_good(name + length + 1);
}

static bool keep_name(const char *name, size_t length)
{
    if (name_count == sizeof names / sizeof names[0])
        return false;
    memcpy(names[name_count], name, length);
    names[name_count++][length] = '\0';
    return true;
}

/* The folders that it lies in, where they are not there yet. */
static void make_folders(const char *name)
{
    for (const char *end = strchr(name, '/'); end != NULL; end = strchr(end + 1, '/')) {
        char path[sizeof folder + sizeof names[0]];
        if (!keep_name(name, (size_t)(end - name)))
            return;
        path_of(path, names[name_count - 1]);
        name_count -= mkdir(path, 0700) != 0;
    }
}

int fuzz_folder_open(const char *name)
{
    char path[sizeof folder + sizeof names[0]];
    if (strlen(name) >= sizeof names[0] || !is_good(name) || file_count == FUZZ_FOLDER_MAX)
        return -1;
    make_folders(name);
    if (!keep_name(name, strlen(name)))
        return -1;
    path_of(path, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    name_count -= fd < 0;
    file_count += fd >= 0;
    return fd;
}

static void put_link(char *name, const struct fuzz_input *bytes)
{
    char path[sizeof folder + sizeof names[0]], to[256] = {0};
    name[strlen(name) - 1] = '\0';
    if (!is_good(name) || !keep_name(name, strlen(name)))
        return;
    memcpy(to, bytes->data, bytes->size < sizeof to ? bytes->size : sizeof to - 1);
    path_of(path, name);
    name_count -= symlink(to, path) != 0;
}

static void put_file(const char *name, const struct fuzz_input *bytes)
{
    int fd = fuzz_folder_open(name);
    if (fd >= 0) {
        FUZZ_REQUIRE(write(fd, bytes->data, bytes->size) == (ssize_t)bytes->size);
        (void)close(fd);
    }
}

/* Links come last: nothing is written through them. */
const char *fuzz_folder_make(const uint8_t *data, size_t size)
{
    const char *path = fuzz_folder_begin();
    for (int links = 0; links < 2; links++) {
        struct fuzz_input in = {data, size}, bytes;
        char name[sizeof names[0]];
        while (fuzz_folder_next(&in, name, &bytes)) {
            bool is_link = name[strlen(name) - 1] == '@';
            if (is_link && links == 1)
                put_link(name, &bytes);
            else if (!is_link && links == 0)
                put_file(name, &bytes);
        }
    }
    return path;
}

bool fuzz_marked(struct fuzz_input *in, const char *mark, struct fuzz_input *piece)
{
    size_t length = strlen(mark);
    const uint8_t *at = in->size > 0 ? memmem(in->data, in->size, mark, length) : NULL;
    if (at == NULL)
        return false;
    const uint8_t *end = in->data + in->size;
    at += length;
    const uint8_t *next = memmem(at, (size_t)(end - at), mark, length);
    next = next != NULL ? next : end;
    *piece = (struct fuzz_input){at, (size_t)(next - at)};
    *in = (struct fuzz_input){next, (size_t)(end - next)};
    return true;
}

bool fuzz_folder_next(struct fuzz_input *in, char name[256], struct fuzz_input *bytes)
{
    while (fuzz_marked(in, FUZZ_FOLDER_MARK, bytes)) {
        const uint8_t *end = memchr(bytes->data, '\n', bytes->size);
        size_t length = end != NULL ? (size_t)(end - bytes->data) : 0;
        if (length == 0 || length >= sizeof names[0] || memchr(bytes->data, 0, length) != NULL)
            continue;
        memcpy(name, fuzz_part(bytes, length).data, length);
        name[length] = '\0';
        (void)fuzz_part(bytes, 1);
        return true;
    }
    return false;
}

void fuzz_folder_empty(void)
{
    for (file_count = 0; name_count > 0; name_count--) {
        char path[sizeof folder + sizeof names[0]];
        path_of(path, names[name_count - 1]);
        (void)remove(path);
    }
}

void fuzz_folder_pack(struct fuzz_bytes *to, const char *name, const void *data, size_t size)
{
    fuzz_put(to, FUZZ_FOLDER_MARK, sizeof FUZZ_FOLDER_MARK - 1);
    fuzz_put(to, name, strlen(name));
    fuzz_put(to, "\n", 1);
    fuzz_put(to, data, size);
}
