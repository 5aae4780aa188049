/* The seam for faults: the calls by which every layer reaches the system, made to fail, to fall
 * short or to be interrupted by number.
 *
 * fault_calls.c defines the functions themselves, so nothing in the product has to know of it:
 * linked into a test, it stands between the library and the system; preloaded into the command, it
 * does the same there (FAULT_PLAN, FAULT_BOOK). */
#ifndef TTEST_FAULT_CALLS_H
#define TTEST_FAULT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum ttest_fault_kind {
    TTEST_ALLOC,    /* malloc, calloc, realloc, aligned_alloc, posix_memalign */
    TTEST_READ,     /* read, pread */
    TTEST_WRITE,    /* write, pwrite, writev; not to standard error */
    TTEST_SYNC,     /* fsync, fdatasync */
    TTEST_NAME,     /* rename, link and their kin, mkdir */
    TTEST_OPEN,     /* open, openat, mkstemp */
    TTEST_TRUNCATE, /* ftruncate, fallocate */
    TTEST_MAP,      /* mmap */
    TTEST_THREAD,   /* pthread_create */
    TTEST_PROCESS,  /* fork, posix_spawn, pipe, socketpair */
    TTEST_STAT,     /* stat and its kin, lseek */
    TTEST_CLOCK,    /* clock_gettime */
    TTEST_REMOVE,   /* unlink, unlinkat, rmdir: of runs that are there to remove things */
    TTEST_FAULT_KINDS
};

enum ttest_fault_action {
    TTEST_COUNT, /* nothing goes wrong */
    TTEST_FAIL,  /* the call fails with the errno that is likeliest for its kind */
    TTEST_SHORT, /* reads and writes do half of what they are asked, at least a byte */
    TTEST_EINTR  /* interrupted; for ever: each call once, its repetition goes through */
};

/* Counts from here on; call number `at` (from 0) of the kind goes wrong, or all from there on. */
void ttest_faults_begin(enum ttest_fault_kind kind, enum ttest_fault_action action, uint64_t at,
                        bool for_ever);
/* Everything goes well again. True when something went wrong meanwhile. */
bool ttest_faults_end(void);
/* What comes meanwhile is the test's own, of whatever thread: it goes well, and is not counted. */
void ttest_faults_hold(bool held);
/* The folder that mkdtemp has made last, "" where it has not since ttest_faults_begin. */
const char *ttest_faults_folder(void);
/* Calls of a kind since ttest_faults_begin. */
uint64_t ttest_faults_counted(enum ttest_fault_kind kind);

#endif
