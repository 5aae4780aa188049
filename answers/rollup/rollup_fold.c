/* Functions of several builds as one: those of one name in modules and files of one name, as
 * tracetape/functions.h has it BY_NAME; call sites by function and line. Files count in a module of
 * which every build has any.
 *
 *   functions, sorted by what is compared -> groups, each with the first of it in a file's order
 *   rows -> rows of another rollup, by these */
#include "answers/rollup/rollup_internal.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "reader/base/choice.h"
#include "reader/definitions/rust_symbol.h"
#include "reader/definitions/site_words.h"

struct folding {
    ttape_rollup *rollup;
    ttape_rollup_across across;
    uint32_t *order;       /* functions */
    ttape_string *symbols; /* by function: what is compared of it */
    uint8_t *with_files;   /* by function: its module's files count */
    uint32_t *stands;      /* by function: which one stands for it */
};

/* ---- which are one ---- */

static ttape_string base_of(const ttape_rollup *r, uint32_t string)
{
    return ttp_path_base(ttp_rollup_text(r, string));
}

static int compare_builds(const ttape_rollup *r, uint32_t a, uint32_t b)
{
    const struct ttp_rollup_function *x = &r->functions[a], *y = &r->functions[b];
    int order = ttp_compare_strings(base_of(r, x->path), base_of(r, y->path));
    if (order == 0)
        order = ttp_rollup_compare_texts(r, x->build, y->build);
    if (order == 0 && x->build == 0)
        order = ttp_rollup_compare_texts(r, x->path, y->path);
    return order;
}

static bool build_less(const void *context, uint32_t a, uint32_t b)
{
    const struct folding *f = context;
    int order = compare_builds(f->rollup, a, b);
    return order != 0 ? order < 0 : a < b;
}

/* One build after the other, modules of one name together. */
static void mark_files(struct folding *f)
{
    const ttape_rollup *r = f->rollup;
    const uint32_t *order = f->order;
    uint32_t count = (uint32_t)r->function_count;
    for (uint32_t first = 0, end; first < count; first = end) {
        bool all_have = true;
        ttape_string module = base_of(r, r->functions[order[first]].path);
        for (end = first; end < count;) {
            uint32_t build = end;
            bool has_any = false;
            if (ttp_compare_strings(base_of(r, r->functions[order[end]].path), module) != 0)
                break;
            for (; end < count && compare_builds(r, order[build], order[end]) == 0; end++)
                has_any = has_any || r->functions[order[end]].file != 0;
            all_have = all_have && has_any;
        }
        for (uint32_t i = first; i < end; i++)
            f->with_files[order[i]] = all_have;
    }
}

static int compare_numbers(const struct folding *f, uint32_t a, uint32_t b)
{
    const ttape_rollup *r = f->rollup;
    const struct ttp_rollup_function *x = &r->functions[a], *y = &r->functions[b];
    if (f->across == TTAPE_ROLLUP_ACROSS_MODULES)
        return compare_builds(r, a, b);
    int order = ttp_compare_strings(f->symbols[a], f->symbols[b]);
    if (order == 0)
        order = ttp_compare_strings(base_of(r, x->path), base_of(r, y->path));
    if (order == 0)
        order = ttp_compare_numbers(x->kind, y->kind);
    if (order == 0 && f->symbols[a].size_bytes == 0)
        return ttp_compare_numbers(x->offset, y->offset);
    if (order == 0 && x->kind == TTAPE_SITE_CALL)
        order = ttp_compare_numbers(x->line, y->line);
    if (order == 0 && f->with_files[a] != 0) /* then b's, too: they are of one module */
        order = ttp_compare_strings(base_of(r, x->file), base_of(r, y->file));
    return order;
}

static bool function_less(const void *context, uint32_t a, uint32_t b)
{
    const struct folding *f = context;
    int order = compare_numbers(f, a, b);
    return order != 0 ? order < 0 : f->rollup->functions[a].rank < f->rollup->functions[b].rank;
}

/* A call site of a line is the same wherever code puts it: its function counts, without the bytes
 * behind ("main+25"). */
static ttape_string symbol_of(const ttape_rollup *r, const struct ttp_rollup_function *function)
{
    ttape_string symbol = ttp_rollup_text(r, function->symbol);
    bool is_line = function->kind == TTAPE_SITE_CALL && function->line != 0;
    return is_line ? ttp_text_without_offset(symbol) : symbol;
}

static bool take_symbols(struct folding *f)
{
    ttape_rollup *r = f->rollup;
    char room[TTP_RUST_SYMBOL_MOST];
    for (uint32_t i = 0; i < r->function_count; i++) {
        ttape_string symbol = ttp_symbol_across_builds(symbol_of(r, &r->functions[i]), room);
        if (symbol.data == room)
            symbol.data = ttp_region_copy(&r->region, room, symbol.size_bytes);
        f->symbols[i] = symbol;
    }
    return !r->region.is_short;
}

static void give_symbols(struct folding *f)
{
    ttape_rollup *r = f->rollup;
    for (uint32_t i = 0; f->symbols != NULL && i < r->function_count; i++) {
        const char *own = ttp_rollup_text(r, r->functions[i].symbol).data;
        if (f->symbols[i].data != own)
            ttp_region_give(&r->region, (char *)(uintptr_t)f->symbols[i].data);
    }
    ttp_region_give(&r->region, f->symbols);
}

static void find_groups(struct folding *f)
{
    uint32_t count = (uint32_t)f->rollup->function_count;
    for (uint32_t i = 0; i < count; i++)
        f->order[i] = i;
    ttp_sort(f->order, count, build_less, f);
    mark_files(f);
    ttp_sort(f->order, count, function_less, f);
    for (uint32_t i = 0, first = 0; i < count; i++) {
        if (i > 0 && compare_numbers(f, f->order[first], f->order[i]) != 0)
            first = i;
        f->stands[f->order[i]] = f->order[first];
    }
}

