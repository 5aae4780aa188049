/* A string of a program and a text of a log: what is counted is what is marked, the same each time,
 * and in bounded work. */
#include <string.h>

#include "fuzz_common.h"
#include "tools/context/text/text_match.h"

static struct tool_text copy(struct fuzz_input in)
{
    char *bytes =
        fuzz_take(in.size + (in.size == 0)); /* exact, so that one byte too far is found */
    if (in.size != 0)
        memcpy(bytes, in.data, in.size);
    return (struct tool_text){bytes, in.size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct tool_text string = copy(fuzz_part(&in, fuzz_number(&in, 2)));
    struct tool_text text = copy(in);
    uint8_t *marks = fuzz_take(text.size_bytes + 1);
    for (int how = TOOL_TEXT_WHOLE; how <= TOOL_TEXT_CUT; how++) {
        uint32_t marked = 0;
        memset(marks, 0, text.size_bytes + 1);
        struct tool_text_found found = tool_text_match(string, text, (enum tool_text_how)how, NULL);
        FUZZ_REQUIRE(found.bytes ==
                     tool_text_match(string, text, (enum tool_text_how)how, marks).bytes);
        for (size_t i = 0; i < text.size_bytes; i++)
            marked += marks[i];
        FUZZ_REQUIRE(found.bytes <= marked && marks[text.size_bytes] == 0);
        FUZZ_REQUIRE((found.bytes == 0) == (marked == 0));
        FUZZ_REQUIRE(found.bytes == 0 || (found.line.bytes >= string.bytes &&
                                          found.line.bytes + found.line.size_bytes <=
                                              string.bytes + string.size_bytes));
    }
    fuzz_release_all();
    return 0;
}
