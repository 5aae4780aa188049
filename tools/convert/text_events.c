/* Events of the text form: TIME TID VERB ..., checked against the thread's open frames before the
 * writer sees them. */
#include <string.h>

#include "base/text.h"
#include "tools/command/progress.h"
#include "tools/convert/raw_text.h"

/* Limits of the writer: what goes over them is refused here, line by line. */
#define STACK_MAX 1048575u
#define DEPTH_MAX 0x7FFFFFFEu

static ttape_status take_number(struct tool_text *text, char **at, const char *problem,
                                uint32_t *number)
{
    struct tool_token token;
    uint64_t value = 0;
    if (tool_next_token(at, &token) != TTAPE_OK || !tool_token_u64(&token, &value) ||
        value >= UINT32_MAX)
        return tool_text_refuse(text, problem);
    *number = (uint32_t)value;
    return TTAPE_OK;
}

/* The rest of the line: [depth=N] VALUE... */
static ttape_status take_rest(struct tool_text *text, char **at, ttape_event *event,
                              uint32_t *value_count)
{
    struct tool_token token;
    ttape_status status;
    *value_count = 0;
    for (bool first = true; (status = tool_next_token(at, &token)) == TTAPE_OK; first = false) {
        const char *depth = first ? tool_token_after(&token, "depth=") : NULL;
        if (depth != NULL) {
            uint64_t value;
            struct tool_token number = {.text = token.text + 6};
            if (!tool_token_u64(&number, &value) || value > DEPTH_MAX)
                return tool_text_refuse(text, "the depth is no number, or too large");
            event->depth = (uint32_t)value;
        } else if (*value_count == TTAPE_EVENT_MAX_VALUES) {
            return tool_text_refuse(text, "more values than an event can carry");
        } else if (!tool_token_value(&token, &text->values[(*value_count)++])) {
            return tool_text_refuse(text,
                                    "a value is too long, or its hexadecimal digits are wrong");
        }
    }
    return status == TTAPE_END
               ? TTAPE_OK
               : tool_text_refuse(text, "a quoted word is not closed or has a wrong escape");
}

static ttape_status take_site(struct tool_text *text, char **at, uint32_t kind, bool any_leaf,
                              uint32_t *site)
{
    struct tool_token token;
    if (tool_next_token(at, &token) != TTAPE_OK || (!token.quoted && token.size_bytes == 0))
        return tool_text_refuse(text, "a name or an address is missing");
    return tool_text_site_of(text, &token, kind, any_leaf, site);
}

/* exit [SITE|-] */
static ttape_status take_exit(struct tool_text *text, const struct tool_text_stream *stream,
                              char **at, ttape_event *event)
{
    struct tool_token token;
    ttape_status status = tool_next_token(at, &token);
    event->kind = TTAPE_EVENT_EXIT;
    if (status == TTAPE_E_CORRUPT)
        return tool_text_refuse(text, "a quoted word is not closed or has a wrong escape");
    if (status == TTAPE_OK && (token.quoted || strcmp(token.text, "-") != 0))
        return tool_text_site_of(text, &token, TTAPE_SITE_FUNCTION, false, &event->site);
    size_t top = tool_frames_innermost(&stream->open, stream->open.count);
    if (top == 0 || stream->open.frames[top - 1].site == TTAPE_NONE)
        return tool_text_refuse(text, "no frame is open that could exit");
    event->site = stream->open.frames[top - 1].site;
    return TTAPE_OK;
}

static ttape_status take_unwind_kind(struct tool_text *text, char **at, ttape_event *event)
{
    struct tool_token token;
    ttape_status status = tool_next_token(at, &token);
    if (status == TTAPE_END)
        return TTAPE_OK;
    if (status == TTAPE_OK && strcmp(token.text, "unseen") == 0)
        event->lost_count = TTAPE_UNWIND_UNSEEN;
    else if (status == TTAPE_OK && strcmp(token.text, "lost") == 0)
        event->lost_count = TTAPE_UNWIND_LOST;
    else if (status == TTAPE_OK && strcmp(token.text, "late") == 0)
        event->lost_count = TTAPE_UNWIND_LATE;
    else
        return tool_text_refuse(text, "'unwind' may end with 'unseen', 'late' or 'lost'");
    return TTAPE_OK;
}

