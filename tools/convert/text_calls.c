/* System calls of the text form, and the paths that led to them: "path=main;load;read". */
#include <stdlib.h>
#include <string.h>

#include "tools/convert/raw_text.h"

/* A frame is at the place of the function of this name, where a `symbol` line gave it one. */
static ttape_status frame_of(struct tool_text *text, const struct tool_token *name, uint32_t *site)
{
    bool is_new;
    ttape_site made = {.kind = TTAPE_SITE_FRAME};
    bool by_address = tool_token_address(name, &made.address);
    const uint64_t *address = by_address ? &made.address : NULL;
    uint32_t *place = tool_text_find_site(text, TTAPE_SITE_FRAME, address, name, &is_new);
    if (is_new) {
        uint32_t id,
            function = *tool_text_find_site(text, TTAPE_SITE_FUNCTION, address, name, &is_new);
        bool has_place = by_address;
        if (!by_address)
            made.symbol = (ttape_string){name->text, name->size_bytes};
        if (!by_address && function != TTAPE_NONE) {
            made.address = text->places[function].address;
            has_place = true;
        }
        ttape_status status = tool_text_add_site(text, &made, has_place, &id);
        if (status != TTAPE_OK)
            return status;
        place = tool_text_find_site(text, TTAPE_SITE_FRAME, address, name, &is_new);
        *place = id;
    }
    *site = *place;
    return TTAPE_OK;
}

/* More frames than a path may have: the writer would refuse all that comes behind them, too. */
static bool is_too_deep(const char *words)
{
    uint32_t frames = 1;
    for (; *words != '\0' && frames <= TTAPE_PATH_MAX_DEPTH; words++)
        frames += *words == ';';
    return frames > TTAPE_PATH_MAX_DEPTH;
}

/* A frame ends at a semicolon; "-" in the first place says that more are further out. Each has the
 * byte before it for the key of its name. */
static ttape_status take_path(struct tool_text *text, char *words, uint32_t *path)
{
    *path = 0;
    if (is_too_deep(words))
        return tool_text_refuse(text, "the path has more than 65,535 frames");
    for (char *end; words != NULL; words = end) {
        end = strchr(words, ';');
        if (end != NULL)
            *end++ = '\0';
        struct tool_token name = {.text = words, .size_bytes = strlen(words)};
        ttape_path step = {.parent = *path, .site = TTAPE_NONE};
        bool is_cut = strcmp(words, "-") == 0;
        if (name.size_bytes == 0)
            return tool_text_refuse(text, "a frame of the path has no name");
        if (is_cut && step.parent != 0)
            return tool_text_refuse(text, "frames that are not known stand first in a path");
        ttape_status status = is_cut ? TTAPE_OK : frame_of(text, &name, &step.site);
        if (status == TTAPE_OK)
            status = ttape_writer_add_path(text->writer, &step, path, &text->err);
        if (status != TTAPE_OK)
            return status;
    }
    return TTAPE_OK;
}

/* The place of what a call's name and path are known as; a path of TTAPE_NONE: of the name alone,
 * with a number of its own. */
static uint32_t *call_place(struct tool_text *text, const struct tool_token *name, uint32_t path,
                            bool *is_new)
{
    size_t size = sizeof(path) + name->size_bytes;
    char *key = tool_allocate(size, 1);
    memcpy(key, &path, sizeof(path));
    memcpy(key + sizeof(path), name->text, name->size_bytes);
    uint32_t *place = tool_names_find(&text->calls, key, size, is_new);
    free(key);
    return place;
}

static uint32_t call_number(struct tool_text *text, const struct tool_token *name)
{
    bool is_new;
    uint32_t *place = call_place(text, name, TTAPE_NONE, &is_new);
    if (is_new)
        *place = (uint32_t)text->calls.table.count;
    return *place;
}

/* A word that is an address means the call that a `symbol` line put there. */
static ttape_status call_of(struct tool_text *text, const struct tool_token *name, uint32_t path,
                            uint32_t *site)
{
    bool is_new;
    ttape_status status = TTAPE_OK;
    uint32_t id = TTAPE_NONE, *place = call_place(text, name, path, &is_new);
    if (is_new && path == 0)
        status = tool_text_site_of(text, name, TTAPE_SITE_SYSCALL, false, &id);
    else if (is_new)
        status = tool_text_add_site(
            text,
            &(ttape_site){.kind = TTAPE_SITE_SYSCALL,
                          .path = path,
                          .symbol = (ttape_string){name->text, name->size_bytes}},
            false, &id);
    if (status == TTAPE_OK && is_new) {
        text->places[id].call = call_number(text, name);
        place = call_place(text, name, path, &is_new);
        *place = id;
    }
    *site = *place;
    return status;
}

static ttape_status take_name(struct tool_text *text, char **at, struct tool_token *name)
{
    return tool_next_token(at, name) == TTAPE_OK && (name->quoted || name->size_bytes > 0)
               ? TTAPE_OK
               : tool_text_refuse(text, "a system call's name is missing");
}

ttape_status tool_text_call_enter(struct tool_text *text, char **at, uint32_t *site)
{
    struct tool_token name;
    uint32_t path = 0;
    ttape_status status = take_name(text, at, &name);
    if (status != TTAPE_OK)
        return status;
    char *words = *at + strspn(*at, " \t");
    if (strncmp(words, "path=", 5) == 0) {
        struct tool_token word;
        bool quoted = words[5] == '"';
        *at = words + 5;
        if (tool_next_token(at, &word) != TTAPE_OK || (!quoted && word.size_bytes == 0))
            return tool_text_refuse(text, "the path is no list of names");
        status = take_path(text, word.text, &path);
    }
    return status == TTAPE_OK ? call_of(text, &name, path, site) : status;
}

/* The innermost open frame; with a name the innermost call that is called so. */
ttape_status tool_text_call_exit(struct tool_text *text, const struct tool_text_stream *stream,
                                 char **at, uint32_t *site)
{
    struct tool_token name;
    ttape_status status = tool_next_token(at, &name);
    if (status == TTAPE_E_CORRUPT)
        return tool_text_refuse(text, "a quoted word is not closed or has a wrong escape");
    bool any = status == TTAPE_END || (!name.quoted && strcmp(name.text, "-") == 0);
    uint32_t call = any ? TTAPE_NONE : call_number(text, &name);
    size_t top = stream->open.count + 1;
    while ((top = tool_frames_innermost(&stream->open, top - 1)) > 0) {
        uint32_t open = stream->open.frames[top - 1].site;
        if (any && open == TTAPE_NONE)
            break;
        if (open != TTAPE_NONE && (any || text->places[open].call == call)) {
            *site = open;
            return TTAPE_OK;
        }
    }
    return any ? tool_text_refuse(text, "no call is open that could exit")
               : call_of(text, &name, 0, site);
}
