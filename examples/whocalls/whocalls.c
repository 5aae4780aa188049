/* The call graph of a trace, of all threads in one: each function with those that it calls. */
#include <stdio.h>
#include <tracetape/tracetape.h>

static void print_node(ttape_reader *reader, const ttape_graph_node *node, const char *indent,
                       const ttape_graph_counts *counts)
{
    char name[256] = "(start)";
    if (node->kind == TTAPE_GRAPH_FUNCTION)
        ttape_site_name(reader, node->site, name, sizeof name);
    printf("%s%s: %llu calls, %lld ns\n", indent, name, (unsigned long long)counts->call_count,
           (long long)counts->total_ns);
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader = NULL;
    ttape_graph *graph = NULL;
    uint32_t node_count, edge_count, count;
    ttape_status status = ttape_reader_open_path(&reader, argv[argc - 1], NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_graph_make(&graph, reader, NULL, &err);
    const ttape_graph_node *nodes = ttape_graph_get_nodes(graph, &node_count);
    const ttape_graph_edge *edges = ttape_graph_get_edges(graph, &edge_count);
    for (uint32_t i = 0; i < node_count; i++) {
        const uint32_t *callees = ttape_graph_get_callees(graph, i, &count);
        print_node(reader, &nodes[i], "", &nodes[i].sum);
        for (uint32_t e = 0; e < count; e++)
            print_node(reader, &nodes[edges[callees[e]].to], "    ", &edges[callees[e]].sum);
    }
    if (status != TTAPE_OK)
        fprintf(stderr, "whocalls: %s\n", err.message);
    ttape_graph_close(graph);
    ttape_reader_close(reader);
    return status != TTAPE_OK;
}
