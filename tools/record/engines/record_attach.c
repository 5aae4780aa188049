#include "tools/record/engines/record_attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/tool.h"

#define LINE_BYTES 4096u /* of a command line that is longer, its beginning */

/* A file of /proc/PID, with a zero behind; -1: it cannot be read. */
static ssize_t read_file(uint32_t pid, const char *name, char *into, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, into, room - 1);
    into[size < 0 ? 0 : size] = '\0';
    if (file >= 0)
        (void)close(file);
    return size;
}

char **tool_attach_words(uint32_t pid)
{
    char *line = tool_allocate(LINE_BYTES + 1, 1);
    size_t count = 0, at = 0, capacity = 0;
    char **words = NULL;
    ssize_t size = read_file(pid, "cmdline", line, LINE_BYTES);
    if (size == 0) { /* it has none: a thread of the kernel's, or it erased it */
        size = read_file(pid, "comm", line, LINE_BYTES);
        line[strcspn(line, "\n")] = '\0';
        size = size > 0 ? (ssize_t)strlen(line) + 1 : size;
    }
    if (size <= 0 || pid == (uint32_t)getpid()) {
        (void)tool_fail("cannot attach to process %u: %s", pid,
                        size <= 0 ? "there is none" : "it is this one");
        free(line);
        return NULL;
    }
    do {
        tool_grow((void **)&words, &capacity, count + 2, sizeof *words);
        words[count++] = line + at;
        at += strlen(line + at) + 1;
    } while (at < (size_t)size);
    words[count] = NULL;
    return words;
}
