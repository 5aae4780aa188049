/* Runs a command, records it, and prints its longest call: longestof FILE COMMAND [ARGUMENT]... */
#include <stdio.h>
#include <tracetape/tracetape.h>

static ttape_status print_longest(const char *path, ttape_error *err)
{
    char name[256];
    uint32_t count = 0;
    ttape_reader *reader = NULL;
    ttape_longest *longest = NULL;
    ttape_status status = ttape_reader_open_path(&reader, path, NULL, err);
    if (status == TTAPE_OK)
        status = ttape_longest_find(&longest, reader, NULL, err);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    if (count != 0) {
        ttape_site_name(reader, calls[0].site, name, sizeof name);
        printf("longest: %s, %llu ns\n", name, (unsigned long long)calls[0].duration_ns);
    }
    ttape_longest_close(longest);
    ttape_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    ttape_error err = {0};
    ttape_session_result result;
    const ttape_session_options options = {
        .size = sizeof options, .output = argv[1], .argv = argv + (argc < 2 ? argc : 2)};
    ttape_status status = ttape_session_record(&options, &result, &err);
    if (status == TTAPE_OK) {
        printf("%llu events, exit code %d\n", (unsigned long long)result.recording.event_count,
               (int)result.exit_code);
        status = print_longest(argv[1], &err);
    }
    if (status != TTAPE_OK)
        fprintf(stderr, "longestof: %s\n", err.message);
    return status != TTAPE_OK;
}
