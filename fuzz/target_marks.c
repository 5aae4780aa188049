/* Notes of static probes, as a stranger may have made them: texts lie within the notes, and where a
 * value is makes sense. */
#include <string.h>

#include "fuzz_common.h"
#include "program/binary/marks/marks.h"

#define NOTE_BYTES_MIN 44u

struct taken {
    const uint8_t *notes;
    size_t size, count;
};

static void require_within(const struct taken *taken, ttape_string text)
{
    const char *first = (const char *)taken->notes;
    FUZZ_REQUIRE(text.data >= first && text.data + text.size_bytes < first + taken->size);
}

static bool find(void *context, ttape_string name, uint64_t *address)
{
    const struct taken *taken = context;
    require_within(taken, name);
    *address = 0x4000;
    return name.size_bytes % 2 == 0;
}

static void require_value(const struct ttp_mark_value *value)
{
    uint32_t size = value->size_bytes;
    FUZZ_REQUIRE(value->kind <= TTP_MARK_MEMORY);
    if (value->kind == TTP_MARK_UNKNOWN)
        return;
    FUZZ_REQUIRE(size == 1 || size == 2 || size == 4 || size == 8);
    FUZZ_REQUIRE(value->type <= TTAPE_VALUE_FLOAT);
    FUZZ_REQUIRE(value->kind != TTP_MARK_REGISTER || value->base < TTP_MARK_RIP);
    FUZZ_REQUIRE(value->base <= TTP_MARK_NO_REGISTER && value->index <= TTP_MARK_NO_REGISTER);
    FUZZ_REQUIRE(value->scale <= 8 && (value->shift == 0 || value->shift == 8));
}

static void take(void *context, const struct tool_mark *mark)
{
    struct taken *taken = context;
    struct ttp_mark_value values[TTP_MARK_VALUES_MAX];
    taken->count++;
    require_within(taken, mark->provider);
    require_within(taken, mark->name);
    require_within(taken, mark->arguments);
    FUZZ_REQUIRE(mark->name.size_bytes > 0 && mark->address != 0);
    uint32_t count = tool_mark_values(mark->arguments, find, taken, values);
    FUZZ_REQUIRE(count <= TTP_MARK_VALUES_MAX);
    for (uint32_t i = 0; i < count; i++)
        require_value(&values[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t base = size > 0 ? data[0] / 128 * 0x2000 : 0;
    uint8_t *notes = fuzz_take(size > 1 ? size - 1 : 1);
    struct taken taken = {notes, size > 0 ? size - 1 : 0, 0};
    if (size > 0)
        memcpy(notes, data + 1, size - 1);
    tool_mark_notes(notes, taken.size, base, take, &taken);
    FUZZ_REQUIRE(taken.count <= size / NOTE_BYTES_MIN);
    fuzz_release_all();
    return 0;
}
