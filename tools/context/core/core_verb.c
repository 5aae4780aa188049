/* `tracetape context --core`: from a dump to its calls, and what is missing, in words. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/context/core/core_view.h"
#include "tools/io/debug_files.h"

#define MODULES_MOST 1000u /* that are looked for */

/* NULL: at least one runtime can be read. */
static const char *runtimes_missing(const struct tool_core_state *state)
{
    if (state->runtime_count == 0)
        return state->core->is_cut
                   ? "it was cut, and what is there has no runtime of tracetape"
                   : "no runtime of tracetape was in the process (or one that is older than this)";
    for (uint32_t i = 0; i < state->runtime_count; i++)
        if (state->runtimes[i].why == NULL)
            return NULL;
    return state->runtimes[0].why;
}

/* Files that the calls are in, and those whose debug information walks the stack. */
static void find_files(struct tool_core *core)
{
    for (size_t i = 0; i < core->module_count && i < MODULES_MOST; i++)
        (void)tool_core_find_file(core, &core->modules[i]);
}

static bool say_files(const struct tool_core_state *state)
{
    bool is_missing = false;
    for (size_t i = 0; i < state->core->module_count; i++) {
        const struct tool_core_module *module = &state->core->modules[i];
        if (!module->is_looked_for || !module->has_calls)
            continue;
        if (module->fd < 0) {
            tool_message("names and locals of '%s' are missing: %s", module->path, module->why);
            is_missing = true;
        } else if (!module->has_head) {
            tool_message("the dump does not say which build '%s' was: it is taken for what is "
                         "there now",
                         module->path);
        }
    }
    return is_missing;
}

static int say_binaries(const struct tool_core *core)
{
    int status = TOOL_OK;
    for (size_t b = 0; b < core->binary_count; b++) {
        bool is_used = false;
        for (size_t i = 0; i < core->module_count; i++)
            is_used |= core->modules[i].fd >= 0 && core->modules[i].file == core->binaries[b];
        if (!is_used) {
            tool_message("'%s' is no file of this process, or another build of one",
                         core->binaries[b]);
            status = TOOL_LOSS;
        }
    }
    return status;
}

static int show_core(struct tool_core_state *state, bool json)
{
    struct tool_core_locals locals = {0};
    struct tool_symbols_options options = {0};
    struct tool_output out;
    int status = say_binaries(state->core);
    if (say_files(state) || state->core->is_cut || state->is_partial)
        status = TOOL_LOSS;
    if (state->core->is_cut)
        tool_message("'%s' was cut: what is there was used", state->core->path);
    tool_core_read_locals(state, &locals);
    if (locals.why != NULL) {
        tool_message("locals are missing: %s", locals.why);
        status = TOOL_LOSS;
    }
    struct tool_core_view view = {state, &locals, tool_symbols_make(&options)};
    tool_output_open(&out, STDOUT_FILENO);
    if (json)
        tool_core_json_of(&view, &out);
    else
        tool_core_text_of(&view, &out);
    int closed = tool_output_close(&out);
    tool_symbols_close(view.symbols);
    tool_core_locals_close(&locals);
    return closed > status ? closed : status;
}

int tool_core_show(const struct tool_core_options *options)
{
    struct tool_core core = {
        .fd = -1, .binaries = options->binaries, .binary_count = options->binary_count};
    struct tool_core_state state = {.core = &core};
    int status = tool_core_open(&core, options->path);
    if (status == TOOL_OK) {
        tool_core_find_runtimes(&state);
        const char *why = runtimes_missing(&state);
        if (why != NULL) {
            status = tool_fail("cannot read calls of '%s': %s", options->path, why);
        } else {
            find_files(&core);
            tool_core_read_calls(&state);
            status = show_core(&state, options->json);
        }
    }
    if (status == TOOL_OK && state.call_count == 0) {
        tool_message("'%s': no thread had calls that are kept", options->path);
        status = TOOL_FINDING;
    }
    tool_core_state_close(&state);
    tool_core_close(&core);
    return status;
}
