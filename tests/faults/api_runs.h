/* What the library is made to do in sweeps of faults: from opening to closing, everything that it
 * does with memory, files and threads, ending at the first failure. */
#ifndef TTEST_API_RUNS_H
#define TTEST_API_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

struct ttest_run {
    const char *folder; /* with the traces a.ttape, b.ttape and damaged.ttape */
    ttape_allocator allocator;
    uint64_t digest; /* of all that was read, or written */
    ttape_error err;
    bool is_unfinished; /* out.ttape is what a writer had written when it failed */
};

struct ttest_api_run {
    const char *name;
    ttape_status (*run)(struct ttest_run *run);
};

extern const struct ttest_api_run ttest_api_runs[];
extern const int ttest_api_run_count;

/* Makes the traces. */
void ttest_api_prepare(const char *folder);
/* A file's bytes, to be freed; NULL: it is not there. */
uint8_t *ttest_api_load(const char *folder, const char *name, size_t *size_bytes);
void ttest_api_path(const char *folder, const char *name, char path[256]);

#endif
