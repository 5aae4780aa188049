/* Walks each thread's stack as libdw does, and finds the calls that the runtime has among its
 * frames: a call's hook ran with a stack pointer between its frame's two ends. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/version.h>

#include "program/process/child.h"
#include "tools/command/tool.h"
#include "tools/context/core/core_scope.h"

#define FRAMES_WALKED 100000u
#define CALLS_SHOWN   1000u /* of a thread, innermost first */
#define LOOKED_OUT    64u   /* calls that are not found, and are not waited for */
#define STACK_POINTER 7u

struct walk {
    struct tool_core_state *state;
    Dwfl *dwfl;
    int fd;
    uint32_t calls; /* the thread's number */
    size_t left;    /* of its calls, the outermost ones that are looked for */
    uint32_t walked, shown, found;
    struct tool_core_at before; /* the frame whose caller comes next */
    bool has_before;
};

/* -- to the parent -- */

static void send_line(struct walk *walk, uint32_t frame, bool is_line, const char *name,
                      const char *text)
{
    char bytes[sizeof(struct tool_core_wire) + 2 * TOOL_CORE_TEXT_MOST];
    struct tool_core_wire wire = {walk->calls, frame, is_line,
                                  (uint32_t)strnlen(name, TOOL_CORE_TEXT_MOST),
                                  (uint32_t)strnlen(text, TOOL_CORE_TEXT_MOST)};
    memcpy(bytes, &wire, sizeof wire);
    memcpy(bytes + sizeof wire, name, wire.name_bytes);
    memcpy(bytes + sizeof wire + wire.name_bytes, text, wire.text_bytes);
    if (!tool_child_send(walk->fd, bytes, sizeof wire + wire.name_bytes + wire.text_bytes, 0))
        _Exit(TOOL_CANNOT);
}

struct sending {
    struct walk *walk;
    uint32_t frame;
};

static void take_text(void *context, const char *name, const char *text)
{
    const struct sending *sending = context;
    send_line(sending->walk, sending->frame, false, name, text);
}

/* -- a frame -- */

static void show_frame(struct walk *walk, struct tool_core_at *at,
                       const struct tool_core_scopes *scopes, uint32_t frame, uint32_t *from)
{
    const struct tool_core_frame *call = &walk->state->calls[walk->calls].stacks[0].frames[frame];
    Dwfl_Module *module = dwfl_addrmodule(walk->dwfl, call->function);
    const char *symbol = module == NULL ? NULL : dwfl_module_addrname(module, call->function);
    struct tool_core_text line = {.size = 0};
    struct sending sending = {walk, frame};
    uint32_t function;
    if (!tool_core_scopes_find(scopes, at, *from, symbol, call->function, &function)) {
        send_line(walk, frame, false, "", "its locals: debug information knows no such call here");
        return;
    }
    *from = function;
    tool_core_scopes_line(scopes, at, function, &line);
    if (line.size != 0)
        send_line(walk, frame, true, "", line.text);
    tool_core_scopes_list(scopes, at, function, take_text, &sending);
}

/* Calls whose hooks ran in the frame: the last of them in order of time is the innermost. */
static void show_all(struct walk *walk, struct tool_core_at *at, size_t low, size_t high)
{
    struct tool_core_scopes scopes;
    bool is_known = at->module != NULL && tool_core_scopes_open(&scopes, at);
    const char *why = at->module == NULL ? "its locals: the file of its code is not here"
                                         : "its locals: there is no debug information";
    uint32_t from = is_known ? scopes.count : 0;
    for (size_t i = low; i < high; i++) {
        if (walk->state->calls[walk->calls].stacks[0].frames[i].kind != TOOL_CORE_CALL)
            continue;
        if (is_known)
            show_frame(walk, at, &scopes, (uint32_t)i, &from);
        else
            send_line(walk, (uint32_t)i, false, "", why);
        walk->shown++;
    }
    if (is_known)
        tool_core_scopes_close(&scopes);
}

static void match(struct walk *walk, struct tool_core_at *at)
{
    const struct tool_core_frame *frames = walk->state->calls[walk->calls].stacks[0].frames;
    uint64_t lowest = at->known[STACK_POINTER] ? at->registers[STACK_POINTER] : 0;
    size_t high = walk->left, looked = 0;
    if (!at->has_cfa || walk->shown >= CALLS_SHOWN)
        return;
    while (high > 0 && looked < LOOKED_OUT &&
           !(frames[high - 1].kind == TOOL_CORE_CALL && frames[high - 1].sp >= lowest &&
             frames[high - 1].sp < at->cfa)) {
        high--;
        looked++;
    }
    if (high == 0 || looked == LOOKED_OUT)
        return;
    size_t low = high - 1;
    while (low > 0 && frames[low - 1].kind == TOOL_CORE_CALL && frames[low - 1].sp >= lowest &&
           frames[low - 1].sp < at->cfa)
        low--;
    walk->found += (uint32_t)(high - low);
    walk->left = low;
    show_all(walk, at, low, high);
}

static bool read_register(Dwfl_Frame *frame, unsigned number, uint64_t *value)
{
#if _ELFUTILS_PREREQ(0, 188)
    Dwarf_Word word;
    bool is_known = dwfl_frame_reg(frame, number, &word) == 0;
    *value = is_known ? word : 0;
    return is_known;
#else
    (void)frame;
    (void)number;
    *value = 0;
    return false;
#endif
}

