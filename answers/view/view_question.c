/* Questions: a word, and fields behind it. Nothing of a question is trusted. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "base/text.h"
#include "format/base/fail.h"

/* Longest text of a number: a sign, 20 digits. */
#define NUMBER_BYTES 24u

ttape_status ttp_view_refuse(ttape_error *err, const char *key, const char *what)
{
    return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "'%s' %s", key, what);
}

static const char *find_byte(ttape_string text, char byte)
{
    return text.size_bytes > 0 ? memchr(text.data, byte, text.size_bytes) : NULL;
}

/* Takes what stands before `byte`, and the byte; all where it is not there. */
static ttape_string take_before(ttape_string *text, char byte)
{
    const char *end = find_byte(*text, byte);
    size_t length = end != NULL ? (size_t)(end - text->data) : text->size_bytes;
    ttape_string taken = {text->data, length};
    length += end != NULL;
    text->data += length;
    text->size_bytes -= length;
    return taken;
}

ttape_status ttp_view_parse(struct ttp_view_question *question, ttape_string line, ttape_error *err)
{
    question->count = 0;
    question->word = take_before(&line, '?');
    while (line.size_bytes > 0) {
        ttape_string value = take_before(&line, '&');
        if (question->count == TTP_VIEW_FIELDS)
            return ttp_view_refuse(err, "question", "has too many fields");
        question->keys[question->count] = take_before(&value, '=');
        question->values[question->count++] = value;
    }
    return TTAPE_OK;
}

/* NULL: not given. Of several the first counts. */
static const ttape_string *find_field(const struct ttp_view_question *question, const char *key)
{
    for (uint32_t i = 0; i < question->count; i++)
        if (ttp_text_is(question->keys[i], key))
            return &question->values[i];
    return NULL;
}

bool ttp_view_has(const struct ttp_view_question *question, const char *key)
{
    return find_field(question, key) != NULL;
}

bool ttp_view_is(const struct ttp_view_question *question, const char *key, const char *word)
{
    const ttape_string *value = find_field(question, key);
    return value != NULL && ttp_text_is(*value, word);
}

