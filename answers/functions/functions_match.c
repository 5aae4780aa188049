/* One program under two names. A unit is what functions have in common beside their symbols: first
 * a module, then a source file in what is one module by now.
 *
 *   rows -> units -> symbols that are in one lone unit of each side -> pairs of units, that with
 *   most of them first -> units of B become those of A
 *   twice; then rows of one symbol in one unit are one -> matches
 *
 * Where modules are one build, the place of a function without symbol stands for it.
 * Everything is sorted and then gone through once: no file can make this slow. */
#include <string.h>

#include "answers/functions/functions_internal.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "reader/definitions/site_words.h"
#include "reader/reader_internal.h"

#define SHARED_LEAST 2u /* one may be called the same by chance: main is */

struct unit {
    uint32_t sides;  /* 1: A has it, 2: B; with one of them it is a lone one */
    uint32_t count;  /* of symbols */
    uint32_t paired; /* the unit of the other side, or TTAPE_NONE */
};

struct pair {
    uint32_t units[2]; /* of A, of B */
    uint32_t shared;   /* symbols */
};

struct matching {
    struct ttape_functions *f;
    uint32_t count;      /* of rows: all but the last, of what is not known, which is in no unit */
    uint32_t *order;     /* rows, sorted by whatever is grouped */
    uint32_t *module_of; /* by row: the unit of its module, once modules are paired */
    uint32_t *unit_of;   /* by row */
    uint32_t *becomes;   /* by row: A's row, or itself */
    struct unit *units;
    struct pair *pairs; /* a symbol makes one at most: half as many as rows */
    uint32_t *pairs_order;
    uint32_t unit_count, pair_count;
    bool by_file; /* units are files */
};

/* ---- what is compared ---- */

static ttape_string module_name(const struct matching *m, uint32_t row)
{
    return ttp_path_base(m->f->rows[row].module_path);
}

/* Rows were made so, too: functions without symbol are in no file. */
static ttape_string file_name(const struct matching *m, uint32_t row)
{
    const ttape_function *function = &m->f->rows[row];
    return m->f->with_files && function->symbol.size_bytes > 0 ? ttp_path_base(function->file)
                                                               : (ttape_string){"", 0};
}

static uint64_t module_offset(const struct matching *m, uint32_t row)
{
    const ttape_function *function = &m->f->rows[row];
    const struct ttp_definition_tables *d = &m->f->readers[function->reader]->definitions;
    return ttp_site_offset(d, &d->sites[function->site]);
}

/* A row without a symbol, in a build that nobody knows, is like no other one. */
static bool is_unknown(const struct matching *m, uint32_t row)
{
    return m->f->rows[row].symbol.size_bytes == 0 && m->f->rows[row].build_id.size_bytes == 0;
}

static int compare_symbols(const struct matching *m, uint32_t a, uint32_t b)
{
    const ttape_function *one = &m->f->rows[a], *two = &m->f->rows[b];
    int order = ttp_compare_strings(one->symbol, two->symbol);
    if (order != 0 || one->symbol.size_bytes > 0)
        return order;
    order = ttp_compare_strings(one->build_id, two->build_id);
    return order != 0 ? order : ttp_compare_numbers(module_offset(m, a), module_offset(m, b));
}

static int compare_units(const struct matching *m, uint32_t a, uint32_t b)
{
    if (!m->by_file)
        return ttp_compare_strings(module_name(m, a), module_name(m, b));
    int order = ttp_compare_numbers(m->module_of[a], m->module_of[b]);
    return order != 0 ? order : ttp_compare_strings(file_name(m, a), file_name(m, b));
}

