/* How `control` hands new filters and triggers to a recorder: a file in the recording's folder, and
 * a request for a flush; and the answer, where they are refused.
 *
 *     file      [F filter 0] [T triggers 0]        answer      a sentence */
#ifndef TTP_RULE_CHANGE_H
#define TTP_RULE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <tracetape/filter.h>
#include <tracetape/recording.h>

struct ttp_encode;

#define TTP_CHANGE_NAME  "change"
#define TTP_REFUSED_NAME "change.refused"
#define TTP_CHANGE_BYTES (2 * (TTAPE_FILTER_MAX_BYTES + 2u))

/* control_change.c: the recording's folder, which is the owner's alone; less than 0: not that. */
int ttp_change_folder(const ttape_control *control, struct stat *folder, ttape_error *err);
/* One change at a time: until the folder is closed. */
ttape_status ttp_change_turn(int folder, uint64_t wait_ns, ttape_error *err);
/* A file of that name, there as a whole or not at all. */
struct ttp_change_text {
    const char *name, *bytes;
    size_t size;
};
ttape_status ttp_change_write(int folder, const struct stat *owner,
                              const struct ttp_change_text *text, ttape_error *err);

/* The encoding thread changes rules at a flush; those of functions, where others were chosen. */
ttape_status ttp_rules_change(struct ttp_encode *e, ttape_error *err);

#endif
