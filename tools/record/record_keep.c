/* Joining is what the verb merge does, so it does it here. */
#include "tools/record/record_keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/record/output/record_output.h"

bool tool_parse_keep(const char *text, void *into)
{
    struct tool_keep *keep = into;
    size_t length = strlen(text);
    keep->given = true;
    if (length > 1 && text[length - 1] == 's')
        return ttp_time_scan(&text, &keep->time_ns) && *text == '\0' && keep->time_ns != 0;
    return tool_parse_size(text, &keep->size_bytes);
}

int tool_keep_merge(const ttape_recording *recording, const char *output, bool force)
{
    size_t count = 0;
    while (ttape_recording_file(recording, (uint32_t)count) != NULL)
        count++;
    char **pieces = tool_allocate(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++)
        pieces[i] = (char *)(uintptr_t)ttape_recording_file(recording, (uint32_t)i);
    if (!force)
        (void)tool_record_put_aside(output); /* what stays, merge does not overwrite */
    mode_t before = umask(077);              /* as private as every other recording */
    int status = tool_merge_kept(output, force, pieces, count);
    (void)umask(before);
    free(pieces);
    return status;
}
