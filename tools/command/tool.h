/* What every verb shares: exit statuses, messages, and the verb table's shape. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "base/text.h"

#define TOOL_PRINTF(text, rest) __attribute__((format(printf, text, rest)))

enum tool_exit {
    TOOL_OK = 0,      /* all done */
    TOOL_FINDING = 1, /* verify found something */
    TOOL_USAGE = 2,   /* the command line is wrong */
    TOOL_LOSS = 3,    /* done, with a loss that was reported */
    TOOL_CANNOT = 4   /* not done */
};

/* A verb: main calls run with argv[0] being the verb's name, and takes its result as exit status.
 */
struct tool_verb {
    const char *name;
    const char *summary; /* one line for the list of verbs */
    int (*run)(int argc, char **argv);
};

int tool_verb_record(int argc, char **argv);
int tool_verb_attach(int argc, char **argv);
int tool_verb_recover(int argc, char **argv);
int tool_verb_receive(int argc, char **argv);
int tool_verb_send(int argc, char **argv);
int tool_verb_convert(int argc, char **argv);
int tool_verb_info(int argc, char **argv);
int tool_verb_verify(int argc, char **argv);
int tool_verb_dump(int argc, char **argv);
int tool_verb_cut(int argc, char **argv);
int tool_verb_merge(int argc, char **argv);
int tool_verb_view(int argc, char **argv);
int tool_verb_report(int argc, char **argv);
int tool_verb_lines(int argc, char **argv);
int tool_verb_slow(int argc, char **argv);
int tool_verb_syscalls(int argc, char **argv);
int tool_verb_tree(int argc, char **argv);
int tool_verb_control(int argc, char **argv);
int tool_verb_symbolize(int argc, char **argv);
int tool_verb_graph(int argc, char **argv);
int tool_verb_diff(int argc, char **argv);
int tool_verb_callgraph(int argc, char **argv);
int tool_verb_context(int argc, char **argv);
int tool_verb_binary(int argc, char **argv);
int tool_verb_last(int argc, char **argv);
int tool_verb_export(int argc, char **argv);
/* Joins the pieces that a flight recorder has kept, as merge does others. Returns a tool_exit. */
int tool_merge_kept(const char *output, bool force, char **pieces, size_t count);

/* One line on standard error, "tracetape: ...", escaped whole: names from files may be in it. */
void tool_message(const char *format, ...) TOOL_PRINTF(1, 2);

/* The same; returns TOOL_CANNOT. */
int tool_fail(const char *format, ...) TOOL_PRINTF(1, 2);

/* The same, with a pointer to the verb's help (verb may be NULL); returns TOOL_USAGE. */
int tool_usage(const char *verb, const char *format, ...) TOOL_PRINTF(2, 3);

/* Reports a failed library call about `subject` (a file's name) with offset and rule; returns
 * TOOL_CANNOT. */
int tool_fail_error(const char *subject, const ttape_error *err);

/* Ends the command with status 4, and a message. */
_Noreturn void tool_out_of_memory(void);
/* Memory or a clear end: the command holds no data worth saving at that point (status 4). */
void *tool_allocate(size_t count, size_t size_bytes);
void *tool_reallocate(void *memory, size_t count, size_t size_bytes);
char *tool_copy_text(const char *text, size_t size_bytes);

/* Grows *array (of *capacity elements) so that it holds `needed` ones; at least doubles. */
void tool_grow(void **array, size_t *capacity, size_t needed, size_t size_bytes);

#endif
