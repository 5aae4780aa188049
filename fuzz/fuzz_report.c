/* Reports as hashes: what two of them say is the same or not. */
#include "fuzz_report.h"

#include <tracetape/report.h>

static void skip_damage(void *context, uint32_t partition, const ttape_error *error)
{
    uint64_t *count = context;
    FUZZ_REQUIRE(error->status >= TTAPE_E_TRUNCATED && partition != TTAPE_NONE);
    ++*count;
}

static uint32_t group_of(void *context, uint32_t site)
{
    (void)context;
    return site % 3 == 2 ? TTAPE_NONE : 0;
}

uint64_t fuzz_report_hash(ttape_reader *reader, ttape_report_options how, uint32_t jobs)
{
    uint64_t damage = 0, hash = 1;
    uint32_t count;
    ttape_report *report;
    ttape_report_info info;
    how.size = sizeof how;
    how.jobs = jobs;
    how.memory_bytes = FUZZ_REPORT_BYTES;
    how.damage = skip_damage;
    how.context = &damage;
    how.group = group_of;
    if (ttape_report_make(&report, reader, &how, NULL) != TTAPE_OK)
        return 0;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ttape_report_get_info(report, &info);
    FUZZ_REQUIRE(info.damaged_count == damage && info.row_count == count);
    FUZZ_REQUIRE(info.decoded_count <= info.partition_count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t half = 0;
        const uint64_t fields[] = {rows[i].site,
                                   rows[i].caller,
                                   rows[i].call_count,
                                   rows[i].exit_count,
                                   (uint64_t)rows[i].self_ns,
                                   (uint64_t)rows[i].total_ns,
                                   (uint64_t)rows[i].min_ns,
                                   (uint64_t)rows[i].max_ns,
                                   rows[i].squares.low,
                                   rows[i].squares.high};
        hash = fuzz_hash(hash, fields, sizeof fields);
        if (ttape_report_get_percentile(report, i, 0.5, &half) == TTAPE_OK)
            FUZZ_REQUIRE(half >= rows[i].min_ns && half <= rows[i].max_ns);
    }
    ttape_report_close(report);
    return damage != 0 ? 0 : hash;
}
