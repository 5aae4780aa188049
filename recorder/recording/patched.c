/* What was patched: sums that the arena's head has, and by module, from the notes of processes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/state/recording_internal.h"

#define MODULES_MAX 4096u /* more are in the sums only */

struct module {
    char *path, *left_names;
    ttape_patch_counts counts;
};

/* Names of functions, behind the path. A program may have written anything. */
static char *take_names(const struct ttp_note *note)
{
    char copy[TTP_NOTE_PATH_BYTES];
    memcpy(copy, note->path, sizeof copy);
    copy[sizeof copy - 1] = '\0';
    size_t at = strlen(copy) + 1;
    const char *names = at < sizeof copy ? copy + at : "";
    for (const char *c = names; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("_$.@, ", *c) == NULL)
            return NULL;
    return names[0] != '\0' ? strdup(names) : NULL;
}

static struct module *find_module(struct ttp_growing *patched, const ttape_allocator *a,
                                  const char *path)
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
    struct module *module = find_module(patched, a, note->path);
    if (module == NULL)
        return;
    module->counts.functions += (uint32_t)note->image;
    module->counts.exits += note->image >> 32;
    module->counts.functions_left += note->left;
    module->counts.times++;
    if (module->left_names == NULL && note->left != 0)
        module->left_names = take_names(note);
    module->counts.left_names = module->left_names;
}

static void free_module(struct module *module)
{
    free(module->path);
    free(module->left_names);
}

void ttp_patched_close(struct ttp_growing *patched, const ttape_allocator *a)
{
    struct module *modules = patched->data;
    for (size_t i = 0; i < patched->count; i++)
        free_module(&modules[i]);
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
                                   .inlined_left = unseen[TTP_UNPATCHED_INLINED],
                                   .marks = unseen[TTP_PATCHED_MARKS],
                                   .marks_left = unseen[TTP_UNPATCHED_MARKS]};
}
