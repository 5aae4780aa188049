/* What the view says was lost: the same as the command's losses.c does. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include <tracetape/view.h>
#include <tracetape/writer.h>

#include "tests/unit/report_model.h"

/* What was left out on purpose is not lost, though gaps stand for it; what has no gap is. */
START_TEST(losses_are_those_of_the_command)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    const ttape_event gap = {
        .time_ns = 1, .kind = TTAPE_EVENT_GAP, .depth = TTAPE_DEPTH_AUTO, .lost_count = 27};
    ttape_writer *w;
    ttape_view *view;
    ttape_string json;
    ttape_error err = {0};
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ttest_define(w, 1);
    TTEST_OK(ttape_writer_append(w, 0, &gap, 1, &err));
    TTEST_OK(ttape_writer_set_number(w, "culled_calls", 10, &err));
    TTEST_OK(ttape_writer_set_number(w, "dropped_events", 300, &err));
    TTEST_OK(ttape_writer_set_number(w, "silenced_events", 1000, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    struct ttest_trace trace = ttest_open_trace(ttest_take(&memory));
    TTEST_OK(ttape_view_open(&view, trace.reader, NULL, &err));
    TTEST_OK(ttape_view_answer(view, "trace", 5, &json, &err));
    ck_assert(memmem(json.data, json.size_bytes, "\"lost\":\"1307\"", 13) != NULL);
    ttape_view_close(view);
    ttest_close_trace(&trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view losses");
    TCase *all = tcase_create("all");
    tcase_add_test(all, losses_are_those_of_the_command);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
