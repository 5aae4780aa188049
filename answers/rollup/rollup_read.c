/* A rollup file, which may come from a stranger: everything is read and checked before anything is
 * added.
 *
 *   header -> strings -> functions -> rows -> traces -> measures, twice: checked, then added
 *
 * Files of one program mostly have the same functions. Where the bytes of strings, functions and
 * rows are those of the file before, so are their numbers here. */
#include "answers/rollup/rollup_file.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/base/choice.h"

/* ---- header ---- */

static ttape_status check_head(const uint8_t *head, uint64_t size, ttape_error *err)
{
    if (size < TTP_ROLLUP_HEADER_BYTES)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "R-HDR-01", size, "the file ends in its header");
    if (ttp_load64(head + TTP_ROLLUP_HASH_AT) != ttp_checksum(head, TTP_ROLLUP_HASH_AT))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "R-HDR-02", 0, "the header's checksum is wrong");
    if (ttp_load16(head + TTP_ROLLUP_REQUIRED_AT) > TTP_ROLLUP_MINOR)
        return ttp_fail(err, TTAPE_E_VERSION, "R-HDR-03", TTP_ROLLUP_REQUIRED_AT,
                        "the rollup needs a newer reader: version 1.%u",
                        ttp_load16(head + TTP_ROLLUP_REQUIRED_AT));
    uint64_t said = ttp_load64(head + TTP_ROLLUP_SIZE_AT);
    if (said != size)
        return ttp_fail(err, size < said ? TTAPE_E_TRUNCATED : TTAPE_E_CORRUPT, "R-HDR-04", size,
                        "the file has '%llu' bytes, and says '%llu'", (unsigned long long)size,
                        (unsigned long long)said);
    uint32_t flags = ttp_load32(head + TTP_ROLLUP_FLAGS_AT);
    if ((flags & ~TTP_ROLLUP_FLAGS_KNOWN) != 0 || flags == TTP_ROLLUP_FLAGS_KNOWN)
        return ttp_fail(err, TTAPE_E_CORRUPT, "R-HDR-05", TTP_ROLLUP_FLAGS_AT,
                        "flags '0x%x' have no meaning", flags);
    uint32_t by = ttp_load32(head + TTP_ROLLUP_BY_AT);
    uint32_t longest = ttp_load32(head + TTP_ROLLUP_LONGEST_AT);
    if (by >= TTAPE_REPORT_BY_GROUP || longest > TTP_ROLLUP_LONGEST_MAX ||
        (longest != 0 && by != TTAPE_REPORT_BY_FUNCTION))
        return ttp_fail(err, TTAPE_E_CORRUPT, "R-HDR-06", TTP_ROLLUP_BY_AT,
                        "there are no rows of kind '%u' with '%u' calls", by, longest);
    return TTAPE_OK;
}

bool ttape_rollup_begins(const void *data, size_t size_bytes)
{
    return size_bytes >= TTP_ROLLUP_MAGIC_BYTES &&
           memcmp(data, TTP_ROLLUP_MAGIC, TTP_ROLLUP_MAJOR_AT) == 0 &&
           ((const uint8_t *)data)[TTP_ROLLUP_MAGIC_BYTES - 1] == '\n';
}

static ttape_status read_all(ttape_rollup *r, const ttape_source *source, ttape_error *err)
{
    struct ttp_rollup_known *known = &r->known;
    size_t got = 0;
    if (source->size_bytes > r->options.memory_bytes ||
        !ttp_region_grow(&r->region, &known->bytes, &known->capacity,
                         (size_t)source->size_bytes + 1, 1))
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "the rollup has '%llu' bytes: more than the memory that it may have",
                        (unsigned long long)source->size_bytes);
    TTP_TRY(
        source->read_at(source->context, 0, known->bytes, (size_t)source->size_bytes, &got, err));
    known->size = got;
    if (!ttape_rollup_begins(known->bytes, got))
        return ttp_fail(err, TTAPE_E_NOT_TRACE, "R-HDR-01", 0, "this is no rollup");
    if (known->bytes[TTP_ROLLUP_MAJOR_AT] != '0' + TTP_ROLLUP_MAJOR)
        return ttp_fail(err, TTAPE_E_VERSION, "R-HDR-03", TTP_ROLLUP_MAJOR_AT,
                        "the rollup has another major version");
    TTP_TRY(check_head(known->bytes, got, err));
    const uint8_t *body = known->bytes + TTP_ROLLUP_HEADER_BYTES;
    if (ttp_load64(known->bytes + TTP_ROLLUP_BODY_HASH_AT) !=
        ttp_checksum(body, got - TTP_ROLLUP_HEADER_BYTES))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "R-HDR-02", TTP_ROLLUP_HEADER_BYTES,
                        "the checksum of what the file says is wrong");
    return TTAPE_OK;
}

