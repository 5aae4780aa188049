/* Windows are within the range that they are for, and what fills up behind it; nothing leads to
 * behind their first byte; none overlaps another; distances are in moved code. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/patch_rules.h"

static int compare_windows(const void *a, const void *b)
{
    const struct ttp_patch_probe *one = a, *other = b;
    if (one->window != other->window)
        return one->window < other->window ? -1 : 1;
    return one->kind < other->kind ? -1 : one->kind > other->kind;
}

static const char *check_overlaps(const struct tool_patch *patch)
{
    size_t count = patch->probe_count;
    const char *broken = NULL;
    struct ttp_patch_probe *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return "no memory";
    if (count > 0)
        memcpy(sorted, patch->probes, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_windows);
    uint64_t free_from = 0;
    const struct ttp_patch_probe *before = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct ttp_patch_probe *probe = &sorted[i];
        if (probe->reason != TTP_PATCH_CAN)
            continue;
        bool is_shared = before != NULL && before->window == probe->window &&
                         before->kind == TTP_PATCH_ENTRY && before->before_bytes == 0 &&
                         before->after_bytes == 0 && probe->kind != TTP_PATCH_ENTRY &&
                         before->window_bytes == probe->window_bytes &&
                         before->function == probe->function;
        if (probe->window < free_from && !is_shared)
            broken = "windows overlap";
        free_from = (uint64_t)probe->window + probe->window_bytes;
        before = probe;
    }
    free(sorted);
    return broken;
}

/* Does a host of the same function have the place, and does a jump of two bytes reach it? */
static bool is_in_host(const struct tool_patch *patch, const struct ttp_patch_probe *probe)
{
    const struct ttp_patch_function *function = &patch->functions[probe->function];
    int64_t distance = (int64_t)probe->jump - ((int64_t)probe->window + 2);
    for (uint32_t i = 0; i < function->probe_count; i++) {
        const struct ttp_patch_probe *host = &patch->probes[function->first_probe + i];
        if (host->kind == TTP_PATCH_HOST && host->window_bytes >= TTP_PATCH_HOST_MIN &&
            host->jump == host->window && probe->jump == host->window + TTP_PLAN_WINDOW_MIN)
            return distance >= INT8_MIN && distance <= INT8_MAX;
    }
    return false;
}

static const char *check_window(const struct tool_patch *patch, const struct ttp_patch_probe *probe)
{
    const struct tool_code *code = patch->code;
    size_t range = tool_code_function_at(code, probe->window), available;
    uint64_t end = (uint64_t)probe->window + probe->window_bytes;
    uint64_t moved = (uint64_t)probe->before_bytes + probe->after_bytes;
    if (range >= code->function_count || patch->parts[range].owner == TOOL_PATCH_NOBODY)
        return "a window is in no function";
    const struct tool_function *function = &code->functions[patch->parts[range].owner];
    uint32_t start = patch->functions[probe->function].start;
    if (probe->kind == TTP_PATCH_MARK ? start - probe->window >= probe->window_bytes
        : patch->is_inlined           ? start != probe->window + TTP_INLINED_ABOVE
                                      : start != function->start)
        return "a window is in another function";
    if (range + 1 < code->function_count && end > code->functions[range + 1].start)
        return "a window reaches into the next function";
    const uint8_t *bytes = tool_image_at(code->image, probe->window, &available);
    if (bytes == NULL || available < probe->window_bytes || end > code->image->code_end)
        return "a window is outside of the file's code";
    bool is_near = probe->jump != probe->window;
    if (is_near && (!is_in_host(patch, probe) || probe->kind == TTP_PATCH_ENTRY))
        return "a jump is in no host";
    if (probe->window_bytes < (is_near ? TTP_PATCH_SHORT_MIN : TTP_PLAN_WINDOW_MIN) ||
        probe->window_bytes > TTP_PLAN_WINDOW_MAX || moved > TTP_PATCH_MOVED_MAX ||
        probe->bytes + probe->window_bytes + moved > patch->byte_count)
        return "sizes";
    if (memcmp(bytes, patch->bytes + probe->bytes, probe->window_bytes) != 0)
        return "original bytes";
    for (uint32_t i = 1; i < probe->window_bytes; i++)
        if (tool_code_is_marked(code, probe->window + i))
            return "something leads into a window";
    for (uint32_t i = 0; i < probe->fixup_count; i++) {
        if ((uint64_t)probe->first_fixup + i >= patch->fixup_count)
            return "a distance is not in the table";
        const struct ttp_plan_fixup *fixup = &patch->fixups[probe->first_fixup + i];
        bool is_before = fixup->at < probe->before_bytes;
        if (fixup->tail < 4 ||
            (uint64_t)fixup->at + fixup->tail > (is_before ? probe->before_bytes : moved))
            return "a distance is not in the moved code";
    }
    return NULL;
}