/* ---- the other rollup ---- */

static uint32_t copy_function(struct folding *f, ttape_rollup *to, uint32_t number)
{
    const ttape_rollup *r = f->rollup;
    struct ttp_rollup_function like = r->functions[f->stands[number]];
    bool is_module = f->across == TTAPE_ROLLUP_ACROSS_MODULES;
    like.symbol = is_module ? 0 : ttp_rollup_take_string(to, ttp_rollup_text(r, like.symbol));
    like.build = ttp_rollup_take_string(to, ttp_rollup_text(r, like.build));
    like.path = ttp_rollup_take_string(to, ttp_rollup_text(r, like.path));
    like.file = is_module ? 0 : ttp_rollup_take_string(to, ttp_rollup_text(r, like.file));
    if (is_module) {
        like.offset = 0;
        like.line = like.kind = 0;
    }
    if (like.symbol == TTAPE_NONE || like.build == TTAPE_NONE || like.path == TTAPE_NONE ||
        like.file == TTAPE_NONE)
        return TTAPE_NONE;
    return ttp_rollup_take_function(to, &like);
}

static ttape_status copy_row(struct folding *f, ttape_rollup *to, const struct ttp_rollup_row *row,
                             ttape_error *err)
{
    uint32_t function = copy_function(f, to, row->function), caller = row->caller;
    if (caller >= TTP_ROLLUP_CALLER_FIRST) {
        caller = copy_function(f, to, caller - TTP_ROLLUP_CALLER_FIRST);
        if (caller == TTAPE_NONE)
            return ttp_rollup_fail_short(to, err);
        caller += TTP_ROLLUP_CALLER_FIRST;
    }
    uint32_t number =
        function != TTAPE_NONE ? ttp_rollup_take_row(to, function, caller) : TTAPE_NONE;
    if (number == TTAPE_NONE)
        return ttp_rollup_fail_short(to, err);
    struct ttp_rollup_row *own = &to->rows[number];
    if (!ttp_rollup_add_sums(&own->sums, ttp_rollup_row_kinds, &row->sums))
        return ttp_rollup_fail_sum(to, err);
    for (size_t i = 0; i < row->count_count; i++)
        TTP_TRY(ttp_rollup_add_count(to, own, row->counts[i].key, row->counts[i].count, err));
    for (uint32_t i = 0; i < row->longest_count; i++)
        if (!ttp_rollup_add_call(to, own, &row->longest[i]))
            return ttp_rollup_fail_short(to, err);
    return TTAPE_OK;
}

static ttape_status copy_all(struct folding *f, ttape_rollup *to, ttape_error *err)
{
    const ttape_rollup *r = f->rollup;
    memcpy(to->units, r->units, sizeof to->units);
    to->unit_count = r->unit_count;
    for (uint32_t i = 0; i < r->trace_count; i++) {
        uint32_t number;
        TTP_TRY(ttp_rollup_add_trace(to, &r->traces[i], &number, err));
    }
    for (size_t i = 0; i < r->row_count; i++)
        TTP_TRY(copy_row(f, to, &r->rows[i], err));
    to->is_partial = r->is_partial;
    to->is_folded = true;
    return ttp_rollup_settle(to) ? TTAPE_OK : ttp_rollup_fail_short(to, err);
}

static ttape_status fold(struct folding *f, ttape_rollup **out, ttape_error *err)
{
    ttape_rollup *r = f->rollup;
    ttape_rollup_options options = r->options;
    options.size = sizeof options;
    options.takes_any = false;
    f->order = ttp_region_take(&r->region, r->function_count, sizeof *f->order);
    f->stands = ttp_region_take(&r->region, r->function_count, sizeof *f->stands);
    f->with_files = ttp_region_take(&r->region, r->function_count, 1);
    f->symbols = ttp_region_take(&r->region, r->function_count, sizeof *f->symbols);
    if (r->region.is_short || (f->across == TTAPE_ROLLUP_ACROSS_BUILDS && !take_symbols(f)))
        return ttp_rollup_fail_short(r, err);
    if (f->across == TTAPE_ROLLUP_ACROSS_NONE)
        for (uint32_t i = 0; i < r->function_count; i++)
            f->stands[i] = i;
    else
        find_groups(f);
    TTP_TRY(ttape_rollup_open(out, &options, err));
    ttape_status status = copy_all(f, *out, err);
    if (status != TTAPE_OK) {
        ttape_rollup_close(*out);
        *out = NULL;
    }
    return status;
}

ttape_status ttape_rollup_fold(ttape_rollup **out, ttape_rollup *rollup, ttape_rollup_across across,
                               ttape_error *err)
{
    if (out == NULL)
        return ttp_refuse(err, "no place for a rollup");
    *out = NULL;
    if (rollup == NULL || (unsigned)across > TTAPE_ROLLUP_ACROSS_MODULES)
        return ttp_refuse(err, "no rollup, or functions are joined in no such way");
    if (rollup->has_failed)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "something was added to this rollup in part");
    if (!ttp_rollup_settle(rollup))
        return ttp_rollup_fail_short(rollup, err);
    struct folding f = {.rollup = rollup, .across = across};
    ttape_status status = fold(&f, out, err);
    ttp_region_give(&rollup->region, f.order);
    ttp_region_give(&rollup->region, f.stands);
    ttp_region_give(&rollup->region, f.with_files);
    give_symbols(&f);
    return status;
}
