/* Which values follow a function's record: the specifications that the recorder had, applied as it
 * did.
 *
 * First the user's ("FUNCTION@arg1/s,arg2;..." with patterns), then, where they say nothing about
 * this direction and automatic arguments were on, the module's debug file, then the built-in list
 * by name. A later specification of one place replaces an earlier one's format, but a pattern never
 * an exact name's. Values stand in the order in which their places were first named. */
#include <stdlib.h>
#include <string.h>

#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"

struct subject {
    struct tool_uft_recording *recording;
    uint32_t module_number;
    const char *name; /* symbol as recorded */
    char *plain;      /* without its C++ mangling, where that is simple; otherwise the same */
    const char *module;
    const char *pattern_type;
    bool is_64_bit, is_return;
};

/* The allocation operators, whatever their parameters: _ZdlPv and _ZdlPvm are one name. */
static const char *operator_name(const char *mangled)
{
    static const char *const names[][2] = {{"nw", "operator new"},
                                           {"na", "operator new[]"},
                                           {"dl", "operator delete"},
                                           {"da", "operator delete[]"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(mangled, names[i][0], 2) == 0)
            return names[i][1];
    return NULL;
}

/* a::b::c of a mangled name made of plain identifiers: _ZN1a1b1cEv, _Z1cv; otherwise the name
 * itself. */
static char *plain_name(const char *name)
{
    const char *at = tool_after(name, "_Z");
    const char *operator= at != NULL ? operator_name(at) : NULL;
    if (operator!= NULL)
        return tool_copy_text(operator, strlen(operator));
    char *plain = tool_copy_text(name, strlen(name));
    if (at == NULL)
        return plain;
    bool nested = *at == 'N';
    at += nested;
    at += nested && *at == 'K';
    char *to = plain;
    for (bool first = true; *at >= '0' && *at <= '9'; first = false) {
        char *end;
        unsigned long length = strtoul(at, &end, 10);
        if (length == 0 || length > strlen(end) || (!nested && !first))
            break;
        if (!first) {
            to = memcpy(to, "::", 2);
            to += 2;
        }
        memmove(to, end, length); /* never longer than what was read: digits make room for "::" */
        to += length;
        at = end + length;
    }
    if (to == plain || (nested && *at != 'E')) {
        memcpy(plain, name, strlen(name) + 1);
        return plain;
    }
    *to = '\0';
    return plain;
}

/* Sets format and size from what follows the slash; false when it is not known. */
static bool parse_format(const char **text, struct tool_uft_spec *spec, bool is_64_bit)
{
    const char *at = *text;
    spec->format = *at >= '0' && *at <= '9' ? 'f' : *at++;
    if (spec->format == '\0' || strchr("diuxopsScfet", spec->format) == NULL)
        return false;
    if (spec->format == 't') {
        char *end;
        unsigned long size = strtoul(at, &end, 0);
        spec->size_bytes = (uint16_t)size;
        *text = end + strcspn(end, "%");
        return size <= UINT16_MAX;
    }
    if (spec->format == 'e') {
        *text = at + strcspn(at, "%");
        spec->is_int = true;
        return *at == ':';
    }
    spec->is_int = spec->format == 'd';
    spec->size_bytes = spec->format == 'c' ? 1 : spec->format == 'f' ? 8 : is_64_bit ? 8 : 4;
    if (*at >= '0' && *at <= '9') {
        char *end;
        unsigned long bits = strtoul(at, &end, 10);
        bool known = bits == 8 || bits == 16 || bits == 32 || bits == 64 ||
                     (bits == 80 && spec->format == 'f');
        if (!known)
            return false;
        spec->size_bytes = (uint16_t)(bits / 8);
        spec->is_int = false;
        at = end;
    }
    *text = at;
    return true;
}

/* "arg1/d32%rdi", "fparg1/64%xmm0", "retval/s", "arg2/e:color". *enumeration: where its name
 * stands, or NULL. */
static bool parse_spec(const char *text, bool is_64_bit, struct tool_uft_spec *spec,
                       const char **enumeration)
{
    *spec = (struct tool_uft_spec){
        .type = 'a', .format = 'd', .size_bytes = is_64_bit ? 8 : 4, .is_int = is_64_bit};
    *enumeration = NULL;
    const char *at = tool_after(text, "retval");
    if (at != NULL) {
        spec->is_return = true;
    } else if ((at = tool_after(text, "fparg")) != NULL) {
        spec->type = spec->format = 'f';
        spec->size_bytes = 8;
    } else if ((at = tool_after(text, "arg")) == NULL) {
        return false;
    }
    size_t digits = strspn(at, "0123456789");
    if (digits >= sizeof(spec->where) || (digits == 0) != spec->is_return)
        return false;
    memcpy(spec->where, at, digits);
    at += digits;
    if (*at == '/') {
        at++;
        *enumeration = at[0] == 'e' && at[1] == ':' ? at + 2 : NULL;
        if (!parse_format(&at, spec, is_64_bit))
            return false;
        if (spec->format == 'f')
            spec->type = 'f';
    }
    if (*at == '%') {
        spec->type = tool_after(at, "%stack") != NULL ? 's' : 'r';
        size_t length = strlen(at + 1);
        if (length >= sizeof(spec->where))
            length = sizeof(spec->where) - 1;
        memset(spec->where, 0, sizeof(spec->where));
        memcpy(spec->where, at + 1, length);
        return true;
    }
    return *at == '\0';
}

static void add_spec(struct tool_uft_layout *layout, const struct tool_uft_spec *spec)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        struct tool_uft_spec *old = &layout->specs[i];
        if (old->type == spec->type && old->is_return == spec->is_return &&
            strcmp(old->where, spec->where) == 0) {
            if (spec->exact || !old->exact)
                *old = *spec;
            return;
        }
    }
    if (layout->count < TOOL_UFT_LAYOUT_MAX)
        layout->specs[layout->count++] = *spec;
}

