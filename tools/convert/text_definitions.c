/* Definitions of the text form: processes, threads, modules, symbols, metadata; and those that
 * events imply. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/convert/raw_text.h"

static ttape_string string_of(const struct tool_token *token)
{
    return (ttape_string){token->text, token->size_bytes};
}

static bool parse_time(const char *text, uint64_t *time_ns)
{
    return text != NULL && ttp_time_scan(&text, time_ns) && *text == '\0';
}

/* The optional end of a line: [NAME] [key=VALUE]... */
struct extras {
    struct tool_token name; /* size 0: none */
    uint64_t parent_pid, start_ns;
    bool has_parent;
    struct tool_token build_id;
    const char *kind;
};

static ttape_status take_extras(struct tool_text *text, char **at, struct extras *found)
{
    struct tool_token token;
    ttape_status status;
    *found = (struct extras){0};
    for (bool first = true; (status = tool_next_token(at, &token)) == TTAPE_OK; first = false) {
        const char *value;
        if ((value = tool_token_after(&token, "parent=")) != NULL) {
            struct tool_token number = {.text = token.text + 7};
            found->has_parent = tool_token_u64(&number, &found->parent_pid);
            if (!found->has_parent)
                return tool_text_refuse(text, "the parent is no process number");
        } else if ((value = tool_token_after(&token, "start=")) != NULL) {
            if (!parse_time(value, &found->start_ns))
                return tool_text_refuse(text, "the start is no time");
        } else if (tool_token_after(&token, "build-id=") != NULL) {
            found->build_id = (struct tool_token){token.text + 9, token.size_bytes - 9, false};
        } else if ((value = tool_token_after(&token, "kind=")) != NULL) {
            found->kind = value;
        } else if (first) {
            found->name = token;
        } else {
            return tool_text_refuse(text, "a word too many");
        }
    }
    return status == TTAPE_END
               ? TTAPE_OK
               : tool_text_refuse(text, "a quoted word is not closed or has a wrong escape");
}

/* The process with a pid, made when it is new. */
static ttape_status process_of(struct tool_text *text, uint64_t pid, const struct extras *given,
                               uint32_t *id)
{
    bool is_new, parent_is_new = false;
    uint32_t parent = TTAPE_NONE;
    if (given->has_parent) {
        const uint32_t *place = tool_names_find(&text->processes, &given->parent_pid,
                                                sizeof(given->parent_pid), &parent_is_new);
        parent = parent_is_new ? TTAPE_NONE : *place;
    }
    uint32_t *place = tool_names_find(&text->processes, &pid, sizeof(pid), &is_new);
    ttape_status status = TTAPE_OK;
    if (*place == TTAPE_NONE) {
        ttape_process process = {.pid = pid,
                                 .parent = parent,
                                 .start_time_ns = given->start_ns,
                                 .name = string_of(&given->name)};
        status = ttape_writer_add_process(text->writer, &process, place, &text->err);
    }
    *id = *place;
    return status;
}

ttape_status tool_text_process(struct tool_text *text, char **at)
{
    struct tool_token token;
    uint64_t pid;
    struct extras given;
    if (tool_next_token(at, &token) != TTAPE_OK || !tool_token_u64(&token, &pid))
        return tool_text_refuse(text, "'process' needs a process number");
    ttape_status status = take_extras(text, at, &given);
    if (status != TTAPE_OK)
        return status;
    return process_of(text, pid, &given, &text->last_process);
}

static ttape_status add_stream(struct tool_text *text, uint64_t tid, uint32_t process,
                               const struct extras *given, uint32_t *index)
{
    uint32_t id;
    ttape_stream stream = {.process = process,
                           .tid = tid,
                           .start_time_ns = given->start_ns,
                           .name = string_of(&given->name)};
    ttape_status status = ttape_writer_add_stream(text->writer, &stream, &id, &text->err);
    if (status == TTAPE_OK) {
        tool_grow((void **)&text->streams, &text->stream_capacity, text->stream_count + 1,
                  sizeof(struct tool_text_stream));
        text->streams[text->stream_count] = (struct tool_text_stream){.tid = tid, .id = id};
        *index = (uint32_t)text->stream_count++;
    }
    return status;
}

