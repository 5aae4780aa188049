/* Lines that ran, as `tracetape lines --json` prints them: the same answer, the same printer. Debug
 * information, which may be anybody's, is read in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/call_name.h"
#include "tools/html/page_files.h"
#include "tools/lines/lines_print.h"

#define ANSWER_BYTES_MOST (4u << 20)
#define LINE_BYTES_LEAST  60u /* of the answer */

static bool goes_on(void *context, uint64_t done, uint64_t all)
{
    const struct view_asking *asking = context;
    (void)done;
    (void)all;
    return asking->stops == NULL || !asking->stops(asking->context);
}

static ttape_status set_error(ttape_error *err, ttape_status status, const char *what)
{
    *err = (ttape_error){.status = status, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "%s", what);
    return status;
}

/* Functions that are called so in full; for the caller to free. */
static bool *choose_functions(const struct tool_site_names *names, ttape_string name)
{
    ttape_site site;
    bool *chosen = tool_allocate((size_t)names->site_count + 1, sizeof *chosen);
    for (uint32_t i = 0; i < names->site_count; i++)
        chosen[i] = ttape_reader_get_site(names->reader, i, &site) == TTAPE_OK &&
                    site.kind == TTAPE_SITE_FUNCTION &&
                    ttp_is_same_text(tool_site_full(names, i), name);
    return chosen;
}

static ttape_status put_lines(const struct tool_lines_print *print, char **json, size_t *size_bytes,
                              ttape_error *err)
{
    size_t count;
    struct tool_output out;
    (void)tool_source_lines_get_rows(print->lines, &count);
    if (count <= ANSWER_BYTES_MOST / LINE_BYTES_LEAST) {
        tool_output_open(&out, -1);
        tool_lines_json(print, &out);
        *json = out.data;
        *size_bytes = out.size_bytes;
    }
    if (*json != NULL && *size_bytes <= ANSWER_BYTES_MOST)
        return TTAPE_OK;
    free(*json);
    *json = NULL;
    return set_error(err, TTAPE_E_LIMIT, "these are too many lines: 4 MiB at most");
}

ttape_status view_count_lines(struct view_asking *asking, const char *call, uint32_t site,
                              char **json, size_t *size_bytes, ttape_error *err)
{
    ttape_reader *reader = asking->reader;
    const ttape_watch watch = {goes_on, asking};
    const struct tool_symbols_options usual = {0};
    struct tool_lines_call found;
    struct tool_lines_options how = {.watch = &watch};
    struct tool_call_name name = {0};
    struct tool_source_lines *lines = NULL;
    bool *chosen = NULL;
    ttape_status status = TTAPE_OK;
    *json = NULL;
    if (call == NULL) {
        how.chosen = chosen = choose_functions(asking->names, tool_site_full(asking->names, site));
    } else if (!tool_parse_call_name(call, &name)) {
        status = set_error(err, TTAPE_E_ARGUMENT, "this is no call");
    } else {
        status = tool_find_call(reader, &name, &found, err);
        how.call = &found;
    }
    if (status == TTAPE_OK && (how.symbols = tool_symbols_open(&usual)) == NULL)
        status = set_error(err, TTAPE_E_MEMORY, "no memory is left");
    if (status == TTAPE_OK)
        status = tool_source_lines_make(&lines, reader, &how, err);
    tool_symbols_close(how.symbols);
    if (status == TTAPE_OK) {
        const struct tool_lines_print print = {lines, reader, asking->names, NULL, false, false};
        status = put_lines(&print, json, size_bytes, err);
    }
    tool_source_lines_close(lines);
    free(chosen);
    return status;
}
