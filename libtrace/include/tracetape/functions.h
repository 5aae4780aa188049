/* The functions of one trace or of several: which sites are one function, and a key for each that
 * is the same in other files.
 *
 *   by      module            file                       place
 *   PATH    its path          its path                   in the module, where symbol and file leave
 *                                                        namesakes that nothing else tells apart
 *   BUILD   its build id;     its path                   the same
 *           without, its path
 *   NAME    the last part     the last part of its path, of functions without symbol
 *           of its path       where every trace has any
 *
 * The symbol is always compared, by NAME without the hash that rustc gives it in each build.
 * Frames of paths have no file here: each is at another place of its function, and what is inlined
 * there has other files. PATH is for one trace, or for several of one machine. BUILD is for many
 * traces of one program, wherever it lies. NAME is for comparing builds.
 *
 * Functions are numbered by their first site, trace by trace; the last row is what is not known.
 *
 * Of two sides (a_count), one program, library or source file under two names is matched: first
 * modules that only A has with those that only B has, then files in the same way, where files are
 * compared. Two are the same where half of the smaller one's symbols, and two at least, are in both
 * and in no other such module or file; pairs with most of them come first. Functions of one symbol
 * in what is the same are one: sites of B have A's row, and B's row has no sites. Of functions
 * without symbol, those at one place of modules with one build id count as called the same.
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * The readers must not be used while it is made, and must outlive it. */
#ifndef TRACETAPE_FUNCTIONS_H
#define TRACETAPE_FUNCTIONS_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_functions ttape_functions;

typedef enum ttape_functions_by {
    TTAPE_FUNCTIONS_BY_PATH = 0,
    TTAPE_FUNCTIONS_BY_BUILD = 1,
    TTAPE_FUNCTIONS_BY_NAME = 2,
    TTAPE_FUNCTIONS_BY_COUNT = 3
} ttape_functions_by;

/* Zero means the default everywhere. */
typedef struct ttape_functions_options {
    size_t size; /* sizeof(ttape_functions_options) */
    ttape_functions_by by;
    uint64_t memory_bytes; /* of the answer; default 256 MiB */
    uint32_t a_count; /* readers of side A, the others are B's; BY_NAME only. 0: none is matched */
} ttape_functions_options;

typedef struct ttape_function {
    uint32_t reader, site; /* its first site; 0 and TTAPE_NONE: what is not known */
    uint32_t module;       /* of that reader, or TTAPE_NONE */
    uint32_t line;         /* 0: not known */
    uint64_t key; /* of what is compared: equal functions have it in any file. By NAME only with
                   * traces of which all have files, or of which none has */
    ttape_string symbol, module_path, build_id, file; /* "": not known */
    bool is_idle;                                     /* its symbol is that of one that blocks */
    uint64_t reserved[2];
} ttape_function;

/* Two names of one module, or of one source file. */
typedef struct ttape_functions_match {
    ttape_string modules[2]; /* in A, in B: the last parts of their paths */
    ttape_string files[2];   /* the same of files, of a module with one name; otherwise "" */
    uint64_t function_count; /* that are one by it */
    uint64_t reserved[2];
} ttape_functions_match;

/* Up to 65,536 readers, each open. *out is NULL on failure. Limits: TTAPE_E_LIMIT past
 * memory_bytes, and with 2^32 sites or more. */
TTAPE_API ttape_status ttape_functions_make(ttape_functions **out,
                                            const ttape_reader *const *readers,
                                            uint32_t reader_count,
                                            const ttape_functions_options *options,
                                            ttape_error *err);
TTAPE_API void ttape_functions_close(ttape_functions *functions);

/* They live as long as the answer; the last is what is not known. Of NULL: none. */
TTAPE_API const ttape_function *ttape_functions_get_rows(const ttape_functions *functions,
                                                         uint32_t *row_count);
/* The row of each site of a reader, by the site's number: *site_count of them, as there were when
 * the answer was made. They live as long as the answer. Of NULL, or of no such reader: none. */
TTAPE_API const uint32_t *ttape_functions_get_sites(const ttape_functions *functions,
                                                    uint32_t reader, uint32_t *site_count);
/* What was matched, by modules' and files' names; it lives as long as the answer. Of NULL: none. */
TTAPE_API const ttape_functions_match *ttape_functions_get_matches(const ttape_functions *functions,
                                                                   uint32_t *match_count);
/* The row with a key: the first of them; of B's key that was matched: A's. TTAPE_NONE: none. */
TTAPE_API uint32_t ttape_functions_find(const ttape_functions *functions, uint64_t key);

#ifdef __cplusplus
}
#endif
#endif
