/* Names that become the same are a group; a group whose names differ gets the least detail that
 * tells them apart, all of them the same. */
#include "tools/calls/name_choice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/names/simple_name.h"
#include "base/secret.h"
#include "tools/calls/name_table.h"
#include "tools/command/tool.h"

#define ELLIPSIS     "\xE2\x80\xA6"
#define MARK_COLUMNS 8u  /* " #12ab34" */
#define MARK_SIZE    11u /* the same with an ellipsis, and a zero */

struct group {
    uint32_t first, last; /* of its names */
    bool is_mixed;        /* they are not one and the same */
};

struct choice {
    const ttape_string *names;
    size_t count;
    ttape_string *chosen;
    struct group *groups;
    uint32_t *next; /* name of the same group; TTAPE_NONE: the last one */
    size_t group_count;
    uint64_t secret; /* of its tables of names */
};

static bool is_same(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static ttape_string simplify(ttape_string name, enum tool_name_detail detail)
{
    char *text = tool_allocate(TOOL_SIMPLE_NAME_BYTES(name.size_bytes), 1);
    size_t size = tool_simple_name(text, name.data, name.size_bytes, detail);
    return (ttape_string){tool_reallocate(text, size + 1, 1), size};
}

/* Could it have a short form? Saves the work for names of C. */
static bool is_long(ttape_string name)
{
    for (size_t i = 0; i < name.size_bytes; i++)
        if (name.data[i] == '(' || name.data[i] == '<' || name.data[i] == '[' ||
            (name.data[i] == ':' && name.size_bytes - i > 4 &&
             memcmp(name.data + i, "::__", 4) == 0))
            return true;
    return false;
}

static ttape_string shown(const struct choice *work, size_t i)
{
    return work->chosen[i].data != NULL ? work->chosen[i] : work->names[i];
}

static void replace(ttape_string *text, ttape_string by)
{
    free((char *)text->data);
    *text = by;
}

/* ---- groups ---- */

static void add_to_group(struct choice *work, struct tool_names *table, uint32_t i)
{
    bool is_new;
    ttape_string text = shown(work, i);
    uint32_t *number = tool_names_find(table, text.data, text.size_bytes, &is_new);
    work->next[i] = TTAPE_NONE;
    if (is_new) {
        *number = (uint32_t)work->group_count++;
        work->groups[*number] = (struct group){i, i, false};
        return;
    }
    struct group *group = &work->groups[*number];
    group->is_mixed = group->is_mixed || !is_same(work->names[i], work->names[group->first]);
    work->next[group->last] = i;
    group->last = i;
}

/* Does this detail tell all names of a group apart? */
static bool suffices(struct choice *work, const struct group *group, enum tool_name_detail detail)
{
    struct tool_names table = {.secret = work->secret};
    bool is_enough = true, is_new;
    for (uint32_t i = group->first; i != TTAPE_NONE; i = work->next[i]) {
        replace(&work->chosen[i], simplify(work->names[i], detail));
        ttape_string text = work->chosen[i];
        uint32_t *other = tool_names_find(&table, text.data, text.size_bytes, &is_new);
        if (is_new)
            *other = i;
        else
            is_enough = is_enough && is_same(work->names[*other], work->names[i]);
    }
    tool_names_close(&table);
    return is_enough;
}

/* ---- marks ---- */

static size_t columns_of(ttape_string text)
{
    size_t columns = 0;
    for (size_t i = 0; i < text.size_bytes; i++)
        columns += ((unsigned char)text.data[i] & 0xC0u) != 0x80;
    return columns;
}

static size_t bytes_of_columns(ttape_string text, size_t columns)
{
    size_t seen = 0;
    for (size_t i = 0; i < text.size_bytes; i++)
        if (((unsigned char)text.data[i] & 0xC0u) != 0x80 && seen++ == columns)
            return i;
    return text.size_bytes;
}

/* Adds digits that belong to the whole name, in every trace; what is too long is cut. */
static void mark(ttape_string *text, ttape_string name)
{
    char digits[MARK_SIZE];
    struct ttp_hash hash = {0};
    bool is_cut = columns_of(*text) > TOOL_NAME_COLUMNS - MARK_COLUMNS;
    size_t size =
        is_cut ? bytes_of_columns(*text, TOOL_NAME_COLUMNS - MARK_COLUMNS) : text->size_bytes;
    ttp_hash_bytes(&hash, name.data, name.size_bytes);
    (void)snprintf(digits, sizeof digits, "%s#%06x", is_cut ? ELLIPSIS : " ",
                   (unsigned)(hash.low & 0xFFFFFF));
    char *marked = tool_allocate(size + MARK_SIZE, 1);
    memcpy(marked, text->data, size);
    memcpy(marked + size, digits, strlen(digits));
    replace(text, (ttape_string){marked, size + strlen(digits)});
}

static void tell_apart(struct choice *work, const struct group *group)
{
    bool is_enough = false;
    for (int detail = TOOL_NAME_SHORT + 1; detail < TOOL_NAME_DETAILS && !is_enough; detail++)
        is_enough = suffices(work, group, (enum tool_name_detail)detail);
    for (uint32_t i = group->first; i != TTAPE_NONE; i = work->next[i]) {
        if ((is_enough && columns_of(work->chosen[i]) <= TOOL_NAME_COLUMNS) ||
            is_same(work->chosen[i], work->names[i]))
            continue;
        replace(&work->chosen[i], simplify(work->names[i], TOOL_NAME_SHORT));
        mark(&work->chosen[i], work->names[i]);
    }
}

void tool_choose_names(const ttape_string *names, size_t count, ttape_string *chosen)
{
    struct choice work = {.names = names, .count = count, .chosen = chosen};
    size_t long_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_candidate = names[i].data != NULL && is_long(names[i]);
        chosen[i] = is_candidate ? simplify(names[i], TOOL_NAME_SHORT) : (ttape_string){NULL, 0};
        long_count += is_candidate;
    }
    if (long_count == 0)
        return;
    work.secret = ttp_secret_key();
    struct tool_names table = {.secret = work.secret};
    work.groups = tool_allocate(count, sizeof(*work.groups));
    work.next = tool_allocate(count, sizeof(*work.next));
    for (uint32_t i = 0; i < count; i++)
        if (names[i].data != NULL)
            add_to_group(&work, &table, i);
    tool_names_close(&table);
    for (size_t i = 0; i < work.group_count; i++)
        if (work.groups[i].is_mixed)
            tell_apart(&work, &work.groups[i]);
    for (size_t i = 0; i < count; i++)
        if (chosen[i].data != NULL && columns_of(chosen[i]) > TOOL_NAME_COLUMNS)
            mark(&chosen[i], names[i]);
    free(work.groups);
    free(work.next);
}
