/* What values are made of, as the program or its environment says. */
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "recorder/runtime/context/context_state.h"

#define ENV_DICTIONARY "TRACETAPE_CONTEXT"
#define LINE_BYTES     512u

struct ttp_context_settings ttp_context_settings = {.turn = 1};

static size_t append_text(char *line, size_t size, const char *text)
{
    while (*text != '\0' && size < LINE_BYTES - 1)
        line[size++] = *text++;
    return size;
}

static void complain(const char *path, const char *why)
{
    char line[LINE_BYTES];
    size_t size = append_text(line, 0, "tracetape: no dictionary of context values '");
    size = append_text(line, size, path);
    size = append_text(line, size, "': ");
    size = append_text(line, size, why);
    line[size++] = '\n';
    ttp_syscall(SYS_write, 2, (long)line, (long)size, 0, 0, 0);
}

static int start_context(const ttape_context_options *options)
{
    const char *why;
    ttp_context_settings.dictionary = NULL;
    ttp_context_settings.operation = options->operation;
    ttp_context_settings.ids = options->ids;
    bool is_there = options->dictionary == NULL ||
                    ttp_dictionary_open(options->dictionary, options->dictionary_bytes, &why);
    if (options->dictionary != NULL)
        ttp_context_name_program();
    if (!is_there)
        complain(options->dictionary, why);
    __atomic_add_fetch(&ttp_context_settings.turn, 1, __ATOMIC_RELEASE);
    return is_there ? 0 : -1;
}

TTP_EXPORT int ttape_context_start(const ttape_context_options *options)
{
    ttape_context_options own = {0};
    size_t size = options == NULL ? 0 : options->size;
    for (size_t i = 0; i < size && i < sizeof(own); i++)
        ((char *)&own)[i] = ((const char *)options)[i];
    if ((uint32_t)own.operation > TTAPE_CONTEXT_MULTIPLY ||
        (uint32_t)own.ids > TTAPE_CONTEXT_IDS_ADDRESS) {
        complain(own.dictionary != NULL ? own.dictionary : "",
                 "there is no such operation, or no such ids");
        return -1;
    }
    return start_context(&own);
}

/* Where both libraries are there, one of them speaks: the one whose functions the program calls. */
extern int ttp_own_start(const ttape_context_options *options)
    __attribute__((alias("ttape_context_start"), visibility("hidden")));

void ttp_context_begin(char **environment)
{
    ttape_context_options options = {.size = sizeof(options)};
    if (getauxval(AT_SECURE) != 0)
        return;
    if (ttape_context_start == ttp_own_start)
        ttp_context_tell_map(environment);
    if (ttp_environment_find(environment, ENV_DICTIONARY, &options.dictionary) != NULL &&
        options.dictionary[0] != '\0')
        (void)start_context(&options);
}
