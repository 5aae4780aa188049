/* The making of a report's rows: what is wanted of which partition, by summary or by events. */
#ifndef TTP_READER_REPORT_WORK_H
#define TTP_READER_REPORT_WORK_H

#include "answers/report/account.h"
#include "format/container/measures/cpu_times.h"

struct ttape_report {
    struct ttp_memory memory;
    struct ttp_trace_decoder *decoder;
    ttape_report_options options; /* size and NULLs filled in */
    struct ttp_report_keys keys;
    struct ttp_account_plan plan;
    uint8_t *idle_sites, *focus_sites, *below_sites, *streams; /* as in the plan; owned */
    uint32_t *stream_keys;
    struct ttp_account_rows rows; /* of all workers, once they are done */
    ttape_report_row *shown;
    uint32_t *order; /* of shown rows: indexes of rows */
    uint32_t shown_count, shown_capacity;
    ttape_report_info info;
    bool all_decoded, has_idle_calls; /* blocking system calls */
    bool is_estimate;                 /* percentiles are of histograms */
    uint64_t unit_ns;                 /* of these; otherwise 0 */
};

/* Whether the caller wants a partition. */
bool ttp_report_takes(const ttape_report *report, uint32_t partition);
/* True for the last segment of its stream. */
bool ttp_report_is_last(const ttape_reader *r, uint32_t segment);

/* A row of a summary, or of an overview, to a row of the report. cpu: of the row, or NULL. */
void ttp_report_add_measure(struct ttp_account_row *row, const struct ttp_measure *m,
                            uint64_t resolution_ns, const struct ttp_cpu_measure *cpu);
void ttp_report_add_cpu_times(struct ttp_account_rows *rows, const struct ttp_cpu_times *cpu);

/* Partitions whose summaries an overview has told. */
struct ttp_report_covered {
    uint8_t *marks; /* by partition */
    uint64_t partition_count, event_count;
    bool has_times;
};

/* Adds what overviews tell, where the report can be made of sums. */
ttape_status ttp_report_overviews(const ttape_report *report, struct ttp_account_rows *rows,
                                  bool cpu_times, struct ttp_report_covered *covered,
                                  ttape_error *err);
/* Which of the partitions are read all the same: `out` has room for all. Returns how many. */
uint32_t ttp_report_uncovered(const ttape_reader *r, const struct ttp_report_covered *covered,
                              const uint32_t *partitions, uint32_t count, uint32_t *out);

/* Takes what threads waited for the recorder off the waiting of functions around. */
ttape_status ttp_report_take_off_waits(ttape_report *report, ttape_reader *reader,
                                       ttape_error *err);

/* A row's sums as real numbers: those of many traces do not fit 64 bits. */
struct ttp_report_reals {
    long double total_ns, ended_ns, squares, duration_ns; /* ended: of calls whose ends are known */
};

/* Works out means and deviations of a row that has its counts, its extremes and `decoded`. */
void ttp_report_set_statistics(ttape_report_row *row, const struct ttp_report_reals *sums,
                               bool has_range);

/* Where a histogram tells percentiles. */
ttape_status ttp_report_estimate(const ttape_report *report, const struct ttp_account_row *row,
                                 uint64_t rank, int64_t *duration_ns);

/* Goes over the file; fills report->rows and the counts of report->info. */
ttape_status ttp_report_work(ttape_report *report, ttape_error *err);

#endif
