/* ELF files: what is found in them is in them, and a plan is what the runtime takes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_common.h"
#include "program/binary/code/code_calls.h"
#include "program/binary/code/plan_make.h"
#include "program/binary/patch/patchable.h"
#include "tests/unit/patch_rules.h"

static void check_site(const struct tool_code *code, const struct ttp_plan_head *head,
                       const struct ttp_plan_site *site)
{
    uint64_t bytes = (uint64_t)site->bytes + site->window_bytes + site->before_bytes +
                     site->after_bytes + site->rule_bytes;
    FUZZ_REQUIRE(site->function < code->function_count && site->kind < TTP_PLAN_REASONS);
    if (site->kind != TTP_PLAN_CAN)
        return;
    FUZZ_REQUIRE(site->window_bytes >= TTP_PLAN_WINDOW_MIN);
    FUZZ_REQUIRE(site->window_bytes <= TTP_PLAN_WINDOW_MAX);
    FUZZ_REQUIRE(site->window >= head->code_start && site->window <= site->address);
    FUZZ_REQUIRE((uint64_t)site->address + 2 <= (uint64_t)site->window + site->window_bytes);
    FUZZ_REQUIRE((uint64_t)site->window + site->window_bytes <= head->code_end);
    FUZZ_REQUIRE(site->number_known || site->number == TTP_PLAN_NO_NUMBER);
    FUZZ_REQUIRE(bytes <= head->byte_count);
    FUZZ_REQUIRE((uint64_t)site->first_fixup + site->fixup_count <= head->fixup_count);
    for (uint32_t i = 0; i < site->fixup_count; i++) {
        const struct ttp_plan_fixup *fixup = &code->fixups[site->first_fixup + i];
        FUZZ_REQUIRE(fixup->tail >= 4);
        FUZZ_REQUIRE((unsigned)fixup->at + fixup->tail <=
                     (unsigned)site->before_bytes + site->after_bytes);
    }
    for (uint32_t i = 1; i < site->window_bytes; i++)
        FUZZ_REQUIRE(!tool_code_is_marked(code, site->window + i));
}

static void check_plan(const struct tool_code *code, const uint8_t *plan, size_t size_bytes)
{
    struct ttp_plan_head head;
    const struct ttp_plan_row *rows;
    uint64_t free_from = 0;
    memcpy(&head, plan, sizeof head);
    FUZZ_REQUIRE(head.total_bytes == size_bytes);
    FUZZ_REQUIRE(head.bytes_at + head.byte_count == size_bytes);
    rows = (const void *)(plan + head.rows_at);
    for (uint32_t i = 1; i < head.row_count; i++)
        FUZZ_REQUIRE(rows[i - 1].address < rows[i].address);
    for (uint32_t i = 0; i < head.site_count; i++) {
        struct ttp_plan_site site;
        memcpy(&site, plan + head.sites_at + i * sizeof site, sizeof site);
        check_site(code, &head, &site);
        if (site.kind == TTP_PLAN_CAN) {
            FUZZ_REQUIRE(site.window >= free_from);
            free_from = (uint64_t)site.window + site.window_bytes;
        }
    }
    for (uint32_t i = 0; i <= head.row_index_count; i++) {
        uint32_t first;
        memcpy(&first, plan + head.row_index_at + i * sizeof first, sizeof first);
        FUZZ_REQUIRE(first <= head.row_count);
    }
}

static const uint8_t no_content[TTP_PLAN_CONTENT_BYTES];

static bool take_call(void *context, const struct tool_code_call *call)
{
    const struct tool_code *code = context;
    FUZZ_REQUIRE(call->function < code->function_count);
    FUZZ_REQUIRE(call->callee == UINT32_MAX || call->callee < code->function_count);
    FUZZ_REQUIRE(call->name == NULL || call->name[0] != 0);
    return true;
}

/* A patch plan of the same bytes. */
static void look_whole(const uint8_t *file, size_t size)
{
    struct tool_image image;
    struct tool_code code = {0};
    struct tool_patch patch = {0};
    uint8_t *plan = NULL;
    size_t plan_bytes;
    if (tool_image_open(&image, file, size) == NULL &&
        tool_code_open_whole(&code, &image) == NULL && tool_patch_open(&patch, &code) == NULL) {
        FUZZ_REQUIRE(ttest_patch_broken(&patch) == NULL);
        if (tool_patch_make(&patch, no_content, &plan, &plan_bytes) == NULL)
            FUZZ_REQUIRE(((const struct ttp_patch_head *)plan)->total_bytes == plan_bytes);
        FUZZ_REQUIRE(ttest_inlined_broken(&patch) == NULL);
    }
    free(plan);
    tool_patch_close(&patch);
    tool_code_close(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = fuzz_take(size > 0 ? size : 1), *plan = NULL;
    struct tool_image image;
    struct tool_code code = {0};
    size_t plan_bytes;
    if (size > 0)
        memcpy(file, data, size);
    if (tool_image_open(&image, file, size) == NULL && tool_code_open(&code, &image) == NULL) {
        for (size_t i = 1; i < code.function_count; i++)
            FUZZ_REQUIRE(code.functions[i - 1].end <= code.functions[i].start);
        if (tool_plan_make(&code, no_content, &plan, &plan_bytes) == NULL)
            check_plan(&code, plan, plan_bytes);
        if (tool_code_names(&code))
            (void)tool_code_calls(&code, take_call, &code);
    }
    free(plan);
    tool_code_close(&code);
    look_whole(file, size);
    fuzz_release_all();
    return 0;
}
