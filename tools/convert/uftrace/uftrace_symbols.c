/* Symbol (*.sym) and debug (*.dbg) files. Memory holds 16 bytes per symbol; names are read when a
 * site needs them.
 *
 *   .sym   "ADDRESS [SIZE] TYPE NAME", relative to the module's base; type ? marks an end
 *   .dbg   "F: ADDRESS NAME", then for that function "L: LINE FILE", "A: @arguments",
 *          "R: @return value" */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"
#include "tools/io/scratch_file.h"

#define END_MARKER UINT64_MAX

/* Does the file's head name this module (or nothing)? Closes it. */
static bool is_about(const struct tool_uft_recording *recording, int fd, const char *name,
                     const struct tool_uft_module *module)
{
    bool matches = true;
    struct tool_lines lines;
    struct tool_line line = {0};
    tool_lines_open(&lines, fd, NULL, 0);
    while (matches && tool_lines_next(&lines, &line) && line.text[0] == '#') {
        const char *path = tool_after(line.text, "# path name: ");
        const char *id = tool_after(line.text, "# build-id: ");
        if (path != NULL && strcmp(path, module->path) != 0)
            matches = false;
        if (id != NULL && module->build_id[0] != '\0' && strcmp(id, module->build_id) != 0)
            matches = false;
    }
    tool_uft_close_lines(recording, &lines, name);
    return matches;
}

/* A file that is there but cannot be opened takes names away: that is a loss. */
static void warn_open(const struct tool_uft_recording *recording, const char *name)
{
    if (errno != ENOENT)
        tool_conversion_warn(recording->conversion, "cannot open '%s': %s", name, strerror(errno));
}

/* Finds the module's file: BASE.sym, or BASE-XXXX.sym where several modules have one name. */
static char *find_file(const struct tool_uft_recording *recording,
                       const struct tool_uft_module *module, const char *suffix)
{
    char name[512];
    const char *base = ttp_base_name(module->path);
    unsigned sum = 0;
    for (const char *at = module->path; *at != '\0'; at++)
        sum += (unsigned char)*at;
    for (int attempt = 0; attempt < 2; attempt++) {
        int length;
        if (attempt == 0)
            length = snprintf(name, sizeof(name), "%s.%s", base, suffix);
        else if (module->build_id[0] != '\0')
            length = snprintf(name, sizeof(name), "%s-%.4s.%s", base, module->build_id, suffix);
        else
            length = snprintf(name, sizeof(name), "%s-%04x.%s", base, sum & 0xFFFFu, suffix);
        if (length < 0 || (size_t)length >= sizeof(name))
            return NULL;
        int fd = tool_uft_open(recording, name);
        if (fd >= 0) {
            if (is_about(recording, fd, name, module))
                return tool_copy_text(name, (size_t)length);
        } else {
            warn_open(recording, name);
        }
    }
    return NULL;
}

static void add_entry(struct tool_uft_table *table, uint64_t address, uint64_t offset)
{
    tool_grow((void **)&table->entries, &table->capacity, table->count + 1,
              sizeof(struct tool_uft_entry));
    table->entries[table->count++] = (struct tool_uft_entry){address, offset};
}

/* Splits "ADDRESS [SIZE] TYPE NAME"; false when it is none. */
static bool split_symbol(char *text, uint64_t *address, char *type, char **name)
{
    char *at;
    *address = strtoull(text, &at, 16);
    if (at == text || *at++ != ' ')
        return false;
    if (*at >= '0' && *at <= '9') {
        at += strspn(at, "0123456789abcdef");
        if (*at++ != ' ')
            return false;
    }
    *type = *at;
    if (*type == '\0' || strchr("?TtwPKDdvu", *type) == NULL || at[1] != ' ')
        return false;
    *name = at + 2;
    return true;
}

