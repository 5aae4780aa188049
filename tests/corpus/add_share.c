/* A worker's share of many traces:
 *
 *   add_share ROLLUP WORKER WORKERS FILE...
 *
 * ROLLUP gets the sums of every WORKERS-th partition of all FILEs, counted through. Through the
 * public interface only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tracetape.h>

struct share {
    uint32_t worker, workers;
    uint32_t number; /* of partitions so far */
};

static void check(ttape_status status, const ttape_error *err, const char *what)
{
    if (status == TTAPE_OK)
        return;
    fprintf(stderr, "add_share: %s: status %d: %s\n", what, (int)status, err->message);
    exit(1);
}

static ttape_string text_of(const char *text) { return (ttape_string){text, strlen(text)}; }

static ttape_string host_of(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_TEXT && entry.key.size_bytes == 4 &&
            memcmp(entry.key.data, "host", 4) == 0)
            return entry.text;
    return text_of("");
}

static void add_trace(ttape_rollup *rollup, const char *path, struct share *share)
{
    const ttape_reader_options options = {.size = sizeof options, .jobs = 1};
    const char *slash = strrchr(path, '/');
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_info info;
    check(ttape_reader_open_path(&reader, path, &options, &err), &err, path);
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.partition_count; i++) {
        const ttape_rollup_selection selection = {.size = sizeof selection,
                                                  .first_partition = i,
                                                  .partition_count = 1,
                                                  .name = text_of(slash != NULL ? slash + 1 : path),
                                                  .host = host_of(reader)};
        if (share->number++ % share->workers == share->worker)
            check(ttape_rollup_add_trace(rollup, reader, &selection, &err), &err, path);
    }
    ttape_reader_close(reader);
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_rollup *rollup;
    ttape_file_sink *file;
    if (argc < 5)
        return 2;
    struct share share = {.worker = (uint32_t)atoi(argv[2]), .workers = (uint32_t)atoi(argv[3])};
    check(ttape_rollup_open(&rollup, NULL, &err), &err, "rollup");
    for (char **path = argv + 4; *path != NULL; path++)
        add_trace(rollup, *path, &share);
    check(ttape_file_sink_open(&file, argv[1], true, &err), &err, argv[1]);
    ttape_sink sink = ttape_file_sink_sink(file);
    check(ttape_rollup_write(rollup, &sink, &err), &err, argv[1]);
    check(ttape_file_sink_commit(file, &err), &err, argv[1]);
    ttape_file_sink_close(file);
    ttape_rollup_close(rollup);
    return 0;
}
