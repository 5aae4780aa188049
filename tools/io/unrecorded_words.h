/* Reasons for which a process recorded nothing, in words. */
#ifndef TOOLS_IO_UNRECORDED_WORDS_H
#define TOOLS_IO_UNRECORDED_WORDS_H

#include <stdint.h>

#include <tracetape/recording.h>

/* Name of a reason as in metadata keys (`unrecorded_NAME`), and what people are told behind a
 * number of processes. reason: below TTAPE_UNRECORDED_COUNT. */
const char *tool_unrecorded_name(uint32_t reason);
const char *tool_unrecorded_words(uint32_t reason);

#endif
