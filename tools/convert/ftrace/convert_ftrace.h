/* The converter for the text of the kernel's tracer (tracefs, trace-cmd) has two parts:
 *
 *   ftrace_line.c      a line --> thread, time, what happened, texts of its fields
 *   convert_ftrace.c   lines --> calls and markers --> the writer */
#ifndef TOOL_CONVERT_FTRACE_H
#define TOOL_CONVERT_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

enum tool_ftrace_kind {
    TOOL_FTRACE_OTHER,    /* a line that is none of these */
    TOOL_FTRACE_NOTHING,  /* a comment, a blank line, a rule between threads */
    TOOL_FTRACE_EVENT,    /* of a tracepoint: name, and text */
    TOOL_FTRACE_FUNCTION, /* of the function tracer: it began */
    TOOL_FTRACE_ENTER,    /* of the function graph */
    TOOL_FTRACE_LEAF,     /* the same, with its duration */
    TOOL_FTRACE_EXIT,
    TOOL_FTRACE_LOST
};

/* Texts are the line's. */
struct tool_ftrace_line {
    enum tool_ftrace_kind kind;
    ttape_string task; /* "": not known */
    uint64_t tid, pid; /* pid: tid where the line does not say it */
    uint32_t cpu;
    uint64_t time_ns, duration_ns, lost_count;
    ttape_string name, text;
};

struct tool_ftrace_field {
    ttape_string key, value; /* key "": the whole text, which has none */
};

void tool_ftrace_parse(const char *text, struct tool_ftrace_line *line);
/* The next of an event's fields, from *text on, which moves on. False: there is none. */
bool tool_ftrace_next_field(ttape_string *text, struct tool_ftrace_field *field);
/* A number as the kernel writes them, or the text. */
ttape_value tool_ftrace_value(ttape_string text);

#endif
