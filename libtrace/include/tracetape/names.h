/* What functions are called: their names for people, told apart where several would be called the
 * same, and functions by their names.
 *
 *   symbol   as the trace has it                        _ZN3app4fillIiEEvRSt6vectorIT_SaIS2_EEi
 *   full     with types and parameters: the symbol,     void app::fill<int>(std::vector<int, ...
 *            where nothing knows better
 *   brief    as people say it; several functions may    app::fill
 *            have it
 *   simple   the same with as much more of it as tells  app::fill(std::vector<int>&, int)
 *            it from all others of these readers
 *
 * C++ and Rust, as demanglers write them; other names stay as they are. Mangled ones are made
 * readable by the caller, as demanglers are not ours. Texts of sites that are no code (markers,
 * counters) are the symbol in all four.
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * The readers must not be used while it is made, and must outlive it. */
#ifndef TRACETAPE_NAMES_H
#define TRACETAPE_NAMES_H

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTAPE_NAME_COLUMNS 64u /* of `simple`: longer ones are cut, and have a number, "#12ab34" */

typedef struct ttape_names ttape_names;

/* The readable form of the `index`-th of the symbols; it is copied. */
typedef void (*ttape_names_put)(void *into, uint32_t index, ttape_string readable);

/* Zero means the default everywhere. */
typedef struct ttape_names_options {
    size_t size;              /* sizeof(ttape_names_options) */
    uint64_t memory_bytes;    /* of the answer; default 256 MiB */
    const ttape_watch *watch; /* NULL: nobody. Steps are sites, for each thing that is done */
    /* Calls `put` for each of the symbols of one reader that it makes readable; once for each
     * reader. NULL: symbols stay as they are. */
    void (*demangle)(void *context, const ttape_string *symbols, uint32_t count,
                     ttape_names_put put, void *into);
    void *context;
} ttape_names_options;

/* Names of one site; all "" where it has no symbol. */
typedef struct ttape_name {
    ttape_string symbol, full, brief, simple;
    uint64_t reserved[2];
} ttape_name;

/* Up to 65,536 readers, each open. *out is NULL on failure. Limits: TTAPE_E_LIMIT past
 * memory_bytes, and with 2^32 sites or more. */
TTAPE_API ttape_status ttape_names_make(ttape_names **out, const ttape_reader *const *readers,
                                        uint32_t reader_count, const ttape_names_options *options,
                                        ttape_error *err);
TTAPE_API void ttape_names_close(ttape_names *names);

/* Rows are by site of that reader: *row_count of them, as there were when the answer was made. They
 * live as long as the answer. Of NULL, or of no such reader: none. */
TTAPE_API const ttape_name *ttape_names_get_rows(const ttape_names *names, uint32_t reader,
                                                 uint32_t *row_count);
/* Functions and other sites that are called so, in one of the four forms; where there are none,
 * those that are but for what a compiler has put behind it (spin.isra.0). Returns how many there
 * are; the first `capacity` of them go into `sites`. Of "": none. */
TTAPE_API uint32_t ttape_names_find(const ttape_names *names, uint32_t reader, ttape_string name,
                                    uint32_t *sites, uint32_t capacity);

#ifdef __cplusplus
}
#endif
#endif
