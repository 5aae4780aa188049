/* A dictionary (spec/context.md, 4), which may be written while it is read, cut, damaged or made
 * up: only entries whose check is right count, stacks are followed outwards as their depths say,
 * and a value has to be what its stack's ids give. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "program/elf/elf_head.h"
#include "program/symbols/symbols.h"
#include "recorder/arena/context_file.h"
#include "tools/context/context_view.h"
#include "tools/io/debug_files.h"

#define READ_ENTRIES 32768u
#define FRAMES_MOST  100000000u /* some seconds */
#define OFFSET_MASK  ((UINT64_C(1) << TTP_CONTEXT_OFFSET_BITS) - 1)

struct entry {
    uint64_t value, place;
    uint32_t number, around, depth;
};

struct module {
    uint64_t seed, start;
    ttape_string path, build_id;
    struct tool_symbols_module *symbols; /* NULL: not asked yet */
};

union module_place {
    struct ttp_context_module module;
    char bytes[TTP_CONTEXT_MODULE_BYTES];
};

struct dictionary {
    const char *path;
    int fd, failed_errno;
    struct ttp_context_head head;
    union module_place *read; /* as they are in the file */
    struct module modules[TTP_CONTEXT_MODULES + 1];
    struct entry *entries; /* by ascending number */
    size_t count, capacity;
    uint64_t damaged;
    bool is_cut, is_too_much;
    uint64_t frames_left; /* that are looked at: many entries may claim one value */
    struct tool_symbols *symbols;
};

