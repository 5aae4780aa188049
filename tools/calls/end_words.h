/* How processes and threads ended, in words (spec/facts.md). */
#ifndef TOOL_END_WORDS_H
#define TOOL_END_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

#define TOOL_END_BYTES 64u

/* A fact of an end: `how` is of enum ttape_process_end, or of enum ttape_thread_end. */
struct tool_end {
    bool is_process;
    uint64_t how, number; /* number: exit code or signal of a process */
};

/* Whether the event, a leaf, is such a fact (F-FCT-01). */
bool tool_end_read(const ttape_reader *reader, const ttape_event_item *item, struct tool_end *end);
/* "process was killed by SIGSEGV", "thread ended by itself", ... */
void tool_end_words(const struct tool_end *end, char text[TOOL_END_BYTES]);

/* "exited with code 7", "was killed by SIGSEGV", ... of enum ttape_process_end. */
void tool_process_end_words(uint64_t how, uint64_t number, char text[TOOL_END_BYTES]);
/* "ended by itself", ... of enum ttape_thread_end; static. */
const char *tool_thread_end_words(uint64_t how);
/* "SIGSEGV"; NULL: not known. */
const char *tool_signal_name(uint64_t number);

#endif
