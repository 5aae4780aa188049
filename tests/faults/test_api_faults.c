/* R17 over the library: every call to the system that a run makes goes wrong, by number, once and
 * from then on. What must hold: the right status with a message, or everything as without the
 * fault; nothing leaks; what was written is the beginning of the whole, and recovers. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/reader.h>
#include <tracetape/recover.h>
#include <tracetape/writer.h>

#include "api_runs.h"
#include "fault_calls.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

/* Calls of a kind that are tried; some in between are left out. */
#define ALL 1000000u
#ifndef MOST
#if TTEST_SANITIZED
#define MOST 5u
#else
#define MOST 20u
#endif
#endif

static const char *const kind_names[] = {"alloc", "read",     "write", "sync",   "name",
                                         "open",  "truncate", "map",   "thread", "process",
                                         "stat",  "clock",    "remove"};
static const char *const action_names[] = {"none", "fail", "short", "eintr"};

static char folder[64];
static uint64_t used_bytes;

static void *allocate(void *context, size_t size_bytes)
{
    void *memory = malloc(size_bytes);
    if (memory != NULL)
        (void)__atomic_add_fetch((uint64_t *)context, size_bytes, __ATOMIC_RELAXED);
    return memory;
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)__atomic_sub_fetch((uint64_t *)context, size_bytes, __ATOMIC_RELAXED);
    free(memory);
}

static void remove_output(void)
{
    char path[256];
    ttest_api_path(folder, "out.ttape", path);
    (void)unlink(path);
}

static void set_up(void)
{
    /* In memory where that is possible: there are thousands of syncs. */
    strcpy(folder, "/dev/shm/test_api_faults.XXXXXX");
    if (mkdtemp(folder) == NULL) {
        strcpy(folder, "/tmp/test_api_faults.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
    }
    ttest_api_prepare(folder);
}

static void tear_down(void)
{
    const char *const names[] = {"a.ttape", "b.ttape", "damaged.ttape"};
    for (int i = 0; i < 3; i++) {
        char path[256];
        ttest_api_path(folder, names[i], path);
        (void)unlink(path);
    }
    remove_output();
    ck_assert_msg(rmdir(folder) == 0, "something is left in the folder");
}

struct fault {
    enum ttest_fault_kind kind;
    enum ttest_fault_action action;
    uint64_t at;
    bool for_ever;
};

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static bool strike(const struct ttest_api_run *what, const struct fault *fault,
                   struct ttest_run *run, ttape_status *status)
{
    *run = (struct ttest_run){.folder = folder, .allocator = {&used_bytes, allocate, release}};
    used_bytes = 0;
    remove_output();
    if (what->reset != NULL)
        what->reset(folder);
    int descriptors = open_descriptors();
    ttest_faults_begin(fault->kind, fault->action, fault->at, fault->for_ever);
    *status = what->run(run);
    bool struck = ttest_faults_end();
    ck_assert_msg(open_descriptors() == descriptors, "%s: a descriptor stays open", what->name);
    return struck;
}

/* The bytes verify, or what recovers of them does. */
static void check_recovers(const uint8_t *data, size_t size_bytes, const char *label)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_source source = ttape_source_memory(data, size_bytes);
    ttape_error err = {0};
    uint64_t findings = 0;
    ttape_status status = ttape_recover_trace(&source, &sink, NULL, NULL, &err);
    if (status == TTAPE_OK) {
        ttape_source recovered = ttape_source_memory(memory.data, memory.size_bytes);
        status = ttape_verify(&recovered, NULL, NULL, NULL, NULL, &findings, &err);
        ck_assert_msg(status == TTAPE_OK && findings == 0, "%s: recovered, but not sound", label);
    } else {
        ck_assert_msg(status == TTAPE_E_NOT_TRACE, "%s: recover: %s", label, err.message);
    }
    ttape_memory_sink_close(&memory);
}

struct clean {
    struct ttest_run run;
    uint8_t *out; /* NULL: none */
    size_t out_bytes;
};

/* A file's bytes, to be freed; NULL: it is not there. */
static uint8_t *load(const char *name, size_t *size_bytes)
{
    char path[256];
    struct stat info;
    ttest_api_path(folder, name, path);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    uint8_t *data = fstat(fd, &info) == 0 ? malloc((size_t)info.st_size + 1) : NULL;
    *size_bytes = (size_t)info.st_size;
    if (data != NULL && read(fd, data, *size_bytes) != (ssize_t)*size_bytes) {
        free(data);
        data = NULL;
    }
    (void)close(fd);
    return data;
}

