/* Recovering what a killed recorder left behind: the partitions that are in its unfinished trace, as
 * they are, and behind them everything that programs had recorded and that was not in a partition
 * yet. Never in place: what is read is not changed, but for the arena, which is told to stop. */
#ifndef TRACETAPE_RECOVER_H
#define TRACETAPE_RECOVER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found, one line each; borrowed for the call. is_loss: something is not in the output. */
typedef void (*ttape_recover_callback)(void *context, bool is_loss, const char *line);

typedef struct ttape_recover_options {
    size_t size; /* sizeof(ttape_recover_options) */
    /* Names sites that come behind the trace's partitions, as in ttape_site_rules; NULL: none. */
    void (*name)(void *context, ttape_site *site, const ttape_module *module);
    ttape_recover_callback found; /* NULL: not told */
    void *context;
    const ttape_allocator *allocator;
} ttape_recover_options;

typedef struct ttape_recover_report {
    uint64_t partition_count;  /* copied */
    uint64_t copied_events;    /* in them */
    uint64_t recovered_events; /* from the spill file and the arena */
    uint64_t lost_events;      /* known to be lost */
    uint64_t loss_count;       /* findings that are losses */
} ttape_recover_report;

/* `directory`: OUTPUT.recording. Recovers into the sink. TTAPE_E_STATE: it is still being recorded. */
TTAPE_API ttape_status ttape_recover_recording(const char *directory, const ttape_sink *sink,
                                               const ttape_recover_options *options,
                                               ttape_recover_report *report, ttape_error *err);

/* Removes what such a directory holds, and the arena that it names. */
TTAPE_API ttape_status ttape_recover_remove(const char *directory, ttape_error *err);

#ifdef __cplusplus
}
#endif
#endif
