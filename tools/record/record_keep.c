/* Joining is what the verb merge does, so it does it here. */
#include "tools/record/record_keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/record/record_output.h"

#define FIXED_WORDS 5u /* verb, -o, output, --force, the end */

bool tool_parse_keep(const char *text, void *into)
{
    struct tool_keep *keep = into;
    size_t length = strlen(text);
    keep->given = true;
    if (length > 1 && text[length - 1] == 's')
        return tool_scan_time(&text, &keep->time_ns) && *text == '\0' && keep->time_ns != 0;
    return tool_parse_size(text, &keep->size_bytes);
}

int tool_keep_merge(const ttape_recording *recording, const char *output, bool force)
{
    uint32_t count = 0;
    int used = 0;
    while (ttape_recording_file(recording, count) != NULL)
        count++;
    const char **words = tool_allocate(count + FIXED_WORDS, sizeof(char *));
    words[used++] = "merge";
    words[used++] = "-o";
    words[used++] = output;
    if (force)
        words[used++] = "--force";
    else
        (void)tool_record_put_aside(output); /* what stays, merge does not overwrite */
    for (uint32_t i = 0; i < count; i++)
        words[used++] = ttape_recording_file(recording, i);
    words[used] = NULL;
    mode_t before = umask(077);                         /* as private as every other recording */
    int status = tool_merge_kept(used, (char **)words); /* moves words, changes none */
    (void)umask(before);
    free(words);
    return status;
}
