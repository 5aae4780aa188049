/* What is chosen of a module, as a file beside its plan. */
#ifndef TOOL_RECORD_CHOICE_H
#define TOOL_RECORD_CHOICE_H

#include "tools/record/engines/record_patch.h"

/* Makes the plan of a module, where any of it is chosen, and the choice. `context`: a
 * tool_record_patch. A program whose plan is not there says so itself. */
void tool_record_choice_make(void *context, const char *module_path);
/* The name of the file. */
void tool_record_choice_name(char name[TOOL_PLAN_NAME_BYTES], const uint8_t *content,
                             uint64_t choice);
/* What the plan of the command's own image has. */
void tool_record_choice_note(struct tool_record_patch *patch, const struct ttp_patch_head *head);
/* record_patch.c. */
struct tool_symbols_module *tool_record_patch_module(struct tool_record_patch *patch,
                                                     const struct tool_patch_given *given,
                                                     const char *path);

#endif
