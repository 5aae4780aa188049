/* Patch plans and choices, from the folder of plans. Whatever is in the files, nothing outside of
 * them is read, and no probe is used whose bytes are elsewhere or that overlaps another one. */
#include "recorder/runtime/patch/probe.h"

#define CHOICE_DIGITS 16u

/* A table of `count` entries that ends within the file. */
static bool holds(const struct ttp_patch_head *head, uint64_t at, uint64_t count, uint64_t size)
{
    return at % 8 == 0 && at >= sizeof(*head) && at <= head->total_bytes &&
           count <= (head->total_bytes - at) / size;
}

static bool check_window(const struct ttp_patch_head *head, const struct ttp_patch_probe *probe)
{
    uint64_t moved = (uint64_t)probe->before_bytes + probe->after_bytes;
    bool is_near = probe->jump != probe->window; /* the jump is in a host, who has an exit */
    if (is_near && probe->kind != TTP_PATCH_RETURN && probe->kind != TTP_PATCH_TAIL &&
        probe->kind != TTP_PATCH_TAIL_IF && probe->kind != TTP_PATCH_RETURN_IF)
        return false;
    return probe->window_bytes >= (is_near ? TTP_PATCH_SHORT_MIN : TTP_PLAN_WINDOW_MIN) &&
           probe->window_bytes <= TTP_PLAN_WINDOW_MAX && moved <= TTP_PATCH_MOVED_MAX &&
           probe->last <= probe->window_bytes && probe->kind <= TTP_PATCH_RETURN_IF &&
           probe->condition < 16 && probe->window >= head->code_start &&
           (uint64_t)probe->window + probe->window_bytes <= head->code_end &&
           (uint64_t)probe->bytes + probe->window_bytes + moved <= head->byte_count &&
           (uint64_t)probe->first_fixup + probe->fixup_count <= head->fixup_count;
}

static bool check_fixups(const struct ttp_patch_head *head, const struct ttp_patch_probe *probe)
{
    const struct ttp_plan_fixup *fixups = ttp_plan_at(head, head->fixups_at);
    for (uint32_t i = 0; i < probe->fixup_count; i++) {
        const struct ttp_plan_fixup *fixup = &fixups[probe->first_fixup + i];
        uint32_t end = fixup->at < probe->before_bytes
                           ? probe->before_bytes
                           : (uint32_t)probe->before_bytes + probe->after_bytes;
        if ((uint32_t)fixup->at + 4 > end)
            return false;
    }
    return true;
}

static bool check_functions(const struct ttp_patch_head *head)
{
    const struct ttp_patch_function *functions = ttp_plan_at(head, head->functions_at);
    const struct ttp_patch_probe *probes = ttp_plan_at(head, head->probes_at);
    bool is_inlined = head->magic == TTP_INLINED_MAGIC;
    uint32_t next = 0, first = is_inlined ? TTP_PATCH_INLINED : TTP_PATCH_ENTRY;
    for (uint32_t i = 0; i < head->function_count; i++) {
        const struct ttp_patch_function *function = &functions[i];
        if (function->first_probe != next || function->probe_count == 0 ||
            function->probe_count > head->probe_count - next || probes[next].kind != first)
            return false;
        for (uint32_t end = next + function->probe_count; next < end; next++)
            if (probes[next].function != i ||
                (probes[next].kind == TTP_PATCH_INLINED) != is_inlined)
                return false;
    }
    return next == head->probe_count;
}

static bool check(const struct ttp_patch_head *head, uint64_t size, uint64_t magic,
                  const uint8_t *content)
{
    if (size < sizeof(*head) || head->magic != magic || head->version != TTP_PATCH_VERSION ||
        head->head_bytes != sizeof(*head) || head->total_bytes != size || head->machine != 62 ||
        head->code_start > head->code_end || head->function_count > TTP_PATCH_FUNCTIONS_MAX ||
        head->probe_count > TTP_PATCH_PROBES_MAX ||
        !ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES))
        return false;
    if (!holds(head, head->functions_at, head->function_count, sizeof(struct ttp_patch_function)) ||
        !holds(head, head->probes_at, head->probe_count, sizeof(struct ttp_patch_probe)) ||
        !holds(head, head->fixups_at, head->fixup_count, sizeof(struct ttp_plan_fixup)) ||
        !holds(head, head->bytes_at, head->byte_count, 1) || !check_functions(head))
        return false;
    const struct ttp_patch_probe *probes = ttp_plan_at(head, head->probes_at);
    for (uint32_t i = 0; i < head->probe_count; i++)
        if (probes[i].reason == TTP_PATCH_CAN &&
            (!check_window(head, &probes[i]) || !check_fixups(head, &probes[i])))
            return false;
    return true;
}

