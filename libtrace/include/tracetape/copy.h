/* Copying stored partitions from a reader into a writer: what cut and merge are made of, and
 * convert where it brings a trace to another level; and what a filter leaves of a trace. */
#ifndef TRACETAPE_COPY_H
#define TRACETAPE_COPY_H

#include <stdbool.h>

#include <tracetape/clocks.h>
#include <tracetape/filter.h>
#include <tracetape/reader.h>
#include <tracetape/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_copier ttape_copier;

/* Makes the definitions of `reader`'s scopes available in `writer`: a scope with the same trace id
 * and the same definitions (one a prefix of the other) is shared, any other becomes a new scope.
 * The writer must have been opened with ttape_writer_open; its own scope stays empty (and
 * unwritten) if nothing is appended to it. Reader and writer must outlive the copier. */
TTAPE_API ttape_status ttape_copier_open(ttape_copier **out, ttape_writer *writer,
                                         ttape_reader *reader, ttape_error *err);
/* The same, with all times of the reader's scope s later by shifts[s].shift_ns; the metadata say so
 * (spec/clocks.md). `shifts` are borrowed for the copier's life. */
TTAPE_API ttape_status ttape_copier_open_shifted(ttape_copier **out, ttape_writer *writer,
                                                 ttape_reader *reader,
                                                 const ttape_clock_shift *shifts, ttape_error *err);
/* Says anew what the reader's site `number` is called: what it leaves in site->symbol, file and
 * line is copied (strings borrowed until the next call), what it does to the rest is ignored. */
typedef ttape_status (*ttape_site_callback)(void *context, uint32_t number, ttape_site *site,
                                            ttape_error *err);
/* The same as ttape_copier_open, with names given anew, and with a new scope for each of the
 * reader's: numbers of sites, and with them the partitions, stay what they are. */
TTAPE_API ttape_status ttape_copier_open_renamed(ttape_copier **out, ttape_writer *writer,
                                                 ttape_reader *reader, ttape_site_callback rename,
                                                 void *context, ttape_error *err);
/* What a copy leaves out, or says anew, for people who must not see all of it. Zero: nothing. */
typedef struct ttape_reduction {
    size_t size;                /* sizeof(ttape_reduction) */
    uint32_t without_values;    /* 1: events have none, and nothing says what they were called */
    uint32_t reserved;          /* 0 */
    ttape_site_callback rename; /* NULL: as they are */
    /* Says anew what module->path is; what it does to the rest is ignored. NULL: as it is. */
    void (*rename_module)(void *context, ttape_module *module);
    /* Whether an entry of the metadata is copied. NULL: all are. */
    bool (*keeps)(void *context, const ttape_metadata_entry *entry);
    void *context;
} ttape_reduction;

/* The same as ttape_copier_open_renamed, with less. A partition that has values which are left out
 * is encoded anew by ttape_copier_part; ttape_copier_partition refuses it (TTAPE_E_ARGUMENT). */
TTAPE_API ttape_status ttape_copier_open_reduced(ttape_copier **out, ttape_writer *writer,
                                                 ttape_reader *reader,
                                                 const ttape_reduction *reduction,
                                                 ttape_error *err);
TTAPE_API void ttape_copier_close(ttape_copier *copier);
/* Copies one partition's payload byte for byte (with the model chunk that it names, once) under a
 * new chunk header. */
TTAPE_API ttape_status ttape_copier_partition(ttape_copier *copier, uint32_t partition,
                                              ttape_error *err);
/* Re-encodes the events [from_number[s], to_number[s]) of every segment's stream s that lie in one
 * partition: for the partitions that a cut goes through, and at the writer's level for those that
 * stay whole. Arrays have the reader's stream_count entries; NULL is no bound. */
TTAPE_API ttape_status ttape_copier_part(ttape_copier *copier, uint32_t partition,
                                         const uint64_t *from_number, const uint64_t *to_number,
                                         ttape_error *err);

/* Streams of what is copied begin then at the earliest: what they did between the event before, of
 * which nothing is kept, and that time is left out. Partitions in which one has waited since before
 * are encoded anew for it. 0: none does. */
TTAPE_API void ttape_copier_begin_at(ttape_copier *copier, uint64_t time_ns);

/* A whole trace coded anew, at another level. ttape_recode_options says what a writer has to be
 * opened with so that the copy stays the same trace: its id, the resolution of its times, and,
 * where `options` has no partition_events, partitions as they are. ttape_recode copies all events,
 * scopes and numbers into that writer, which is finished by the caller. Metadata that are no text
 * and no number are left out. After each partition goes_on is asked (NULL: it goes on), with the
 * partitions and events that are done; false: TTAPE_E_STATE. */
TTAPE_API void ttape_recode_options(const ttape_reader *reader, ttape_writer_options *options);
TTAPE_API ttape_status ttape_recode(ttape_writer *writer, ttape_reader *reader,
                                    bool (*goes_on)(void *context, uint32_t partition_count,
                                                    uint64_t event_count),
                                    void *context, ttape_error *err);

/* How a filter is understood: the caller compares names, and reads what values are called. The
 * callbacks come from the calling thread. */
typedef struct ttape_filtering {
    size_t size; /* sizeof(ttape_filtering) */
    const ttape_filter *filter;
    /* Whether the function and the path of that rule are this site's; of a rule with a size,
     * whether the site's function has it. Called once for each rule that is of sites, and site. */
    bool (*names)(void *context, uint32_t rule, uint32_t site);
    /* Whether a text is what that condition of the rule says. */
    bool (*text)(void *context, uint32_t rule, uint32_t condition, ttape_string text);
    /* Which argument of a site that is by its name, of so many; TTAPE_NONE: there is none. */
    uint32_t (*argument)(void *context, uint32_t site, ttape_string name, uint32_t count);
    /* Of constants that the trace does not know: what they are in values of that site. NULL, or
     * false: nobody knows. */
    bool (*constant)(void *context, uint32_t site, ttape_string name, int64_t *value);
    /* A partition that cannot be read and is left out; NULL: the call fails. */
    void (*damage)(void *context, const ttape_error *error);
    void *context;            /* of all five */
    uint64_t memory_bytes;    /* of what is known of calls; default 1 GiB */
    const ttape_watch *watch; /* NULL: nobody. Steps are events */
    /* They are of ttape_filter_parse_triggers; NULL: none. Rules have numbers behind the filter's,
     * all together at most TTAPE_FILTER_MAX_RULES. A copy is only switched on, off, and ended. */
    const ttape_filter *triggers;
} ttape_filtering;

typedef struct ttape_filtered {
    uint64_t event_count, kept_event_count;
    uint64_t unknown_count; /* of calls that conditions were asked of: those without the value */
    uint64_t asked_count;
    uint64_t reserved[4];
} ttape_filtered;

/* Writes what a filter leaves of a trace, as if it had been recorded with it (spec/filters.md),
 * into a writer that was opened with what ttape_recode_options says, and is finished by the caller.
 * Sites, threads, processes and modules keep their numbers; events get new ones. Times are exact.
 * The trace is read once, or twice where a rule is about what comes later: a time, a result, `to`.
 * Limits: TTAPE_E_LIMIT past memory_bytes: half a byte for each call then. */
TTAPE_API ttape_status ttape_copy_filtered(ttape_writer *writer, ttape_reader *reader,
                                           const ttape_filtering *filtering, ttape_filtered *counts,
                                           ttape_error *err);

#ifdef __cplusplus
}
#endif
#endif
