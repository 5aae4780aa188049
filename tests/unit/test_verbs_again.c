/* Verbs run in one process, one after another: the options of a run are not those of the next. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/asserts.h"
#include "tools/command/tool.h"

#define OUTPUT_BYTES 65536u
#define WORDS_MOST   16

static char folder[64], text_path[96], trace_path[96];

/* Runs a verb, `line` being its options, on the trace; returns what it prints. */
static char *run(int (*verb)(int argc, char **argv), const char *name, const char *line)
{
    char words[256], verb_name[16], *argv[WORDS_MOST] = {verb_name};
    char *text = calloc(OUTPUT_BYTES, 1), *rest = words;
    int argc = 1, output = memfd_create("output", 0), before = dup(STDOUT_FILENO);
    (void)snprintf(verb_name, sizeof verb_name, "%s", name);
    (void)snprintf(words, sizeof words, "%s %s", line, trace_path);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0')
            argv[argc++] = word;
    ck_assert(text != NULL && output >= 0 && before >= 0 && argc < WORDS_MOST);
    (void)fflush(stdout);
    ck_assert_int_eq(dup2(output, STDOUT_FILENO), STDOUT_FILENO);
    int status = verb(argc, argv);
    ck_assert_int_eq(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    ck_assert_msg(status == TOOL_OK, "%s %s: %d", name, line, status);
    ck_assert_int_ge(pread(output, text, OUTPUT_BYTES - 1, 0), 0);
    (void)close(output);
    (void)close(before);
    return text;
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_verbs_again.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(text_path, sizeof text_path, "%s/run.txt", folder);
    (void)snprintf(trace_path, sizeof trace_path, "%s/run.ttape", folder);
    FILE *text = fopen(text_path, "w");
    ck_assert_ptr_nonnull(text);
    for (int thread = 1; thread <= 2; thread++) {
        fprintf(text, "%d00 %d enter main\n", thread, thread);
        for (int call = 1; call <= 3; call++)
            fprintf(text, "%d%d0 %d enter leaf%d\n%d%d5 %d exit\n", thread, call, thread, call,
                    thread, call, thread);
        fprintf(text, "%d99 %d exit\n", thread, thread);
    }
    ck_assert_int_eq(fclose(text), 0);
    char name[] = "convert", output[] = "-o";
    char *argv[] = {name, text_path, output, trace_path, NULL};
    ck_assert_int_eq(tool_verb_convert(4, argv), TOOL_OK);
}

static void tear_down(void)
{
    (void)unlink(text_path);
    (void)unlink(trace_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const struct {
    int (*verb)(int argc, char **argv);
    const char *name, *line;
} cases[] = {
    {tool_verb_info, "info", "--json --all --memory 64M"},
    {tool_verb_verify, "verify", "--json --jobs 2"},
    {tool_verb_dump, "dump", "--format csv --events 1..3 --time 110.. --thread 2 --limit 3"},
    {tool_verb_last, "last", "--json --all --limit 1 --thread 1"},
    {tool_verb_tree, "tree", "--json --full --thread 1 --time 105..120 --min-time 1ns"},
    {tool_verb_report, "report", "--json --group ^leaf --sort name --reverse --exact --limit 1"},
    {tool_verb_report, "report", "--by thread --thread 2 --time 205..220 --idle leaf1"},
    {tool_verb_graph, "graph", "--summary --limit 1 --stream 0 --weight self --min-calls 2"},
    {tool_verb_graph, "graph", "--format dot --split-levels --min-share 50%"},
};

/* Without options, with many of them, without: the third is the first; and with them again. */
START_TEST(options_do_not_stay)
{
    char *plain = run(cases[_i].verb, cases[_i].name, "");
    char *special = run(cases[_i].verb, cases[_i].name, cases[_i].line);
    char *again = run(cases[_i].verb, cases[_i].name, "");
    char *special_again = run(cases[_i].verb, cases[_i].name, cases[_i].line);
    ck_assert_str_ne(plain, special);
    ck_assert_str_eq(plain, again);
    ck_assert_str_eq(special, special_again);
    free(plain);
    free(special);
    free(again);
    free(special_again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verbs_again");
    TCase *test_case = tcase_create("verbs_again");
    tcase_add_checked_fixture(test_case, set_up, tear_down);
    tcase_set_timeout(test_case, 60);
    tcase_add_loop_test(test_case, options_do_not_stay, 0, (int)(sizeof cases / sizeof cases[0]));
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
