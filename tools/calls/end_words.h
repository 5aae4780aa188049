/* How processes and threads ended, in words (spec/facts.md). */
#ifndef TOOL_END_WORDS_H
#define TOOL_END_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/last.h>

#define TOOL_END_BYTES 64u

/* "process was killed by SIGSEGV", "thread ended by itself", ... */
void tool_end_words(const ttape_last_end *end, char text[TOOL_END_BYTES]);

/* "exited with code 7", "was killed by SIGSEGV", ... of enum ttape_process_end. */
void tool_process_end_words(uint64_t how, uint64_t number, char text[TOOL_END_BYTES]);
/* "ended by itself", ... of enum ttape_thread_end; static. */
const char *tool_thread_end_words(uint64_t how);
/* Why recording stopped: "its time was up", ... of enum ttape_stop_reason; static. */
const char *tool_stop_words(uint64_t reason);
/* "SIGSEGV"; NULL: not known. */
const char *tool_signal_name(uint64_t number);

#endif