/* The first file decides where the caller leaves it to it. */
static ttape_status check_kind(ttape_rollup *r, ttape_error *err)
{
    const uint8_t *head = r->known.bytes;
    uint32_t flags = ttp_load32(head + TTP_ROLLUP_FLAGS_AT);
    uint32_t by = ttp_load32(head + TTP_ROLLUP_BY_AT);
    uint32_t longest = ttp_load32(head + TTP_ROLLUP_LONGEST_AT);
    static const char *const names[] = {"functions", "names",   "modules", "files",     "threads",
                                        "processes", "callers", "groups",  "call sites"};
    if (!r->is_begun) {
        r->flags = flags;
        r->options.by = (ttape_report_by)by;
        r->options.counts = (flags & TTP_ROLLUP_HAS_COUNTS) != 0;
        r->options.histograms = (flags & TTP_ROLLUP_HAS_HISTOGRAMS) != 0;
        r->options.longest = longest;
        r->is_begun = true;
    }
    if (by != r->options.by)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "the rollup has rows of %s, not of %s", names[by], names[r->options.by]);
    if ((r->flags & ~flags) != 0)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "the rollup was made without %s",
                        r->options.counts ? "counts of durations" : "histograms");
    if (r->options.longest > longest)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "the rollup has '%u' longest calls of a function", longest);
    return TTAPE_OK;
}

/* ---- strings, functions, rows ---- */

ttape_status ttp_rollup_corrupt(const struct ttp_rollup_file *f, const char *rule, const char *what,
                                ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule,
                    TTP_ROLLUP_HEADER_BYTES + ttp_reader_offset(&f->cursor), "%s", what);
}

ttape_status ttp_rollup_no_room(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                    "the rollup needs more than the memory that it may have");
}

