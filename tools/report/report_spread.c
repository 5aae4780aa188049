/* The durations of one row by powers of two, as bars. */
#include <string.h>

#include "tools/command/pager.h"
#include "tools/io/table.h"
#include "tools/report/report_view.h"

#define BAR_MOST 40u

void tool_report_spread(struct tool_report *view, const struct tool_report_row *row,
                        struct tool_output *out)
{
    static const struct tool_column columns[] = {{"FROM", .rank = 0},
                                                 {"TO", .rank = 0},
                                                 {"CALLS", .rank = 0},
                                                 {"%", .rank = 0},
                                                 {"", .is_text = true}};
    const ttape_report_bucket *buckets = &view->buckets[row->first_bucket];
    struct tool_table table;
    uint64_t all = 0, most = 1;
    for (uint32_t i = 0; i < row->bucket_count; i++) {
        all += buckets[i].count;
        most = buckets[i].count > most ? buckets[i].count : most;
    }
    tool_output_text(out, "\n");
    tool_table_open(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < row->bucket_count; i++) {
        char bar[BAR_MOST + 1];
        double share = (double)buckets[i].count / (double)(all > 0 ? all : 1);
        size_t length = (size_t)((double)buckets[i].count / (double)most * BAR_MOST + 0.5);
        length = buckets[i].count > 0 && length == 0 ? 1 : length;
        memset(bar, '#', length);
        bar[length] = '\0';
        tool_table_time(&table, TOOL_PLAIN, buckets[i].least_ns);
        tool_table_time(&table, TOOL_PLAIN, buckets[i].most_ns);
        tool_table_count(&table, TOOL_PLAIN, buckets[i].count);
        tool_table_printf(&table, TOOL_PLAIN, "%.1f", 100.0 * share);
        tool_table_text(&table, TOOL_PLAIN, bar);
    }
    tool_table_print(&table, out, tool_table_width(&table, false), tool_terminal_colours());
    tool_table_close(&table);
}
