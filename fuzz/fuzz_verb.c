/* Catching descriptors 1 and 2. A sanitizer's report still goes to the real standard error. */
#define _GNU_SOURCE
#include "fuzz_verb.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

void fuzz_word(struct fuzz_words *line, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    size_t size = (size_t)vsnprintf(NULL, 0, format, list) + 1;
    char *word = fuzz_take(size);
    (void)vsnprintf(word, size, format, again);
    va_end(again);
    va_end(list);
    FUZZ_REQUIRE(line->count + 1 < sizeof line->words / sizeof line->words[0]);
    line->words[line->count++] = word;
}

static void limit_files(rlim_t most)
{
    struct rlimit limit;
    FUZZ_REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    FUZZ_REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

void fuzz_catch_begin(void)
{
    for (int i = 0; i < 2; i++) {
        if (caught[i] < 0) {
            caught[i] = memfd_create("fuzz-output", MFD_CLOEXEC);
            real[i] = dup(i + 1);
            FUZZ_REQUIRE(caught[i] >= 0 && real[i] >= 0);
            (void)signal(SIGXFSZ, SIG_IGN); /* writing fails in place of it */
        }
        FUZZ_REQUIRE(ftruncate(caught[i], 0) == 0 && lseek(caught[i], 0, SEEK_SET) == 0);
        FUZZ_REQUIRE(dup2(caught[i], i + 1) == i + 1);
    }
    if (__sanitizer_set_report_fd != NULL)
        __sanitizer_set_report_fd((void *)(intptr_t)real[1]);
    limit_files(FUZZ_OUTPUT_BYTES);
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
    limit_files(RLIM_INFINITY);
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

bool fuzz_outcome_is_whole(const struct fuzz_outcome *outcome)
{
    FUZZ_REQUIRE(outcome->status != 2);
    return outcome->status != 4;
}

void fuzz_require_view(const struct fuzz_outcome *outcome, bool json)
{
    if (!fuzz_outcome_is_whole(outcome))
        return;
    if (json)
        fuzz_require_json(&outcome->out, false);
    else
        fuzz_require_clean(&outcome->out);
}
