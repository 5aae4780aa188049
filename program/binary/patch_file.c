/* Patch plans, made or found. */
#include "program/binary/patch_file.h"

#include <stdlib.h>
#include <string.h>

#include "program/binary/patch/patchable.h"
#include "program/binary/plan_code.h"

static bool holds_section(const struct ttp_patch_head *head, uint64_t at, uint64_t count,
                          uint64_t each)
{
    return at % 8 == 0 && at >= sizeof *head && at <= head->total_bytes &&
           count <= (head->total_bytes - at) / each;
}

/* Is it a patch plan of this version, and does each function have its probes? */
static bool check_given(struct tool_patch_given *given, uint64_t magic)
{
    struct ttp_patch_head *head = &given->head;
    uint64_t next = 0;
    if (given->bytes == NULL || given->size_bytes < sizeof *head)
        return false;
    memcpy(head, given->bytes, sizeof *head);
    if (head->magic != magic || head->version != TTP_PATCH_VERSION ||
        head->head_bytes != sizeof *head || head->total_bytes != given->size_bytes ||
        !holds_section(head, head->functions_at, head->function_count,
                       sizeof(struct ttp_patch_function)) ||
        !holds_section(head, head->probes_at, head->probe_count, sizeof(struct ttp_patch_probe)) ||
        !holds_section(head, head->fixups_at, head->fixup_count, sizeof(struct ttp_plan_fixup)) ||
        !holds_section(head, head->bytes_at, head->byte_count, 1))
        return false;
    for (uint32_t i = 0; i < head->function_count; i++) {
        struct ttp_patch_function function = tool_patch_function_at(given, i);
        if (function.first_probe != next || function.probe_count == 0)
            return false;
        next += function.probe_count;
        if (next > head->probe_count)
            return false;
    }
    return next == head->probe_count;
}

static void drop_bytes(struct tool_patch_given *given)
{
    free(given->bytes);
    given->bytes = NULL;
}

/* Whether the folder has it, and it is one. */
static bool find_patch(const struct tool_plan_wish *wish, const struct tool_plan_module *module,
                       struct tool_patch_given *given)
{
    tool_plan_name(given->name, module->content, TTP_PATCH_SUFFIX);
    if (wish->cache == NULL || wish->cache->fd < 0)
        return false;
    given->bytes =
        tool_plan_read(wish->cache, given->name, TTP_PATCH_BYTES_MAX, &given->size_bytes);
    if (check_given(given, TTP_PATCH_MAGIC) &&
        memcmp(given->head.content, module->content, sizeof module->content) == 0)
        return true;
    drop_bytes(given);
    return false;
}

static const char *make_patch(struct tool_plan_module *module, struct tool_patch_given *given)
{
    struct tool_plan_code code;
    struct tool_patch patch = {0};
    const char *reason = tool_plan_code_take(&code, &module->input, tool_code_open_whole);
    if (reason == NULL)
        reason = tool_patch_open(&patch, &code.code);
    if (reason == NULL)
        reason = tool_patch_make(&patch, module->content, &given->bytes, &given->size_bytes);
    if (reason == NULL && !check_given(given, TTP_PATCH_MAGIC))
        reason = "its patch plan is damaged";
    tool_patch_close(&patch);
    tool_plan_code_close(&code);
    return reason;
}

static const char *give_wish(const struct tool_plan_wish *wish, struct tool_plan_module *module,
                             struct tool_patch_given *given)
{
    const char *reason = NULL;
    given->was_cached =
        tool_plan_module_find(module, wish->cache) && find_patch(wish, module, given);
    if (!given->was_cached) {
        if ((reason = tool_plan_module_read(module, wish->cache)) != NULL)
            return reason;
        given->was_cached = find_patch(wish, module, given); /* another file has the same bytes */
    }
    given->is_kept = given->was_cached;
    if (given->was_cached || (reason = make_patch(module, given)) != NULL)
        return reason;
    given->is_kept = wish->cache != NULL && wish->cache->fd >= 0 &&
                     tool_plan_write(wish->cache, given->name, given->bytes, given->size_bytes);
    return NULL;
}

const char *tool_patch_give(const struct tool_plan_wish *wish, struct tool_patch_given *given)
{
    struct tool_plan_module module;
    *given = (struct tool_patch_given){0};
    const char *reason = tool_plan_module_open(&module, wish->path);
    if (reason == NULL)
        reason = give_wish(wish, &module, given);
    tool_plan_module_close(&module);
    return reason;
}

