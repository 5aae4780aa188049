/* Which system calls: "read,write", "%file", "/^epoll_/", "!futex"; several add up, with ! they
 * are taken away. Classes are strace's. */
#ifndef TOOL_KERNEL_CHOICE_H
#define TOOL_KERNEL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/reader.h>

struct tool_call_choice {
    char **words; /* in the order of the command line */
    size_t count, capacity;
};

bool tool_parse_call_choice(const char *text, void *into); /* tool_call_choice: adds to it */
void tool_call_choice_close(struct tool_call_choice *choice);
/* Is a call of this name chosen? */
bool tool_call_is_chosen(const struct tool_call_choice *choice, const char *name);
/* One byte for each site of a trace, to be freed; NULL: all its system calls. */
uint8_t *tool_calls_choose(const struct tool_call_choice *choice, const ttape_reader *reader);

#endif
