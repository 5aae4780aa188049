/* Names that become the same are a group; a group whose names differ gets the least detail that
 * tells them apart, all of them the same. */
#include <stdio.h>
#include <string.h>

#include "answers/names/names_internal.h"
#include "base/hash.h"
#include "base/names/simple_name.h"
#include "base/names/text_map.h"
#include "base/secret.h"
#include "base/text.h"
#include "reader/base/choice.h"

#define ELLIPSIS      "\xE2\x80\xA6"
#define MARK_COLUMNS  8u    /* " #12ab34" */
#define MARK_SIZE     11u   /* the same with an ellipsis, and a zero */
#define STEPS_BETWEEN 1024u /* two questions whether to go on */

struct group {
    uint32_t first, last; /* of its names */
    bool is_mixed;        /* they are not one and the same */
};

struct choice {
    struct ttp_region *region;
    ttape_name *rows;
    const bool *is_code;
    uint32_t count;
    struct group *groups;
    uint32_t *next; /* name of the same group; TTAPE_NONE: the last one */
    uint32_t group_count;
    uint64_t secret; /* of its tables of names */
    char *text;      /* a name while it is made */
    size_t text_capacity;
};

/* The name with so much detail; the name itself where that is the same, or memory is short. */
static ttape_string simplify(struct choice *work, ttape_string name, enum ttp_name_detail detail)
{
    if (!ttp_region_grow(work->region, &work->text, &work->text_capacity,
                         TTP_SIMPLE_NAME_BYTES(name.size_bytes), 1))
        return name;
    size_t size = ttp_simple_name(work->text, name.data, name.size_bytes, detail);
    if (ttp_is_same_text((ttape_string){work->text, size}, name))
        return name;
    const char *copy = ttp_region_copy(work->region, work->text, size);
    return copy != NULL ? (ttape_string){copy, size} : name;
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

/* The simple form becomes another one. */
static void replace(struct choice *work, ttape_name *row, ttape_string by)
{
    if (row->simple.data != row->full.data && row->simple.data != row->brief.data)
        ttp_region_give(work->region, (void *)row->simple.data);
    row->simple = by;
}

/* ---- groups ---- */

static void add_to_group(struct choice *work, struct ttp_text_map *table, uint32_t i)
{
    bool is_new;
    const ttape_name *row = &work->rows[i];
    uint32_t *number =
        ttp_text_map_at(work->region, table, row->simple.data, row->simple.size_bytes, &is_new);
    work->next[i] = TTAPE_NONE;
    if (is_new) {
        *number = work->group_count++;
        work->groups[*number] = (struct group){i, i, false};
        return;
    }
    struct group *group = &work->groups[*number];
    group->is_mixed =
        group->is_mixed || !ttp_is_same_text(row->full, work->rows[group->first].full);
    work->next[group->last] = i;
    group->last = i;
}

/* Does this detail tell all names of a group apart? */
static bool suffices(struct choice *work, const struct group *group, enum ttp_name_detail detail)
{
    struct ttp_text_map table = {.secret = work->secret};
    bool is_enough = true, is_new;
    for (uint32_t i = group->first; i != TTAPE_NONE; i = work->next[i]) {
        ttape_name *row = &work->rows[i];
        replace(work, row, simplify(work, row->full, detail));
        uint32_t *other = ttp_text_map_at(work->region, &table, row->simple.data,
                                          row->simple.size_bytes, &is_new);
        if (is_new)
            *other = i;
        else
            is_enough = is_enough && ttp_is_same_text(work->rows[*other].full, row->full);
    }
    ttp_text_map_close(work->region, &table);
    return is_enough;
}

/* ---- marks ---- */

static size_t columns_of(ttape_string text) { return ttp_text_columns(text.data, text.size_bytes); }

/* Gives the brief form digits that belong to the whole name, in every trace; what is too long is
 * cut. */
static void mark(struct choice *work, ttape_name *row)
{
    char digits[MARK_SIZE];
    struct ttp_hash hash = {0};
    ttape_string text = row->brief;
    bool is_cut = columns_of(text) > TTAPE_NAME_COLUMNS - MARK_COLUMNS;
    if (is_cut)
        text.size_bytes =
            ttp_text_cut(text.data, text.size_bytes, TTAPE_NAME_COLUMNS - MARK_COLUMNS);
    ttp_hash_bytes(&hash, row->full.data, row->full.size_bytes);
    (void)snprintf(digits, sizeof digits, "%s#%06x", is_cut ? ELLIPSIS : " ",
                   (unsigned)(hash.low & 0xFFFFFF));
    char *marked = ttp_region_take(work->region, text.size_bytes + MARK_SIZE, 1);
    if (marked == NULL)
        return;
    memcpy(marked, text.data, text.size_bytes);
    memcpy(marked + text.size_bytes, digits, strlen(digits));
    replace(work, row, (ttape_string){marked, text.size_bytes + strlen(digits)});
}

static void tell_apart(struct choice *work, const struct group *group)
{
    bool is_enough = false;
    for (int detail = TTP_NAME_SHORT + 1; detail < TTP_NAME_DETAILS && !is_enough; detail++)
        is_enough = suffices(work, group, (enum ttp_name_detail)detail);
    for (uint32_t i = group->first; i != TTAPE_NONE; i = work->next[i]) {
        ttape_name *row = &work->rows[i];
        if ((!is_enough || columns_of(row->simple) > TTAPE_NAME_COLUMNS) &&
            row->simple.data != row->full.data)
            mark(work, row);
    }
}

/* ---- all names ---- */

static void shorten(struct choice *work, ttape_name *row)
{
    if (is_long(row->full))
        row->simple = row->brief = simplify(work, row->full, TTP_NAME_SHORT);
}

static void make_groups(struct choice *work)
{
    struct ttp_text_map table = {.secret = work->secret};
    work->groups = ttp_region_take(work->region, work->count, sizeof *work->groups);
    work->next = ttp_region_take(work->region, work->count, sizeof *work->next);
    for (uint32_t i = 0; i < work->count && !work->region->is_short; i++)
        if (work->is_code[i])
            add_to_group(work, &table, i);
    ttp_text_map_close(work->region, &table);
}

static bool goes_on(const struct choice *work, const ttape_watch *watch, uint32_t done,
                    uint32_t all, ttape_status *status, ttape_error *err)
{
    if (done % STEPS_BETWEEN == 0)
        *status = ttp_ask_watch(watch, done, all, err);
    return *status == TTAPE_OK && !work->region->is_short;
}

static ttape_status choose_names(struct choice *work, const ttape_watch *watch, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    bool is_any = false;
    for (uint32_t i = 0; i < work->count && goes_on(work, watch, i, work->count, &status, err);
         i++) {
        if (work->is_code[i])
            shorten(work, &work->rows[i]);
        is_any = is_any || work->rows[i].simple.data != work->rows[i].full.data;
    }
    if (!is_any || status != TTAPE_OK)
        return status;
    make_groups(work);
    uint32_t groups = work->region->is_short ? 0 : work->group_count;
    for (uint32_t i = 0; i < groups && goes_on(work, watch, i, groups, &status, err); i++)
        if (work->groups[i].is_mixed)
            tell_apart(work, &work->groups[i]);
    for (uint32_t i = 0; i < work->count && !work->region->is_short; i++) {
        ttape_name *row = &work->rows[i];
        if (row->simple.data != row->full.data && columns_of(row->simple) > TTAPE_NAME_COLUMNS)
            mark(work, row);
    }
    return status;
}

ttape_status ttp_choose_names(struct ttape_names *names, const ttape_watch *watch, ttape_error *err)
{
    struct choice work = {.region = &names->region,
                          .rows = names->rows,
                          .is_code = names->is_code,
                          .count = names->first[names->reader_count],
                          .secret = ttp_secret_key()};
    ttape_status status = choose_names(&work, watch, err);
    ttp_region_give(work.region, work.groups);
    ttp_region_give(work.region, work.next);
    ttp_region_give(work.region, work.text);
    return status;
}
