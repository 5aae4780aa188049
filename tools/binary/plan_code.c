#include "tools/binary/plan_code.h"

#include <stdlib.h>

#include "tools/binary/plan_store.h"

const char *tool_plan_code_open(struct tool_plan_code *module, int fd, const struct stat *status,
                                const char *(*open)(struct tool_code *, const struct tool_image *))
{
    *module = (struct tool_plan_code){.image = malloc(sizeof *module->image)};
    if (module->image == NULL)
        return "there is no memory for it";
    const char *reason = tool_plan_module_read(fd, status, &module->input);
    if (reason == NULL)
        reason = tool_image_open(module->image, module->input.bytes, module->input.size_bytes);
    return reason != NULL ? reason : open(&module->code, module->image);
}

void tool_plan_code_close(struct tool_plan_code *module)
{
    tool_code_close(&module->code);
    tool_plan_input_close(&module->input);
    free(module->image);
}
