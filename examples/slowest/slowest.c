/* The ten slowest calls of a trace, and how long each took. */
#include <stdio.h>
#include <tracetape/tracetape.h>

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_reader *reader = NULL;
    ttape_longest *longest = NULL;
    uint32_t count = 0;
    ttape_status status = ttape_reader_open_path(&reader, argv[argc - 1], NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_longest_find(&longest, reader, NULL, &err);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    for (uint32_t i = 0; i < count; i++) {
        char name[256];
        ttape_site_name(reader, calls[i].site, name, sizeof name);
        printf("%12.6f ms  %s\n", (double)calls[i].duration_ns / 1e6, name);
    }
    if (status != TTAPE_OK)
        fprintf(stderr, "slowest: %s\n", err.message);
    ttape_longest_close(longest);
    ttape_reader_close(reader);
    return status != TTAPE_OK;
}