static const struct ttp_patch_head *map(const uint8_t *content, const char *suffix, uint64_t magic)
{
    char path[TTP_PLAN_PATH_BYTES];
    uint64_t size_bytes;
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, suffix))
        return NULL;
    const struct ttp_patch_head *head = ttp_plan_file_map(path, TTP_PATCH_BYTES_MAX, &size_bytes);
    if (head == NULL || check(head, size_bytes, magic, content))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}

const struct ttp_patch_head *ttp_patch_plan_map(const uint8_t *content)
{
    return map(content, TTP_PATCH_SUFFIX, TTP_PATCH_MAGIC);
}

void ttp_patch_plan_unmap(const struct ttp_patch_head *plan)
{
    ttp_plan_file_unmap(plan, plan->total_bytes);
}

/* -- the choice -- */

/* "-0123456789abcdef.chosen" */
#define CHOICE_SUFFIX_BYTES (1 + CHOICE_DIGITS + sizeof(TTP_INLINED_SUFFIX))
_Static_assert(sizeof(TTP_CHOSEN_SUFFIX) <= sizeof(TTP_INLINED_SUFFIX), "the longer one");
static uint64_t put_choice(char suffix[CHOICE_SUFFIX_BYTES], const char *module_path,
                           const char *ending)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t choice = ttp_chosen_number(ttp_arena.head.patch_choice, module_path);
    uint32_t at = 0;
    suffix[at++] = '-';
    for (uint32_t i = 0; i < CHOICE_DIGITS; i++)
        suffix[at++] = digits[choice >> (60 - 4 * i) & 15];
    while ((suffix[at++] = *ending++) != '\0')
        continue;
    return choice;
}

const struct ttp_patch_head *ttp_inlined_plan_map(const uint8_t *content, const char *module_path)
{
    char suffix[CHOICE_SUFFIX_BYTES];
    (void)put_choice(suffix, module_path, TTP_INLINED_SUFFIX);
    return map(content, suffix, TTP_INLINED_MAGIC);
}

static uint64_t chosen_bytes(uint32_t function_count)
{
    return sizeof(struct ttp_chosen_head) + ((uint64_t)function_count + 63) / 64 * 8;
}

const struct ttp_chosen_head *ttp_chosen_map(const uint8_t *content, const char *module_path)
{
    char path[TTP_PLAN_PATH_BYTES], suffix[CHOICE_SUFFIX_BYTES];
    uint64_t size_bytes, choice = put_choice(suffix, module_path, TTP_CHOSEN_SUFFIX);
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, suffix))
        return NULL;
    const struct ttp_chosen_head *head =
        ttp_plan_file_map(path, chosen_bytes(TTP_PATCH_FUNCTIONS_MAX), &size_bytes);
    if (head == NULL || (size_bytes >= sizeof(*head) && head->magic == TTP_CHOSEN_MAGIC &&
                         head->choice == choice && head->patch_version == TTP_PATCH_VERSION &&
                         ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES) &&
                         size_bytes == chosen_bytes(head->function_count)))
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
    ttp_plan_file_unmap(chosen, chosen_bytes(chosen->function_count));
}

/* -- what functions are given and return -- */

static uint64_t values_bytes(uint32_t row_count, uint32_t place_count)
{
    return sizeof(struct ttp_values_head) + row_count * sizeof(struct ttp_values_row) +
           place_count * sizeof(struct ttp_value_place);
}

static bool check_rows(const struct ttp_values_head *head)
{
    const struct ttp_values_row *rows = (const struct ttp_values_row *)(head + 1);
    for (uint32_t i = 0; i < head->row_count; i++)
        if ((i > 0 && rows[i].start <= rows[i - 1].start) || rows[i].given > TTP_VALUES_MAX ||
            rows[i].returned > TTP_VALUES_MAX ||
            (uint64_t)rows[i].first + rows[i].given + rows[i].returned > head->place_count)
            return false;
    return true;
}

const struct ttp_values_head *ttp_values_map(const uint8_t *content, const char *module_path,
                                             const struct ttp_patch_head *plan)
{
    char path[TTP_PLAN_PATH_BYTES], suffix[CHOICE_SUFFIX_BYTES];
    uint64_t size_bytes, choice = put_choice(suffix, module_path, TTP_VALUES_SUFFIX);
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, suffix))
        return NULL;
    const struct ttp_values_head *head = ttp_plan_file_map(path, TTP_VALUES_BYTES_MAX, &size_bytes);
    if (head == NULL ||
        (size_bytes >= sizeof(*head) && head->magic == TTP_VALUES_MAGIC && head->choice == choice &&
         head->patch_version == TTP_PATCH_VERSION && head->plan_bytes == plan->total_bytes &&
         ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES) &&
         head->row_count <= plan->function_count &&
         size_bytes == values_bytes(head->row_count, head->place_count) && check_rows(head)))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}

void ttp_values_unmap(const struct ttp_values_head *values)
{
    ttp_plan_file_unmap(values, values_bytes(values->row_count, values->place_count));
}
