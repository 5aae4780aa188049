/* Lays a patch plan's tables one behind another. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/plan_make.h"
#include "program/binary/patch/patchable.h"

static void fill_head(const struct tool_patch *patch, struct ttp_patch_head *head)
{
    const struct tool_image *image = patch->code->image;
    uint64_t end = sizeof *head;
    *head =
        (struct ttp_patch_head){.magic = patch->is_inlined ? TTP_INLINED_MAGIC : TTP_PATCH_MAGIC,
                                .version = TTP_PATCH_VERSION,
                                .head_bytes = sizeof *head,
                                .build_id_bytes = image->build_id_bytes,
                                .machine = TOOL_IMAGE_MACHINE,
                                .function_count = (uint32_t)patch->function_count,
                                .probe_count = (uint32_t)patch->probe_count,
                                .fixup_count = (uint32_t)patch->fixup_count,
                                .code_start = image->code_start,
                                .code_end = image->code_end,
                                .byte_count = patch->byte_count};
    memcpy(head->build_id, image->build_id, image->build_id_bytes);
    for (size_t i = 0; i < patch->probe_count; i++) {
        const struct ttp_patch_probe *probe = &patch->probes[i];
        if (probe->kind == TTP_PATCH_ENTRY || ttp_is_copy(probe->kind))
            head->entry_reasons[probe->reason]++;
        else if (probe->kind != TTP_PATCH_HOST)
            head->exit_reasons[probe->reason]++;
    }
    head->functions_at =
        tool_plan_place_table(&end, head->function_count, sizeof(struct ttp_patch_function));
    head->probes_at =
        tool_plan_place_table(&end, head->probe_count, sizeof(struct ttp_patch_probe));
    head->fixups_at = tool_plan_place_table(&end, head->fixup_count, sizeof(struct ttp_plan_fixup));
    head->bytes_at = tool_plan_place_table(&end, head->byte_count, 1);
    head->total_bytes = end;
}

const char *tool_patch_make(const struct tool_patch *patch,
                            const uint8_t content[TTP_PLAN_CONTENT_BYTES], uint8_t **plan,
                            size_t *size_bytes)
{
    struct ttp_patch_head head;
    *plan = NULL;
    fill_head(patch, &head);
    memcpy(head.content, content, sizeof head.content);
    if (head.total_bytes > TTP_PATCH_BYTES_MAX)
        return "its patch plan would be too large";
    uint8_t *made = calloc(1, (size_t)head.total_bytes);
    if (made == NULL)
        return "there is no memory for its patch plan";
    memcpy(made, &head, sizeof head);
    tool_plan_copy_table(made + head.functions_at, patch->functions,
                         patch->function_count * sizeof *patch->functions);
    tool_plan_copy_table(made + head.probes_at, patch->probes,
                         patch->probe_count * sizeof *patch->probes);
    tool_plan_copy_table(made + head.fixups_at, patch->fixups,
                         patch->fixup_count * sizeof *patch->fixups);
    tool_plan_copy_table(made + head.bytes_at, patch->bytes, patch->byte_count);
    *plan = made;
    *size_bytes = (size_t)head.total_bytes;
    return NULL;
}
