/* How long the calls of a function took, by powers of two: what `report --histogram` prints. */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/report.h>

#include "tools/command/memory_limit.h"
#include "tools/export/picture/picture.h"
#include "tools/io/table.h"

#define TOP   60
#define LEFT  190.0
#define RIGHT 130.0

struct question {
    struct tool_export *export;
    regex_t regex;
    uint32_t matched; /* sites */
    uint32_t damaged;
};

static uint32_t group_of(void *context, uint32_t site)
{
    struct question *question = context;
    bool is_one = tool_site_matches(&question->export->names, site, &question->regex);
    question->matched += is_one;
    return is_one ? 0 : TTAPE_NONE;
}

static void count_damage(void *context, uint32_t partition, const ttape_error *error)
{
    struct question *question = context;
    (void)partition;
    (void)error;
    question->damaged++;
}

static void put_buckets(struct question *question, struct tool_output *out,
                        const ttape_report_row *row, const ttape_report_bucket *buckets,
                        uint32_t count)
{
    char about[320], text[120], number[40], mean[40], most[40];
    uint64_t largest = 1;
    double width = TOOL_PICTURE_WIDTH - LEFT - RIGHT;
    for (uint32_t i = 0; i < count; i++)
        largest = buckets[i].count > largest ? buckets[i].count : largest;
    number[tool_put_count(number, row->exit_count)] = '\0';
    mean[tool_put_time(mean, (int64_t)row->mean_ns)] = '\0';
    most[tool_put_time(most, row->max_ns)] = '\0';
    (void)snprintf(about, sizeof about, "%s ended calls of '%.80s', mean %s, longest %s", number,
                   question->export->function, mean, most);
    tool_picture_begin(out, TOP + count * TOOL_PICTURE_ROW + 14.0,
                       tool_picture_title(question->export), about);
    for (uint32_t i = 0; i < count; i++) {
        double y = TOP + i * TOOL_PICTURE_ROW;
        char from[40], to[40];
        from[tool_put_time(from, buckets[i].least_ns)] = '\0';
        to[tool_put_time(to, buckets[i].most_ns)] = '\0';
        (void)snprintf(text, sizeof text, "%s to %s", from, to);
        tool_picture_put_text(out, LEFT - 8, y + 11, true, true, text);
        double part = (double)buckets[i].count / (double)largest * width;
        tool_picture_put_bar(out, &(struct tool_picture_bar){.x = LEFT,
                                                             .y = y,
                                                             .width = part,
                                                             .fill = TOOL_PICTURE_AMOUNT,
                                                             .label = "",
                                                             .about = ""});
        number[tool_put_count(number, buckets[i].count)] = '\0';
        (void)snprintf(text, sizeof text, "%s, %.1f %%", number,
                       100 * (double)buckets[i].count / (double)row->exit_count);
        tool_picture_put_text(out, LEFT + part + 6, y + 11, false, false, text);
    }
    tool_picture_end(out);
}

static int draw(struct question *question, struct tool_output *out)
{
    struct tool_export *export = question->export;
    uint32_t *streams = tool_allocate(export->stream_count, sizeof(uint32_t));
    ttape_report_bucket buckets[TTAPE_REPORT_BUCKETS];
    ttape_report *report;
    ttape_error err = {0};
    uint32_t row_count, count = 0;
    int status = TOOL_OK;
    for (uint32_t i = 0; i < export->stream_count; i++)
        streams[i] = export->streams[i].stream;
    ttape_report_options how = {.size = sizeof how,
                                .by = TTAPE_REPORT_BY_GROUP,
                                .histograms = true,
                                .has_range = export->has_from || export->has_to,
                                .from_ns = export->from_ns,
                                .to_ns = export->to_ns,
                                .streams = streams,
                                .stream_count = export->stream_count,
                                .jobs = export->jobs,
                                .memory_bytes = tool_memory_left(),
                                .group = group_of,
                                .damage = count_damage,
                                .context = question};
    ttape_status code = ttape_report_make(&report, export->reader, &how, &err);
    free(streams);
    if (code != TTAPE_OK)
        return tool_fail("'%s': %s", export->input->name, err.message);
    const ttape_report_row *rows = ttape_report_get_rows(report, &row_count);
    for (uint32_t i = 0; i < row_count && count == 0; i++)
        if (rows[i].group == 0 && ttape_report_get_histogram(
                                      report, i, buckets, TTAPE_REPORT_BUCKETS, &count) == TTAPE_OK)
            put_buckets(question, out, &rows[i], buckets, count);
    if (question->matched == 0)
        status = tool_fail("'%s' has no function that matches '%s'", export->input->name,
                           export->function);
    else if (count == 0)
        status = tool_fail("'%s': no call of '%s' ended", export->input->name, export->function);
    ttape_report_close(report);
    return status;
}

int tool_picture_draw_histogram(struct tool_export *export, struct tool_output *out)
{
    struct question question = {.export = export};
    char why[200];
    if (!export->has_times)
        return tool_fail("'%s' has no times", export->input->name);
    int code = regcomp(&question.regex, export->function, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        (void)regerror(code, &question.regex, why, sizeof why);
        return tool_fail("'%s' is no regular expression: %s", export->function, why);
    }
    int status = draw(&question, out);
    regfree(&question.regex);
    if (status == TOOL_OK && question.damaged > 0) {
        tool_message("'%s': %" PRIu32 " partitions cannot be read", export->input->name,
                     question.damaged);
        status = TOOL_LOSS;
    }
    return status;
}
