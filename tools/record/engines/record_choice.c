/* CONTENT-CHOICE.chosen: which functions of a module are patched, which copies of inlined ones,
 * which marks, and what is known of their values. */
#include "tools/record/engines/record_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/arena/patch_plan.h"
#include "tools/command/tool.h"

struct bits {
    uint64_t *words;
    bool is_any;
    const struct tool_record_values *values;
    uint32_t *wanted; /* of each function's values; NULL: of none */
};

/* Copies of inlined functions, while they are listed. */
struct copying {
    struct tool_record_patch *patch;
    ttape_string build_id;
    struct tool_patch_copy *copies;
    size_t count, capacity;
};

static void take_copy(void *context, const struct tool_symbols_inlined *found)
{
    struct copying *c = context;
    bool is_next = c->count > 0 && c->copies[c->count - 1].entry == found->entry;
    if (found->entry > UINT32_MAX || found->end > UINT32_MAX ||
        !tool_record_passes_name(&c->patch->rules, found->name))
        return;
    if (!is_next)
        tool_record_copies_add(&c->patch->copies, c->build_id, found->entry + TTP_INLINED_ABOVE,
                               found->name, found->file, found->line);
    tool_grow((void **)&c->copies, &c->capacity, c->count + 1, sizeof *c->copies);
    c->copies[c->count++] = (struct tool_patch_copy){.entry = (uint32_t)found->entry,
                                                     .start = (uint32_t)found->start,
                                                     .end = (uint32_t)found->end};
}

size_t tool_record_patch_copies(struct tool_record_patch *patch,
                                const struct tool_patch_given *given, const char *path,
                                struct tool_patch_copy **copies)
{
    struct copying c = {
        .patch = patch,
        .build_id = {(const char *)given->head.build_id, given->head.build_id_bytes}};
    struct tool_symbols_module *module = tool_record_patch_module(patch, given, path);
    (void)tool_symbols_inlined_list(patch->symbols, module, take_copy, &c);
    tool_symbols_module_release(patch->symbols, module);
    *copies = c.copies;
    return c.count;
}

static void choose_function(void *context, uint32_t index, ttape_string name, bool is_chosen)
{
    struct bits *bits = context;
    if (bits->wanted != NULL && is_chosen)
        bits->wanted[index] = tool_record_values_wanted(bits->values, name);
    if (is_chosen)
        bits->words[index / 64] |= UINT64_C(1) << index % 64;
    bits->is_any |= is_chosen;
}

static void choose_all(struct tool_record_patch *patch, uint32_t count, struct bits *bits)
{
    patch->leaves_unnamed = false;
    for (uint32_t i = 0; i < count; i++)
        choose_function(bits, i, (ttape_string){"", 0}, true);
}

void tool_record_choice_name(char name[TOOL_PLAN_NAME_BYTES], const uint8_t *content,
                             uint64_t choice)
{
    char ending[TOOL_PLAN_NAME_BYTES / 2];
    (void)snprintf(ending, sizeof ending, "-%016" PRIx64 "%s", choice, TTP_CHOSEN_SUFFIX);
    tool_plan_name(name, content, ending);
}

/* What is chosen of a module, and what is known of it. */
struct choice {
    struct ttp_chosen_head head;
    uint64_t *words;                 /* a bit for each function; NULL: none is chosen */
    bool is_covered;                 /* else marks alone are chosen */
    struct tool_patch_given inlined; /* without bytes: no copies, nor marks */
    struct ttp_values_head *values;  /* NULL: none */
    size_t values_bytes;
    struct ttp_marks_head *marks; /* NULL: none */
    size_t marks_bytes;
};

/* The section's place behind what ends at *end. */
static void place(struct ttp_chosen_section *section, uint64_t *end, size_t size_bytes)
{
    if (size_bytes == 0)
        return;
    *section = (struct ttp_chosen_section){(*end + 7) / 8 * 8, size_bytes};
    *end = section->at + size_bytes;
}

/* Puts the choice beside the plan: one file, whole or not at all. */
static void put_choice(struct tool_record_patch *patch, const uint8_t *content,
                       const char *module_path, struct choice *choice)
{
    char name[TOOL_PLAN_NAME_BYTES];
    struct ttp_chosen_head *head = &choice->head;
    size_t bits_bytes = ttp_chosen_bits_bytes(head->function_count);
    uint64_t end = sizeof *head + bits_bytes;
    head->magic = TTP_CHOSEN_MAGIC;
    head->patch_version = TTP_PATCH_VERSION;
    head->choice = ttp_chosen_number(patch->choice, module_path);
    memcpy(head->content, content, sizeof head->content);
    place(&head->inlined, &end, choice->inlined.size_bytes);
    place(&head->values, &end, choice->values_bytes);
    place(&head->marks, &end, choice->marks_bytes);
    head->total_bytes = end;
    uint8_t *file = tool_allocate(end, 1);
    memcpy(file, head, sizeof *head);
    if (bits_bytes != 0)
        memcpy(file + sizeof *head, choice->words, bits_bytes);
    if (head->inlined.bytes != 0)
        memcpy(file + head->inlined.at, choice->inlined.bytes, choice->inlined.size_bytes);
    if (head->values.bytes != 0) {
        choice->values->at = head->values.at;
        memcpy(file + head->values.at, choice->values, choice->values_bytes);
    }
    if (head->marks.bytes != 0)
        memcpy(file + head->marks.at, choice->marks, choice->marks_bytes);
    tool_record_choice_name(name, content, head->choice);
    (void)tool_plan_write(patch->cache, name, file, end);
    free(file);
    /* names of copies and of values are not kept */
    if (patch->leaves_unnamed || patch->inlined || patch->values.given)
        tool_record_patch_pass(patch, name);
}

