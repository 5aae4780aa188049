/* What frames did, added up over the events of decoded partitions: the rows of a report.
 *
 *   symbols of a partition -> rows (by key, or by caller and key)
 *   codes, differences     -> stacks of frames, each with its row -> self, total, idle, durations
 *
 * The conventions are those of summaries (F-SUM-05), in nanoseconds, cut to a time range: so rows
 * of decoded partitions, rows of summaries, and rows of neighbouring ranges add up. */
#ifndef TTP_READER_ACCOUNT_H
#define TTP_READER_ACCOUNT_H

#include <tracetape/report.h>

#include "answers/report/durations.h"
#include "answers/report/report_keys.h"
#include "reader/partition/partition_reader.h"

#define TTP_NO_KEY TTAPE_NONE

struct ttp_account_row {
    uint32_t key, caller; /* caller: a key, TTAPE_REPORT_SIGNAL or TTAPE_NONE */
    uint32_t active;      /* frames on the stack, while events of one stack are gone through */
    int64_t self_ns, total_ns, idle_ns;
    /* where switches are known, in place of self_ns and idle_ns: self; of it preempted, blocked,
     * and not known after all; blocked and not known of total */
    int64_t known_self_ns, preempted_ns, blocked_ns, unknown_ns;
    int64_t total_blocked_ns, total_unknown_ns;
    uint64_t call_count, exit_count;
    int64_t min_ns, max_ns, self_min_ns, self_max_ns;
    ttape_wide squares;
    int64_t duration_ns;
    uint64_t recursion_count, unseen_count, event_count;
    int64_t span_ns;
    int64_t open_ns;        /* part of total_ns: of frames that are open at their streams' ends, */
    int64_t unknown_end_ns; /* and of those whose ends, or begins, are not known, of which ... */
    uint64_t unknown_end_count; /* ... there are so many; exits do not count them, ... */
    uint64_t unseen_end_count;  /* ... and that ended at the earliest then, */
    uint64_t late_end_count;    /* ... or at the latest */
    uint32_t seen;              /* ttp_account_add_open */
    struct ttp_durations durations;
};

/* Row 0 belongs to no function: frames without a row, and an empty stack, count there. */
struct ttp_account_rows {
    struct ttp_memory *memory;
    struct ttp_account_row *rows;
    uint32_t *slots; /* hash table over (caller, key): rows, 0 where empty */
    uint32_t row_count, row_capacity, slot_bits;
    uint32_t stamp; /* ttp_account_add_open */
    struct ttp_durations_store store;
    /* over all threads, whatever the rows are */
    int64_t span_ns, idle_ns, known_ns, preempted_ns, blocked_ns, unknown_ns;
    uint64_t call_count, unseen_count;
    uint64_t open_count; /* ttp_account_add_open */
    bool has_idle, has_switches;
};

/* likely_count: rows that are likely; there may be more. */
ttape_status ttp_account_rows_open(struct ttp_account_rows *rows, struct ttp_memory *memory,
                                   uint32_t likely_count, ttape_error *err);
void ttp_account_rows_close(struct ttp_account_rows *rows);
/* The row of (caller, key), made if need be; 0 and rows->memory->status on failure. */
uint32_t ttp_account_find(struct ttp_account_rows *rows, uint32_t caller, uint32_t key,
                          ttape_error *err);
/* The same, or 0 where there is none. */
uint32_t ttp_account_look_up(const struct ttp_account_rows *rows, uint32_t caller, uint32_t key);
/* Adds all of `from`, which loses its durations. */
ttape_status ttp_account_merge(struct ttp_account_rows *to, struct ttp_account_rows *from,
                               ttape_error *err);
/* A frame that is open at the end of its stream, outermost first: counts where it is its row's
 * first on its stack. For each stack rows->stamp must be another one. */
void ttp_account_add_open(struct ttp_account_rows *rows, uint32_t row, uint64_t enter_ns,
                          uint64_t end_ns);
/* Adds durations of ended frames to a row: count, least, largest, and the sum of squares. */
void ttp_account_add_exits(struct ttp_account_row *row, uint64_t count, int64_t min_ns,
                           int64_t max_ns, ttape_wide squares);

/* Adds own times of frames whose durations are added next. */
void ttp_account_add_own(struct ttp_account_row *row, int64_t min_ns, int64_t max_ns);

/* What is counted, for all partitions. */
struct ttp_account_plan {
    const struct ttp_report_keys *keys;
    const uint8_t *idle_sites;   /* by site, 1: blocks */
    const uint8_t *focus_sites;  /* by site; NULL: all */
    const uint8_t *below_sites;  /* by site, 1: what is below it counts; NULL: all does */
    const uint8_t *streams;      /* by stream, 1: selected; NULL: all */
    const uint32_t *stream_keys; /* by stream: threads and processes; NULL: rows go by site */
    bool by_call, percentiles, self_times, has_range;
    bool by_site; /* with by_call: a row's caller is the place of the call. Partitions come in their
                   * order, at stage VALUES */
    uint64_t from_ns, to_ns;
};

struct ttp_account; /* one worker's: its stacks, and what it found of the partition at hand */

ttape_status ttp_account_open(struct ttp_account **out, const struct ttp_account_plan *plan,
                              struct ttp_account_rows *rows, ttape_error *err);
void ttp_account_close(struct ttp_account *account);
/* Adds the selected segments of a partition at stage EVENTS. */
ttape_status ttp_account_partition(struct ttp_account *account, const struct ttp_loaded *p,
                                   const ttape_reader *r, ttape_error *err);

/* A time cut to the plan's range. */
static inline uint64_t ttp_account_cut(const struct ttp_account_plan *plan, uint64_t time_ns)
{
    if (time_ns < plan->from_ns)
        return plan->from_ns;
    return time_ns > plan->to_ns ? plan->to_ns : time_ns;
}

#endif