static int see_frame(Dwfl_Frame *frame, void *context)
{
    struct walk *walk = context;
    struct tool_core_at at = {.core = walk->state->core};
    Dwarf_Addr pc;
    bool is_exact;
    if (!dwfl_frame_pc(frame, &pc, &is_exact) || walk->walked++ == FRAMES_WALKED)
        return DWARF_CB_ABORT;
    for (unsigned i = 0; i < TOOL_CORE_DWARF_REGISTERS; i++)
        at.known[i] = read_register(frame, i, &at.registers[i]);
    at.pc = is_exact ? pc : pc - 1;
    at.module = dwfl_addrmodule(walk->dwfl, at.pc);
    if (walk->has_before) {
        walk->before.has_cfa = at.known[STACK_POINTER];
        walk->before.cfa = at.registers[STACK_POINTER];
        match(walk, &walk->before);
    }
    walk->before = at;
    walk->has_before = true;
    return walk->left == 0 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* -- a thread -- */

static size_t count_calls(const struct tool_core_stack *stack)
{
    size_t count = 0;
    for (size_t i = 0; i < stack->count; i++)
        count += stack->frames[i].kind == TOOL_CORE_CALL;
    return count;
}

static int see_thread(Dwfl_Thread *thread, void *context)
{
    struct walk *walk = context;
    struct tool_core_text text = {.size = 0};
    const struct tool_core_calls *calls;
    walk->calls = (uint32_t)dwfl_thread_tid(thread) - 1;
    calls = &walk->state->calls[walk->calls];
    walk->left = calls->stacks[0].count;
    walk->walked = walk->shown = walk->found = 0;
    walk->has_before = false;
    (void)dwfl_thread_getframes(thread, see_frame, walk);
    size_t most = count_calls(&calls->stacks[0]);
    if (walk->shown >= CALLS_SHOWN && most > walk->found)
        tool_core_put(&text, "locals of the innermost %u calls only", CALLS_SHOWN);
    else if (most > walk->found)
        tool_core_put(&text,
                      "locals of %zu calls are not known: the machine's stack was walked over %u "
                      "frames and shows no more of them",
                      most - walk->found, walk->walked);
    if (text.size != 0)
        send_line(walk, TOOL_CORE_NONE, false, "", text.text);
    return DWARF_CB_OK;
}

static bool has_calls(const struct tool_core_calls *calls)
{
    return calls->count != 0 && calls->stacks[0].is_running && calls->stacks[0].count != 0;
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **place)
{
    struct walk *walk = context;
    uint32_t number = *place == NULL ? 0 : walk->calls + 1;
    (void)dwfl;
    while (number < walk->state->call_count && !has_calls(&walk->state->calls[number]))
        number++;
    if (number >= walk->state->call_count || number >= INT32_MAX)
        return 0;
    walk->calls = number;
    *place = walk;
    return (pid_t)number + 1;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    /* DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
    static const uint8_t order[TOOL_CORE_DWARF_REGISTERS] = {10, 12, 11, 5, 13, 14, 4, 19, 9,
                                                             8,  7,  6,  3, 2,  1,  0, 16};
    const struct walk *walk = context;
    const struct tool_core_state *state = walk->state;
    const struct tool_core_thread *from = &state->core->threads[state->calls[walk->calls].thread];
    Dwarf_Word words[TOOL_CORE_DWARF_REGISTERS];
    for (uint32_t i = 0; i < TOOL_CORE_DWARF_REGISTERS; i++)
        words[i] = from->registers[order[i]];
    return dwfl_thread_state_registers(thread, 0, TOOL_CORE_DWARF_REGISTERS, words);
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
    const struct walk *walk = context;
    uint64_t read = 0;
    (void)dwfl;
    bool is_there = tool_core_word(walk->state->core, address, &read);
    *word = read;
    return is_there;
}

/* -- the process -- */

static void report_modules(Dwfl *dwfl, const struct tool_core *core)
{
    dwfl_report_begin(dwfl);
    for (size_t i = 0; i < core->module_count; i++) {
        const struct tool_core_module *module = &core->modules[i];
        int fd = module->fd < 0 ? -1 : dup(module->fd);
        if (fd >= 0 &&
            dwfl_report_elf(dwfl, module->path, module->file, fd, module->start, false) == NULL)
            close(fd);
    }
    (void)dwfl_report_end(dwfl, NULL, NULL);
}

void tool_core_walk(struct tool_core_state *state, int fd)
{
    static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
                                                  .memory_read = read_memory,
                                                  .set_initial_registers = set_registers};
    char *folders = NULL;
    const Dwfl_Callbacks files = {.find_elf = dwfl_build_id_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .debuginfo_path = &folders};
    struct tool_core_wire end = {.calls = TOOL_CORE_NONE};
    (void)unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched */
    struct walk walk = {.state = state, .fd = fd, .dwfl = dwfl_begin(&files)};
    if (walk.dwfl == NULL)
        return;
    report_modules(walk.dwfl, state->core);
    if (dwfl_attach_state(walk.dwfl, NULL, 1, &threads, &walk))
        (void)dwfl_getthreads(walk.dwfl, see_thread, &walk);
    (void)tool_child_send(fd, &end, sizeof end, 0);
}
