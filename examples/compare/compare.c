/* What differs between two runs of a program: functions that changed by more than two runs of the
 * same program do, the largest change first, and who else calls a function now. */
#include <inttypes.h>
#include <stdio.h>
#include <tracetape/tracetape.h>

int main(int argc, char **argv)
{
    static const char *const states[] = {"same", "changed", "new", "gone", "noise"};
    ttape_error err = {0};
    ttape_reader *readers[2] = {NULL, NULL};
    ttape_diff *diff = NULL;
    ttape_status status = argc == 3 ? TTAPE_OK : TTAPE_E_ARGUMENT;
    for (int i = 0; i < 2 && status == TTAPE_OK; i++)
        status = ttape_reader_open_path(&readers[i], argv[i + 1], NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_diff_make(&diff, readers, 2, NULL, &err);
    if (status == TTAPE_OK) {
        const ttape_diff_rows *rows = ttape_diff_get_functions(diff);
        uint32_t count;
        const ttape_function *functions =
            ttape_functions_get_rows(ttape_diff_get_keys(diff), &count);
        for (uint32_t i = 0; i < rows->order_count; i++) {
            const ttape_diff_row *row = &rows->rows[rows->order[i]];
            const ttape_diff_side *a = &rows->sides[(size_t)rows->order[i] * 2], *b = a + 1;
            printf("%-7s %+" PRId64 " ns of its own, %" PRIu64 " calls, %" PRIu64 " before  %.*s\n",
                   states[row->state], b->self_ns - a->self_ns, b->calls, a->calls,
                   (int)functions[row->key].symbol.size_bytes, functions[row->key].symbol.data);
        }
    } else {
        fprintf(stderr, "compare: %s\n", argc == 3 ? err.message : "compare A B");
    }
    ttape_diff_close(diff);
    for (int i = 0; i < 2; i++)
        ttape_reader_close(readers[i]);
    return status != TTAPE_OK;
}