/* A pattern that is a mangled name stands for all that is called the same in the source, as it does
 * for the recorder. */
static bool same_plain_name(const struct subject *about, const char *pattern)
{
    if (tool_after(pattern, "_Z") == NULL)
        return false;
    char *plain = plain_name(pattern);
    bool same = strcmp(plain, about->plain) == 0;
    free(plain);
    return same;
}

static bool matches(const struct subject *about, const char *pattern)
{
    return same_plain_name(about, pattern) ||
           tool_uft_pattern_matches(pattern, about->pattern_type, about->name) ||
           tool_uft_pattern_matches(pattern, about->pattern_type, about->plain);
}

/* Adds the specifications of a comma list. `module` gets a word that is none: a module's name. */
static void take_list(const struct subject *about, char *list, bool exact,
                      struct tool_uft_layout *layout, const char **module)
{
    for (char *word = list, *next; word != NULL; word = next) {
        next = strchr(word, ',');
        if (next != NULL)
            *next++ = '\0';
        struct tool_uft_spec spec;
        const char *enumeration;
        if (parse_spec(word, about->is_64_bit, &spec, &enumeration)) {
            spec.exact = exact;
            if (spec.is_return == about->is_return && enumeration != NULL) {
                spec.enumeration = tool_uft_find_enumeration(
                    about->recording, about->module_number, enumeration, strcspn(enumeration, "%"));
            }
            if (spec.is_return == about->is_return)
                add_spec(layout, &spec);
        } else if (module != NULL && *word != '\0' && strpbrk(word, "=/") == NULL) {
            *module = word;
        }
    }
}

