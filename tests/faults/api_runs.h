/* What the library is made to do in sweeps of faults: from opening to closing, everything that it
 * does with memory, files and threads, ending at the first failure. */
#ifndef TTEST_API_RUNS_H
#define TTEST_API_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>
#include <tracetape/writer.h>

#include "format/base/fail.h"

struct ttest_run {
    const char *folder; /* with the traces a.ttape, b.ttape and damaged.ttape */
    ttape_allocator allocator;
    uint64_t digest; /* of all that was read, or written */
    ttape_error err;
    bool is_unfinished; /* out.ttape is what a writer had written when it failed */
};

/* The others may be NULL; they are outside of faults, and assert. */
struct ttest_api_run {
    const char *name;
    ttape_status (*run)(struct ttest_run *run);
    void (*begin)(const char *folder); /* makes more than the traces */
    void (*reset)(const char *folder); /* before each run */
    void (*check)(struct ttest_run *run, ttape_status status, const char *label); /* after each */
    void (*end)(const char *folder); /* removes what begin made */
    bool varies;                     /* what is written is for `check` to judge */
    unsigned most; /* calls of a kind that the short form tries; 0: as many as of the others */
    bool removes;  /* TTEST_REMOVE is meant, too */
};

extern const struct ttest_api_run ttest_api_runs[];
extern const int ttest_api_run_count;

/* Makes the traces. */
void ttest_api_prepare(const char *folder);
void ttest_api_path(const char *folder, const char *name, char path[256]);
void ttest_api_mix(struct ttest_run *run, const void *data, size_t size_bytes);
/* Writes out.ttape, under a name that is there when all is. */
ttape_status ttest_api_with_file(struct ttest_run *run,
                                 ttape_status (*fill)(struct ttest_run *, const ttape_sink *));
/* answer_runs.c */
ttape_status ttest_find_longest(struct ttest_run *run, ttape_reader *reader);
ttape_status ttest_find_paths(struct ttest_run *run, ttape_reader *reader);
ttape_status ttest_make_graph(struct ttest_run *run, ttape_reader *reader);
ttape_status ttest_read_off(struct ttest_run *run, ttape_reader *reader, uint32_t partition);
/* recording_runs.c: a killed recorder's folder is recovered, or removed. */
ttape_status ttest_recover_left(struct ttest_run *run);
ttape_status ttest_remove_left(struct ttest_run *run);
void ttest_left_begin(const char *folder);
void ttest_left_reset(const char *folder);
void ttest_left_end(const char *folder);
void ttest_recover_left_check(struct ttest_run *run, ttape_status status, const char *label);
void ttest_remove_left_check(struct ttest_run *run, ttape_status status, const char *label);
/* Recordings are made, into one file, one that is there from the start, many, or one for each
 * process; and steered. */
ttape_status ttest_record(struct ttest_run *run);
ttape_status ttest_record_live(struct ttest_run *run);
ttape_status ttest_record_files(struct ttest_run *run);
ttape_status ttest_record_processes(struct ttest_run *run);
ttape_status ttest_control(struct ttest_run *run);
void ttest_record_begin(const char *folder);
void ttest_record_reset(const char *folder);
void ttest_record_end(const char *folder);
void ttest_record_check(struct ttest_run *run, ttape_status status, const char *label);

#endif