static ttape_status take_unwind(struct tool_text *text, const struct tool_text_stream *stream,
                                char **at, ttape_event *event)
{
    event->kind = TTAPE_EVENT_UNWIND;
    ttape_status status =
        take_number(text, at, "'unwind' needs a number of frames", &event->argument);
    if (status != TTAPE_OK)
        return status;
    uint32_t open = 0;
    size_t top = stream->open.count + 1;
    while ((top = tool_frames_innermost(&stream->open, top - 1)) > 0)
        open++;
    if (event->argument == 0 || event->argument > open)
        return tool_text_refuse(text, "fewer frames are open than are unwound");
    return take_unwind_kind(text, at, event);
}

static ttape_status take_signal_end(struct tool_text *text, const struct tool_text_stream *stream,
                                    char **at, ttape_event *event)
{
    event->kind = TTAPE_EVENT_SIGNAL_END;
    ttape_status status = take_number(text, at, "'signal-end' needs a number", &event->argument);
    if (status == TTAPE_OK && tool_frames_find(&stream->open, TTAPE_NONE, event->argument) == 0)
        return tool_text_refuse(text, "no handler of this signal is open");
    return status;
}

/* gap [COUNT] [reason] */
static ttape_status take_gap(struct tool_text *text, char **at, ttape_event *event)
{
    struct tool_token token;
    event->kind = TTAPE_EVENT_GAP;
    ttape_status status;
    while ((status = tool_next_token(at, &token)) == TTAPE_OK) {
        uint32_t reason = 0;
        uint64_t count;
        if (tool_token_u64(&token, &count)) {
            event->lost_count = count;
            continue;
        }
        while (reason <= TTAPE_GAP_REASON_STOPPED &&
               strcmp(ttape_gap_reason_name(reason), token.text) != 0)
            reason++;
        if (reason > TTAPE_GAP_REASON_STOPPED)
            return tool_text_refuse(text, "the gap's reason is not known");
        event->argument = reason;
    }
    return status == TTAPE_END ? TTAPE_OK : tool_text_refuse(text, "a quoted word is not closed");
}

static ttape_status take_leaf(struct tool_text *text, const char *verb, char **at,
                              ttape_event *event)
{
    uint32_t kind = TTAPE_SITE_BLOCK;
    bool any = strcmp(verb, "leaf") == 0;
    event->kind = TTAPE_EVENT_LEAF;
    while (kind <= TTAPE_SITE_MARKER && strcmp(ttape_site_kind_name(kind), verb) != 0)
        kind++;
    if (kind > TTAPE_SITE_MARKER && !any)
        return tool_text_refuse(text, "the verb is not known");
    return take_site(text, at, any ? TTAPE_SITE_MARKER : kind, any, &event->site);
}

static ttape_status take_verb(struct tool_text *text, const struct tool_text_stream *stream,
                              const char *verb, char **at, ttape_event *event)
{
    bool opens = strcmp(verb, "enter") == 0;
    if (opens || strcmp(verb, "open") == 0) {
        event->kind = opens ? TTAPE_EVENT_ENTER : TTAPE_EVENT_OPEN;
        return take_site(text, at, TTAPE_SITE_FUNCTION, false, &event->site);
    }
    if (strcmp(verb, "syscall-enter") == 0) {
        event->kind = TTAPE_EVENT_ENTER;
        return tool_text_call_enter(text, at, &event->site);
    }
    if (strcmp(verb, "syscall-exit") == 0) {
        event->kind = TTAPE_EVENT_EXIT;
        return tool_text_call_exit(text, stream, at, &event->site);
    }
    if (strcmp(verb, "exit") == 0)
        return take_exit(text, stream, at, event);
    if (strcmp(verb, "unwind") == 0)
        return take_unwind(text, stream, at, event);
    if (strcmp(verb, "switch") == 0) {
        event->kind = TTAPE_EVENT_SWITCH;
        ttape_status status =
            take_number(text, at, "'switch' needs a stack's number", &event->argument);
        return status == TTAPE_OK && event->argument > STACK_MAX
                   ? tool_text_refuse(text, "the stack's number is too large")
                   : status;
    }
    if (strcmp(verb, "gap") == 0)
        return take_gap(text, at, event);
    if (strcmp(verb, "signal") == 0) {
        event->kind = TTAPE_EVENT_SIGNAL_BEGIN;
        return take_number(text, at, "'signal' needs a number", &event->argument);
    }
    if (strcmp(verb, "signal-end") == 0)
        return take_signal_end(text, stream, at, event);
    return take_leaf(text, verb, at, event);
}

