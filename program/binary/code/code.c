/* The steps from an image to what a plan is made of, in order. */
#include <string.h>

#include "program/binary/code/code.h"

static bool open_sites(struct tool_code *code)
{
    size_t wanted = 0;
    if (!tool_code_functions(code) || !tool_code_rows(code) || !tool_code_want(code, &wanted))
        return false;
    return wanted == 0 ||
           (tool_code_mark_far(code) && tool_code_look(code) && tool_code_mark_near(code) &&
            tool_code_find_ways(code) && tool_code_sites(code));
}

static bool open_whole(struct tool_code *code)
{
    if (!tool_code_functions(code) || !tool_code_rows(code) || !tool_code_names(code))
        return false;
    tool_code_want_all(code);
    return tool_code_mark_far(code) && tool_code_look(code) && tool_code_mark_near(code);
}

static const char *open_by(struct tool_code *code, const struct tool_image *image,
                           bool (*steps)(struct tool_code *code))
{
    /* a file may need some multiple of its own size, and no more */
    size_t bound = TOOL_CODE_BYTES_MIN;
    if (image->size_bytes < (TOOL_CODE_BYTES_MAX - bound) / TOOL_CODE_BYTES_EACH)
        bound += image->size_bytes * TOOL_CODE_BYTES_EACH;
    else
        bound = TOOL_CODE_BYTES_MAX;
    *code = (struct tool_code){
        .image = image, .memory = {.left_bytes = bound}, .entries_left = TOOL_CODE_ENTRIES_MAX};
    if (steps(code))
        return NULL;
    return code->memory.is_short ? "it would take too much memory" : "there is too much in it";
}

const char *tool_code_open(struct tool_code *code, const struct tool_image *image)
{
    return open_by(code, image, open_sites);
}

const char *tool_code_open_whole(struct tool_code *code, const struct tool_image *image)
{
    return open_by(code, image, open_whole);
}

void tool_code_close(struct tool_code *code)
{
    free(code->functions);
    free(code->rows);
    free(code->instructions);
    free(code->sites);
    free(code->fixups);
    free(code->marks);
    free(code->entered);
    free(code->taken);
    free(code->bases);
    free(code->claimed);
    free(code->tables);
    free(code->closed);
    *code = (struct tool_code){0};
}
