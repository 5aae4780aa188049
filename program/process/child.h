/* A process of its own for code that reads bytes that may be forged, such as another library's
 * parser: it may die of them, or be taken over by them, and nothing that it says is trusted. */
#ifndef TOOL_CHILD_H
#define TOOL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tool_child {
    pid_t pid; /* 0: none */
    int fd;    /* a socket to talk to it */
};

/* Starts work(fd, context) in a copy of this process that may take memory_bytes more than it has,
 * and write no core; it ends with `work`. False, with errno: *child is as it was. */
bool tool_child_start(struct tool_child *child, uint64_t memory_bytes,
                      void (*work)(int fd, const void *context), const void *context);
/* Ends it, kindly or not; its wait status, or -1 where something else waited for it, or where there
 * is none. */
int tool_child_end(struct tool_child *child, bool kill_it);

/* For the child, whose end its parent is prepared for: memory of zeros, or its end in silence. */
_Noreturn void tool_child_give_up(void);
void *tool_child_allocate(size_t count, size_t size_bytes);
char *tool_child_copy_text(const char *text, size_t size_bytes);
/* Grows *array (of *capacity elements) so that it holds `needed` ones; at least doubles. */
void tool_child_grow(void **array, size_t *capacity, size_t needed, size_t size_bytes);

/* For the child: lowers or, up to the hard limit, raises one of its limits (RLIMIT_...). */
void tool_child_limit(int what, uint64_t value);

/* Both return false when the other side is gone. A deadline is in milliseconds of the monotonic
 * clock; 0: none. When it is over, tool_child_receive returns false with errno ETIMEDOUT. */
bool tool_child_send(int fd, const void *data, size_t size_bytes, uint64_t deadline_ms);
bool tool_child_receive(int fd, void *data, size_t size_bytes, uint64_t deadline_ms);
/* The same, and what else is there, up to `room`: how many bytes came; fewer than `least`: the
 * other side is gone, or the deadline is over. */
size_t tool_child_receive_more(int fd, void *data, size_t least, size_t room, uint64_t deadline_ms);
uint64_t tool_child_now_ms(void);

/* What came from a child and was not taken yet. */
struct tool_child_input {
    int fd;
    uint64_t deadline_ms;
    char *data; /* of the caller's, with room for the largest piece */
    size_t room, at, end;
};
/* So many bytes, at most `room` of them, until the next call; NULL: they never come. */
const char *tool_child_take(struct tool_child_input *from, size_t size);

#endif
