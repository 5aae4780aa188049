/* The verb context: a dictionary of context values, as a stranger may have made it, and the values
 * that are looked for in it. The head and, of half of the entries, the checks are made right: else
 * nothing behind them would be read. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/context.h>

#include "fuzz_verb.h"
#include "recorder/arena/context_file.h"
#include "tools/command/tool.h"

#define ENTRIES     1024u
#define MODULES     4u
#define FILE_BYTES  (TTP_CONTEXT_ENTRIES_AT + ENTRIES * sizeof(struct ttp_context_entry))
#define VALUES_MOST 4u

/* How much of it is used. */
static size_t take(struct fuzz_input *in, void *into, size_t room)
{
    size_t size = in->size < room ? in->size : room;
    memcpy(into, in->data, size);
    in->data += size;
    in->size -= size;
    return size;
}

static void put_head(uint8_t *file, struct fuzz_input *in)
{
    struct ttp_context_head *head = (struct ttp_context_head *)file;
    uint32_t kind = fuzz_number(in, 1);
    *head = (struct ttp_context_head){.magic = TTP_CONTEXT_MAGIC,
                                      .version = TTP_CONTEXT_VERSION,
                                      .operation = kind & 3,
                                      .ids = kind >> 2 & 1,
                                      .entry_count = (kind & 8) != 0 ? ENTRIES : ENTRIES * 4};
    head->check = ttp_context_head_check(head);
    if ((kind & 0xF0) == 0xF0)
        (void)take(in, head, sizeof *head);
}

static void put_modules(uint8_t *file, struct fuzz_input *in)
{
    for (uint32_t i = 0; i < MODULES; i++) {
        struct ttp_context_module *module =
            (struct ttp_context_module *)(file + TTP_CONTEXT_HEAD_BYTES +
                                          (size_t)i * TTP_CONTEXT_MODULE_BYTES);
        uint32_t how = fuzz_number(in, 1);
        module->build_id_bytes = how & 1 ? 20 : fuzz_number(in, 1);
        module->path_bytes = how & 2 ? 8 : fuzz_number(in, 2);
        (void)take(in, module->build_id, 8);
        memcpy(module->path, "/no/file", 8);
        module->seed = ttape_context_seed(module->build_id, 20);
        module->check = ttp_context_check(
            module->seed, (uint64_t)module->build_id_bytes << 32 | module->path_bytes, 0);
    }
}

/* A stack of four, that the entries behind it may lead to, and what comes of the input. */
static uint32_t put_entries(uint8_t *file, struct fuzz_input *in, uint64_t *values)
{
    struct ttp_context_entry *entries = (struct ttp_context_entry *)(file + TTP_CONTEXT_ENTRIES_AT);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ENTRIES && in->size != 0; i++) {
        uint32_t how = fuzz_number(in, 1);
        entries[i].value = how & 1 ? values[0] : fuzz_number(in, 2);
        entries[i].around = (uint64_t)fuzz_number(in, 1) << 32 | (how & 2 ? i : fuzz_number(in, 2));
        entries[i].place = (uint64_t)(how >> 2 & 7) << TTP_CONTEXT_OFFSET_BITS | fuzz_number(in, 2);
        entries[i].check = how & 0x80 ? fuzz_number(in, 1) : ttp_context_entry_check(&entries[i]);
        if (count < VALUES_MOST)
            values[count++] = entries[i].value;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_words line = {0};
    uint64_t values[VALUES_MOST] = {0};
    uint8_t *file = calloc(1, FILE_BYTES);
    if (file == NULL)
        return 0;
    put_head(file, &in);
    put_modules(file, &in);
    uint32_t count = put_entries(file, &in, values);
    size_t cut = size % 7 == 0 ? size * 1024 : FILE_BYTES;
    fuzz_word(&line, "context");
    fuzz_word(&line, "--dictionary");
    fuzz_word(&line, "%s", fuzz_verb_file(0, file, cut < FILE_BYTES ? cut : FILE_BYTES));
    if (size % 2 != 0)
        fuzz_word(&line, "--json");
    fuzz_word(&line, "0/0");
    for (uint32_t i = 0; i < count; i++)
        fuzz_word(&line, "%llx", (unsigned long long)values[i]);
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_context, line.words);
    fuzz_require_view(&outcome, size % 2 != 0);
    free(file);
    fuzz_release_all();
    return 0;
}
