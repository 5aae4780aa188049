/* `context --core`: a core dump as a stranger may have made it. Around the input is a dump of two
 * threads whose memory has a runtime's table; its words lead into that memory more often than
 * not. Locals are found in a process of their own, and are left out here. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_verb.h"
#include "tools/context/core/core_view.h"

#define WORDS     1024u
#define MEMORY_AT 0x10000u
#define STATUS    336u
#define FILES     160u

struct dump {
    Elf64_Ehdr head;
    Elf64_Phdr segments[3];
    struct {
        Elf64_Nhdr head;
        char owner[8];
        uint8_t data[STATUS];
    } threads[2];
    struct {
        Elf64_Nhdr head;
        char owner[8];
        uint8_t data[FILES];
    } files;
    struct ttp_context_layout layout;
    uint64_t words[WORDS];
};

#define IN_DUMP(member) (MEMORY_AT + offsetof(struct dump, member) - offsetof(struct dump, layout))

/* A pointer into the memory, a small number, or any. */
static uint64_t word(struct fuzz_input *in)
{
    uint32_t number = fuzz_number(in, 2);
    switch (number >> 14) {
    case 0:
    case 1: return IN_DUMP(words) + number % WORDS * 8;
    case 2: return number & 0x3F;
    default: return (uint64_t)number << (number % 50);
    }
}

static void put_layout(struct ttp_context_layout *layout, struct fuzz_input *in)
{
    uint64_t base = IN_DUMP(words);
    *layout = (struct ttp_context_layout){.magic = TTP_LAYOUT_MAGIC,
                                          .version = TTP_LAYOUT_VERSION,
                                          .bytes = sizeof *layout,
                                          .kind = 1,
                                          .mode_on = 1,
                                          .thread = 0,
                                          .mode = base,
                                          .operation = base + 8,
                                          .ids = base + 16,
                                          .branch_is_on = base + 24,
                                          .branch_operation = base + 32,
                                          .branch_scope = base + 40,
                                          .function_mask = UINT64_MAX >> 16,
                                          .mark_end = 67,
                                          .key_first = 1u << 20,
                                          .key_end = 1u << 21,
                                          .thread_page = 8,
                                          .thread_stacks = 16,
                                          .thread_branch = 24,
                                          .page_deep = 8,
                                          .gate_last = 5,
                                          .stacks_current = 4,
                                          .stacks_list = 8,
                                          .stacks_alternate_low = 16,
                                          .stacks_alternate_high = 24,
                                          .stack_bytes = 48,
                                          .stack_top = 8,
                                          .stack_end = 16,
                                          .stack_branches = 24,
                                          .stack_stale = 32,
                                          .frame_bytes = 24,
                                          .frame_function = 8,
                                          .frame_call_site = 16,
                                          .cell_bytes = 48,
                                          .cell_blocks = 8,
                                          .cell_flags = 12,
                                          .cell_counts = 16};
    layout->thread = 8;
    uint32_t changed = fuzz_number(in, 1);
    if (changed < sizeof *layout / 4) {
        uint32_t value = fuzz_number(in, 4);
        memcpy((char *)layout + changed * sizeof value, &value, sizeof value);
    }
}

static void put_notes(struct dump *dump, struct fuzz_input *in)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t pointer = IN_DUMP(words) + fuzz_number(in, 1) * 8u;
        dump->threads[i].head = (Elf64_Nhdr){5, STATUS, NT_PRSTATUS};
        memcpy(dump->threads[i].owner, "CORE", 5);
        memcpy(dump->threads[i].data + 112 + 8 * TOOL_CORE_FS_BASE, &pointer, 8);
    }
    const uint64_t table[] = {1u + fuzz_number(in, 1) % 4, 4096, MEMORY_AT, MEMORY_AT + 8192, 0};
    dump->files.head = (Elf64_Nhdr){5, FILES, NT_FILE};
    memcpy(dump->files.owner, "CORE", 5);
    memcpy(dump->files.data, table, sizeof table);
    for (uint32_t i = sizeof table; i < FILES; i++)
        dump->files.data[i] = (uint8_t)fuzz_number(in, 1);
}

static void put_dump(struct dump *dump, struct fuzz_input *in)
{
    size_t notes = offsetof(struct dump, threads), memory = offsetof(struct dump, layout);
    dump->head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                              .e_type = ET_CORE,
                              .e_machine = EM_X86_64,
                              .e_phoff = offsetof(struct dump, segments),
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_phnum = 3};
    dump->segments[0] =
        (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = notes, .p_filesz = memory - notes};
    dump->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                     .p_offset = memory,
                                     .p_vaddr = MEMORY_AT,
                                     .p_filesz = sizeof *dump - memory,
                                     .p_memsz = sizeof *dump - memory};
    put_layout(&dump->layout, in);
    put_notes(dump, in);
    uint32_t changed = fuzz_number(in, 2), value = fuzz_number(in, 1);
    if (changed < memory) /* a byte of what is in front of the memory */
        ((uint8_t *)dump)[changed] = (uint8_t)value;
    for (uint32_t i = 0; i < WORDS && in->size != 0; i++)
        dump->words[i] = word(in);
}

static int show(const char *path, bool json)
{
    struct tool_core core = {.fd = -1};
    struct tool_core_state state = {.core = &core};
    struct tool_core_locals locals = {0};
    struct tool_symbols_options options = {0};
    struct tool_output out;
    int status = tool_core_open(&core, path);
    struct tool_symbols *symbols = status == TOOL_OK ? tool_symbols_open(&options) : NULL;
    if (symbols != NULL) {
        tool_core_find_runtimes(&state);
        tool_core_read_calls(&state);
        struct tool_core_view view = {&state, &locals, symbols};
        tool_output_open(&out, 1);
        (json ? tool_core_json_of : tool_core_text_of)(&view, &out);
        status = tool_output_close(&out);
        tool_symbols_close(symbols);
    }
    tool_core_state_close(&state);
    tool_core_close(&core);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct dump *dump = calloc(1, sizeof *dump);
    bool json = size % 2 != 0;
    if (dump == NULL)
        return 0;
    put_dump(dump, &in);
    size_t bytes = size % 7 == 0 ? sizeof *dump * (size % 97) / 97 : sizeof *dump;
    const char *path = fuzz_verb_file(0, (const uint8_t *)dump, bytes);
    fuzz_catch_begin();
    struct fuzz_outcome outcome = fuzz_catch_end(show(path, json));
    fuzz_require_view(&outcome, json);
    free(dump);
    fuzz_release_all();
    return 0;
}