/* Copies and marks, whose windows are found together. Whether any is chosen. */
static bool find_copies(struct tool_record_patch *patch, const struct tool_patch_given *given,
                        const char *path, const struct tool_marks *marks, struct choice *choice)
{
    const struct tool_plan_wish wish = {.path = path, .cache = patch->cache};
    struct tool_patch_copy *copies = NULL;
    size_t count = patch->inlined && choice->is_covered
                       ? tool_record_patch_copies(patch, given, path, &copies)
                       : 0;
    tool_record_marks_places(marks, &copies, &count);
    bool is_made = count != 0 && tool_patch_inlined_give(&wish, &given->head, choice->words, copies,
                                                         count, &choice->inlined) == NULL;
    free(copies);
    if (is_made && marks->count != 0)
        choice->marks = tool_record_marks_make(&patch->marks, marks, &choice->marks_bytes);
    return is_made;
}

static void find_values(struct tool_record_patch *patch, const struct tool_patch_given *given,
                        const char *path, const uint32_t *wanted, struct choice *choice)
{
    struct tool_symbols_module *module = tool_record_patch_module(patch, given, path);
    choice->values = tool_record_values_make(&patch->values, given, wanted, patch->symbols, module,
                                             &choice->values_bytes);
    tool_symbols_module_release(patch->symbols, module);
    if (choice->values == NULL)
        choice->values_bytes = 0;
}

static void put_none(struct tool_record_patch *patch, const uint8_t *content,
                     const char *module_path, uint32_t flags)
{
    struct choice none = {.head.flags = TTP_CHOSEN_NONE | flags};
    put_choice(patch, content, module_path, &none);
}

/* Whether the library calls of such a program are recorded, of which no function is patched. */
static bool calls_of(const struct tool_record_patch *patch, const char *path)
{
    bool is_meant =
        patch->only == NULL || (patch->only_called && tool_record_patch_is_command(patch, path));
    return is_meant && patch->library_calls;
}

/* Nothing is known of its functions. */
static void leave_module(struct tool_record_patch *patch, const char *path)
{
    struct tool_plan_module module;
    patch->leaves_unnamed = false;
    if (tool_plan_module_open(&module, path) == NULL &&
        (tool_plan_module_find(&module, patch->cache) ||
         tool_plan_module_read(&module, patch->cache) == NULL))
        put_none(patch, module.content, path, calls_of(patch, path) ? 0 : TTP_CHOSEN_LEFT);
    tool_plan_module_close(&module);
}

void tool_record_choice_note(struct tool_record_patch *patch, const struct ttp_patch_head *head)
{
    patch->only_functions = head->function_count;
    patch->only_patchable = head->entry_reasons[TTP_PATCH_CAN];
    patch->only_exits_left = 0;
    for (unsigned i = 0; i < TTP_PATCH_REASONS; i++)
        patch->only_exits_left += i != TTP_PATCH_CAN ? head->exit_reasons[i] : 0;
}

static void choose_by_names(struct tool_record_patch *patch, const struct tool_patch_given *given,
                            const char *module_path, struct bits *bits, struct choice *choice)
{
    uint32_t count = given->head.function_count;
    if (patch->values.given) {
        bits->values = &patch->values;
        bits->wanted = tool_allocate((size_t)count + 1, sizeof *bits->wanted);
    }
    if (patch->only != NULL && bits->wanted == NULL && !patch->by_name)
        choose_all(patch, count, bits);
    else
        tool_record_patch_each(patch, given, module_path, choose_function, bits);
    if (tool_record_patch_is_command(patch, module_path))
        tool_record_choice_note(patch, &given->head);
    if (bits->wanted != NULL)
        find_values(patch, given, module_path, bits->wanted, choice);
    free(bits->wanted);
}

static void choose(struct tool_record_patch *patch, const struct tool_patch_given *given,
                   const char *module_path, const struct tool_marks *marks, bool is_covered)
{
    uint32_t count = given->head.function_count;
    uint32_t left = is_covered || calls_of(patch, module_path) ? 0 : TTP_CHOSEN_LEFT;
    struct choice choice = {
        .head = {.function_count = count, .plan_bytes = given->head.total_bytes, .flags = left},
        .words = tool_allocate((size_t)count / 64 + 1, sizeof *choice.words),
        .is_covered = is_covered};
    struct bits bits = {.words = choice.words};
    patch->leaves_unnamed = false;
    if (is_covered)
        choose_by_names(patch, given, module_path, &bits, &choice);
    if (find_copies(patch, given, module_path, marks, &choice))
        bits.is_any = true;
    if (bits.is_any)
        put_choice(patch, given->head.content, module_path, &choice);
    else
        put_none(patch, given->head.content, module_path, left);
    tool_patch_given_close(&choice.inlined);
    free(choice.marks);
    free(choice.values);
    free(choice.words);
}

/* A program whose plan is not there says so itself. */
void tool_record_choice_make(void *context, const char *module_path)
{
    struct tool_record_patch *patch = context;
    const struct tool_plan_wish wish = {.path = module_path, .cache = patch->cache};
    struct tool_patch_given given;
    struct tool_marks marks;
    bool is_covered = tool_record_patch_covers(patch, module_path);
    bool is_chosen = tool_record_marks_find(&patch->marks, module_path, &marks) || is_covered;
    if (!is_chosen)
        leave_module(patch, module_path);
    if (is_chosen || patch->library_calls) {
        if (tool_patch_give(&wish, &given) == NULL && is_chosen)
            choose(patch, &given, module_path, &marks, is_covered);
        tool_patch_given_close(&given);
    }
    tool_marks_close(&marks);
}
