/* Patch plans and choices, from the folder of plans: each is one file, which is there whole or not
 * at all, is mapped once and checked once (decide/plan_check.c). */
#include "recorder/runtime/patch/probe.h"

#define CHOICE_DIGITS 16u

const struct ttp_patch_head *ttp_patch_plan_map(const uint8_t *content)
{
    char path[TTP_PLAN_PATH_BYTES];
    uint64_t size_bytes;
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, TTP_PATCH_SUFFIX))
        return NULL;
    const struct ttp_patch_head *head = ttp_plan_file_map(path, TTP_PATCH_BYTES_MAX, &size_bytes);
    if (head == NULL || ttp_patch_check(head, size_bytes, TTP_PATCH_MAGIC, content))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}

void ttp_patch_plan_unmap(const struct ttp_patch_head *plan)
{
    ttp_plan_file_unmap(plan, plan->total_bytes);
}

/* -- the choice -- */

/* "-0123456789abcdef.chosen" */
#define CHOICE_SUFFIX_BYTES (1 + CHOICE_DIGITS + sizeof(TTP_CHOSEN_SUFFIX))
static uint64_t put_choice(char suffix[CHOICE_SUFFIX_BYTES], const char *module_path)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t choice = ttp_chosen_number(ttp_arena.head.patch_choice, module_path);
    const char *ending = TTP_CHOSEN_SUFFIX;
    uint32_t at = 0;
    suffix[at++] = '-';
    for (uint32_t i = 0; i < CHOICE_DIGITS; i++)
        suffix[at++] = digits[choice >> (60 - 4 * i) & 15];
    while ((suffix[at++] = *ending++) != '\0')
        continue;
    return choice;
}

const struct ttp_chosen_head *ttp_chosen_map(const uint8_t *content, const char *module_path)
{
    char path[TTP_PLAN_PATH_BYTES], suffix[CHOICE_SUFFIX_BYTES];
    uint64_t size_bytes, choice = put_choice(suffix, module_path);
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, suffix))
        return NULL;
    const struct ttp_chosen_head *head = ttp_plan_file_map(path, TTP_CHOSEN_BYTES_MAX, &size_bytes);
    if (head == NULL || ttp_chosen_check(head, size_bytes, choice, content))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}

bool ttp_chosen_is_of(const struct ttp_chosen_head *chosen, const struct ttp_patch_head *plan)
{
    return chosen->function_count == plan->function_count &&
           chosen->plan_bytes == plan->total_bytes;
}

void ttp_chosen_unmap(const struct ttp_chosen_head *chosen)
{
    ttp_plan_file_unmap(chosen, chosen->total_bytes);
}
