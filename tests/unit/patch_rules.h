/* What holds for the probes of any patch plan, of sound files and of damaged ones. */
#ifndef TTEST_PATCH_RULES_H
#define TTEST_PATCH_RULES_H

#include "program/binary/patch/patchable.h"

/* Returns NULL, or the rule that is broken. */
const char *ttest_patch_broken(const struct tool_patch *patch);

/* The same of copies of inlined functions at many places of its code, sensible ones and others,
 * beside each other function. The patch is then of these. */
const char *ttest_inlined_broken(struct tool_patch *patch);

#endif