static void take_symbol(struct tool_uft_table *table, const struct tool_line *line)
{
    uint64_t address;
    char type, *name;
    if (line->text[0] == '#' || !split_symbol(line->text, &address, &type, &name))
        return;
    bool ends = type == '?' || strcmp(name, "__sym_end") == 0 ||
                strcmp(name, "__dynsym_end") == 0 || strcmp(name, "__func_end") == 0;
    add_entry(table, address, ends ? END_MARKER : line->offset);
}

static void take_function(struct tool_uft_table *table, const struct tool_line *line)
{
    const char *text = tool_after(line->text, "F: ");
    if (text != NULL)
        add_entry(table, strtoull(text, NULL, 16), line->offset);
}

static int compare_entries(const void *a, const void *b)
{
    const struct tool_uft_entry *one = a, *two = b;
    if (one->address != two->address)
        return one->address < two->address ? -1 : 1;
    return one->offset < two->offset ? -1 : one->offset > two->offset;
}

static void load_symbols(const struct tool_uft_recording *recording,
                         const struct tool_uft_module *module, struct tool_uft_table *table,
                         const char *suffix,
                         void (*take)(struct tool_uft_table *, const struct tool_line *))
{
    if (table->loaded)
        return;
    table->loaded = true;
    table->file = find_file(recording, module, suffix);
    int fd = table->file != NULL ? tool_uft_open(recording, table->file) : -1;
    if (fd < 0) {
        if (table->file != NULL)
            warn_open(recording, table->file);
        return;
    }
    struct tool_lines lines;
    struct tool_line line = {0};
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line))
        take(table, &line);
    tool_uft_close_lines(recording, &lines, table->file);
    if (table->count > 0)
        qsort(table->entries, table->count, sizeof(struct tool_uft_entry), compare_entries);
}

/* The entry that an address lies in: of the last ones at or before it the first, or NULL. */
static const struct tool_uft_entry *find_entry(const struct tool_uft_table *table, uint64_t address)
{
    struct ttp_bisect s = {.end = table->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, table->entries[s.middle].address <= address);
    if (s.first == 0)
        return NULL;
    size_t at = s.first - 1;
    while (at > 0 && table->entries[at - 1].address == table->entries[at].address)
        at--;
    return table->entries[at].offset != END_MARKER ? &table->entries[at] : NULL;
}

/* A table's file, open until another one is asked for: a program's functions come one by one. -1
 * where it cannot be opened, which is said. */
static int open_table(const struct tool_uft_recording *recording,
                      const struct tool_uft_table *table)
{
    struct tool_uft_open_file *last = recording->last_file;
    if (last->fd >= 0 && strcmp(last->name, table->file) == 0)
        return last->fd;
    tool_uft_close_last(last);
    last->fd = tool_uft_open(recording, table->file);
    if (last->fd < 0)
        warn_open(recording, table->file);
    else
        last->name = table->file;
    return last->fd;
}

void tool_uft_close_last(struct tool_uft_open_file *last)
{
    if (last->fd >= 0)
        close(last->fd);
    *last = (struct tool_uft_open_file){.fd = -1};
}

/* The line at an offset, freed by the caller; NULL at the end or on failure. */
static char *read_line_at(const struct tool_uft_recording *recording,
                          const struct tool_uft_table *table, int fd, uint64_t offset,
                          size_t *size_bytes)
{
    for (size_t capacity = 512;; capacity *= 8) {
        char *text = tool_allocate(capacity + 1, 1);
        ssize_t got = tool_read_full(fd, text, capacity, (off_t)offset);
        int saved = errno;
        char *end = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
        if (end != NULL || (got > 0 && ((size_t)got < capacity || capacity > TOOL_LINE_MAX))) {
            *size_bytes = end != NULL ? (size_t)(end - text) : (size_t)got;
            text[*size_bytes] = '\0';
            return text;
        }
        free(text);
        if (got < 0) {
            tool_conversion_warn(recording->conversion, "cannot read '%s': %s", table->file,
                                 strerror(saved));
        }
        if (got <= 0)
            return NULL;
    }
}

