#define _GNU_SOURCE /* realpath, asprintf */
#include "tools/record/modules/record_image.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/record/output/record_output.h"

#define LINE_BYTES  256u /* that the kernel looks at, of a script */
#define SCRIPTS_MAX 4    /* that interpret one another */

/* The command among the words of "env -S NAME=value python3 -u"; NULL: not known. */
static const char *env_command(char **rest)
{
    for (;;) {
        const char *word = strtok_r(NULL, " \t\n", rest);
        if (word == NULL)
            return NULL;
        bool takes_word = strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0;
        if (takes_word && strtok_r(NULL, " \t\n", rest) == NULL)
            return NULL;
        word += strncmp(word, "-S", 2) == 0 ? 2 : 0;
        if (word[0] != '-' && word[0] != '\0' && strchr(word, '=') == NULL)
            return word;
    }
}

/* "#!/usr/bin/env python3", "#!/bin/sh -e": the interpreter; NULL: it is no script. */
static char *interpreter(const char *path)
{
    char line[LINE_BYTES] = "", *rest = NULL;
    FILE *file = fopen(path, "re");
    bool is_script =
        file != NULL && fgets(line, sizeof line, file) != NULL && line[0] == '#' && line[1] == '!';
    if (file != NULL)
        (void)fclose(file);
    const char *name = is_script ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    if (name == NULL)
        return NULL;
    const char *slash = strrchr(name, '/');
    bool is_env = strcmp(slash != NULL ? slash + 1 : name, "env") == 0;
    const char *word = is_env ? env_command(&rest) : NULL;
    return tool_record_find_command(word != NULL ? word : name);
}

char *tool_record_image(const char *command)
{
    char *path = tool_record_find_command(command);
    for (int i = 0; path != NULL && i < SCRIPTS_MAX; i++) {
        char *next = interpreter(path);
        if (next == NULL)
            break;
        free(path);
        path = next;
    }
    char *real = path != NULL ? realpath(path, NULL) : NULL;
    free(path);
    return real;
}

char *tool_record_link(const char *command)
{
    char *path = tool_record_find_command(command);
    char *script = path != NULL ? interpreter(path) : NULL;
    char *real = path != NULL && script == NULL ? realpath(path, NULL) : NULL;
    bool is_link = real != NULL && strcmp(ttp_base_name(path), ttp_base_name(real)) != 0;
    char *folder = is_link && path[0] != '/' ? getcwd(NULL, 0) : NULL, *link = NULL;
    const char *below = path;
    while (below != NULL && strncmp(below, "./", 2) == 0)
        below += 2;
    if (folder != NULL && asprintf(&link, "%s/%s", folder, below) < 0)
        link = NULL;
    if (is_link && path[0] == '/') {
        link = path;
        path = NULL;
    }
    free(folder);
    free(script);
    free(real);
    free(path);
    return link;
}
