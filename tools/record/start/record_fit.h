/* What can be loaded into a command, by its file and its loader's. */
#ifndef TOOL_RECORD_FIT_H
#define TOOL_RECORD_FIT_H

enum tool_record_fit {
    TOOL_FIT_ALL,       /* the runtime, which changes code */
    TOOL_FIT_UNCHANGED, /* the runtime, but no code can be changed: a glibc before 2.35 */
    TOOL_FIT_ASIDE,     /* the runtime, which stands aside: threads without the C library (Go) */
    TOOL_FIT_NOTHING,   /* the loader loads nothing, and says nothing: static */
    TOOL_FIT_SECURE,    /* nor here, for another user than this one: set-user-id */
    TOOL_FIT_FOREIGN    /* it complains of the runtime: of 32 bits, or another C library */
};

/* Of a script's interpreter. What cannot be read fits. */
enum tool_record_fit tool_record_fit_of(const char *command);

#endif
