/* Compilers' files of calls, as a stranger may have made them: names lie within the text, no more
 * of them than it has room for, and what is wrong is in one of its lines. */
#include <string.h>

#include "fuzz_common.h"
#include "program/callgraph/ci_text.h"

#define EDGE_BYTES 35u /* of the shortest edge */

struct taken {
    const char *text;
    size_t size, edges;
};

static void take(void *context, ttape_string from, ttape_string to)
{
    struct taken *taken = context;
    const ttape_string names[] = {from, to, tool_ci_name(from), tool_ci_name(to)};
    for (size_t i = 0; i < 4; i++)
        FUZZ_REQUIRE(names[i].data >= taken->text &&
                     names[i].data + names[i].size_bytes <= taken->text + taken->size);
    taken->edges++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_take(size + 1);
    if (size > 0)
        memcpy(text, data, size);
    struct taken taken = {text, size, 0};
    size_t lines = 1, wrong = tool_ci_parse(text, size, take, &taken);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    FUZZ_REQUIRE(wrong <= lines);
    FUZZ_REQUIRE(taken.edges <= size / EDGE_BYTES);
    fuzz_release_all();
    return 0;
}