/* One "PATTERN@LIST" of the user's. *automatic: the function was named without specifications. */
static void take_entry(const struct subject *about, const char *entry, size_t length,
                       struct tool_uft_layout *layout, bool *automatic)
{
    char *pattern = tool_copy_text(entry, length);
    char *list = strchr(pattern, '@');
    if (list != NULL)
        *list++ = '\0';
    if (matches(about, pattern)) {
        struct tool_uft_layout added = *layout;
        const char *module = NULL;
        take_list(about, list, tool_uft_pattern_is_simple(pattern, about->pattern_type), &added,
                  &module);
        bool here = module == NULL || strcasecmp(module, "plt") == 0 ||
                    strcmp(module, "auto-args") == 0 ||
                    strncmp(about->module, module, strlen(module)) == 0;
        if (here)
            *layout = added;
        if (here && (list == NULL || (module != NULL && strcmp(module, "auto-args") == 0)))
            *automatic = true;
    }
    free(pattern);
}

static void take_entries(const struct subject *about, const char *entries,
                         struct tool_uft_layout *layout, bool *automatic)
{
    for (const char *at = entries; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ";");
        take_entry(about, at, length, layout, automatic);
        at += length + (at[length] == ';');
    }
}

/* The built-in list: names, not patterns. The first entry that fits counts. */
static void take_builtin(const struct subject *about, const char *entries,
                         struct tool_uft_layout *layout)
{
    bool found = false;
    size_t about_length = strlen(about->name);
    for (const char *at = entries; at != NULL && *at != '\0' && !found;) {
        size_t length = strcspn(at, ";"), name_length = strcspn(at, "@;");
        found = name_length < length && name_length == about_length &&
                memcmp(at, about->name, name_length) == 0;
        if (!found && name_length < length && tool_after(at, "_Z") != NULL) {
            char *name = tool_copy_text(at, name_length);
            found = same_plain_name(about, name);
            free(name);
        }
        if (found) {
            char *list = tool_copy_text(at + name_length + 1, length - name_length - 1);
            take_list(about, list, true, layout, NULL);
            free(list);
        }
        at += length + (at[length] == ';');
    }
}

static void take_automatic(const struct tool_uft_info *info, const struct subject *about,
                           const struct tool_uft_symbol *symbol, struct tool_uft_layout *layout)
{
    const char *debug = about->is_return ? symbol->returns : symbol->arguments;
    if (debug != NULL && (info->features & TOOL_UFT_FEATURE_DEBUG_INFO) != 0) {
        const char *text = *debug == '@' ? debug + 1 : debug;
        char *list = tool_copy_text(text, strlen(text));
        take_list(about, list, true, layout, NULL);
        free(list);
    }
    if (layout->count == 0) {
        take_builtin(about, about->is_return ? info->automatic_returns : info->automatic_arguments,
                     layout);
    }
}

bool tool_uft_find_layout(struct tool_uft_recording *recording, const struct tool_uft_map *map,
                          uint64_t address, bool is_return, struct tool_uft_layout *layout)
{
    const struct tool_uft_info *info = &recording->info;
    layout->count = 0;
    struct tool_uft_module *module = &recording->modules[map->module];
    struct tool_uft_symbol symbol;
    tool_uft_find_symbol(recording, module, address - map->start, &symbol);
    const char *slash = strrchr(module->path, '/');
    struct subject about = {.recording = recording,
                            .module_number = map->module,
                            .name = symbol.name,
                            .plain = plain_name(symbol.name),
                            .module = slash != NULL ? slash + 1 : module->path,
                            .pattern_type = info->pattern_type,
                            .is_64_bit = info->is_64_bit,
                            .is_return = is_return};
    bool automatic = false;
    take_entries(&about, info->argument_specs, layout, &automatic);
    if (is_return)
        take_entries(&about, info->return_specs, layout, &automatic);
    if (layout->count == 0 && (automatic || info->automatic))
        take_automatic(info, &about, &symbol, layout);
    free(about.plain);
    tool_uft_symbol_reset(&symbol);
    return layout->count > 0;
}
