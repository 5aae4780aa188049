/* One HTML file that anybody opens: the page of `tracetape view`, the reader as WebAssembly, and a
 * trace or a cut of it with less in it, or none: then the page takes a file that is dropped on it.
 *
 *   trace --html_cut--> cut without values, paths ... --html_notes--> names, sources, lines
 *   page, engine, cut, notes --html_file--> run.html */
#ifndef TOOL_HTML_H
#define TOOL_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

#define HTML_TRACE_BYTES_MOST (UINT64_C(256) << 20) /* a page holds its trace in memory */

/* What goes into the file. */
struct html_options {
    const struct tool_choice *choice; /* a cut; all zero: the whole trace */
    bool with_values;                 /* arguments, results, the command line, texts of metadata */
    bool with_source;                 /* source files, paths, lines of functions */
    const char *function;             /* a regular expression: whose lines; NULL: those on top */
    const char *sources;              /* a folder to look for source files in, or NULL */
    enum tool_name_style names;
    uint64_t memory_bytes; /* 0: as usual */
    bool is_quiet;         /* says nothing of what is inside */
};

/* Reports what this build lacks to make such files. A tool_exit. */
int html_check_build(void);
/* Says how large the file will be and what is in it, then writes it. The trace stays as it is.
 * Returns a tool_exit. */
int html_write(const struct html_options *options, const struct tool_input *input,
               const char *output_name, struct tool_output *out);
/* The page alone. */
int html_write_empty(struct tool_output *out);

/* ---- html_cut.c ---- */

/* A cut in a file without a name. */
struct html_cut {
    int fd; /* -1: none */
    char path[64];
    struct tool_input input; /* with its reader */
    uint64_t size_bytes;
    int status; /* TOOL_OK, or TOOL_LOSS: something could not be read, and was left out */
};

/* Returns a tool_exit; what failed has been reported. */
int html_cut_open(struct html_cut *cut, const struct html_options *options,
                  const struct tool_input *input);
void html_cut_close(struct html_cut *cut);

/* ---- html_notes.c ---- */

struct html_notes {
    struct tool_output text; /* into memory */
    uint32_t source_count, line_count;
    uint64_t source_bytes;
};

void html_notes_make(struct html_notes *notes, const struct html_options *options,
                     const struct tool_input *cut, const char *trace_name);
void html_notes_close(struct html_notes *notes);

#endif