/* Keeps the thread's open frames in step, once the whole line is good. */
static void follow_event(struct tool_text_stream *stream, const ttape_event *event)
{
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN: tool_frames_push(&stream->open, event->site, 0); break;
    case TTAPE_EVENT_SIGNAL_BEGIN:
        tool_frames_push(&stream->open, TTAPE_NONE, event->argument);
        break;
    case TTAPE_EVENT_SIGNAL_END:
        tool_frames_drop(&stream->open,
                         tool_frames_find(&stream->open, TTAPE_NONE, event->argument));
        break;
    case TTAPE_EVENT_EXIT:
        tool_frames_drop(&stream->open, tool_frames_find(&stream->open, event->site, 0));
        break;
    case TTAPE_EVENT_UNWIND: tool_frames_drop(&stream->open, event->argument); break;
    case TTAPE_EVENT_SWITCH: stream->open.stack = event->argument; break;
    default: break;
    }
}

/* "123", "1.5ms", "+10" after the thread's last event, "-" at the same time. */
static bool parse_time(const struct tool_token *token, uint64_t last_ns, uint64_t *time_ns)
{
    const char *at = token->text;
    *time_ns = last_ns;
    if (token->quoted || strcmp(at, "-") == 0)
        return !token->quoted;
    bool relative = *at == '+';
    uint64_t value;
    at += relative;
    return ttp_time_scan(&at, &value) && *at == '\0' &&
           !__builtin_add_overflow(value, relative ? last_ns : 0, time_ns);
}

ttape_status tool_text_flush(struct tool_text *text)
{
    size_t count = text->batch_count;
    text->batch_count = 0;
    return count == 0 ? TTAPE_OK
                      : ttape_writer_append(text->writer, text->streams[text->batch_stream].id,
                                            text->batch, count, &text->err);
}

static ttape_status add_event(struct tool_text *text, uint32_t index, const ttape_event *event,
                              uint32_t value_count)
{
    ttape_status status = TTAPE_OK;
    if (text->batch_count == TOOL_TEXT_BATCH || text->batch_stream != index)
        status = tool_text_flush(text);
    text->batch_stream = index;
    text->batch[text->batch_count++] = *event;
    text->event_count++;
    if (status == TTAPE_OK && value_count > 0) {
        status = tool_text_flush(text);
        if (status == TTAPE_OK) {
            status = ttape_writer_attach(text->writer, text->streams[index].id, text->values,
                                         value_count, &text->err);
        }
    }
    return status;
}

ttape_status tool_text_event(struct tool_text *text, const struct tool_token *time, char **at)
{
    struct tool_token tid_word, verb;
    uint64_t tid;
    uint32_t index, value_count = 0;
    ttape_event event = {.site = TTAPE_NONE, .depth = TTAPE_DEPTH_AUTO};
    if (tool_next_token(at, &tid_word) != TTAPE_OK || !tool_token_u64(&tid_word, &tid))
        return tool_text_refuse(text, "the second word is no thread number");
    if (tool_next_token(at, &verb) != TTAPE_OK || verb.quoted)
        return tool_text_refuse(text, "a verb is missing");
    ttape_status status = tool_text_stream_of(text, tid, &index);
    if (status != TTAPE_OK)
        return status;
    struct tool_text_stream *stream = &text->streams[index];
    if (!parse_time(time, stream->last_ns, &event.time_ns))
        return tool_text_refuse(text, "the first word is no time");
    if (!text->conversion->strict)
        event.time_ns = tool_conversion_time(text->conversion, event.time_ns);
    status = take_verb(text, stream, verb.text, at, &event);
    if (status == TTAPE_OK)
        status = take_rest(text, at, &event, &value_count);
    if (status != TTAPE_OK)
        return status;
    stream->last_ns = event.time_ns;
    follow_event(stream, &event);
    return add_event(text, index, &event, value_count);
}
