/* The reader in a page, as WebAssembly: a worker of the page gives it the bytes of a trace as it
 * asks for them, and requests, and is given responses; what the server of `tracetape view` would
 * have asked the machine (names, sources, lines) stands in notes that were made beside the trace:
 *
 *   | kind u8 | site u32 | size u32 | text |  ...         (little-endian; html_notes.c writes them)
 *
 *   engine_take_notes, engine_open -> engine_answer, engine_get_response ...  one trace, once
 *
 * Notes and the trace are anybody's: what does not fit is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/view.h>

#include "tools/html/html_notes.h"
#include "tools/values/value_words.h"

#define NAME_BYTES   2048u
#define EXPORT(name) __attribute__((export_name(#name))) name

/* Bytes of the trace from a place on: how many there were, or -1. */
__attribute__((import_module("trace"), import_name("read"))) extern int32_t
read_trace(double place, void *into, uint32_t size_bytes);

struct note {
    const uint8_t *text;
    uint32_t size_bytes;
};

static struct {
    ttape_source source;
    ttape_reader *reader;
    ttape_view *view;
    ttape_error error;
    ttape_string response;
    uint8_t *request;
    uint32_t request_capacity;
    uint8_t *notes;
    uint32_t notes_bytes;
    uint32_t site_count;
    struct note *names, *full_names; /* by site */
    char trace_name[1024];
} engine;

/* ---- notes ---- */

/* Goes through them; false: there are no more. */
static bool next_note(uint32_t *at, uint8_t *kind, uint32_t *site, struct note *note)
{
    uint32_t left = engine.notes_bytes - *at;
    const uint8_t *head = engine.notes + *at;
    if (left < HTML_NOTE_HEAD_BYTES)
        return false;
    *kind = head[0];
    memcpy(site, head + 1, sizeof *site); /* WebAssembly is little-endian */
    memcpy(&note->size_bytes, head + 5, sizeof note->size_bytes);
    note->text = head + HTML_NOTE_HEAD_BYTES;
    if (note->size_bytes > left - HTML_NOTE_HEAD_BYTES)
        return false;
    *at += HTML_NOTE_HEAD_BYTES + note->size_bytes;
    return true;
}

static bool find_note(uint8_t wanted, uint32_t number, struct note *found)
{
    uint8_t kind;
    uint32_t site;
    for (uint32_t at = 0; next_note(&at, &kind, &site, found);)
        if (kind == wanted && site == number)
            return true;
    return false;
}

static bool list_names(void)
{
    uint8_t kind;
    uint32_t site;
    struct note note;
    engine.names = calloc(engine.site_count + 1u, sizeof *engine.names);
    engine.full_names = calloc(engine.site_count + 1u, sizeof *engine.full_names);
    if (engine.names == NULL || engine.full_names == NULL)
        return false;
    for (uint32_t at = 0; next_note(&at, &kind, &site, &note);)
        if (kind == HTML_NOTE_NAME && site < engine.site_count)
            engine.names[site] = note;
        else if (kind == HTML_NOTE_FULL_NAME && site < engine.site_count)
            engine.full_names[site] = note;
    if (find_note(HTML_NOTE_TRACE, 0, &note))
        (void)snprintf(engine.trace_name, sizeof engine.trace_name, "%.*s", (int)note.size_bytes,
                       (const char *)note.text);
    return true;
}

static size_t put_text(ttape_string text, char *buffer, size_t size_bytes)
{
    size_t kept = text.size_bytes < size_bytes ? text.size_bytes : size_bytes - 1;
    memcpy(buffer, text.data, kept);
    buffer[kept] = '\0';
    return text.size_bytes;
}

static size_t put_note(const struct note *note, uint32_t site, char *buffer, size_t size_bytes)
{
    if (note->size_bytes == 0)
        return ttape_site_name(engine.reader, site, buffer, size_bytes);
    return put_text((ttape_string){(const char *)note->text, note->size_bytes}, buffer, size_bytes);
}

static size_t name_site(void *context, uint32_t site, char *buffer, size_t size_bytes)
{
    (void)context;
    return put_note(&engine.names[site < engine.site_count ? site : engine.site_count], site,
                    buffer, size_bytes);
}

static size_t name_in_full(void *context, uint32_t site, char *buffer, size_t size_bytes)
{
    (void)context;
    return put_note(&engine.full_names[site < engine.site_count ? site : engine.site_count], site,
                    buffer, size_bytes);
}

/* As the command says them. */
static size_t say_values(void *context, uint32_t site, bool is_exit, const ttape_value *values,
                         uint32_t value_count, char *buffer, size_t size_bytes)
{
    struct tool_output text;
    (void)context;
    tool_output_open(&text, -1);
    if (is_exit)
        tool_put_results(&text, engine.reader, site, values, value_count);
    else
        tool_put_arguments(&text, engine.reader, site, values, value_count);
    return put_text((ttape_string){text.data, text.size_bytes}, buffer, size_bytes);
}

static const char *name_trace(void *context)
{
    (void)context;
    return engine.trace_name[0] != '\0' ? engine.trace_name : "run.ttape";
}

