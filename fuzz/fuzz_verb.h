/* Running a verb of the command in this process: its input is a file in memory, its outputs are
 * caught and looked at. */
#ifndef FUZZ_VERB_H
#define FUZZ_VERB_H

#include "fuzz_common.h"

/* A file in memory with these bytes, by name; two of them (slot 0 and 1) stay until they are set
 * again. */
const char *fuzz_verb_file(unsigned slot, const uint8_t *data, size_t size);

/* A command line, word by word. */
struct fuzz_words {
    const char *words[32];
    unsigned count;
};
void fuzz_word(struct fuzz_words *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct fuzz_outcome {
    int status;
    struct fuzz_bytes out, messages; /* of fuzz_take */
};

/* What a verb may ask malloc for, a reader's 256 MiB included. */
#define FUZZ_VERB_BYTES (256u << 20)

/* An output cannot grow beyond this: names that are long in a few bytes, printed for each event,
 * are as good as a full disk. */
#define FUZZ_OUTPUT_BYTES (4u << 20)

/* Runs verb(argc, argv) with argv ending in NULL. Every message is clean (below), the status is one
 * of those that a verb may have, and memory is bounded. */
struct fuzz_outcome fuzz_verb_run(int (*verb)(int argc, char **argv), const char *const *argv);

/* The same for anything that prints: begin, print, end. */
void fuzz_catch_begin(void);
struct fuzz_outcome fuzz_catch_end(int status);

/* A verb that was told what it knows (not TOOL_USAGE). False: it says that it could not do it, what
 * is there of its output is no whole. */
bool fuzz_outcome_is_whole(const struct fuzz_outcome *outcome);
/* Such a verb's output: JSON, or text. */
void fuzz_require_view(const struct fuzz_outcome *outcome, bool json);

/* Valid UTF-8 without a control character (C1 included) but line feeds, and without bidi marks. */
void fuzz_require_clean(const struct fuzz_bytes *text);
/* One JSON value; ndjson: one a line. */
void fuzz_require_json(const struct fuzz_bytes *text, bool lines);
/* RFC 4180 with that many columns in each row. */
void fuzz_require_csv(const struct fuzz_bytes *text, unsigned columns);

/* Formats of the verb export: lines "a;b 12"; callgrind's grammar, with own times that add up to
 * its summary; the messages of tools/export/formats/export_perfetto.proto. */
void fuzz_require_folded(const struct fuzz_bytes *text);
void fuzz_require_callgrind(const struct fuzz_bytes *text);
void fuzz_require_perfetto(const struct fuzz_bytes *bytes);
/* Graphviz's language as graph --format dot uses it. */
void fuzz_require_dot(const struct fuzz_bytes *text);

#endif