static size_t read_at(struct dictionary *words, void *buffer, size_t size_bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t got =
            pread(words->fd, (char *)buffer + done, size_bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            words->failed_errno = errno;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static const char *check_head(const struct dictionary *words, size_t got)
{
    const struct ttp_context_head *head = &words->head;
    if (got != sizeof *head || head->magic != TTP_CONTEXT_MAGIC)
        return "it is no dictionary of context values";
    if (head->version != TTP_CONTEXT_VERSION)
        return "it is a dictionary of another version";
    if (head->check != ttp_context_head_check(head) ||
        head->entry_count > TTP_CONTEXT_ENTRIES_MAX || head->operation > TTAPE_CONTEXT_MULTIPLY ||
        head->ids > TTAPE_CONTEXT_IDS_ADDRESS)
        return "its head is damaged";
    return NULL;
}

/* What the seed has to be: the build id and the name have no check of their own. */
static uint64_t seed_of(const struct ttp_context_module *module)
{
    char name[5 + 256] = "file:";
    uint32_t start = module->path_bytes, size;
    if (module->build_id_bytes != 0)
        return ttape_context_seed(module->build_id, module->build_id_bytes);
    while (start > 0 && module->path[start - 1] != '/')
        start--;
    for (size = 5; start < module->path_bytes && size < sizeof name;)
        name[size++] = module->path[start++];
    return ttape_context_seed(name, size);
}

static void read_modules(struct dictionary *words)
{
    words->read = tool_allocate(TTP_CONTEXT_MODULES, sizeof *words->read);
    (void)read_at(words, words->read, TTP_CONTEXT_MODULES * sizeof *words->read,
                  TTP_CONTEXT_HEAD_BYTES);
    for (uint32_t i = 0; i < TTP_CONTEXT_MODULES; i++) {
        const struct ttp_context_module *from = &words->read[i].module;
        uint64_t sizes = (uint64_t)from->build_id_bytes << 32 | from->path_bytes;
        if (from->check <= TTP_CONTEXT_CHECK_WRITING ||
            from->build_id_bytes > TTP_CONTEXT_BUILD_ID_MAX ||
            from->path_bytes > TTP_CONTEXT_PATH_MAX)
            continue;
        if (from->check != ttp_context_check(from->seed, sizes, from->start) ||
            from->seed != seed_of(from)) {
            words->damaged++;
            continue;
        }
        words->modules[i + 1] =
            (struct module){.seed = from->seed,
                            .start = from->start,
                            .path = {from->path, from->path_bytes},
                            .build_id = {(const char *)from->build_id, from->build_id_bytes}};
    }
}

static void take_entry(struct dictionary *words, const struct ttp_context_entry *from,
                       uint32_t number)
{
    if (from->check <= TTP_CONTEXT_CHECK_WRITING)
        return;
    if (from->check != ttp_context_entry_check(from)) {
        words->damaged++;
        return;
    }
    tool_grow((void **)&words->entries, &words->capacity, words->count + 1, sizeof *words->entries);
    words->entries[words->count++] = (struct entry){.value = from->value,
                                                    .place = from->place,
                                                    .number = number,
                                                    .around = (uint32_t)from->around,
                                                    .depth = (uint32_t)(from->around >> 32)};
}

static void read_entries(struct dictionary *words)
{
    struct ttp_context_entry *some = tool_allocate(READ_ENTRIES, sizeof *some);
    for (uint32_t first = 0; first < words->head.entry_count; first += READ_ENTRIES) {
        uint32_t left = words->head.entry_count - first;
        size_t wanted = (left < READ_ENTRIES ? left : READ_ENTRIES) * sizeof *some;
        size_t got =
            read_at(words, some, wanted, TTP_CONTEXT_ENTRIES_AT + (uint64_t)first * sizeof *some);
        for (uint32_t i = 0; i < got / sizeof *some; i++)
            take_entry(words, &some[i], first + i + 1);
        words->is_cut |= got < wanted;
        if (words->is_cut)
            break;
    }
    free(some);
}

static const struct entry *find_entry(const struct dictionary *words, uint32_t number)
{
    struct ttp_bisect s = {.end = words->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, words->entries[s.middle].number < number);
    return s.first < words->count && words->entries[s.first].number == number
               ? &words->entries[s.first]
               : NULL;
}

static uint64_t id_of(const struct dictionary *words, uint64_t place)
{
    const struct module *module = &words->modules[place >> TTP_CONTEXT_OFFSET_BITS & 0xFF];
    uint64_t offset = place & OFFSET_MASK;
    if (words->head.ids == TTAPE_CONTEXT_IDS_ADDRESS)
        return module->start + offset;
    return ttape_context_id(module->seed, offset);
}

/* Places, outermost first. False: the stack is not all there, or its value is another one. */
static bool find_stack(struct dictionary *words, const struct entry *entry, uint64_t *places,
                       uint64_t *ids)
{
    ttape_context_operation operation = (ttape_context_operation)words->head.operation;
    uint64_t value = ttape_context_first(operation);
    uint32_t at = entry->depth;
    if (words->frames_left < entry->depth) {
        words->is_too_much = true;
        return false;
    }
    words->frames_left -= entry->depth;
    for (const struct entry *frame = entry; frame != NULL && at > 0 && frame->depth == at;
         frame = find_entry(words, frame->around)) {
        places[--at] = frame->place;
        if (at == 0 && frame->around != 0)
            return false;
    }
    if (at != 0)
        return false;
    for (; at < entry->depth; at++) {
        uint64_t number = places[at] >> TTP_CONTEXT_OFFSET_BITS;
        if (number > TTP_CONTEXT_MODULES ||
            (number != 0 && words->modules[number].path.data == NULL))
            return false;
        ids[at] = id_of(words, places[at]);
        value = ttape_context_enter(operation, value, ids[at]);
    }
    return value == entry->value;
}

/* -- names -- */

static char *name_place(const struct module *module, uint64_t offset)
{
    char text[TOOL_PLACE_BYTES], *escaped;
    ttape_string path = module->path;
    for (size_t i = path.size_bytes; i > 0; i--)
        if (path.data[i - 1] == '/') {
            path = (ttape_string){path.data + i, path.size_bytes - i};
            break;
        }
    size_t shown = path.size_bytes < 200 ? path.size_bytes : 200;
    int size = path.data == NULL
                   ? snprintf(text, sizeof text, "0x%" PRIx64, offset)
                   : snprintf(text, sizeof text, "%.*s+0x%" PRIx64, (int)shown, path.data, offset);
    escaped = tool_allocate((size_t)size * TTP_ESCAPE_MAX + 1, 1);
    escaped[ttp_escape(escaped, TTP_ESCAPE_TERMINAL, text, (size_t)size)] = '\0';
    return escaped;
}

static char *name_of(struct dictionary *words, uint64_t place)
{
    struct module *module = &words->modules[place >> TTP_CONTEXT_OFFSET_BITS & 0xFF];
    uint64_t offset = place & OFFSET_MASK;
    struct tool_symbols_query query = {.entry = true};
    struct tool_symbol found;
    if (module->path.data == NULL)
        return name_place(module, offset);
    if (module->symbols == NULL) {
        module->symbols = tool_symbols_module_open(words->symbols, module->path, module->build_id);
        (void)tool_symbols_warn(module->symbols);
    }
    const struct tool_elf_head *head = tool_symbols_module_head(module->symbols);
    if (head == NULL || !tool_elf_address_in_module(head, 0, offset, &query.elf_address) ||
        !tool_symbols_find(words->symbols, module->symbols, &query, &found) ||
        found.name.size_bytes == 0)
        return name_place(module, offset);
    char *escaped = tool_allocate(found.name.size_bytes * TTP_ESCAPE_MAX + 1, 1);
    escaped[ttp_escape(escaped, TTP_ESCAPE_TERMINAL, found.name.data, found.name.size_bytes)] =
        '\0';
    return escaped;
}

/* -- answers -- */

static void answer(struct dictionary *words, struct tool_contexts *contexts,
                   const struct entry *entry)
{
    struct tool_context_wanted *wanted = tool_context_find(contexts, entry->value);
    if (wanted == NULL || entry->depth > words->count)
        return;
    uint64_t *places = tool_allocate((size_t)entry->depth + 1, 2 * sizeof *places);
    uint64_t *ids = places + entry->depth + 1;
    bool is_known = find_stack(words, entry, places, ids);
    while (is_known && wanted != NULL) {
        bool fits = wanted->depth == TOOL_CONTEXT_ANY_DEPTH || wanted->depth == entry->depth;
        struct tool_context_answer *found =
            fits ? tool_context_answer(wanted, ids, entry->depth) : NULL;
        for (uint32_t i = 0; found != NULL && i < entry->depth && !found->is_in_dictionary; i++)
            if (found->names[i] == NULL)
                found->names[i] = name_of(words, places[i]);
        if (found != NULL) {
            found->is_in_dictionary = true;
            found->is_xor = words->head.operation == TTAPE_CONTEXT_XOR;
        }
        wanted = wanted->next == TTAPE_NONE ? NULL : &contexts->wanted[wanted->next];
    }
    free(places);
}

static int say_loss(const struct dictionary *words)
{
    if (words->is_cut)
        tool_message("'%s' was cut: it is read up to there", words->path);
    if (words->damaged != 0)
        tool_message("'%s' has %" PRIu64 " damaged entries: they are left out", words->path,
                     words->damaged);
    if (words->is_too_much)
        tool_message("'%s' has more stacks of these values than are looked at", words->path);
    if (words->head.lost != 0)
        tool_message("'%s' was full %" PRIu64 " times that a context was asked for: a larger one "
                     "has them all",
                     words->path, words->head.lost);
    return words->is_cut || words->is_too_much || words->damaged != 0 ? TOOL_LOSS : TOOL_OK;
}

int tool_context_read_dictionary(struct tool_contexts *contexts, const char *path,
                                 const struct tool_debug_files *debug)
{
    struct dictionary words = {
        .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC), .frames_left = FRAMES_MOST};
    if (words.fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    const char *why = check_head(&words, read_at(&words, &words.head, sizeof words.head, 0));
    if (why != NULL) {
        close(words.fd);
        return tool_fail("cannot use '%s': %s", path,
                         words.failed_errno != 0 ? strerror(words.failed_errno) : why);
    }
    struct tool_symbols_options options = {0};
    tool_debug_files_apply(debug, &options);
    read_modules(&words);
    read_entries(&words);
    words.symbols = tool_symbols_make(&options);
    for (size_t i = 0; i < words.count; i++)
        answer(&words, contexts, &words.entries[i]);
    tool_symbols_close(words.symbols);
    close(words.fd);
    free(words.entries);
    free(words.read);
    if (words.failed_errno != 0)
        return tool_fail("cannot read '%s': %s", path, strerror(words.failed_errno));
    return say_loss(&words);
}
