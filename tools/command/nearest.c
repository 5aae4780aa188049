/* What was meant by a mistyped word: the closest one by letters that are missing, too many, wrong
 * or swapped with their neighbour. */
#include <string.h>

#include "tools/command/options.h"

#define WORD_BYTES 32u

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_length];
}

void tool_nearest_try(struct tool_nearest *nearest, const char *candidate)
{
    size_t length = strlen(candidate);
    if (nearest->length == 0 || nearest->length > WORD_BYTES || length > WORD_BYTES)
        return;
    /* The beginning of a word is as good as a letter that is wrong. */
    bool begins = nearest->length > 1 && length > nearest->length &&
                  memcmp(candidate, nearest->word, nearest->length) == 0;
    size_t found = begins ? 1 : distance(nearest->word, nearest->length, candidate, length);
    if (found <= least(2, 1 + nearest->length / 6) &&
        (nearest->found == NULL || found < nearest->distance)) {
        nearest->found = candidate;
        nearest->distance = found;
    }
}
