/* Marks: static probes that a program's makers have put into it, by their names. */
#ifndef TOOL_RECORD_MARKS_H
#define TOOL_RECORD_MARKS_H

#include "program/binary/marks/marks.h"
#include "program/binary/patch_file.h"
#include "tools/record/rules/record_rules.h"

/* Which values of some marks are addresses of texts: bits by number. */
struct tool_record_mark_texts {
    struct tool_patterns names;
    uint32_t values;
    const char *said;
};

struct tool_record_marks {
    bool given;
    struct tool_patterns names; /* of provider:name; none: all */
    struct tool_record_mark_texts *texts;
    size_t text_count, text_capacity;
};

/* Option parser, "REGEX" or "REGEX@arg2/s,arg3/s"; NULL: all. */
bool tool_parse_marks(const char *text, void *into);
/* Those of a file that are wanted, one at each place; whether there are any. To be closed in any
 * case. */
bool tool_record_marks_find(const struct tool_record_marks *wanted, const char *path,
                            struct tool_marks *found);
/* Adds their places to those of copies. */
void tool_record_marks_places(const struct tool_marks *found, struct tool_patch_copy **copies,
                              size_t *count);
/* The section of a choice; to be freed. */
struct ttp_marks_head *tool_record_marks_make(const struct tool_record_marks *wanted,
                                              const struct tool_marks *found, size_t *size_bytes);
void tool_record_marks_close(struct tool_record_marks *wanted);
/* "provider:name". */
void tool_record_mark_name(const struct tool_mark *mark, char name[TOOL_MARK_NAME_MAX]);

#endif