/* Texts are put together one behind the other; `before` is the last of them. */
static ttape_status read_strings(struct ttp_rollup_file *f, ttape_error *err)
{
    ttape_string before = {"", 0};
    if (f->string_count > ttp_reader_left(&f->cursor) / 2)
        return ttp_rollup_corrupt(f, "R-STR-01", "more strings than bytes", err);
    f->strings = ttp_region_take(&f->region, (uint64_t)f->string_count + 1, sizeof *f->strings);
    if (f->strings == NULL)
        return ttp_rollup_no_room(err);
    f->strings[0] = before;
    for (uint32_t i = 1; i <= f->string_count; i++) {
        uint64_t shared = ttp_read_varint(&f->cursor), size = ttp_read_varint(&f->cursor);
        const uint8_t *rest =
            ttp_read_bytes(&f->cursor, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
        if (rest == NULL || shared > before.size_bytes || size == 0 ||
            size > TTP_ROLLUP_STRING_MAX - shared)
            return ttp_rollup_corrupt(f, "R-STR-01", "a string is not whole, or too long", err);
        if (shared < before.size_bytes && (uint8_t)before.data[shared] >= rest[0])
            return ttp_rollup_corrupt(f, "R-STR-02", "strings are not in order", err);
        char *text = ttp_region_take(&f->region, shared + size, 1);
        if (text == NULL)
            return ttp_rollup_no_room(err);
        memcpy(text, before.data, (size_t)shared);
        memcpy(text + shared, rest, (size_t)size);
        before = f->strings[i] = (ttape_string){text, (size_t)(shared + size)};
    }
    return TTAPE_OK;
}

static int compare_functions(const struct ttp_rollup_function *a,
                             const struct ttp_rollup_function *b)
{
    const uint64_t pairs[][2] = {{a->symbol, b->symbol}, {a->build, b->build}, {a->path, b->path},
                                 {a->file, b->file},     {a->line, b->line},   {a->kind, b->kind},
                                 {a->offset, b->offset}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

static ttape_status read_functions(struct ttp_rollup_file *f, ttape_error *err)
{
    if (f->function_count > ttp_reader_left(&f->cursor) / 7)
        return ttp_rollup_corrupt(f, "R-FUN-01", "more functions than bytes", err);
    f->functions = ttp_region_take(&f->region, f->function_count, sizeof *f->functions);
    if (f->functions == NULL)
        return ttp_rollup_no_room(err);
    uint64_t symbol = 0;
    for (uint32_t i = 0; i < f->function_count; i++) {
        struct ttp_rollup_function *to = &f->functions[i];
        uint64_t words[6];
        for (int k = 0; k < 6; k++)
            words[k] = ttp_read_varint(&f->cursor);
        to->offset = ttp_read_varint(&f->cursor);
        if (f->cursor.bad || words[0] > f->string_count - symbol || words[1] > f->string_count ||
            words[2] > f->string_count || words[3] > f->string_count || words[4] > UINT32_MAX ||
            words[5] > TTAPE_SITE_FRAME)
            return ttp_rollup_corrupt(f, "R-FUN-01", "a function's strings are not there", err);
        symbol += words[0];
        to->symbol = (uint32_t)symbol;
        to->build = (uint32_t)words[1];
        to->path = (uint32_t)words[2];
        to->file = (uint32_t)words[3];
        to->line = (uint32_t)words[4];
        to->kind = (uint32_t)words[5];
        if (f->strings[to->build].size_bytes > TTP_ROLLUP_BUILD_BYTES_MAX)
            return ttp_rollup_corrupt(f, "R-FUN-02", "a build id is too long", err);
        if (i > 0 && compare_functions(&f->functions[i - 1], to) >= 0)
            return ttp_rollup_corrupt(f, "R-FUN-03", "functions are not in order", err);
    }
    return TTAPE_OK;
}

static ttape_status read_rows(struct ttp_rollup_file *f, ttape_error *err)
{
    uint64_t function = 0, caller_before = 0;
    if (f->row_count > ttp_reader_left(&f->cursor) / 2)
        return ttp_rollup_corrupt(f, "R-ROW-01", "more rows than bytes", err);
    f->rows = ttp_region_take(&f->region, f->row_count, sizeof *f->rows);
    if (f->rows == NULL)
        return ttp_rollup_no_room(err);
    for (uint32_t i = 0; i < f->row_count; i++) {
        uint64_t more = ttp_read_varint(&f->cursor), caller = ttp_read_varint(&f->cursor);
        if (f->cursor.bad || more >= f->function_count || function + more >= f->function_count ||
            caller >= (uint64_t)f->function_count + TTP_ROLLUP_CALLER_FIRST ||
            (caller != 0 && f->by != TTAPE_REPORT_BY_CALL))
            return ttp_rollup_corrupt(f, "R-ROW-01", "a row's function is not there", err);
        if (i > 0 && more == 0 && caller <= caller_before)
            return ttp_rollup_corrupt(f, "R-ROW-02", "rows are not in order", err);
        function += more;
        caller_before = caller;
        f->rows[i] = (struct ttp_rollup_pair){(uint32_t)function, (uint32_t)caller};
    }
    return TTAPE_OK;
}

/* ---- which of them are whose here ---- */

static bool take_functions(ttape_rollup *r, struct ttp_rollup_file *f)
{
    uint32_t *strings = ttp_region_take(&f->region, (uint64_t)f->string_count + 1, sizeof *strings);
    f->numbers = ttp_region_take(&f->region, f->function_count, sizeof *f->numbers);
    if (strings == NULL || f->numbers == NULL)
        return false;
    for (uint32_t i = 0; i <= f->string_count; i++) {
        strings[i] = ttp_rollup_take_string(r, f->strings[i]);
        if (strings[i] == TTAPE_NONE)
            return false;
    }
    for (uint32_t i = 0; i < f->function_count; i++) {
        struct ttp_rollup_function like = f->functions[i];
        like.symbol = strings[like.symbol];
        like.build = strings[like.build];
        like.path = strings[like.path];
        like.file = strings[like.file];
        f->numbers[i] = ttp_rollup_take_function(r, &like);
        if (f->numbers[i] == TTAPE_NONE)
            return false;
    }
    return true;
}

static bool take_rows(ttape_rollup *r, struct ttp_rollup_file *f)
{
    struct ttp_rollup_known *known = &r->known;
    struct ttp_rollup_names *names = &known->names[known->next];
    names->size = 0; /* until it is whole */
    if (!take_functions(r, f) ||
        !ttp_region_grow(&r->region, &names->rows, &names->row_capacity, f->row_count + 1ull,
                         sizeof *names->rows) ||
        !ttp_region_grow(&r->region, &names->bytes, &names->capacity, f->name_bytes + 1, 1))
        return false;
    for (uint32_t i = 0; i < f->row_count; i++) {
        uint32_t caller = f->rows[i].caller;
        if (caller >= TTP_ROLLUP_CALLER_FIRST)
            caller = f->numbers[caller - TTP_ROLLUP_CALLER_FIRST] + TTP_ROLLUP_CALLER_FIRST;
        names->rows[i] = ttp_rollup_take_row(r, f->numbers[f->rows[i].function], caller);
        if (names->rows[i] == TTAPE_NONE)
            return false;
    }
    memcpy(names->bytes, f->cursor.start, f->name_bytes);
    names->size = f->name_bytes;
    memcpy(names->head, known->bytes + TTP_ROLLUP_STRINGS_AT, sizeof names->head);
    known->at = names;
    known->next = (known->next + 1) % TTP_ROLLUP_NAMES;
    known->name_count += known->name_count < TTP_ROLLUP_NAMES;
    return true;
}

/* Names that the file at hand has, too; NULL: it has its own. */
static const struct ttp_rollup_names *find_names(const ttape_rollup *r)
{
    const struct ttp_rollup_known *known = &r->known;
    size_t size = known->size - TTP_ROLLUP_HEADER_BYTES;
    for (uint32_t i = 0; i < known->name_count; i++) {
        const struct ttp_rollup_names *names = &known->names[i];
        if (names->size != 0 && size >= names->size &&
            memcmp(names->head, known->bytes + TTP_ROLLUP_STRINGS_AT, sizeof names->head) == 0 &&
            memcmp(names->bytes, known->bytes + TTP_ROLLUP_HEADER_BYTES, names->size) == 0)
            return names;
    }
    return NULL;
}

static ttape_status read_names(struct ttp_rollup_file *f, ttape_error *err)
{
    TTP_TRY(read_strings(f, err));
    TTP_TRY(read_functions(f, err));
    TTP_TRY(read_rows(f, err));
    f->name_bytes = ttp_reader_offset(&f->cursor);
    return TTAPE_OK;
}

/* ---- the call ---- */

static ttape_status read_file(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err)
{
    r->known.at = find_names(r);
    if (r->known.at != NULL)
        (void)ttp_read_bytes(&f->cursor, r->known.at->size);
    else
        TTP_TRY(read_names(f, err));
    TTP_TRY(ttp_rollup_read_traces(r, f, err));
    TTP_TRY(ttp_rollup_check_measures(r, f, err));
    if (r->known.at == NULL && !take_rows(r, f))
        return ttp_rollup_fail_short(r, err);
    return ttp_rollup_take_measures(r, f, err);
}

static ttape_status add_source(ttape_rollup *rollup, const ttape_source *source, ttape_error *err)
{
    TTP_TRY(read_all(rollup, source, err));
    TTP_TRY(check_kind(rollup, err));
    const uint8_t *head = rollup->known.bytes;
    struct ttp_rollup_file f = {
        .region = ttp_region_of(rollup->region.left_bytes),
        .cursor = ttp_reader_cursor_init(head + TTP_ROLLUP_HEADER_BYTES,
                                         rollup->known.size - TTP_ROLLUP_HEADER_BYTES),
        .by = ttp_load32(head + TTP_ROLLUP_BY_AT),
        .flags = ttp_load32(head + TTP_ROLLUP_FLAGS_AT),
        .longest = ttp_load32(head + TTP_ROLLUP_LONGEST_AT),
        .string_count = ttp_load32(head + TTP_ROLLUP_STRINGS_AT),
        .function_count = ttp_load32(head + TTP_ROLLUP_FUNCTIONS_AT),
        .row_count = ttp_load32(head + TTP_ROLLUP_ROWS_AT),
        .trace_count = ttp_load32(head + TTP_ROLLUP_TRACES_AT)};
    ttape_status status = read_file(rollup, &f, err);
    ttp_region_close(&f.region);
    return status;
}

ttape_status ttape_rollup_add_file(ttape_rollup *rollup, const ttape_source *source,
                                   ttape_error *err)
{
    if (rollup == NULL || source == NULL)
        return ttp_refuse(err, "no rollup, or no source");
    if (rollup->has_failed || rollup->is_folded)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "nothing more can be added to this rollup");
    ttape_status status = add_source(rollup, source, err);
    rollup->has_failed = rollup->has_failed || rollup->region.is_short;
    return status;
}