static ttape_status set_error(ttape_error *err, ttape_status status, const char *what)
{
    *err = (ttape_error){.status = status, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "%s", what);
    return status;
}

/* A path's note has the text's behind it. */
static ttape_status read_source(void *context, ttape_string path, ttape_string *text,
                                ttape_error *err)
{
    uint8_t kind;
    uint32_t site;
    struct note note;
    (void)context;
    for (uint32_t at = 0; next_note(&at, &kind, &site, &note);)
        if (kind == HTML_NOTE_PATH && note.size_bytes == path.size_bytes &&
            memcmp(note.text, path.data, path.size_bytes) == 0 &&
            next_note(&at, &kind, &site, &note) && kind == HTML_NOTE_TEXT) {
            *text = (ttape_string){(const char *)note.text, note.size_bytes};
            return TTAPE_OK;
        }
    return set_error(err, TTAPE_E_NOT_FOUND,
                     "this source is not in the file: export --with-source puts it there");
}

/* The lines are those of a site, or of one that is called the same in full. */
static bool find_lines(uint32_t wanted, struct note *found)
{
    uint8_t kind;
    uint32_t site;
    char name[NAME_BYTES], other[NAME_BYTES];
    (void)name_in_full(NULL, wanted, name, sizeof name);
    for (uint32_t at = 0; next_note(&at, &kind, &site, found);) {
        if (kind != HTML_NOTE_LINES)
            continue;
        (void)name_in_full(NULL, site, other, sizeof other);
        if (site == wanted || strcmp(name, other) == 0)
            return true;
    }
    return false;
}

static ttape_status count_lines(void *context, const char *call, uint32_t site, ttape_string *json,
                                ttape_error *err)
{
    struct note note;
    (void)context;
    if (call != NULL || !find_lines(site, &note))
        return set_error(err, TTAPE_E_NOT_FOUND,
                         call != NULL
                             ? "lines of one call are not in the file: tracetape view counts them"
                             : "lines of this function are not in the file: export --with-source "
                               "--function NAME puts them there");
    *json = (ttape_string){(const char *)note.text, note.size_bytes};
    return TTAPE_OK;
}

/* ---- the trace ---- */

static ttape_status read_at(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                            size_t *got_bytes, ttape_error *err)
{
    (void)context;
    int32_t got = read_trace((double)offset, buffer, (uint32_t)size_bytes);
    if (got < 0)
        return set_error(err, TTAPE_E_IO, "the browser cannot read the file any more");
    *got_bytes = (size_t)got;
    return TTAPE_OK;
}

/* ---- what the worker calls ---- */

/* Room for so many bytes of a request; 0: there is none. */
void *EXPORT(engine_make_room)(uint32_t size_bytes)
{
    if (size_bytes > engine.request_capacity) {
        free(engine.request);
        engine.request = malloc(size_bytes);
        engine.request_capacity = engine.request != NULL ? size_bytes : 0;
    }
    return engine.request;
}

/* Room for the notes, once, before the trace is opened. */
void *EXPORT(engine_take_notes)(uint32_t size_bytes)
{
    engine.notes = malloc(size_bytes + 1u);
    engine.notes_bytes = engine.notes != NULL ? size_bytes : 0;
    return engine.notes;
}

/* Pictures have an eighth of the memory, as in the server, or 16 MiB; other answers half. */
int EXPORT(engine_open)(double size_bytes, uint32_t memory_mib, int is_for_pictures)
{
    uint64_t all = (uint64_t)memory_mib << 20;
    const ttape_reader_options reading = {.size = sizeof reading,
                                          .limits.memory_bytes = all / 4 * 3,
                                          .cache_bytes = all / 2,
                                          .jobs = 1};
    const ttape_view_options viewing = {.size = sizeof viewing,
                                        .memory_bytes = is_for_pictures ? 16u << 20 : all / 2,
                                        .jobs = 1,
                                        .name = name_site,
                                        .full_name = name_in_full,
                                        .source = read_source,
                                        .lines = count_lines,
                                        .values = say_values,
                                        .trace_name = name_trace};
    ttape_info info;
    engine.source = (ttape_source){.read_at = read_at, .size_bytes = (uint64_t)size_bytes};
    if (ttape_reader_open(&engine.reader, &engine.source, &reading, &engine.error) != TTAPE_OK)
        return 0;
    ttape_reader_get_info(engine.reader, &info);
    engine.site_count = info.site_count;
    if (!list_names()) {
        (void)set_error(&engine.error, TTAPE_E_MEMORY, "out of memory");
        return 0;
    }
    return ttape_view_open(&engine.view, engine.reader, &viewing, &engine.error) == TTAPE_OK;
}

/* Answers what stands in the room; 0: engine_get_error says why not. */
int EXPORT(engine_answer)(uint32_t size_bytes)
{
    return ttape_view_answer(engine.view, engine.request, size_bytes, &engine.response,
                             &engine.error) == TTAPE_OK;
}

const char *EXPORT(engine_get_response)(void) { return engine.response.data; }

uint32_t EXPORT(engine_get_response_bytes)(void) { return (uint32_t)engine.response.size_bytes; }

/* Ends with a zero. */
const char *EXPORT(engine_get_error)(void) { return engine.error.message; }
