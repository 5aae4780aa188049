/* Lays a plan's tables one behind another. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/plan_make.h"

#define INDEX_SHIFT 8u /* an entry of the row index for so much code: about four rows */

uint64_t tool_plan_place_table(uint64_t *end, uint64_t count, size_t each)
{
    uint64_t at = (*end + 7) / 8 * 8;
    *end = at + count * each;
    return at;
}

void tool_plan_copy_table(uint8_t *to, const void *from, size_t size_bytes)
{
    if (size_bytes > 0)
        memcpy(to, from, size_bytes);
}

static size_t site_bytes(const struct ttp_plan_site *site)
{
    return (size_t)site->window_bytes + site->before_bytes + site->after_bytes + site->rule_bytes;
}

static void place_tables(const struct tool_code *code, struct ttp_plan_head *head)
{
    const struct tool_image *image = code->image;
    uint64_t end = sizeof *head;
    *head = (struct ttp_plan_head){.magic = TTP_PLAN_MAGIC,
                                   .version = TTP_PLAN_VERSION,
                                   .head_bytes = sizeof *head,
                                   .build_id_bytes = image->build_id_bytes,
                                   .machine = TOOL_IMAGE_MACHINE,
                                   .site_count = (uint32_t)code->site_count,
                                   .fixup_count = (uint32_t)code->fixup_count,
                                   .row_count = (uint32_t)code->row_count,
                                   .function_count = (uint32_t)code->function_count,
                                   .code_start = image->code_start,
                                   .code_end = image->code_end,
                                   .row_index_shift = INDEX_SHIFT};
    memcpy(head->build_id, image->build_id, image->build_id_bytes);
    head->row_index_count =
        (uint32_t)(((uint64_t)image->code_end - image->code_start + (1u << INDEX_SHIFT) - 1) >>
                   INDEX_SHIFT);
    for (size_t i = 0; i < code->site_count; i++) {
        head->byte_count += site_bytes(&code->sites[i].plan);
        head->reason_counts[code->sites[i].plan.kind]++;
    }
    head->sites_at = tool_plan_place_table(&end, head->site_count, sizeof(struct ttp_plan_site));
    head->fixups_at = tool_plan_place_table(&end, head->fixup_count, sizeof(struct ttp_plan_fixup));
    head->rows_at = tool_plan_place_table(&end, head->row_count, sizeof(struct ttp_plan_row));
    head->row_index_at =
        tool_plan_place_table(&end, (uint64_t)head->row_index_count + 1, sizeof(uint32_t));
    head->functions_at =
        tool_plan_place_table(&end, head->function_count, sizeof(struct ttp_plan_function));
    head->bytes_at = tool_plan_place_table(&end, head->byte_count, 1);
    head->total_bytes = end;
}

static uint8_t *append_bytes(uint8_t *to, const void *bytes, size_t size_bytes)
{
    memcpy(to, bytes, size_bytes);
    return to + size_bytes;
}

static void fill_sites(const struct tool_code *code, const struct ttp_plan_head *head,
                       uint8_t *plan)
{
    uint8_t *bytes = plan + head->bytes_at, *to = bytes;
    for (size_t i = 0; i < code->site_count; i++) {
        const struct tool_site *from = &code->sites[i];
        struct ttp_plan_site site = from->plan;
        if (site.kind == TTP_PLAN_CAN) {
            size_t available;
            site.bytes = (uint32_t)(to - bytes);
            to = append_bytes(to, tool_image_at(code->image, site.window, &available),
                              site.window_bytes);
            to = append_bytes(to, from->moved, (size_t)site.before_bytes + site.after_bytes);
            to = append_bytes(to, from->rules, site.rule_bytes);
        }
        memcpy(plan + head->sites_at + i * sizeof site, &site, sizeof site);
    }
}

static void fill_index(const struct tool_code *code, const struct ttp_plan_head *head,
                       uint8_t *plan)
{
    uint32_t row = 0;
    for (uint32_t i = 0; i <= head->row_index_count; i++) {
        uint64_t from = (uint64_t)head->code_start + ((uint64_t)i << head->row_index_shift);
        while (row < code->row_count && code->rows[row].address < from)
            row++;
        uint32_t entry = i == head->row_index_count ? head->row_count : row;
        memcpy(plan + head->row_index_at + i * sizeof entry, &entry, sizeof entry);
    }
}

const char *tool_plan_make(const struct tool_code *code,
                           const uint8_t content[TTP_PLAN_CONTENT_BYTES], uint8_t **plan,
                           size_t *size_bytes)
{
    struct ttp_plan_head head;
    *plan = NULL;
    place_tables(code, &head);
    memcpy(head.content, content, sizeof head.content);
    if (head.total_bytes > TTP_PLAN_BYTES_MAX)
        return "its plan would be too large";
    uint8_t *made = calloc(1, (size_t)head.total_bytes);
    if (made == NULL)
        return "there is no memory for its plan";
    memcpy(made, &head, sizeof head);
    fill_sites(code, &head, made);
    tool_plan_copy_table(made + head.fixups_at, code->fixups,
                         code->fixup_count * sizeof *code->fixups);
    tool_plan_copy_table(made + head.rows_at, code->rows, code->row_count * sizeof *code->rows);
    fill_index(code, &head, made);
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *from = &code->functions[i];
        uint32_t flags = from->flags & ~TOOL_CODE_OWN_FLAGS;
        struct ttp_plan_function function = {from->start, from->end, from->parent, flags};
        memcpy(made + head.functions_at + i * sizeof function, &function, sizeof function);
    }
    *plan = made;
    *size_bytes = (size_t)head.total_bytes;
    return NULL;
}