/* Choices are of a plan's functions: the file must be the plan's still. */
static const char *make_inlined(struct tool_plan_module *module, const struct ttp_patch_head *plan,
                                const uint64_t *chosen, struct tool_patch_copy *copies,
                                size_t count, struct tool_patch_given *given)
{
    struct tool_plan_code code;
    struct tool_patch patch = {0};
    if (memcmp(module->content, plan->content, sizeof module->content) != 0)
        return "somebody has changed it";
    const char *reason = tool_plan_code_take(&code, &module->input, tool_code_open_whole);
    if (reason == NULL)
        reason = tool_patch_open(&patch, &code.code);
    if (reason == NULL &&
        (patch.function_count != plan->function_count || patch.probe_count != plan->probe_count))
        reason = "its plan was made of another file";
    if (reason == NULL)
        reason = tool_patch_inlined(&patch, chosen, copies, count);
    if (reason == NULL)
        reason = tool_patch_make(&patch, module->content, &given->bytes, &given->size_bytes);
    if (reason == NULL && !check_given(given, TTP_INLINED_MAGIC))
        reason = "its patch plan is damaged";
    tool_patch_close(&patch);
    tool_plan_code_close(&code);
    return reason;
}

const char *tool_patch_inlined_give(const struct tool_plan_wish *wish,
                                    const struct ttp_patch_head *plan, const uint64_t *chosen,
                                    struct tool_patch_copy *copies, size_t count,
                                    struct tool_patch_given *given)
{
    struct tool_plan_module module;
    *given = (struct tool_patch_given){0};
    const char *reason = tool_plan_module_open(&module, wish->path);
    if (reason == NULL)
        reason = tool_plan_module_read(&module, wish->cache);
    if (reason == NULL)
        reason = make_inlined(&module, plan, chosen, copies, count, given);
    tool_plan_module_close(&module);
    return reason;
}

void tool_patch_given_close(struct tool_patch_given *given)
{
    drop_bytes(given);
    *given = (struct tool_patch_given){0};
}

struct ttp_patch_function tool_patch_function_at(const struct tool_patch_given *given,
                                                 uint32_t number)
{
    struct ttp_patch_function function;
    memcpy(&function, given->bytes + given->head.functions_at + (size_t)number * sizeof function,
           sizeof function);
    return function;
}

struct ttp_patch_probe tool_patch_probe_at(const struct tool_patch_given *given,
                                           const struct ttp_patch_function *function,
                                           uint32_t number)
{
    struct ttp_patch_probe probe;
    size_t at = ((size_t)function->first_probe + number) * sizeof probe;
    memcpy(&probe, given->bytes + given->head.probes_at + at, sizeof probe);
    return probe;
}

static const struct {
    const char *word, *text;
} reasons[TTP_PATCH_REASONS] = {
    [TTP_PATCH_CAN] = {"can", "can be patched"},
    [TTP_PATCH_BRANCHED] = {"branched", "branches lead to between the bytes that a jump needs"},
    [TTP_PATCH_NO_ROOM] = {"no-room", "the next function is too near"},
    [TTP_PATCH_IMMOVABLE] = {"immovable", "an instruction there works at its own place only"},
    [TTP_PATCH_SHARED] = {"shared", "another window is too near"},
    [TTP_PATCH_COMPUTED] = {"computed", "there is a jump whose targets are not known"},
    [TTP_PATCH_NO_FRAME] = {"no-frame", "call frame information does not say where the return "
                                        "address is"},
    [TTP_PATCH_HOOKED] = {"hooked", "it has compiled-in hooks"},
    [TTP_PATCH_FAR] = {"long", "what would be moved is too long"},
    [TTP_PATCH_SPECIAL] = {"special", "it saves or restores contexts, or is a signal's"},
    [TTP_PATCH_LOOPED] = {"looped", "it branches to its own start"},
    [TTP_PATCH_ELSEWHERE] = {"elsewhere", "a jump to where no function starts"},
    [TTP_PATCH_LINES] = {"lines", "a debugger's breakpoint would break the jump"},
    [TTP_PATCH_FAULTS] = {"faults", "where an instruction has faulted could not be told"},
    [TTP_PATCH_UNDECODED] = {"undecoded", "something in it is no instruction"},
    [TTP_PATCH_RESTARTABLE] = {"restartable", "it is in a restartable sequence"},
};

const char *tool_patch_reason_text(enum ttp_patch_reason reason)
{
    return reason < TTP_PATCH_REASONS && reasons[reason].text != NULL ? reasons[reason].text
                                                                      : "for no known reason";
}

const char *tool_patch_reason_word(enum ttp_patch_reason reason)
{
    return reason < TTP_PATCH_REASONS && reasons[reason].word != NULL ? reasons[reason].word
                                                                      : "unknown";
}
