#include "program/binary/plan_code.h"

#include <stdlib.h>

#include "program/binary/patch_lines.h"

typedef const char *(*open_code)(struct tool_code *, const struct tool_image *);

static const char *open_input(struct tool_plan_code *module, open_code open, bool has_lines)
{
    module->image = malloc(sizeof *module->image);
    if (module->image == NULL)
        return "there is no memory for it";
    const char *reason =
        tool_image_open(module->image, module->input.bytes, module->input.size_bytes);
    if (reason == NULL && has_lines &&
        (module->lines = tool_patch_lines_read(module->image, &module->input)) == NULL)
        reason = "there is no memory or time for its lines";
    module->image->lines = module->lines;
    return reason != NULL ? reason : open(&module->code, module->image);
}

const char *tool_plan_code_open(struct tool_plan_code *module, int fd, open_code open)
{
    *module = (struct tool_plan_code){0};
    const char *reason = tool_plan_input_read(&module->input, fd);
    return reason != NULL ? reason : open_input(module, open, false);
}

const char *tool_plan_code_take(struct tool_plan_code *module, struct tool_plan_input *input,
                                open_code open)
{
    *module = (struct tool_plan_code){.input = *input};
    *input = (struct tool_plan_input){0};
    return open_input(module, open, true);
}

void tool_plan_code_close(struct tool_plan_code *module)
{
    tool_code_close(&module->code);
    tool_plan_input_close(&module->input);
    free(module->image);
    free(module->lines);
}