ttape_status tool_text_thread(struct tool_text *text, char **at)
{
    struct tool_token pid_word, tid_word;
    uint64_t pid, tid;
    struct extras given;
    if (tool_next_token(at, &pid_word) != TTAPE_OK || !tool_token_u64(&pid_word, &pid) ||
        tool_next_token(at, &tid_word) != TTAPE_OK || !tool_token_u64(&tid_word, &tid))
        return tool_text_refuse(text, "'thread' needs a process number and a thread number");
    uint32_t process;
    bool is_new;
    ttape_status status = take_extras(text, at, &given);
    if (status == TTAPE_OK)
        status = process_of(text, pid, &(struct extras){0}, &process);
    if (status != TTAPE_OK)
        return status;
    text->last_process = process;
    /* A thread number that comes again is a new thread: events that follow are its. */
    uint32_t *place = tool_names_find(&text->threads, &tid, sizeof(tid), &is_new);
    return add_stream(text, tid, process, &given, place);
}

ttape_status tool_text_stream_of(struct tool_text *text, uint64_t tid, uint32_t *index)
{
    bool is_new;
    ttape_status status = TTAPE_OK;
    uint32_t *place = tool_names_find(&text->threads, &tid, sizeof(tid), &is_new);
    if (*place == TTAPE_NONE && text->last_process == TTAPE_NONE)
        status = process_of(text, tid, &(struct extras){0}, &text->last_process);
    if (*place == TTAPE_NONE && status == TTAPE_OK)
        status = add_stream(text, tid, text->last_process, &(struct extras){0}, place);
    *index = *place;
    return status;
}

ttape_status tool_text_module(struct tool_text *text, char **at)
{
    struct tool_token start, end;
    struct extras given;
    ttape_module module = {.process = text->last_process};
    if (tool_next_token(at, &start) != TTAPE_OK || !tool_token_address(&start, &module.start) ||
        tool_next_token(at, &end) != TTAPE_OK || !tool_token_address(&end, &module.end))
        return tool_text_refuse(text, "'module' needs a start and an end address");
    ttape_status status = take_extras(text, at, &given);
    if (status != TTAPE_OK)
        return status;
    struct tool_token id_token = {.text = given.build_id.text};
    ttape_value id = {0};
    char hex[2 * 64 + 8] = "hex:";
    if (id_token.text != NULL && given.build_id.size_bytes <= 128) {
        memcpy(hex + 4, given.build_id.text, given.build_id.size_bytes + 1);
        id_token = (struct tool_token){.text = hex, .size_bytes = strlen(hex)};
    }
    if (module.end < module.start || given.name.size_bytes == 0 ||
        (id_token.text != NULL && !tool_token_value(&id_token, &id))) {
        return tool_text_refuse(text,
                                "'module' needs a range, a path and, if any, a build id in hex");
    }
    module.path = string_of(&given.name);
    module.build_id = id.bytes;
    tool_grow((void **)&text->modules, &text->module_capacity, text->module_count + 1,
              sizeof(ttape_module));
    text->modules[text->module_count++] = (ttape_module){.start = module.start, .end = module.end};
    uint32_t number;
    return ttape_writer_add_module(text->writer, &module, &number, &text->err);
}

ttape_status tool_text_add_site(struct tool_text *text, ttape_site *site, bool by_address,
                                uint32_t *id)
{
    site->module = TTAPE_NONE;
    for (size_t i = text->module_count; i-- > 0 && by_address && site->module == TTAPE_NONE;)
        if (site->address >= text->modules[i].start && site->address < text->modules[i].end)
            site->module = (uint32_t)i;
    ttape_status status = ttape_writer_add_site(text->writer, site, id, &text->err);
    if (status == TTAPE_OK) {
        tool_grow((void **)&text->places, &text->place_capacity, *id + (size_t)1,
                  sizeof(*text->places));
        text->places[*id] = (struct tool_text_place){site->address, site->module, TTAPE_NONE};
    }
    return status;
}

