/* Address spaces and their modules, for images.c. */
#ifndef TTP_RECORDING_LAYOUTS_H
#define TTP_RECORDING_LAYOUTS_H

#include <string.h>

#include "recorder/arena/record.h"
#include "recorder/state/recording_internal.h"

/* A new one with one user; with separate files, pid names its file. */
ttape_status ttp_layout_new(struct ttp_encode *e, uint32_t pid, uint32_t *index, ttape_error *err);
/* That of the thread's image, made where it has none yet. */
ttape_status ttp_layout_of(struct ttp_encode *e, struct ttp_thread *thread, struct ttp_layout **out,
                           ttape_error *err);
/* The image gets a copy of its own of the one that it shares, as it is now. */
ttape_status ttp_layout_separate(struct ttp_encode *e, struct ttp_image *image, ttape_error *err);
/* The layout whose modules the first layout->shared are; NULL: module is not among them. */
struct ttp_layout *ttp_layout_root(const struct ttp_encode *e, const struct ttp_layout *layout,
                                   uint32_t module);
/* The site of the same function there; NULL: it is not known. */
struct ttp_site_seen *ttp_root_find(struct ttp_layout *root, const struct ttp_site_seen *seen);
/* Its id, so that the root's other layouts find it. */
ttape_status ttp_root_put(struct ttp_encode *e, struct ttp_layout *root,
                          const struct ttp_site_seen *seen, ttape_error *err);
void ttp_layout_close(struct ttp_encode *e, struct ttp_layout *layout);

static inline ttape_string ttp_text_of(const char *s)
{
    return (ttape_string){s, s == NULL ? 0 : strlen(s)};
}

/* Whose module and name a site has: a frame goes on behind its call. */
static inline uint64_t ttp_site_place(const struct ttp_site_seen *seen)
{
    return seen->address - (seen->kind == TTAPE_SITE_FRAME);
}

/* Where the layout finds a site of that kind by its address. */
static inline struct ttp_word_map *ttp_layout_map(struct ttp_layout *layout, uint32_t kind)
{
    return kind == TTAPE_SITE_FRAME    ? &layout->by_frame
           : kind == TTAPE_SITE_TARGET ? &layout->by_target
           : kind == TTAPE_SITE_CALL   ? &layout->by_call
                                       : &layout->by_address;
}

/* A copy of bytes, with a zero behind them; to be freed with free. */
ttape_status ttp_keep_bytes(ttape_string *out, const void *data, size_t size_bytes,
                            ttape_error *err);
/* The same, by itself. */
ttape_status ttp_keep_text(char **out, ttape_string text, ttape_error *err);

ttape_status ttp_modules_add(struct ttp_encode *e, struct ttp_growing *list,
                             const ttape_module *module, ttape_error *err);
/* Adds to image->incoming: of the list that a program is telling. */
ttape_status ttp_modules_told(struct ttp_encode *e, struct ttp_image *image,
                              const ttape_module *module, ttape_error *err);
/* Keeps the last `count` of image->incoming; false: there are not so many. */
bool ttp_modules_keep_last(struct ttp_encode *e, struct ttp_image *image, uint32_t count);
/* Applies image->incoming. `complete`: the list says all, what is not in it was unmapped. An image
 * that shares its layout gets one of its own where they differ. */
ttape_status ttp_modules_apply(struct ttp_encode *e, struct ttp_image *image, bool complete,
                               ttape_error *err);
void ttp_modules_clear(struct ttp_encode *e, struct ttp_image *image);
ttape_status ttp_modules_add_new(struct ttp_encode *e, struct ttp_image *image, ttape_error *err);
/* Reads /proc/PID/maps and adds the modules that came in no message. */
ttape_status ttp_modules_scan(struct ttp_encode *e, struct ttp_image *image, ttape_error *err);
/* Index in the layout, or TTAPE_NONE. */
uint32_t ttp_module_find(const struct ttp_layout *layout, uint64_t address);
/* For a call that is read after the list that has its module no more: the latest that was gone
 * only after the call's time. */
uint32_t ttp_module_find_gone(const struct ttp_layout *layout, uint64_t address, uint64_t ns);