static void read_symbol(const struct tool_uft_recording *recording,
                        const struct tool_uft_table *table, const struct tool_uft_entry *entry,
                        struct tool_uft_symbol *symbol)
{
    size_t size;
    uint64_t address;
    char type, *name;
    int fd = open_table(recording, table);
    char *text = fd >= 0 ? read_line_at(recording, table, fd, entry->offset, &size) : NULL;
    if (text != NULL && split_symbol(text, &address, &type, &name)) {
        symbol->start = entry->address;
        symbol->name = tool_copy_text(name, strcspn(name, "\t"));
    }
    free(text);
}

/* Reads the lines behind an "F:" line. */
static void read_debug(const struct tool_uft_recording *recording,
                       const struct tool_uft_table *table, const struct tool_uft_entry *entry,
                       struct tool_uft_symbol *symbol)
{
    int fd = open_table(recording, table);
    uint64_t offset = entry->offset;
    for (bool first = true; fd >= 0; first = false) {
        size_t size = 0;
        char *text = read_line_at(recording, table, fd, offset, &size);
        if (text == NULL || (!first && tool_after(text, "F: ") != NULL)) {
            free(text);
            break;
        }
        offset += size + 1;
        const char *rest = tool_after(text, "L: ");
        if (rest != NULL && symbol->file == NULL) {
            char *end;
            symbol->line = (uint32_t)strtoull(rest, &end, 10);
            end += *end == ' ';
            symbol->file = tool_copy_text(end, strlen(end));
        } else if ((rest = tool_after(text, "A: ")) != NULL && symbol->arguments == NULL) {
            symbol->arguments = tool_copy_text(rest, strlen(rest));
        } else if ((rest = tool_after(text, "R: ")) != NULL && symbol->returns == NULL) {
            symbol->returns = tool_copy_text(rest, strlen(rest));
        }
        free(text);
    }
}

void tool_uft_find_symbol(const struct tool_uft_recording *recording,
                          struct tool_uft_module *module, uint64_t address,
                          struct tool_uft_symbol *symbol)
{
    *symbol = (struct tool_uft_symbol){.start = address};
    load_symbols(recording, module, &module->symbols, "sym", take_symbol);
    const struct tool_uft_entry *entry = find_entry(&module->symbols, address);
    if (entry != NULL)
        read_symbol(recording, &module->symbols, entry, symbol);
    if (symbol->name == NULL) {
        symbol->name = tool_copy_text("", 0);
        return;
    }
    load_symbols(recording, module, &module->debug, "dbg", take_function);
    entry = find_entry(&module->debug, symbol->start);
    if (entry != NULL && entry->address == symbol->start)
        read_debug(recording, &module->debug, entry, symbol);
}

void tool_uft_symbol_reset(struct tool_uft_symbol *symbol)
{
    free(symbol->name);
    free(symbol->file);
    free(symbol->arguments);
    free(symbol->returns);
    *symbol = (struct tool_uft_symbol){0};
}

uint64_t tool_uft_symbols_end(const struct tool_uft_recording *recording,
                              struct tool_uft_module *module)
{
    load_symbols(recording, module, &module->symbols, "sym", take_symbol);
    size_t count = module->symbols.count;
    return count > 0 ? module->symbols.entries[count - 1].address : 0;
}

void tool_uft_each_debug(struct tool_uft_recording *recording, uint32_t module, const char *key,
                         void (*take)(struct tool_uft_recording *recording, uint32_t module,
                                      const char *text))
{
    struct tool_uft_module *about = &recording->modules[module];
    load_symbols(recording, about, &about->debug, "dbg", take_function);
    int fd = about->debug.file != NULL ? tool_uft_open(recording, about->debug.file) : -1;
    struct tool_lines lines;
    struct tool_line line = {0};
    if (fd < 0)
        return; /* which was said */
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line)) {
        const char *rest = tool_after(line.text, key);
        if (rest != NULL)
            take(recording, module, rest);
    }
    tool_uft_close_lines(recording, &lines, about->debug.file);
}
