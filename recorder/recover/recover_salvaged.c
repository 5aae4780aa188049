/* What answers/check/salvage.h found sound is copied, what is missing is marked.
 *
 *   source -> salvage -> copier -> writer
 *                 \-> gaps ------/        */
#include "recorder/recover/recover_salvaged.h"

#include "format/base/fail.h"

static ttape_status copy_partitions(struct ttp_salvaged *v, ttape_recover_report *report,
                                    ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(v->salvage.r, &info);
    for (uint32_t i = 0; i < info.partition_count; i++) {
        ttape_partition_info partition;
        TTP_TRY(ttape_reader_get_partition(v->salvage.r, i, &partition));
        TTP_TRY(ttp_gaps_before(&v->gaps, i, err));
        TTP_TRY(ttape_copier_partition(v->copier, i, err));
        report->partition_count++;
        report->copied_events += partition.event_count;
    }
    return ttp_gaps_at_end(&v->gaps, err);
}

ttape_status ttp_salvaged_copy(struct ttp_salvaged *v, ttape_writer *writer,
                               const struct ttp_gap_facts *facts, ttape_recover_report *report,
                               ttape_error *err)
{
    TTP_TRY(ttape_copier_open(&v->copier, writer, v->salvage.r, err));
    ttape_copier_begin_at(v->copier, v->begin_ns);
    TTP_TRY(ttp_gaps_open(&v->gaps, &v->salvage, writer, v->copier, facts, err));
    TTP_TRY(copy_partitions(v, report, err));
    report->gap_count += v->gaps.sums.gap_count;
    report->lost_events += v->gaps.sums.lost_events;
    report->uncounted_losses += v->gaps.sums.uncounted;
    return TTAPE_OK;
}

void ttp_salvaged_close(struct ttp_salvaged *v)
{
    ttp_gaps_close(&v->gaps);
    ttape_copier_close(v->copier);
    ttp_salvage_close(&v->salvage);
    *v = (struct ttp_salvaged){.copier = NULL};
}
