/* What was patched: sums that the arena's head has, and by module, from the notes of processes. */
#include <stdlib.h>
#include <string.h>

#include "recorder/recording/recording_internal.h"

#define MODULES_MAX 4096u /* more are in the sums only */

struct module {
    char *path;
    ttape_patch_counts counts;
};

static struct module *find(struct ttp_growing *patched, const ttape_allocator *a, const char *path)
{
    struct module *modules = patched->data;
    for (size_t i = 0; i < patched->count; i++)
        if (strcmp(modules[i].path, path) == 0)
            return &modules[i];
    char *copy = patched->count < MODULES_MAX ? strdup(path) : NULL;
    struct module *added = copy != NULL ? ttp_push(a, patched, sizeof *added, NULL) : NULL;
    if (added == NULL)
        free(copy);
    else
        *added = (struct module){.path = copy};
    return added;
}

void ttp_patched_take(struct ttp_growing *patched, const ttape_allocator *a,
                      const struct ttp_note *note)
{
    struct module *module = find(patched, a, note->path);
    if (module == NULL)
        return;
    module->counts.functions += (uint32_t)note->image;
    module->counts.exits += note->image >> 32;
    module->counts.functions_left += note->left;
    module->counts.times++;
}

void ttp_patched_close(struct ttp_growing *patched, const ttape_allocator *a)
{
    struct module *modules = patched->data;
    for (size_t i = 0; i < patched->count; i++)
        free(modules[i].path);
    ttp_grown_free(a, patched);
}

const char *ttape_recording_get_patched_module(const ttape_recording *r, size_t index,
                                               ttape_patch_counts *counts)
{
    const struct ttp_growing *patched = &r->drain.unrecorded.patched;
    const struct module *modules = patched->data;
    *counts = index < patched->count ? modules[index].counts : (ttape_patch_counts){0};
    return index < patched->count ? modules[index].path : NULL;
}

void ttape_recording_get_patched(const ttape_recording *r, ttape_patch_counts *counts)
{
    const _Atomic uint64_t *unseen = r->shared.unseen;
    *counts = (ttape_patch_counts){.functions = unseen[TTP_PATCHED_FUNCTIONS],
                                   .exits = unseen[TTP_PATCHED_EXITS],
                                   .functions_left = unseen[TTP_UNPATCHED_FUNCTIONS],
                                   .exits_left = unseen[TTP_UNPATCHED_EXITS],
                                   .hooked = unseen[TTP_UNPATCHED_HOOKED],
                                   .modules_left = unseen[TTP_UNPATCHED_MODULES],
                                   .inlined = unseen[TTP_PATCHED_INLINED],
                                   .inlined_left = unseen[TTP_UNPATCHED_INLINED]};
}