uint32_t *tool_text_find_site(struct tool_text *text, uint32_t kind, const uint64_t *address,
                              const struct tool_token *name, bool *is_new)
{
    if (address != NULL) {
        unsigned char key[9] = {(unsigned char)(kind << 1)};
        memcpy(key + 1, address, sizeof(*address));
        return tool_names_find(&text->sites, key, sizeof(key), is_new);
    }
    /* The byte before a word is a blank, a quote or an end that was read already: room for the
     * key's first byte. */
    char *key = name->text - 1;
    char saved = *key;
    *key = (char)(kind << 1 | 1);
    uint32_t *place = tool_names_find(&text->sites, key, name->size_bytes + 1, is_new);
    *key = saved;
    return place;
}

static uint32_t parse_kind(const char *name)
{
    uint32_t kind = TTAPE_SITE_FUNCTION;
    while (name != NULL && kind <= TTAPE_SITE_MARKER &&
           strcmp(ttape_site_kind_name(kind), name) != 0)
        kind++;
    return kind;
}

ttape_status tool_text_symbol(struct tool_text *text, char **at)
{
    struct tool_token address, name;
    struct extras given;
    ttape_site site = {0};
    if (tool_next_token(at, &address) != TTAPE_OK || !tool_token_address(&address, &site.address) ||
        tool_next_token(at, &name) != TTAPE_OK)
        return tool_text_refuse(text, "'symbol' needs an address and a name");
    ttape_status status = take_extras(text, at, &given);
    if (status != TTAPE_OK)
        return status;
    site.kind = parse_kind(given.kind);
    if (site.kind > TTAPE_SITE_MARKER)
        return tool_text_refuse(text, "the kind is not function, block, branch, syscall or marker");
    site.symbol = string_of(&name);
    site.file = string_of(&given.name);
    char *colon = given.name.size_bytes > 0 ? strrchr(given.name.text, ':') : NULL;
    if (colon != NULL) {
        site.line = (uint32_t)strtoull(colon + 1, NULL, 10);
        site.file.size_bytes = (size_t)(colon - given.name.text);
    }
    bool is_new;
    uint32_t id, *place = tool_text_find_site(text, site.kind, &site.address, NULL, &is_new);
    if (!is_new)
        return tool_text_refuse(text, "the address has a symbol already, or was used before");
    status = tool_text_add_site(text, &site, true, &id);
    *place = id;
    place = tool_text_find_site(text, site.kind, NULL, &name, &is_new);
    *place = is_new ? id : *place;
    return status;
}

ttape_status tool_text_meta(struct tool_text *text, char **at)
{
    struct tool_token key, value, rest;
    uint64_t number;
    if (tool_next_token(at, &key) != TTAPE_OK || tool_next_token(at, &value) != TTAPE_OK ||
        tool_next_token(at, &rest) != TTAPE_END)
        return tool_text_refuse(text, "'meta' needs a key and one value");
    if (strcmp(key.text, "trace_id") == 0)
        return tool_text_refuse(text, "the trace id is not set by 'meta', but by --trace-id");
    if (tool_token_u64(&value, &number))
        return ttape_writer_set_number(text->writer, key.text, number, &text->err);
    return ttape_writer_set_text(text->writer, key.text, string_of(&value), &text->err);
}

ttape_status tool_text_site_of(struct tool_text *text, const struct tool_token *token,
                               uint32_t kind, bool any_leaf, uint32_t *site)
{
    ttape_site made = {.kind = kind};
    bool by_address = tool_token_address(token, &made.address);
    bool is_new = true;
    uint32_t *place;
    for (uint32_t leaf = TTAPE_SITE_BLOCK; any_leaf && leaf < kind; leaf++) {
        place = tool_text_find_site(text, leaf, by_address ? &made.address : NULL, token, &is_new);
        if (*place != TTAPE_NONE) {
            *site = *place;
            return TTAPE_OK;
        }
    }
    place = tool_text_find_site(text, kind, by_address ? &made.address : NULL, token, &is_new);
    ttape_status status = TTAPE_OK;
    if (*place == TTAPE_NONE) {
        made.symbol = by_address ? (ttape_string){"", 0} : string_of(token);
        status = tool_text_add_site(text, &made, by_address, place);
    }
    *site = *place;
    return status;
}
