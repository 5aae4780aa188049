/* Percentiles by function of many traces, shared by workers:
 *
 *   many_measured RESULT WORKERS FILE...
 *
 * Each worker is a process that adds its share of the partitions of each FILE to a rollup with
 * counts of durations, one worker at a time; RESULT gets the processor time of all of them. Through
 * the public interface only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/tracetape.h>

static void check(ttape_status status, const ttape_error *err, const char *what)
{
    if (status == TTAPE_OK)
        return;
    fprintf(stderr, "many_measured: %s: status %d: %s\n", what, (int)status, err->message);
    exit(1);
}

static void add_share(ttape_rollup *rollup, const char *path, uint32_t worker, uint32_t workers)
{
    const ttape_reader_options options = {.size = sizeof options, .jobs = 1};
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_info info;
    check(ttape_reader_open_path(&reader, path, &options, &err), &err, path);
    ttape_reader_get_info(reader, &info);
    uint64_t first = info.partition_count * worker / workers;
    uint64_t end = info.partition_count * (worker + 1) / workers;
    const ttape_rollup_selection selection = {
        .size = sizeof selection,
        .first_partition = (uint32_t)first,
        .partition_count = (uint32_t)(end - first),
        .report = {.size = sizeof selection.report, .jobs = 1}};
    if (end > first)
        check(ttape_rollup_add_trace(rollup, reader, &selection, &err), &err, path);
    ttape_reader_close(reader);
}

static void work(uint32_t worker, uint32_t workers, char **paths)
{
    const ttape_rollup_options options = {.size = sizeof options, .counts = true};
    ttape_error err = {0};
    ttape_rollup *rollup;
    check(ttape_rollup_open(&rollup, &options, &err), &err, "rollup");
    for (; *paths != NULL; paths++)
        add_share(rollup, *paths, worker, workers);
    ttape_rollup_close(rollup);
}

int main(int argc, char **argv)
{
    struct rusage used;
    if (argc < 4)
        return 2;
    uint32_t workers = (uint32_t)atoi(argv[2]);
    for (uint32_t i = 0; i < workers; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            work(i, workers, &argv[3]);
            return 0;
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    (void)getrusage(RUSAGE_CHILDREN, &used);
    FILE *result = fopen(argv[1], "we");
    if (result == NULL)
        return 1;
    fprintf(result, "{\"workers\": %" PRIu32 ", \"cpu_s\": %.3f}\n", workers,
            (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return fclose(result) == 0 ? 0 : 1;
}
