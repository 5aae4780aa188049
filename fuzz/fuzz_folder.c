/* Unpacking into a folder of this process, in memory where there is such a place. */
#define _GNU_SOURCE
#include "fuzz_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char names[FUZZ_FOLDER_MAX][256];
static unsigned name_count;

static void remove_folder(void)
{
    fuzz_folder_empty();
    (void)rmdir(folder);
}

static void make_folder(void)
{
    strcpy(folder, "/dev/shm/ttape-fuzz-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        strcpy(folder, "/tmp/ttape-fuzz-XXXXXX");
        FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    }
    (void)atexit(remove_folder);
}

static void put_file(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t length = end != NULL ? (size_t)(end - data) : 0;
    char *name = names[name_count];
    if (length == 0 || length >= sizeof names[0] || memchr(data, '/', length) != NULL ||
        memchr(data, 0, length) != NULL || (data[0] == '.' && length <= 2))
        return;
    memcpy(name, data, length);
    name[length] = '\0';
    char path[sizeof folder + sizeof names[0]];
    (void)strcat(strcat(strcpy(path, folder), "/"), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    name_count++;
    size -= length + 1;
    FUZZ_REQUIRE(write(fd, data + length + 1, size) == (ssize_t)size);
    (void)close(fd);
}

const char *fuzz_folder_make(const uint8_t *data, size_t size)
{
    const size_t mark = sizeof FUZZ_FOLDER_MARK - 1;
    if (folder[0] == '\0')
        make_folder();
    fuzz_folder_empty();
    const uint8_t *at = memmem(data, size, FUZZ_FOLDER_MARK, mark), *end = data + size;
    while (at != NULL && name_count < FUZZ_FOLDER_MAX) {
        at += mark;
        const uint8_t *next = memmem(at, (size_t)(end - at), FUZZ_FOLDER_MARK, mark);
        put_file(at, (size_t)((next != NULL ? next : end) - at));
        at = next;
    }
    return folder;
}

void fuzz_folder_empty(void)
{
    for (; name_count > 0; name_count--) {
        char path[sizeof folder + sizeof names[0]];
        (void)unlink(strcat(strcat(strcpy(path, folder), "/"), names[name_count - 1]));
    }
}

void fuzz_folder_pack(struct fuzz_bytes *to, const char *name, const void *data, size_t size)
{
    fuzz_put(to, FUZZ_FOLDER_MARK, sizeof FUZZ_FOLDER_MARK - 1);
    fuzz_put(to, name, strlen(name));
    fuzz_put(to, "\n", 1);
    fuzz_put(to, data, size);
}