/* told_sites.c: whether the message of a site says what is not known yet; takes it. */
bool ttp_told_site_is_new(const struct ttp_layout *layout, const uint8_t *bytes, size_t size_bytes);
ttape_status ttp_told_site_take(struct ttp_encode *e, struct ttp_layout *layout,
                                const uint8_t *bytes, size_t size_bytes, ttape_error *err);
/* The same of the path of a system call: a site has one, whatever is said later. */
bool ttp_told_path_is_new(const struct ttp_layout *layout, const uint8_t *bytes, size_t size_bytes);
ttape_status ttp_told_path_take(struct ttp_encode *e, struct ttp_layout *layout,
                                const uint8_t *bytes, size_t size_bytes, ttape_error *err);
/* plain_calls.c: takes records from slot->records[at] on, until one that is not plain, or the batch
 * is full; returns where that is. */
uint32_t ttp_plain_take(struct ttp_encode *e, struct ttp_thread *thread,
                        const struct ttp_slot *slot, uint32_t at, uint64_t epoch);
/* The calls that wait become events, so that others may follow. */
void ttp_plain_as_events(struct ttp_encode *e);

/* record_decoder.c: tells the rules which functions of the module come next in the block that is
 * decoded. */
void ttp_decode_expect(struct ttp_encode *e, const struct ttp_layout *layout, uint32_t module);
/* application_part.c: where only the application's frames are wanted, *bytes becomes a message with
 * these, in `part`, of TTP_PATH_PART_BYTES. */
#define TTP_PATH_HEAD_BYTES  12u
#define TTP_PATH_PART_FRAMES 1024u /* the innermost */
#define TTP_PATH_PART_BYTES  (TTP_PATH_HEAD_BYTES + 8u * TTP_PATH_PART_FRAMES)
ttape_status ttp_path_application(struct ttp_encode *e, struct ttp_thread *thread,
                                  const uint8_t **bytes, size_t *size_bytes, uint8_t *part,
                                  ttape_error *err);
/* seen_sites.c: the module of a frame, as an index of the thread's layout, which may be another one
 * then; TTAPE_NONE: it is in none. */
ttape_status ttp_frame_module(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                              uint32_t *module, ttape_error *err);
/* Whether values behind that record are where a hook's function was called, and of that function
 * nobody asked for it. */
bool ttp_values_unasked(const struct ttp_encode *e, const struct ttp_thread *thread,
                        uint64_t record, const uint8_t *bytes, uint32_t size);
/* Names what pointers among values point to, and where calls were made, which are pointers from
 * then on. */
ttape_status ttp_values_name(struct ttp_encode *e, struct ttp_thread *thread, ttape_value *values,
                             uint32_t count, bool names_pointers, ttape_error *err);
/* What that said; NULL: nothing. */
const char *ttp_target_symbol(const struct ttp_encode *e, const struct ttp_thread *thread,
                              uint64_t address);
/* Rules have changed: each site is asked about again. */
ttape_status ttp_sites_judge_again(struct ttp_encode *e, ttape_error *err);
/* All sites and paths, with the ids that they have, in another file. */
ttape_status ttp_sites_define_again(struct ttp_encode *e, ttape_writer *w, ttape_error *err);

/* Whether it is a place that is never entered. */
static inline bool ttp_site_is_passive(const struct ttp_site_seen *seen)
{
    return seen->kind == TTAPE_SITE_FRAME || seen->kind == TTAPE_SITE_TARGET ||
           seen->kind == TTAPE_SITE_CALL;
}

/* Whether its calls are times in which a thread waited for the recorder. */
static inline bool ttp_site_is_wait(const struct ttp_site_seen *seen)
{
    return seen->address == TTP_WAIT_SITE;
}

/* Whether programs made its address up, and its line is its number. */
static inline bool ttp_site_is_call(const struct ttp_site_seen *seen)
{
    return seen->kind == TTAPE_SITE_SYSCALL && ttp_is_call_key(seen->address);
}

/* The path of its program, as modules of it have it. */
ttape_string ttp_image_executable(const struct ttp_image *image, bool has_build_id);

#endif
