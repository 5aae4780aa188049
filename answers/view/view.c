/* From a request's lines to a response: each line is one question, which one answer writes. An
 * answer that fails leaves nothing but its error. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

#define RESPONSE_BYTES_DEFAULT (8ull << 20)
#define MEMORY_BYTES_DEFAULT   (64ull << 20)
#define TEXT_BYTES_FIRST       (64u << 10)
#define TREE_CACHE_BYTES       (16u << 20)

static const struct {
    const char *word;
    ttp_view_answer *answer;
} answers[] = {
    {"trace", ttp_view_trace},         {"threads", ttp_view_threads},
    {"sites", ttp_view_sites},         {"tiles", ttp_view_tiles},
    {"node", ttp_view_get_node},       {"children", ttp_view_children},
    {"stack", ttp_view_stack},         {"path", ttp_view_path},
    {"functions", ttp_view_functions}, {"function", ttp_view_function},
    {"longest", ttp_view_longest},     {"next", ttp_view_next},
    {"search", ttp_view_search},       {"butterfly", ttp_view_get_butterfly},
    {"modules", ttp_view_modules},     {"module_sites", ttp_view_module_sites},
    {"values", ttp_view_call_values},  {"find", ttp_view_find},
    {"source", ttp_view_source},       {"lines", ttp_view_lines},
    {"progress", ttp_view_progress},
};

/* ---- what answers share ---- */

void ttp_view_note_damage(void *context, uint32_t number, const ttape_error *error)
{
    struct ttape_view *view = context;
    (void)number;
    (void)error;
    view->damage_count++;
}

bool ttp_view_stops(const struct ttape_view *view)
{
    return view->options.stops != NULL && view->options.stops(view->options.context);
}

static bool goes_on(void *context, uint64_t done, uint64_t all)
{
    const struct ttape_view *view = context;
    if (view->options.tells != NULL)
        view->options.tells(view->options.context, done, all);
    return !ttp_view_stops(view);
}

size_t ttp_view_name(const struct ttape_view *view, uint32_t site, char *buffer, size_t size_bytes)
{
    return view->options.name != NULL
               ? view->options.name(view->options.context, site, buffer, size_bytes)
               : ttape_site_name(view->reader, site, buffer, size_bytes);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool is_word(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

uint32_t ttp_view_rank(const struct ttape_view *view, uint32_t site, const char *text,
                       size_t text_length)
{
    char name[TTP_VIEW_NAME_BYTES];
    uint32_t best = TTP_VIEW_RANKS;
    size_t length = ttp_view_name(view, site, name, sizeof name);
    length = length < sizeof name ? length : sizeof name - 1;
    for (size_t at = 0; at + text_length <= length; at++) {
        size_t same = 0;
        while (same < text_length && lower(name[at + same]) == lower(text[same]))
            same++;
        if (same < text_length)
            continue;
        uint32_t rank = at == 0 ? (text_length == length ? 0 : 1) : is_word(name[at - 1]) ? 3 : 2;
        best = rank < best ? rank : best;
    }
    return best;
}

/* Rows of the report of all functions, whether there is much in them or nothing: an empty time is
 * enough for that, so that no partition is decoded. */
static ttape_status make_rows(struct ttape_view *view, ttape_error *err)
{
    const ttape_report_options how = {.size = sizeof how,
                                      .by = TTAPE_REPORT_BY_FUNCTION,
                                      .has_range = true,
                                      .jobs = 1,
                                      .memory_bytes = view->options.memory_bytes,
                                      .damage = ttp_view_note_damage,
                                      .context = view};
    ttape_report *report;
    uint64_t damage_count = view->damage_count;
    uint32_t *row_of =
        ttp_memory_take(&view->memory, view->info.site_count, sizeof *view->row_of, err);
    if (row_of == NULL)
        return view->memory.status;
    ttape_status status = ttape_report_make(&report, view->reader, &how, err);
    view->damage_count = damage_count;
    for (uint32_t i = 0; status == TTAPE_OK && i < view->info.site_count; i++)
        row_of[i] = ttape_report_get_row_site(report, i);
    if (status == TTAPE_OK) {
        ttape_report_close(report);
        view->row_of = row_of;
        return TTAPE_OK;
    }
    ttp_memory_give(&view->memory, row_of, view->info.site_count, sizeof *row_of);
    return status;
}

ttape_status ttp_view_find_rows(struct ttape_view *view, ttape_error *err)
{
    return view->row_of != NULL ? TTAPE_OK : make_rows(view, err);
}

ttape_status ttp_view_find_sites(struct ttape_view *view, uint32_t site, bool **out,
                                 ttape_error *err)
{
    TTP_TRY(ttp_view_find_rows(view, err));
    bool *is_it = ttp_memory_take(&view->memory, view->info.site_count, sizeof *is_it, err);
    if (is_it == NULL)
        return view->memory.status;
    for (uint32_t i = 0; i < view->info.site_count; i++)
        is_it[i] = view->row_of[i] == view->row_of[site];
    *out = is_it;
    return TTAPE_OK;
}

void ttp_view_give_sites(struct ttape_view *view, bool *is_it)
{
    ttp_memory_give(&view->memory, is_it, view->info.site_count, sizeof *is_it);
}

/* ---- a request ---- */

static ttape_status answer_question(struct ttape_view *view, ttape_string line, ttape_error *err)
{
    struct ttp_view_question question;
    TTP_TRY(ttp_view_parse(&question, line, err));
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (question.word.size_bytes == strlen(answers[i].word) &&
            memcmp(question.word.data, answers[i].word, question.word.size_bytes) == 0)
            return answers[i].answer(view, &question, err);
    return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                    "no such question (spec/view.md has all of them)");
}

static void answer_line(struct ttape_view *view, ttape_string line)
{
    ttape_error err = {0};
    ttp_view_begin(view, NULL, '{');
    uint64_t start = view->text.count;
    view->damage_count = 0;
    ttape_status status = answer_question(view, line, &err);
    if (status != TTAPE_OK && view->text.count <= view->text.limit) {
        view->text.count = start;
        view->needs_comma = false;
        ttp_view_error(view, &err);
    }
    if (view->damage_count > 0) /* parts of the file that cannot be read, and were left out */
        ttp_view_wide(view, "damaged", view->damage_count);
    ttp_view_end(view, '}');
}

static ttape_string take_line(ttape_string *rest)
{
    const char *end = memchr(rest->data, '\n', rest->size_bytes);
    ttape_string line = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->size_bytes};
    size_t taken = line.size_bytes + (end != NULL);
    rest->data += taken;
    rest->size_bytes -= taken;
    return line;
}

