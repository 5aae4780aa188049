/* Where the process has its modules, in one line on standard error, where the environment asks for
 * it: what values of addresses are read with (spec/context.md, 2). Each module behind a tab: its
 * first page, its build id or "-", its path. */
#include <link.h>
#include <sys/syscall.h>

#include "recorder/runtime/context/context_state.h"

#define ENV_MAP    "TRACETAPE_CONTEXT_MAP"
#define LINE_BYTES 8192u
#define PATH_BYTES 1024u
#define END_BYTES  8u /* behind the last module that fits */
#define DIGITS     16u

struct line {
    size_t size, whole; /* whole: up to the last module that is all there */
    bool is_full;
    char text[LINE_BYTES], path[PATH_BYTES + 1];
};

static void put_byte(struct line *line, char byte)
{
    if (line->size == LINE_BYTES - END_BYTES)
        line->is_full = true;
    else
        line->text[line->size++] = byte;
}

static void put_text(struct line *line, const char *text)
{
    for (; *text != '\0'; text++)
        put_byte(line, (unsigned char)*text < ' ' || *text == '\x7f' ? '?' : *text);
}

static void put_hex(struct line *line, uint64_t number, uint32_t digits)
{
    while (digits-- > 0)
        put_byte(line, "0123456789abcdef"[number >> (4 * digits) & 15]);
}

static int put_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct line *line = data;
    struct ttp_module_seen module;
    const char *path = info->dlpi_name;
    (void)size;
    if (!ttp_module_look(info, &module))
        return 0;
    if (path == NULL || path[0] != '/') { /* the program's own is "" */
        line->path[ttp_mapping_path((uintptr_t)module.start, line->path, PATH_BYTES)] = '\0';
        path = line->path[0] != '\0' || path == NULL ? line->path : path;
    }
    put_byte(line, '\t');
    put_hex(line, module.start, DIGITS);
    put_byte(line, ' ');
    for (uint32_t i = 0; i < module.build_id_size; i++)
        put_hex(line, module.build_id[i], 2);
    if (module.build_id_size == 0)
        put_byte(line, '-');
    put_byte(line, ' ');
    put_text(line, path);
    if (!line->is_full)
        line->whole = line->size;
    return line->is_full;
}

void ttp_context_tell_map(char **environment)
{
    const char *wanted;
    struct line line = {.size = 0};
    if (ttp_environment_find(environment, ENV_MAP, &wanted) == NULL || wanted[0] == '\0')
        return;
    put_text(&line, "tracetape map:");
    line.whole = line.size;
    ttp_modules_visit(put_module, &line);
    line.size = line.whole;
    for (const char *more = line.is_full ? "\t...\n" : "\n"; *more != '\0'; more++)
        line.text[line.size++] = *more;
    (void)ttp_syscall(SYS_write, 2, (long)line.text, (long)line.size, 0, 0, 0);
}
