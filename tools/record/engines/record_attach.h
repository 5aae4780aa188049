/* A process that runs already, in the place of a command: what it is called. */
#ifndef TOOL_RECORD_ATTACH_H
#define TOOL_RECORD_ATTACH_H

#include <stdint.h>

/* Its words, ended by NULL, the first of which is never missing; NULL, with a message: it is not
 * there, or it is this one. The caller frees both, the array and its first word. */
char **tool_attach_words(uint32_t pid);

#endif