static bool is_unit_before(const void *context, uint32_t a, uint32_t b)
{
    int order = compare_units(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

static bool is_symbol_before(const void *context, uint32_t a, uint32_t b)
{
    const struct matching *m = context;
    int order = compare_symbols(m, a, b);
    order = order != 0 ? order : ttp_compare_numbers(m->unit_of[a], m->unit_of[b]);
    return order != 0 ? order < 0 : a < b;
}

static int compare_pairs(const struct pair *a, const struct pair *b)
{
    int order = ttp_compare_numbers(a->units[0], b->units[0]);
    return order != 0 ? order : ttp_compare_numbers(a->units[1], b->units[1]);
}

static bool is_pair_before(const void *context, uint32_t a, uint32_t b)
{
    const struct matching *m = context;
    int order = compare_pairs(&m->pairs[a], &m->pairs[b]);
    return order != 0 ? order < 0 : a < b;
}

static bool is_larger_pair(const void *context, uint32_t a, uint32_t b)
{
    const struct matching *m = context;
    return m->pairs[a].shared != m->pairs[b].shared ? m->pairs[a].shared > m->pairs[b].shared
                                                    : is_pair_before(context, a, b);
}

/* ---- units ---- */

static void find_units(struct matching *m)
{
    m->unit_count = 0;
    for (uint32_t i = 0; i < m->count; i++)
        m->order[i] = i;
    ttp_sort(m->order, m->count, is_unit_before, m);
    for (uint32_t i = 0; i < m->count; i++) {
        if (i == 0 || compare_units(m, m->order[i - 1], m->order[i]) != 0)
            m->units[m->unit_count++] = (struct unit){.paired = TTAPE_NONE};
        m->unit_of[m->order[i]] = m->unit_count - 1;
    }
    for (uint32_t i = 0; i < m->f->site_count; i++)
        m->units[m->unit_of[m->f->row_of[i]]].sides |= i < m->f->first[m->f->a_count] ? 1 : 2;
}

/* ---- pairs ---- */

/* Rows of one symbol, which stand by units. */
static void take_symbol(struct matching *m, uint32_t first, uint32_t end)
{
    uint32_t found[2] = {TTAPE_NONE, TTAPE_NONE}, counts[2] = {0, 0};
    if (is_unknown(m, m->order[first]))
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t row = m->order[i], number = m->unit_of[row];
        struct unit *unit = &m->units[number];
        if (i > first && m->unit_of[m->order[i - 1]] == number)
            continue;
        unit->count += m->f->rows[row].symbol.size_bytes > 0;
        if (unit->sides == 3 || m->f->rows[row].module_path.size_bytes == 0)
            continue;
        found[unit->sides - 1] = number;
        counts[unit->sides - 1]++;
    }
    if (counts[0] == 1 && counts[1] == 1)
        m->pairs[m->pair_count++] = (struct pair){{found[0], found[1]}, 1};
}

static void find_pairs(struct matching *m)
{
    m->pair_count = 0;
    ttp_sort(m->order, m->count, is_symbol_before, m);
    for (uint32_t first = 0, end; first < m->count; first = end) {
        end = first + 1;
        while (end < m->count && compare_symbols(m, m->order[first], m->order[end]) == 0)
            end++;
        take_symbol(m, first, end);
    }
}

static void add_up_pairs(struct matching *m)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->pair_count; i++)
        m->pairs_order[i] = i;
    ttp_sort(m->pairs_order, m->pair_count, is_pair_before, m);
    for (uint32_t i = 0; i < m->pair_count; i++) {
        struct pair *pair = &m->pairs[m->pairs_order[i]];
        struct pair *last = kept > 0 ? &m->pairs[m->pairs_order[kept - 1]] : NULL;
        if (last != NULL && compare_pairs(last, pair) == 0)
            last->shared++;
        else
            m->pairs_order[kept++] = m->pairs_order[i];
    }
    m->pair_count = kept;
    ttp_sort(m->pairs_order, m->pair_count, is_larger_pair, m);
}

static void put_together(struct matching *m, const struct pair *pair)
{
    m->units[pair->units[0]].paired = pair->units[1];
    m->units[pair->units[1]].paired = pair->units[0];
}

/* Whether each side has one module left that only it has: a program of which little is recorded,
 * beside libraries that were found to be one. */
static bool is_one_left(const struct matching *m)
{
    uint32_t left[2] = {0, 0};
    for (uint32_t i = 0; i < m->unit_count; i++)
        if (m->units[i].sides != 3 && m->units[i].sides != 0 && m->units[i].paired == TTAPE_NONE)
            left[m->units[i].sides - 1]++;
    return left[0] == 1 && left[1] == 1;
}

static void choose_last_pair(struct matching *m)
{
    for (uint32_t i = 0; i < m->pair_count && is_one_left(m); i++) {
        const struct pair *pair = &m->pairs[m->pairs_order[i]];
        const struct unit *a = &m->units[pair->units[0]], *b = &m->units[pair->units[1]];
        if (a->paired == TTAPE_NONE && b->paired == TTAPE_NONE && pair->shared == a->count &&
            pair->shared == b->count)
            put_together(m, pair);
    }
}

static void choose_pairs(struct matching *m)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < m->pair_count; i++) {
        const struct pair *pair = &m->pairs[m->pairs_order[i]];
        const struct unit *a = &m->units[pair->units[0]], *b = &m->units[pair->units[1]];
        uint32_t smaller = a->count < b->count ? a->count : b->count;
        if (a->paired != TTAPE_NONE || b->paired != TTAPE_NONE || pair->shared < SHARED_LEAST ||
            pair->shared < smaller - smaller / 2)
            continue;
        put_together(m, pair);
        chosen++;
    }
    if (chosen > 0 && !m->by_file)
        choose_last_pair(m);
}

static void pair_units(struct matching *m)
{
    find_units(m);
    find_pairs(m);
    add_up_pairs(m);
    choose_pairs(m);
    for (uint32_t i = 0; i < m->count; i++) {
        const struct unit *unit = &m->units[m->unit_of[i]];
        if (unit->sides == 2 && unit->paired != TTAPE_NONE)
            m->unit_of[i] = unit->paired;
    }
}

/* ---- rows ---- */

