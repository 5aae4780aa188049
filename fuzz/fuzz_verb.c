/* Catching descriptors 1 and 2. A sanitizer's report still goes to the real standard error. */
#define _GNU_SOURCE
#include "fuzz_verb.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((weak)) void __sanitizer_set_report_fd(void *fd);

static int files[2] = {-1, -1};
static int caught[2] = {-1, -1}; /* what is printed */
static int real[2] = {-1, -1};   /* the descriptors that were there */

const char *fuzz_verb_file(unsigned slot, const uint8_t *data, size_t size)
{
    static char names[2][32];
    if (files[slot] < 0)
        files[slot] = memfd_create("fuzz-input", MFD_CLOEXEC);
    FUZZ_REQUIRE(files[slot] >= 0 && ftruncate(files[slot], 0) == 0);
    FUZZ_REQUIRE(pwrite(files[slot], data, size, 0) == (ssize_t)size);
    (void)snprintf(names[slot], sizeof names[slot], "/proc/self/fd/%d", files[slot]);
    return names[slot];
}

void fuzz_catch_begin(void)
{
    for (int i = 0; i < 2; i++) {
        if (caught[i] < 0) {
            caught[i] = memfd_create("fuzz-output", MFD_CLOEXEC);
            real[i] = dup(i + 1);
            FUZZ_REQUIRE(caught[i] >= 0 && real[i] >= 0);
        }
        FUZZ_REQUIRE(ftruncate(caught[i], 0) == 0 && lseek(caught[i], 0, SEEK_SET) == 0);
        FUZZ_REQUIRE(dup2(caught[i], i + 1) == i + 1);
    }
    if (__sanitizer_set_report_fd != NULL)
        __sanitizer_set_report_fd((void *)(intptr_t)real[1]);
}

static struct fuzz_bytes read_back(int fd)
{
    struct fuzz_bytes text = {0};
    off_t size = lseek(fd, 0, SEEK_END);
    FUZZ_REQUIRE(size >= 0);
    text.data = fuzz_take((size_t)size);
    text.size = text.capacity = (size_t)size;
    FUZZ_REQUIRE(pread(fd, text.data, text.size, 0) == size);
    return text;
}

struct fuzz_outcome fuzz_catch_end(int status)
{
    for (int i = 0; i < 2; i++)
        FUZZ_REQUIRE(dup2(real[i], i + 1) == i + 1);
    struct fuzz_outcome outcome = {status, read_back(caught[0]), read_back(caught[1])};
    fuzz_require_clean(&outcome.messages);
    return outcome;
}

struct fuzz_outcome fuzz_verb_run(int (*verb)(int argc, char **argv), const char *const *argv)
{
    char *arguments[32];
    int count = 0;
    for (; argv[count] != NULL && count < 31; count++)
        arguments[count] = (char *)(uintptr_t)argv[count];
    arguments[count] = NULL;
    fuzz_catch_begin();
    fuzz_heap_begin();
    int status = verb(count, arguments);
    FUZZ_REQUIRE(fuzz_heap_most() <= FUZZ_VERB_BYTES);
    struct fuzz_outcome outcome = fuzz_catch_end(status);
    FUZZ_REQUIRE(outcome.status >= 0 && outcome.status <= 4);
    FUZZ_REQUIRE(outcome.status < 2 || outcome.messages.size > 0);
    return outcome;
}