/* Decimal digits alone. False: none, others, or more than 64 bits. */
static bool read_number(ttape_string text, uint64_t *number)
{
    uint64_t value = 0;
    if (text.size_bytes == 0 || text.size_bytes > NUMBER_BYTES)
        return false;
    for (size_t i = 0; i < text.size_bytes; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

ttape_status ttp_view_take_wide(const struct ttp_view_question *question, const char *key,
                                uint64_t *number, ttape_error *err)
{
    const ttape_string *value = find_field(question, key);
    if (value != NULL && !read_number(*value, number))
        return ttp_view_refuse(err, key, "is no number");
    return TTAPE_OK;
}

ttape_status ttp_view_take_number(const struct ttp_view_question *question, const char *key,
                                  uint32_t most, uint32_t *number, ttape_error *err)
{
    uint64_t wide = *number;
    TTP_TRY(ttp_view_take_wide(question, key, &wide, err));
    if (wide > most)
        return ttp_view_refuse(err, key, "is too large");
    *number = (uint32_t)wide;
    return TTAPE_OK;
}

static bool take_sign(ttape_string *text)
{
    if (text->size_bytes == 0 || text->data[0] != '-')
        return false;
    text->data++;
    text->size_bytes--;
    return true;
}

ttape_status ttp_view_take_signed(const struct ttp_view_question *question, const char *key,
                                  int64_t *number, ttape_error *err)
{
    const ttape_string *value = find_field(question, key);
    uint64_t size;
    if (value == NULL)
        return TTAPE_OK;
    ttape_string digits = *value;
    bool is_negative = take_sign(&digits);
    if (!read_number(digits, &size) || size > INT64_MAX)
        return ttp_view_refuse(err, key, "is no number");
    *number = is_negative ? -(int64_t)size : (int64_t)size;
    return TTAPE_OK;
}

ttape_status ttp_view_take_time(const struct ttape_view *view,
                                const struct ttp_view_question *question, const char *key,
                                uint64_t *time_ns, ttape_error *err)
{
    const ttape_string *value = find_field(question, key);
    uint64_t size, start_ns = view->info.time_first_ns;
    if (value == NULL)
        return TTAPE_OK;
    ttape_string digits = *value;
    bool is_before = take_sign(&digits);
    if (!read_number(digits, &size))
        return ttp_view_refuse(err, key, "is no time");
    if (is_before)
        *time_ns = size < start_ns ? start_ns - size : 0;
    else
        *time_ns = size < UINT64_MAX - start_ns ? start_ns + size : UINT64_MAX;
    return TTAPE_OK;
}

ttape_status ttp_view_take_list(const struct ttp_view_question *question, const char *key,
                                struct ttp_view_list *list, ttape_error *err)
{
    const ttape_string *value = find_field(question, key);
    uint64_t number;
    list->count = 0;
    list->given = value != NULL;
    if (value == NULL)
        return TTAPE_OK;
    for (ttape_string rest = *value; rest.size_bytes > 0;) {
        if (!read_number(take_before(&rest, ','), &number) || number > UINT32_MAX)
            return ttp_view_refuse(err, key, "is no list of numbers");
        if (list->count == TTP_VIEW_LIST_MOST)
            return ttp_view_refuse(err, key, "has too many numbers");
        list->numbers[list->count++] = (uint32_t)number;
    }
    return TTAPE_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t ttp_view_take_text(const struct ttp_view_question *question, const char *key, char *buffer,
                          size_t capacity)
{
    const ttape_string *value = find_field(question, key);
    size_t count = 0;
    for (size_t i = 0; value != NULL && i < value->size_bytes && count < capacity; i++) {
        char byte = value->data[i];
        if (byte == '%' && value->size_bytes - i > 2 && hex_digit(value->data[i + 1]) >= 0 &&
            hex_digit(value->data[i + 2]) >= 0) {
            byte = (char)(hex_digit(value->data[i + 1]) * 16 + hex_digit(value->data[i + 2]));
            i += 2;
        }
        buffer[count++] = byte;
    }
    return count;
}

ttape_status ttp_view_take_choice(const struct ttape_view *view,
                                  const struct ttp_view_question *question,
                                  struct ttp_view_choice *choice, ttape_error *err)
{
    choice->has_range = ttp_view_has(question, "from") || ttp_view_has(question, "to");
    choice->from_ns = 0;
    choice->to_ns = UINT64_MAX;
    TTP_TRY(ttp_view_take_time(view, question, "from", &choice->from_ns, err));
    TTP_TRY(ttp_view_take_time(view, question, "to", &choice->to_ns, err));
    if (choice->from_ns > choice->to_ns)
        return ttp_view_refuse(err, "to", "is before 'from'");
    TTP_TRY(ttp_view_take_list(question, "streams", &choice->streams, err));
    for (uint32_t i = 0; i < choice->streams.count; i++)
        if (choice->streams.numbers[i] >= view->info.stream_count)
            return ttp_view_refuse(err, "streams", "names a thread that is not there");
    return TTAPE_OK;
}

bool ttp_view_same_choice(const struct ttp_view_choice *a, const struct ttp_view_choice *b)
{
    return a->has_range == b->has_range && a->from_ns == b->from_ns && a->to_ns == b->to_ns &&
           a->streams.given == b->streams.given && a->streams.count == b->streams.count &&
           memcmp(a->streams.numbers, b->streams.numbers,
                  a->streams.count * sizeof *a->streams.numbers) == 0;
}

ttape_status ttp_view_take_site(const struct ttape_view *view,
                                const struct ttp_view_question *question, uint32_t *site,
                                ttape_error *err)
{
    *site = TTAPE_NONE;
    TTP_TRY(ttp_view_take_number(question, "site", TTAPE_NONE, site, err));
    return *site < view->info.site_count
               ? TTAPE_OK
               : ttp_view_refuse(err, "site", "names a function that is not there");
}

ttape_status ttp_view_take_stream(const struct ttape_view *view,
                                  const struct ttp_view_question *question, uint32_t *stream,
                                  ttape_error *err)
{
    *stream = TTAPE_NONE;
    TTP_TRY(ttp_view_take_number(question, "stream", TTAPE_NONE, stream, err));
    return *stream < view->info.stream_count
               ? TTAPE_OK
               : ttp_view_refuse(err, "stream", "names a thread that is not there");
}
