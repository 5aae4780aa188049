/* A trace that a verb reads: a regular file, or standard input, which is kept in an unlinked
 * temporary file. */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <tracetape/reader.h>

struct tool_input {
    const char *name; /* for messages */
    int fd;           /* of the temporary file, or -1 */
    bool is_open;
    bool is_growing; /* with the reader: a recorder still writes it */
    ttape_source source;
    ttape_reader *reader; /* NULL until tool_input_read */
};

/* Opens the source only. Returns a tool_exit; what failed has been reported. */
int tool_input_open(struct tool_input *input, const char *path);
/* Opens source and reader; memory_bytes: as of --memory. */
int tool_input_read(struct tool_input *input, const char *path, uint32_t jobs,
                    uint64_t memory_bytes);
/* The second half of that: a reader of the source, which is open. */
int tool_input_begin(struct tool_input *input, uint32_t jobs, uint64_t memory_bytes);
/* Opens the source of a file of ours, which is the input's from now on. */
void tool_input_take(struct tool_input *input, int fd, const char *name);
/* Takes a file of ours and opens a reader: it has a part of the trace `of`, whose name is shown,
 * and from whose start times count. */
int tool_input_read_back(struct tool_input *input, const struct tool_input *of, int fd,
                         uint32_t jobs, uint64_t memory_bytes);
void tool_input_close(struct tool_input *input);
/* Lets many files be open at once: the usual limit is lower than it has to be. */
void tool_inputs_allow(void);
/* Whether it is a rollup (tracetape/rollup.h), by its first bytes. */
bool tool_input_is_rollup(const struct tool_input *input);

/* Reads a trace so, calls `work` for it, warns when it ends too early, and closes it. Returns the
 * first tool_exit that is not TOOL_OK. */
int tool_input_run(const char *path, uint32_t jobs, uint64_t memory_bytes,
                   int (*work)(void *context, const struct tool_input *input), void *context);

/* The same for standard input, of which the first bytes were read already. */
int tool_input_run_begun(const void *head, size_t head_bytes,
                         int (*work)(void *context, const struct tool_input *input), void *context);

/* Opens the reader as tool_input_begin does, and reports nothing. */
ttape_status tool_input_try(struct tool_input *input, const ttape_reader_options *options,
                            ttape_error *err);

/* Warns when the file ends too early; returns TOOL_LOSS then, TOOL_OK otherwise. Of one that is
 * still written that is no loss. */
int tool_input_check_end(const struct tool_input *input);
/* The same of one file among many, where one that is still written is named in any case. */
int tool_input_check_one(const struct tool_input *input);

/* What a verb does that goes on behind damage, after a call of the library that failed: reports it,
 * of damage the first few, counts those in *count and turns *status from TOOL_OK to TOOL_LOSS.
 * False: what failed is not the trace's damage, nothing more can be read, and *status is
 * TOOL_CANNOT. */
bool tool_input_go_on(const struct tool_input *input, const ttape_error *err, uint64_t *count,
                      int *status);

/* Texts of a trace have no zero behind them. */
static inline bool tool_text_begins(ttape_string text, const char *start)
{
    size_t size_bytes = strlen(start);
    return text.size_bytes >= size_bytes && memcmp(text.data, start, size_bytes) == 0;
}

static inline bool tool_text_is(ttape_string text, const char *word)
{
    return text.size_bytes == strlen(word) && tool_text_begins(text, word);
}

#endif
