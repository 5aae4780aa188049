/* Two runs of a program, function by function: calls and time of the second, less the first. */
#include <stdio.h>
#include <stdlib.h>
#include <tracetape/tracetape.h>

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *readers[2] = {NULL, NULL};
    ttape_report *reports[2] = {NULL, NULL};
    ttape_functions *functions = NULL;
    const ttape_functions_options how = {.size = sizeof how, .by = TTAPE_FUNCTIONS_BY_NAME};
    uint32_t count = 0, row_count, site_count;
    ttape_status status = argc == 3 ? TTAPE_OK : TTAPE_E_ARGUMENT;
    for (int i = 0; i < 2 && status == TTAPE_OK; i++) {
        status = ttape_reader_open_path(&readers[i], argv[i + 1], NULL, &err);
        if (status == TTAPE_OK)
            status = ttape_report_make(&reports[i], readers[i], NULL, &err);
    }
    if (status == TTAPE_OK)
        status =
            ttape_functions_make(&functions, (const ttape_reader *const *)readers, 2, &how, &err);
    const ttape_function *rows = ttape_functions_get_rows(functions, &count);
    long long(*sums)[2] = calloc(count + 1u, sizeof *sums);
    for (int i = 0; i < 2 && status == TTAPE_OK; i++) {
        const ttape_report_row *row = ttape_report_get_rows(reports[i], &row_count);
        const uint32_t *of = ttape_functions_get_sites(functions, (uint32_t)i, &site_count);
        for (uint32_t r = 0; r < row_count; r++) {
            uint32_t f = row[r].site < site_count ? of[row[r].site] : count - 1;
            sums[f][0] += (i == 0 ? -1 : 1) * (long long)row[r].call_count;
            sums[f][1] += (i == 0 ? -1 : 1) * (long long)row[r].total_ns;
        }
    }
    for (uint32_t f = 0; status == TTAPE_OK && f + 1 < count; f++)
        printf("%+lld calls, %+lld ns  %.*s\n", sums[f][0], sums[f][1],
               (int)rows[f].symbol.size_bytes, rows[f].symbol.data);
    return status != TTAPE_OK;
}