ttape_status ttape_view_answer(ttape_view *view, const void *request, size_t request_bytes,
                               ttape_string *response, ttape_error *err)
{
    if (view == NULL || response == NULL || (request == NULL && request_bytes > 0))
        return ttp_refuse(err, "no view, no request or no place for a response");
    *response = (ttape_string){0};
    if (request_bytes > TTAPE_VIEW_REQUEST_BYTES)
        return ttp_refuse(err, "the request is too long");
    view->text.count = 0;
    view->needs_comma = false;
    ttp_view_begin(view, NULL, '[');
    ttape_string rest = {request, request_bytes};
    for (uint32_t count = 0; rest.size_bytes > 0; count++) {
        if (count == TTAPE_VIEW_REQUEST_LINES)
            return ttp_refuse(err, "the request has too many lines");
        answer_line(view, take_line(&rest));
    }
    ttp_view_end(view, ']');
    if (view->text.count > view->text.limit)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "the response would be longer than %llu bytes: ask for less at a time",
                        (unsigned long long)view->text.limit);
    *response = (ttape_string){view->text.bytes, (size_t)view->text.count};
    return TTAPE_OK;
}

/* ---- open and close ---- */

static ttape_status take_options(ttape_view_options *out, const ttape_view_options *options,
                                 ttape_error *err)
{
    *out = (ttape_view_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "a view", err));
    if (out->reserved_jobs != 0)
        return ttp_refuse(err, "a reserved word of a view's options is not 0");
    out->response_bytes = out->response_bytes != 0 ? out->response_bytes : RESPONSE_BYTES_DEFAULT;
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    return TTAPE_OK;
}

static ttape_status set_up(struct ttape_view *view, ttape_error *err)
{
    const ttape_tree_options tree = {
        .size = sizeof tree, .cache_bytes = TREE_CACHE_BYTES, .jobs = view->options.jobs};
    view->watch = (ttape_watch){goes_on, view};
    ttape_reader_get_info(view->reader, &view->info);
    view->text.limit = view->options.response_bytes;
    view->text.capacity = TEXT_BYTES_FIRST < view->text.limit ? TEXT_BYTES_FIRST : view->text.limit;
    view->text.bytes = ttp_memory_take(&view->memory, view->text.capacity, 1, err);
    if (view->text.bytes == NULL)
        return view->memory.status;
    return ttape_tree_open(&view->tree, view->reader, &tree, err);
}

ttape_status ttape_view_open(ttape_view **out, ttape_reader *reader,
                             const ttape_view_options *options, ttape_error *err)
{
    ttape_view_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for a view");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    ttp_memory_init(&memory, &reader->memory.allocator,
                    taken.response_bytes * 2 + taken.memory_bytes);
    struct ttape_view *view = ttp_memory_take(&memory, 1, sizeof *view, err);
    if (view == NULL)
        return memory.status;
    *view = (struct ttape_view){.memory = memory, .reader = reader, .options = taken};
    ttape_status status = set_up(view, err);
    if (status != TTAPE_OK) {
        ttape_view_close(view);
        return status;
    }
    *out = view;
    return TTAPE_OK;
}

void ttape_view_close(ttape_view *view)
{
    if (view == NULL)
        return;
    ttape_report_close(view->report);
    ttape_tree_close(view->tree);
    ttp_view_forget_butterfly(view);
    ttp_memory_give(&view->memory, view->row_of, view->info.site_count, sizeof *view->row_of);
    ttp_memory_give(&view->memory, view->text.bytes, view->text.capacity, 1);
    struct ttp_memory own = view->memory;
    ttp_memory_give(&own, view, 1, sizeof *view);
}
