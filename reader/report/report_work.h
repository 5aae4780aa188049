/* The making of a report's rows: what is wanted of which partition, by summary or by events. */
#ifndef TTP_READER_REPORT_WORK_H
#define TTP_READER_REPORT_WORK_H

#include "reader/report/account.h"

struct ttape_report {
    struct ttp_memory memory;
    ttape_reader *reader;
    ttape_report_options options; /* size and NULLs filled in */
    struct ttp_report_keys keys;
    struct ttp_account_plan plan;
    uint8_t *idle_sites, *focus_sites, *streams; /* as in the plan; owned */
    uint32_t *stream_keys;
    struct ttp_account_rows rows; /* of all workers, once they are done */
    ttape_report_row *shown;
    uint32_t *order; /* of shown rows: indexes of rows */
    uint32_t shown_count, shown_capacity;
    ttape_report_info info;
    bool all_decoded, has_idle_calls; /* blocking system calls */
};

/* True for the last segment of its stream. */
bool ttp_report_is_last(const ttape_reader *r, uint32_t segment);

/* Goes over the file; fills report->rows and the counts of report->info. */
ttape_status ttp_report_work(ttape_report *report, ttape_error *err);

#endif
