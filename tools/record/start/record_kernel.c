/* The kernel's tracer is one for the whole machine, and root's: record asks nothing of it but
 * whether it is there (decision 0127). */
#include "tools/record/start/record_kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/tool.h"

#define LINE_BYTES 4096u

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The names of tracers, in one line; false with errno where they cannot be read. */
static bool read_tracers(char line[LINE_BYTES])
{
    bool is_read = false, is_forbidden = false;
    for (size_t i = 0; i < 2 && !is_read; i++) {
        char path[LINE_BYTES];
        (void)snprintf(path, sizeof(path), "%s/available_tracers", folders[i]);
        FILE *file = fopen(path, "re");
        is_forbidden |= file == NULL && errno == EACCES;
        is_read = file != NULL && fgets(line, LINE_BYTES, file) != NULL;
        if (file != NULL)
            (void)fclose(file);
    }
    errno = is_forbidden ? EACCES : ENOENT;
    return is_read;
}

int tool_record_kernel_refuse(void)
{
    char line[LINE_BYTES];
    const char *why = "that is the whole machine's tracer";
    if (!read_tracers(line))
        why = errno == EACCES ? "only root may have the kernel's tracer"
                              : "there is no tracefs in /sys/kernel/tracing, which root mounts";
    else if (strstr(line, "function_graph") == NULL)
        why = "this kernel has no function_graph (CONFIG_FUNCTION_GRAPH_TRACER)";
    return tool_fail("record does not trace functions of the kernel: %s; tracetape-convert(1) says "
                     "how root does so beside 'record', and --syscalls records what is asked of it",
                     why);
}