/* A symbol has one row in a unit, or two: one of A, which is the first, and one of B. */
static void join_rows(struct matching *m)
{
    struct ttape_functions *f = m->f;
    for (uint32_t i = 0; i < m->count; i++)
        m->becomes[i] = m->order[i] = i;
    ttp_sort(m->order, m->count, is_symbol_before, m);
    for (uint32_t i = 1; i < m->count; i++) {
        uint32_t a = m->order[i - 1], b = m->order[i];
        if (m->unit_of[a] == m->unit_of[b] && !is_unknown(m, b) && compare_symbols(m, a, b) == 0)
            m->becomes[b] = m->becomes[a];
    }
    for (uint32_t i = f->first[f->a_count]; i < f->site_count; i++)
        f->row_of[i] = m->becomes[f->row_of[i]];
}

/* ---- matches ---- */

static ttape_functions_match match_of(const struct matching *m, uint32_t b)
{
    uint32_t a = m->becomes[b];
    ttape_functions_match match = {.modules = {module_name(m, a), module_name(m, b)},
                                   .files = {{"", 0}, {"", 0}},
                                   .function_count = 1};
    if (ttp_compare_strings(match.modules[0], match.modules[1]) == 0) {
        match.files[0] = file_name(m, a);
        match.files[1] = file_name(m, b);
    }
    return match;
}

static int compare_matches(const struct matching *m, uint32_t a, uint32_t b)
{
    const ttape_functions_match one = match_of(m, a), two = match_of(m, b);
    int order = 0;
    for (int side = 0; side < 2 && order == 0; side++) {
        order = ttp_compare_strings(one.modules[side], two.modules[side]);
        order = order != 0 ? order : ttp_compare_strings(one.files[side], two.files[side]);
    }
    return order;
}

static bool is_match(const struct matching *m, uint32_t a, uint32_t b)
{
    return compare_matches(m, a, b) == 0;
}

static bool is_match_before(const void *context, uint32_t a, uint32_t b)
{
    int order = compare_matches(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

/* All files of two modules make one match. */
static ttape_status make_matches(struct matching *m, ttape_error *err)
{
    struct ttape_functions *f = m->f;
    uint32_t joined = 0, count = 0;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->becomes[i] != i)
            m->order[joined++] = i;
    ttp_sort(m->order, joined, is_match_before, m);
    for (uint32_t i = 0; i < joined; i++)
        count += i == 0 || !is_match(m, m->order[i - 1], m->order[i]);
    f->matches = ttp_memory_take(&f->memory, count, sizeof *f->matches, err);
    if (f->matches == NULL)
        return f->memory.status;
    for (uint32_t i = 0; i < joined; i++)
        if (i > 0 && is_match(m, m->order[i - 1], m->order[i]))
            f->matches[f->match_count - 1].function_count++;
        else
            f->matches[f->match_count++] = match_of(m, m->order[i]);
    return TTAPE_OK;
}

/* ---- memory ---- */

static bool take_memory(struct matching *m, ttape_error *err)
{
    struct ttp_memory *memory = &m->f->memory;
    uint32_t half = m->count / 2;
    return (m->order = ttp_memory_take(memory, m->count, sizeof *m->order, err)) != NULL &&
           (m->module_of = ttp_memory_take(memory, m->count, sizeof *m->module_of, err)) != NULL &&
           (m->unit_of = ttp_memory_take(memory, m->count, sizeof *m->unit_of, err)) != NULL &&
           (m->becomes = ttp_memory_take(memory, m->count, sizeof *m->becomes, err)) != NULL &&
           (m->units = ttp_memory_take(memory, m->count, sizeof *m->units, err)) != NULL &&
           (m->pairs = ttp_memory_take(memory, half, sizeof *m->pairs, err)) != NULL &&
           (m->pairs_order = ttp_memory_take(memory, half, sizeof *m->pairs_order, err)) != NULL;
}

static void give_memory(struct matching *m)
{
    struct ttp_memory *memory = &m->f->memory;
    uint32_t half = m->count / 2;
    ttp_memory_give(memory, m->pairs_order, half, sizeof *m->pairs_order);
    ttp_memory_give(memory, m->pairs, half, sizeof *m->pairs);
    ttp_memory_give(memory, m->units, m->count, sizeof *m->units);
    ttp_memory_give(memory, m->becomes, m->count, sizeof *m->becomes);
    ttp_memory_give(memory, m->unit_of, m->count, sizeof *m->unit_of);
    ttp_memory_give(memory, m->module_of, m->count, sizeof *m->module_of);
    ttp_memory_give(memory, m->order, m->count, sizeof *m->order);
}

ttape_status ttp_functions_match(struct ttape_functions *f, ttape_error *err)
{
    struct matching m = {.f = f, .count = f->row_count - 1};
    ttape_status status;
    if (take_memory(&m, err)) {
        pair_units(&m);
        m.by_file = f->with_files;
        memcpy(m.module_of, m.unit_of, m.count * sizeof *m.module_of);
        if (m.by_file)
            pair_units(&m);
        join_rows(&m);
        status = make_matches(&m, err);
    } else {
        status = f->memory.status;
    }
    give_memory(&m);
    return status;
}
