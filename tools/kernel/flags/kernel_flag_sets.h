/* Sets of words that stand for numbers, as kernel_flags.c shows them. */
#ifndef TOOL_KERNEL_FLAG_SETS_H
#define TOOL_KERNEL_FLAG_SETS_H

#include <stddef.h>
#include <stdint.h>

enum tool_kernel_word_kind {
    TOOL_KERNEL_FLAGS, /* bits; what has no word is a number behind them */
    TOOL_KERNEL_CODES, /* one word for the whole value */
    TOOL_KERNEL_CODED  /* the first words are codes of `mask`, one of which is there; then flags */
};

struct tool_kernel_word {
    const char *name; /* NULL behind the last one */
    uint32_t bits;
};

struct tool_kernel_word_set {
    enum tool_kernel_word_kind kind;
    uint32_t mask;
    const char *unknown; /* "O_???" */
    const struct tool_kernel_word *words;
};

/* By letter: of those with a sign (tool_kernel_token). */
extern const struct tool_kernel_word_set tool_kernel_more_sets[128];

#endif
