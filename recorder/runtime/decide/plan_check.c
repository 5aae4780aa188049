/* Whether the bytes of a patch plan, or of a choice, are one: whatever they are, nothing outside of
 * them is read later, and no probe is used that is not whole. */
#include "recorder/runtime/decide/decide.h"

/* A table of `count` entries that ends within the plan. */
static bool holds_section(const struct ttp_patch_head *head, uint64_t at, uint64_t count,
                          uint64_t size)
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
           probe->last <= probe->window_bytes && probe->kind <= TTP_PATCH_MARK &&
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
    uint32_t next = 0;
    for (uint32_t i = 0; i < head->function_count; i++) {
        const struct ttp_patch_function *function = &functions[i];
        if (function->first_probe != next || function->probe_count == 0 ||
            function->probe_count > head->probe_count - next ||
            (!is_inlined && probes[next].kind != TTP_PATCH_ENTRY))
            return false;
        for (uint32_t end = next + function->probe_count; next < end; next++)
            if (probes[next].function != i || ttp_is_copy(probes[next].kind) != is_inlined)
                return false;
    }
    return next == head->probe_count;
}

bool ttp_patch_check(const struct ttp_patch_head *head, uint64_t size, uint64_t magic,
                     const uint8_t *content)
{
    if (size < sizeof(*head) || head->magic != magic || head->version != TTP_PATCH_VERSION ||
        head->head_bytes != sizeof(*head) || head->total_bytes != size || head->machine != 62 ||
        head->code_start > head->code_end || head->function_count > TTP_PATCH_FUNCTIONS_MAX ||
        head->probe_count > TTP_PATCH_PROBES_MAX ||
        !ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES))
        return false;
    if (!holds_section(head, head->functions_at, head->function_count,
                       sizeof(struct ttp_patch_function)) ||
        !holds_section(head, head->probes_at, head->probe_count, sizeof(struct ttp_patch_probe)) ||
        !holds_section(head, head->fixups_at, head->fixup_count, sizeof(struct ttp_plan_fixup)) ||
        !holds_section(head, head->bytes_at, head->byte_count, 1) || !check_functions(head))
        return false;
    const struct ttp_patch_probe *probes = ttp_plan_at(head, head->probes_at);
    for (uint32_t i = 0; i < head->probe_count; i++)
        if (probes[i].reason == TTP_PATCH_CAN &&
            (!check_window(head, &probes[i]) || !check_fixups(head, &probes[i])))
            return false;
    return true;
}

/* -- the choice -- */

static bool check_section(const struct ttp_chosen_head *head,
                          const struct ttp_chosen_section *section)
{
    uint64_t first = sizeof(*head) + ttp_chosen_bits_bytes(head->function_count);
    return section->bytes == 0 ||
           (section->at % 8 == 0 && section->at >= first && section->at <= head->total_bytes &&
            section->bytes <= head->total_bytes - section->at);
}

/* Rows are those of functions of the plan, ascending, and their places are there. */
static bool check_values(const struct ttp_chosen_head *head)
{
    const struct ttp_values_head *values = ttp_chosen_values(head);
    if (values == NULL)
        return true;
    const struct ttp_values_row *rows = (const struct ttp_values_row *)(values + 1);
    if (head->values.bytes < sizeof(*values) || values->at != head->values.at ||
        values->row_count > head->function_count ||
        head->values.bytes != sizeof(*values) + (uint64_t)values->row_count * sizeof(*rows) +
                                  (uint64_t)values->place_count * sizeof(struct ttp_value_place))
        return false;
    const struct ttp_value_place *places =
        (const struct ttp_value_place *)(rows + values->row_count);
    for (uint32_t i = 0; i < values->row_count; i++) {
        const struct ttp_values_row *row = &rows[i];
        if ((i > 0 && row->start <= rows[i - 1].start) || row->given > TTP_VALUES_MAX ||
            row->returned > TTP_VALUES_MAX ||
            (uint64_t)row->first + row->given + row->returned > values->place_count ||
            (row->reads == 0 && ttp_value_places_read(places + row->first, row->given)) ||
            (row->reads == 0 &&
             ttp_value_places_read(places + row->first + row->given, row->returned)) ||
            !ttp_value_places_check(places + row->first, row->given) ||
            !ttp_value_places_check(places + row->first + row->given, row->returned))
            return false;
    }
    return true;
}

static bool check_row(const struct ttp_marks_head *marks, const struct ttp_marks_row *row)
{
    return row->value_count <= TTP_MARK_VALUES_MAX &&
           (uint64_t)row->first + row->value_count <= marks->value_count &&
           row->name < marks->name_bytes;
}

static bool check_mark_values(const struct ttp_marks_head *marks)
{
    for (uint32_t i = 0; i < marks->value_count; i++)
        if (ttp_marks_values(marks)[i].size_bytes > 8)
            return false;
    return true;
}

/* Stubs of marks look for their values. */
static bool has_mark(const struct ttp_patch_head *copies)
{
    const struct ttp_patch_probe *probes =
        copies == NULL ? NULL : ttp_plan_at(copies, copies->probes_at);
    for (uint32_t i = 0; probes != NULL && i < copies->probe_count; i++)
        if (probes[i].kind == TTP_PATCH_MARK)
            return true;
    return false;
}

/* Rows ascend, and what they name is there; the last name ends. */
static bool check_marks(const struct ttp_chosen_head *head)
{
    const struct ttp_marks_head *marks = ttp_chosen_marks(head);
    if (marks == NULL)
        return !has_mark(ttp_chosen_inlined(head));
    if (head->marks.bytes < sizeof(*marks) ||
        head->marks.bytes !=
            sizeof(*marks) + (uint64_t)marks->value_count * sizeof(struct ttp_mark_value) +
                (uint64_t)marks->row_count * sizeof(struct ttp_marks_row) + marks->name_bytes)
        return false;
    const struct ttp_marks_row *rows = ttp_marks_rows(marks);
    for (uint32_t i = 0; i < marks->row_count; i++)
        if ((i > 0 && rows[i].address <= rows[i - 1].address) || !check_row(marks, &rows[i]))
            return false;
    if (!check_mark_values(marks))
        return false;
    return marks->name_bytes == 0 || ttp_marks_names(marks)[marks->name_bytes - 1] == '\0';
}

bool ttp_chosen_check(const struct ttp_chosen_head *head, uint64_t size, uint64_t choice,
                      const uint8_t *content)
{
    return size >= sizeof(*head) && head->magic == TTP_CHOSEN_MAGIC && head->choice == choice &&
           head->patch_version == TTP_PATCH_VERSION && head->total_bytes == size &&
           ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES) &&
           head->function_count <= TTP_PATCH_FUNCTIONS_MAX &&
           ttp_chosen_bits_bytes(head->function_count) <= size - sizeof(*head) &&
           check_section(head, &head->inlined) && check_section(head, &head->values) &&
           check_section(head, &head->marks) &&
           (head->inlined.bytes == 0 ||
            ttp_patch_check(ttp_chosen_inlined(head), head->inlined.bytes, TTP_INLINED_MAGIC,
                            content)) &&
           check_values(head) && check_marks(head);
}