const char *ttest_patch_broken(const struct tool_patch *patch)
{
    uint64_t next = 0;
    for (size_t i = 0; i < patch->function_count; i++) {
        const struct ttp_patch_function *function = &patch->functions[i];
        if (function->first_probe != next || function->probe_count == 0 ||
            (i > 0 && function->start <= function[-1].start))
            return "functions are in order, and each has its probes";
        for (uint32_t n = 0; n < function->probe_count; n++) {
            const struct ttp_patch_probe *probe = &patch->probes[next + n];
            const char *broken = probe->reason == TTP_PATCH_CAN ? check_window(patch, probe) : NULL;
            if (broken != NULL)
                return broken;
            bool is_first =
                patch->is_inlined ? ttp_is_copy(probe->kind) : probe->kind == TTP_PATCH_ENTRY;
            if (probe->function != i || is_first != (n == 0) ||
                (n > 0 && patch->probes[next].reason != TTP_PATCH_CAN))
                return "the first probe, and no other, is the entry";
        }
        next += function->probe_count;
    }
    return next != patch->probe_count ? "probes without a function" : check_overlaps(patch);
}

/* Every fourth place, so that most are no instruction's; some behind the code. */
static size_t make_copies(const struct tool_patch *patch, struct tool_patch_copy *copies,
                          size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < patch->function_count; i++)
        for (uint32_t at = patch->functions[i].start; at < patch->functions[i].end + 8; at += 4)
            if (count < most)
                copies[count++] = (struct tool_patch_copy){at, at - 2, at + at % 32, at % 8 == 0};
    return count;
}

/* No window of a chosen function's is taken again. */
static const char *check_beside(const struct tool_patch *patch, const struct ttp_patch_probe *old,
                                size_t count)
{
    struct ttp_patch_probe *both = malloc((count + patch->probe_count + 1) * sizeof *both);
    size_t kept = 0;
    if (both == NULL)
        return "no memory";
    for (size_t i = 0; i < count; i++)
        if (old[i].function % 2 != 0)
            both[kept++] = old[i];
    for (size_t i = 0; i < patch->probe_count; i++) {
        both[kept] = patch->probes[i];
        both[kept++].function = UINT32_MAX;
    }
    struct tool_patch all = *patch;
    all.probes = both;
    all.probe_count = kept;
    const char *broken = check_overlaps(&all);
    free(both);
    return broken;
}

const char *ttest_inlined_broken(struct tool_patch *patch)
{
    enum { COPIES = 4096 };
    size_t words = patch->function_count / 64 + 1, count = patch->probe_count;
    uint64_t *chosen = malloc(words * sizeof *chosen);
    struct tool_patch_copy *copies = malloc(COPIES * sizeof *copies);
    struct ttp_patch_probe *old = malloc((count + 1) * sizeof *old);
    const char *broken = "no memory";
    if (chosen != NULL && copies != NULL && old != NULL) {
        memset(chosen, 0xaa, words * sizeof *chosen); /* functions with odd numbers */
        if (count > 0)
            memcpy(old, patch->probes, count * sizeof *old);
        broken = NULL;
        size_t copy_count = make_copies(patch, copies, COPIES);
        if (tool_patch_inlined(patch, chosen, copies, copy_count) == NULL)
            broken = ttest_patch_broken(patch);
        if (broken == NULL)
            broken = check_beside(patch, old, count);
    }
    free(chosen);
    free(copies);
    free(old);
    return broken;
}
