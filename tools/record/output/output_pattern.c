#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/record/output/output_pattern.h"

#define WORD_BYTES 256

/* The rank that a launcher of MPI or Slurm gave this process; NULL: none did. */
static const char *find_rank(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL && rank[0] != '\0' && rank[strspn(rank, "0123456789")] == '\0')
            return rank;
    }
    return NULL;
}

/* The host's name, where what cannot be in a file's name is an underscore. */
static void take_host(char word[WORD_BYTES])
{
    if (gethostname(word, WORD_BYTES) != 0)
        word[0] = '\0';
    word[WORD_BYTES - 1] = '\0';
    for (char *at = word; *at != '\0'; at++)
        if (*at == '/' || (unsigned char)*at < ' ' || *at == 127)
            *at = '_';
}

/* The word that a letter stands for. False: it stands for none here, and the error is printed. */
static bool take_word(char letter, char word[WORD_BYTES])
{
    time_t now = time(NULL);
    struct tm parts;
    const char *rank = find_rank();
    switch (letter) {
    case 'h': take_host(word); return true;
    case 'p': snprintf(word, WORD_BYTES, "%ld", (long)getpid()); return true;
    case 't':
        return gmtime_r(&now, &parts) != NULL &&
               strftime(word, WORD_BYTES, "%Y%m%dT%H%M%SZ", &parts) > 0;
    case '%': memcpy(word, "%", 2); return true;
    case 'r':
        if (rank != NULL)
            snprintf(word, WORD_BYTES, "%s", rank);
        else
            (void)tool_usage("record", "%%r in --output: no launcher gave this process a rank "
                                       "(PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, SLURM_PROCID)");
        return rank != NULL;
    default:
        (void)tool_usage("record",
                         "%%%.*s in --output is not known: %%h host, %%p process, %%r "
                         "rank, %%t time, %%%% a percent sign",
                         letter != '\0', &letter);
        return false;
    }
}

char *tool_record_fill_pattern(const char *pattern)
{
    size_t room = 1;
    for (const char *at = pattern; *at != '\0'; at++)
        room += *at == '%' ? WORD_BYTES : 1;
    char *name = tool_allocate(room, 1), *end = name;
    for (const char *at = pattern; *at != '\0'; at++) {
        char word[WORD_BYTES] = {*at};
        if (*at == '%' && !take_word(*++at, word)) {
            free(name);
            return NULL;
        }
        size_t length = strlen(word);
        memcpy(end, word, length);
        end += length;
    }
    *end = '\0';
    return name;
}