static void check_output(const struct clean *clean, const struct ttest_run *run,
                         ttape_status status, const char *label)
{
    size_t size;
    uint8_t *out = load("out.ttape", &size);
    if (status == TTAPE_OK) {
        ck_assert_msg((out == NULL) == (clean->out == NULL), "%s: done without an output", label);
        ck_assert_msg(out == NULL ||
                          (size == clean->out_bytes && memcmp(out, clean->out, size) == 0),
                      "%s: done, and the output is another", label);
    } else if (out != NULL) {
        ck_assert_msg(run->is_unfinished, "%s: not done, and an output is there", label);
        ck_assert_msg(size <= clean->out_bytes && memcmp(out, clean->out, size) == 0,
                      "%s: what was written is not the beginning of the whole", label);
        check_recovers(out, size, label);
    }
    free(out);
}

static bool is_right(enum ttest_fault_kind kind, ttape_status status)
{
    if (kind == TTEST_THREAD || kind == TTEST_CLOCK)
        return false; /* everything goes without them */
    if (kind == TTEST_MAP)
        return status == TTAPE_E_MEMORY || status == TTAPE_E_IO;
    return status == (kind == TTEST_ALLOC ? TTAPE_E_MEMORY : TTAPE_E_IO);
}

static void check(const struct clean *clean, const struct fault *fault, const struct ttest_run *run,
                  ttape_status status, const char *label)
{
    ck_assert_msg(used_bytes == 0, "%s: %llu bytes leak", label, (unsigned long long)used_bytes);
    if (status == TTAPE_OK) {
        ck_assert_msg(run->digest == clean->run.digest, "%s: done, but not the same", label);
    } else {
        ck_assert_msg(fault->action == TTEST_FAIL, "%s: %s", label, run->err.message);
        ck_assert_msg(is_right(fault->kind, status), "%s: status %d: %s", label, status,
                      run->err.message);
        ck_assert_msg(run->err.status == status && run->err.message[0] != '\0',
                      "%s: status %d, the error says %d '%s'", label, status, run->err.status,
                      run->err.message);
    }
}

/* All numbers of a kind, or some; returns how many faults struck. */
static unsigned series(const struct ttest_api_run *what, const struct clean *clean,
                       struct fault fault, uint64_t count)
{
    unsigned hits = 0;
    unsigned most = what->most != 0 && what->most < MOST && MOST < ALL ? what->most : MOST;
    uint64_t step = count / most + 1;
    for (fault.at = 0; fault.at < count;
         fault.at += fault.at < most / 4 || fault.at + most / 4 > count ? 1 : step) {
        char label[128];
        struct ttest_run run;
        ttape_status status;
        if (!strike(what, &fault, &run, &status))
            continue;
        hits++;
        (void)snprintf(label, sizeof label, "%s: %s %llu of %llu: %s%s", what->name,
                       kind_names[fault.kind], (unsigned long long)fault.at,
                       (unsigned long long)count, action_names[fault.action],
                       fault.for_ever ? " for ever" : "");
        check(clean, &fault, &run, status, label);
        if (!what->varies)
            check_output(clean, &run, status, label);
        if (what->check != NULL)
            what->check(&run, status, label);
    }
    return hits;
}

START_TEST(faults)
{
    const struct ttest_api_run *what = &ttest_api_runs[_i];
    uint64_t counts[TTEST_FAULT_KINDS];
    struct clean clean = {0};
    struct fault none = {.action = TTEST_COUNT};
    ttape_status status;
    unsigned hits = 0;
    if (what->begin != NULL)
        what->begin(folder);
    (void)strike(what, &none, &clean.run, &status);
    ck_assert_msg(status == TTAPE_OK, "%s without faults: %s", what->name, clean.run.err.message);
    for (int kind = 0; kind < TTEST_FAULT_KINDS; kind++)
        counts[kind] = ttest_faults_counted((enum ttest_fault_kind)kind);
    clean.out = load("out.ttape", &clean.out_bytes);
    if (what->check != NULL)
        what->check(&clean.run, status, what->name);
    if (!what->removes)
        counts[TTEST_REMOVE] = 0;
    for (int kind = 0; kind < TTEST_FAULT_KINDS; kind++)
        for (int action = TTEST_FAIL; action <= TTEST_EINTR; action++) {
            bool transfers = kind == TTEST_READ || kind == TTEST_WRITE;
            if (action != TTEST_FAIL && !transfers &&
                !(kind == TTEST_SYNC && action == TTEST_EINTR))
                continue;
            for (int ever = 0; ever < 2; ever++)
                hits += series(what, &clean,
                               (struct fault){(enum ttest_fault_kind)kind,
                                              (enum ttest_fault_action)action, 0, ever != 0},
                               counts[kind]);
        }
    ck_assert_uint_gt(hits, 10);
    printf("%s: %u faults\n", what->name, hits);
    free(clean.out);
    if (what->end != NULL)
        what->end(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_faults");
    for (int i = 0; i < ttest_api_run_count; i++) { /* CK_RUN_CASE: one of them */
        TCase *cases = tcase_create(ttest_api_runs[i].name);
        tcase_set_timeout(cases, MOST < ALL ? 280 : 1200);
        tcase_add_checked_fixture(cases, set_up, tear_down);
        tcase_add_loop_test(cases, faults, i, i + 1);
        suite_add_tcase(suite, cases);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
