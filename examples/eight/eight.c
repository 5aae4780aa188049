/* Eight threads ask one open trace at once, each for a report and for the call graph. */
#include <pthread.h>
#include <stdio.h>
#include <tracetape/tracetape.h>

static void *ask(void *reader)
{
    ttape_report *report;
    ttape_graph *graph;
    ttape_graph_info info = {0};
    uint32_t count;
    unsigned long long calls = 0;
    if (ttape_report_make(&report, reader, NULL, NULL) != TTAPE_OK)
        return NULL;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++)
        calls += rows[i].call_count;
    if (ttape_graph_make(&graph, reader, NULL, NULL) == TTAPE_OK) {
        ttape_graph_get_info(graph, &info);
        printf("%llu calls, %u edges\n", calls, (unsigned)info.edge_count);
    }
    ttape_graph_close(graph);
    ttape_report_close(report);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    ttape_reader *reader;
    if (argc != 2 || ttape_reader_open_path(&reader, argv[1], NULL, NULL) != TTAPE_OK)
        return 1;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, ask, reader);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    ttape_reader_close(reader);
    return 0;
}
