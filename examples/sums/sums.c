/* How long each function of a trace took, with all that it called. */
#include <stdio.h>
#include <tracetape/read.h>

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader = NULL;
    ttape_report *report = NULL;
    uint32_t count = 0;
    ttape_status status = ttape_reader_open_path(&reader, argv[argc - 1], NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_report_make(&report, reader, NULL, &err);
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        char name[256];
        ttape_site_name(reader, rows[i].site, name, sizeof name);
        printf("%lld ns in %llu calls: %s\n", (long long)rows[i].total_ns,
               (unsigned long long)rows[i].call_count, name);
    }
    if (status != TTAPE_OK)
        fprintf(stderr, "sums: %s\n", err.message);
    ttape_report_close(report);
    ttape_reader_close(reader);
    return status != TTAPE_OK;
}
