/* A trace coded anew, with an overview behind each few partitions however small these are:
 *
 *   with_overviews INPUT OUTPUT PERIOD */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tracetape.h>

static void check(ttape_status status, const ttape_error *err)
{
    if (status == TTAPE_OK)
        return;
    fprintf(stderr, "with_overviews: %s\n", err->message);
    exit(1);
}

static void copy(ttape_reader *reader, ttape_writer *writer)
{
    ttape_error err = {0};
    ttape_copier *copier;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    uint64_t *from = calloc(info.stream_count + 1u, sizeof *from);
    uint64_t *to = malloc((info.stream_count + 1u) * sizeof *to);
    if (from == NULL || to == NULL)
        exit(1);
    memset(to, 0xff, (info.stream_count + 1u) * sizeof *to);
    check(ttape_copier_open(&copier, writer, reader, &err), &err);
    for (uint32_t i = 0; i < info.partition_count; i++)
        check(ttape_copier_part(copier, i, from, to, &err), &err);
    check(ttape_writer_finish(writer, &err), &err);
    ttape_copier_close(copier);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_writer *writer;
    ttape_file_sink *file;
    if (argc != 4)
        return 2;
    ttape_writer_options options = {.size = sizeof options,
                                    .overview_period = strtoull(argv[3], NULL, 10)};
    check(ttape_reader_open_path(&reader, argv[1], NULL, &err), &err);
    check(ttape_file_sink_open(&file, argv[2], false, &err), &err);
    ttape_sink sink = ttape_file_sink_sink(file);
    check(ttape_writer_open(&writer, &sink, &options, &err), &err);
    copy(reader, writer);
    ttape_writer_close(writer);
    check(ttape_file_sink_commit(file, &err), &err);
    ttape_file_sink_close(file);
    ttape_reader_close(reader);
    return 0;
}
