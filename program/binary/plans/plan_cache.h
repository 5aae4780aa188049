/* The folder that plans are kept in, and the files there.
 *
 *     cache:   $XDG_CACHE_HOME/tracetape/plan-v2/NAME, else below ~/.cache, else below
 *              $TMPDIR/tracetape-UID (/tmp/tracetape-UID); else in a folder that goes with it
 *     NAME:    as recorder/arena/plan.h says; and `key`, the secret that contents are hashed with
 *
 * A folder is used if it belongs to the effective user, nobody else may look into it, and files can
 * be written there: under sudo that is root's, never the one of the user who called. A file in it
 * is one of ours if it is that user's, nobody else may write it, and it has one name. */
#ifndef TOOL_PLAN_CACHE_H
#define TOOL_PLAN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_PLAN_KEY_BYTES 192u

struct tool_plan_cache {
    int fd;           /* of the folder; -1: there is none */
    char *path;       /* of it, from the root */
    bool is_passing;  /* it goes when it is closed, with all that is in it */
    char *refused;    /* with that: what could not be written; may be NULL */
    bool has_failed;  /* there is none */
    bool has_written; /* since it was opened */
    bool has_key;
    uint8_t key[TOOL_PLAN_KEY_BYTES];
};

/* Made where it is missing. False: there is none. Close it in any case: where it was written to, it
 * is kept within a bound. */
bool tool_plan_cache_open(struct tool_plan_cache *cache);
void tool_plan_cache_close(struct tool_plan_cache *cache);
/* Makes a folder again that somebody has removed meanwhile, in its place. False: it is not there,
 * and cannot be made. */
bool tool_plan_cache_remake(const struct tool_plan_cache *cache);
/* The secret of the folder, made where it has none. */
bool tool_plan_cache_key(struct tool_plan_cache *cache);

/* Reads a file of ours into memory of malloc; NULL: there is none, or it has more than `most`
 * bytes. What is in it is not looked at. */
uint8_t *tool_plan_read(const struct tool_plan_cache *cache, const char *name, uint64_t most,
                        size_t *size_bytes);
/* Reads what a file of ours begins with. False: there is none, or it has less. */
bool tool_plan_head_read(const struct tool_plan_cache *cache, const char *name, void *head,
                         size_t head_bytes);
/* Whoever opens NAME finds all of it: it is written elsewhere and renamed. False: it cannot be. */
bool tool_plan_write(struct tool_plan_cache *cache, const char *name, const void *bytes,
                     size_t size_bytes);

/* Whether files can be written there: rights are not all, as a disk may be full. False: errno. */
bool tool_plan_can_write(const struct tool_plan_cache *cache);

/* Removes what was used longest ago where the folder has more than that many bytes or files. */
struct tool_plan_bound {
    uint64_t bytes;
    size_t files;
};
void tool_plan_cache_tidy(const struct tool_plan_cache *cache, const struct tool_plan_bound *bound);

#endif
