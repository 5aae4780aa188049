/* A driver with a plain main(): runs inputs through a target, and mutations of them, with any
 * compiler.
 *
 *   fuzz_NAME [--mutate N] [--seconds N] [--seed N] FILE|FOLDER...
 *
 * What crashes is left as ./crash-NAME. Exit status 2: the command line is wrong, or there is
 * nothing to run. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz_common.h"

#define INPUT_MAX_BYTES (1u << 20)
#define MUTANT_BYTES    16384u /* about what libFuzzer is run with */

/* What an input may cost, in processor time: what fuzz/README.md says of events for each byte at
 * 200 ns each, and what any process needs; with sanitizers some ten times as much. And never more
 * than a minute. In memory, beyond what the process began with: the 256 MiB that the defaults
 * allow, and what the system, threads and the driver take besides; not with sanitizers. */
#define FIRST_NS   UINT64_C(500000000)
#define BYTE_NS    (131072u * UINT64_C(200))
#define MOST_NS    UINT64_C(60000000000)
#define MEMORY_KIB ((256 + 32) * 1024L)

__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static struct {
    struct fuzz_bytes *inputs;
    size_t count, capacity;
    uint64_t runs, slowest_ns;
    long begun_kib;
    const uint8_t *now;
    size_t now_bytes;
    char crash[256];
} run;

static struct fuzz_random dice = {1};

/* Async-signal-safe: the process is about to end. */
static void keep_crash(void)
{
    int fd = open(run.crash, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && run.now != NULL && write(fd, run.now, run.now_bytes) >= 0)
        (void)close(fd);
}

static void die(int number)
{
    keep_crash();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void catch_crashes(const char *program)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const char *slash = strrchr(program, '/');
    (void)snprintf(run.crash, sizeof run.crash, "crash-%s", slash != NULL ? slash + 1 : program);
    (void)signal(SIGABRT, die); /* which sanitizers leave alone */
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(keep_crash);
        return;
    }
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)signal(signals[i], die);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void require_cost(size_t size, uint64_t took_ns)
{
    bool sanitized = __sanitizer_set_death_callback != NULL;
    uint64_t bound = FIRST_NS + size * BYTE_NS;
    bound *= sanitized ? 10 : 1;
    FUZZ_REQUIRE(took_ns < (bound < MOST_NS ? bound : MOST_NS));
    FUZZ_REQUIRE(sanitized || peak_kib() - run.begun_kib <= MEMORY_KIB);
}

/* A block of exactly the size, so that a sanitizer sees one byte over. */
static void run_one(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + (size == 0));
    FUZZ_REQUIRE(exact != NULL);
    memcpy(exact, data, size);
    run.now = exact;
    run.now_bytes = size;
    uint64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    (void)LLVMFuzzerTestOneInput(exact, size);
    uint64_t took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    run.slowest_ns = took > run.slowest_ns ? took : run.slowest_ns;
    require_cost(size, took);
    run.now = NULL;
    free(exact);
    run.runs++;
}

static void keep(const uint8_t *data, size_t size)
{
    if (run.count == run.capacity) {
        run.capacity = 2 * run.capacity + 64;
        run.inputs = realloc(run.inputs, run.capacity * sizeof *run.inputs);
        FUZZ_REQUIRE(run.inputs != NULL);
    }
    uint8_t *copy = malloc(size + (size == 0));
    FUZZ_REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    run.inputs[run.count++] = (struct fuzz_bytes){copy, size, size};
}

static bool take_file(const char *path)
{
    static uint8_t data[INPUT_MAX_BYTES];
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        (void)fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        return false;
    }
    size_t size = fread(data, 1, sizeof data, f);
    (void)fclose(f);
    keep(data, size);
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool take_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return take_file(path);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, by_name);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        char name[4096];
        (void)snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (good && stat(name, &status) == 0 && S_ISREG(status.st_mode))
            good = take_file(name);
        free(entries[i]);
    }
    free(entries);
    return good;
}

/* In place of libFuzzer's own mutations. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    static const uint8_t odd[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, '"', '\n', 0x1b};
    uint32_t at = fuzz_below(&dice, (uint32_t)size + 1), n = 1 + fuzz_below(&dice, 8);
    switch (fuzz_below(&dice, 6)) {
    case 0:
        if (at < size)
            data[at] ^= (uint8_t)(1u << fuzz_below(&dice, 8));
        break;
    case 1:
        if (at < size)
            data[at] = odd[fuzz_below(&dice, sizeof odd)];
        break;
    case 2:
        if (size + n <= max_size) {
            memmove(data + at + n, data + at, size - at);
            for (uint32_t i = 0; i < n; i++)
                data[at + i] = (uint8_t)fuzz_random(&dice);
            size += n;
        }
        break;
    case 3:
        n = n < size - at ? n : (uint32_t)(size - at);
        memmove(data + at, data + at + n, size - at - n);
        size -= n;
        break;
    case 4:
        for (uint32_t i = 0; i < n && at + i < size; i++)
            data[at + i] = (uint8_t)fuzz_random(&dice);
        break;
    default:
        if (at < size)
            data[at] = (uint8_t)(data[at] + fuzz_below(&dice, 9) - 4);
    }
    return size;
}

/* At least `count`, and as many as there is time for. */
static void run_mutants(uint64_t count, uint64_t until_ns)
{
    static uint8_t mutant[MUTANT_BYTES];
    for (uint64_t i = 0; i < count || now_ns(CLOCK_MONOTONIC) < until_ns; i++) {
        const struct fuzz_bytes *from = &run.inputs[fuzz_below(&dice, (uint32_t)run.count)];
        size_t size = from->size < sizeof mutant ? from->size : sizeof mutant;
        memcpy(mutant, from->data, size);
        run.now = mutant; /* a mutator may crash too */
        run.now_bytes = size;
        for (uint32_t times = 1 + fuzz_below(&dice, 4); times > 0; times--)
            size = LLVMFuzzerCustomMutator != NULL
                       ? LLVMFuzzerCustomMutator(mutant, size, sizeof mutant,
                                                 (unsigned)fuzz_random(&dice))
                       : LLVMFuzzerMutate(mutant, size, sizeof mutant);
        run_one(mutant, size);
    }
}

int main(int argc, char **argv)
{
    uint64_t mutants = 0, seconds = 0;
    catch_crashes(argv[0]);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--mutate") == 0 && i + 1 < argc)
            mutants = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            dice.state = strtoull(argv[++i], NULL, 10);
        else if (!take_path(argv[i]))
            return 2;
    if (run.count == 0) {
        (void)fprintf(stderr, "usage: %s [--mutate N] [--seconds N] [--seed N] FILE|FOLDER...\n",
                      argv[0]);
        return 2;
    }
    uint64_t start = now_ns(CLOCK_MONOTONIC);
    run.begun_kib = peak_kib();
    for (size_t i = 0; i < run.count; i++)
        run_one(run.inputs[i].data, run.inputs[i].size);
    run_mutants(mutants, seconds == 0 ? 0 : start + seconds * 1000000000u);
    double took = (double)(now_ns(CLOCK_MONOTONIC) - start) / 1e9;
    (void)printf("%zu inputs, %llu runs, %.0f a second, slowest %.0f ms, %ld MiB\n", run.count,
                 (unsigned long long)run.runs, (double)run.runs / took,
                 (double)run.slowest_ns / 1e6, peak_kib() / 1024);
    for (size_t i = 0; i < run.count; i++)
        free(run.inputs[i].data);
    free(run.inputs);
    return 0;
}
