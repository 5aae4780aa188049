/* A view, the questions of a request, and the JSON that answers are written as. */
#ifndef TTP_VIEW_INTERNAL_H
#define TTP_VIEW_INTERNAL_H

#include <tracetape/report.h>
#include <tracetape/tree.h>
#include <tracetape/view.h>

#include "base/memory.h"

#define TTP_VIEW_FIELDS     16u   /* of a question */
#define TTP_VIEW_LIST_MOST  1024u /* numbers in one of its lists */
#define TTP_VIEW_NAME_BYTES 1024u /* of a name that is shown; longer ones are cut */
#define TTP_VIEW_ID_BYTES   64u   /* of the name of a node */
#define TTP_VIEW_FRAMES     4096u /* of a stack */
#define TTP_VIEW_RANKS      4u    /* equal, at the start, at the start of a word, anywhere */

struct ttp_view_text {
    char *bytes;
    uint64_t count, capacity, limit;
};

/* A list of numbers in a question. */
struct ttp_view_list {
    uint32_t numbers[TTP_VIEW_LIST_MOST];
    uint32_t count;
    bool given;
};

/* WORD?KEY=VALUE&KEY=VALUE, not decoded. */
struct ttp_view_question {
    ttape_string word;
    ttape_string keys[TTP_VIEW_FIELDS], values[TTP_VIEW_FIELDS];
    uint32_t count;
};

/* The time and the threads that an answer is about. */
struct ttp_view_choice {
    bool has_range;
    uint64_t from_ns, to_ns; /* absolute, half-open */
    struct ttp_view_list streams;
};

struct ttape_view {
    struct ttp_memory memory; /* of the response, of lists, and of the view */
    ttape_reader *reader;
    ttape_view_options options;
    ttape_watch watch; /* of answers that take long */
    ttape_info info;
    ttape_tree *tree;
    ttape_report *report; /* the last one, of `report_choice` */
    struct ttp_view_choice report_choice;
    bool report_histograms;
    bool report_is_partial;               /* of some functions: all did not fit */
    struct ttp_view_butterfly *butterfly; /* the last one */
    uint32_t *row_of; /* by site: the site that its row of reports goes by; NULL: not asked yet */
    uint64_t damage_count; /* of the answer in the making */
    struct ttp_view_text text;
    bool needs_comma;
};

/* ---- JSON; past the limit nothing is written, which the end notices ---- */

void ttp_view_put(struct ttape_view *view, const char *bytes, size_t size_bytes);
/* `key` is NULL in arrays. `brace` is one of "{[" and "}]". */
void ttp_view_begin(struct ttape_view *view, const char *key, char brace);
void ttp_view_end(struct ttape_view *view, char brace);
void ttp_view_number(struct ttape_view *view, const char *key, uint32_t number);
/* Numbers of 64 bits are texts: a browser's have 53. */
void ttp_view_wide(struct ttape_view *view, const char *key, uint64_t number);
void ttp_view_signed(struct ttape_view *view, const char *key, int64_t number);
void ttp_view_bool(struct ttape_view *view, const char *key, bool value);
void ttp_view_word(struct ttape_view *view, const char *key, const char *word);
/* Bytes that are no UTF-8 become U+FFFD; what is longer than a name may be is cut. */
void ttp_view_string(struct ttape_view *view, const char *key, ttape_string string);
/* Bytes as two hexadecimal digits each. */
void ttp_view_hex(struct ttape_view *view, const char *key, const void *bytes, size_t size_bytes);
/* A moment, from the trace's start on; before it, with a minus. */
void ttp_view_time(struct ttape_view *view, const char *key, uint64_t time_ns);
void ttp_view_error(struct ttape_view *view, const ttape_error *error);

/* ---- questions ---- */

/* False: no question, which err says. */
ttape_status ttp_view_parse(struct ttp_view_question *question, ttape_string line,
                            ttape_error *err);
bool ttp_view_has(const struct ttp_view_question *question, const char *key);
bool ttp_view_is(const struct ttp_view_question *question, const char *key, const char *word);
/* Numbers that are not given stay what they are. */
ttape_status ttp_view_take_number(const struct ttp_view_question *question, const char *key,
                                  uint32_t most, uint32_t *number, ttape_error *err);
ttape_status ttp_view_take_wide(const struct ttp_view_question *question, const char *key,
                                uint64_t *number, ttape_error *err);
ttape_status ttp_view_take_signed(const struct ttp_view_question *question, const char *key,
                                  int64_t *number, ttape_error *err);
ttape_status ttp_view_take_list(const struct ttp_view_question *question, const char *key,
                                struct ttp_view_list *list, ttape_error *err);
/* A moment that was written as ttp_view_time does. */
ttape_status ttp_view_take_time(const struct ttape_view *view,
                                const struct ttp_view_question *question, const char *key,
                                uint64_t *time_ns, ttape_error *err);
/* Decoded, at most `capacity` bytes of it; returns how many. */
size_t ttp_view_take_text(const struct ttp_view_question *question, const char *key, char *buffer,
                          size_t capacity);
/* from, to, streams. */
ttape_status ttp_view_take_choice(const struct ttape_view *view,
                                  const struct ttp_view_question *question,
                                  struct ttp_view_choice *choice, ttape_error *err);
ttape_status ttp_view_take_site(const struct ttape_view *view,
                                const struct ttp_view_question *question, uint32_t *site,
                                ttape_error *err);
ttape_status ttp_view_take_stream(const struct ttape_view *view,
                                  const struct ttp_view_question *question, uint32_t *stream,
                                  ttape_error *err);
bool ttp_view_is_listed(const struct ttp_view_list *list, uint32_t number);
/* Whether a site's module is one of these. */
bool ttp_view_is_hidden(const struct ttape_view *view, const struct ttp_view_list *modules,
                        uint32_t site);
bool ttp_view_same_choice(const struct ttp_view_choice *a, const struct ttp_view_choice *b);
/* TTAPE_E_ARGUMENT. */
ttape_status ttp_view_refuse(ttape_error *err, const char *key, const char *what);

/* ---- what answers share ---- */

void ttp_view_note_damage(void *context, uint32_t number, const ttape_error *error);
bool ttp_view_stops(const struct ttape_view *view);
size_t ttp_view_name(const struct ttape_view *view, uint32_t site, char *buffer, size_t size_bytes);
/* Fills view->row_of, once. */
ttape_status ttp_view_find_rows(struct ttape_view *view, ttape_error *err);
/* *out says by site whether it is in the same row of reports as this one. The caller gives it
 * back. */
ttape_status ttp_view_find_sites(struct ttape_view *view, uint32_t site, bool **out,
                                 ttape_error *err);
void ttp_view_give_sites(struct ttape_view *view, bool *is_it);
/* What a file says may be no site. */
static inline bool ttp_view_is_site(const struct ttape_view *view, const bool *is_it, uint32_t site)
{
    return site < view->info.site_count && is_it[site];
}
/* How well a text stands in a site's name, in letters of any size: 0 is best; TTP_VIEW_RANKS: it
 * does not. */
uint32_t ttp_view_rank(const struct ttape_view *view, uint32_t site, const char *text,
                       size_t text_length);
/* s0, s0p3, s0e17, s0p3f1, s0p3b1, and - for the trace. */
void ttp_view_put_id(char text[TTP_VIEW_ID_BYTES], const ttape_node_id *id);
void ttp_view_id(struct ttape_view *view, const char *key, const ttape_node_id *id);
ttape_status ttp_view_take_id(const struct ttp_view_question *question, const char *key,
                              ttape_node_id *id, ttape_error *err);
void ttp_view_node(struct ttape_view *view, const char *key, const ttape_node *node);

/* A report of the functions with most time, for which there is always memory. */
ttape_status ttp_view_report_fitting(struct ttape_view *view, ttape_report **out,
                                     const ttape_report_options *all, ttape_error *err);
/* A report of one function: that of this site. */
ttape_status ttp_view_report_one(struct ttape_view *view, ttape_report **out, uint32_t site,
                                 const ttape_report_options *all, ttape_error *err);
/* Writes `off`: when a tile's thread did not run for long, in buckets. */
struct ttape_tile_options;
ttape_status ttp_view_put_off(struct ttape_view *view, const struct ttape_tile_options *tile,
                              ttape_error *err);
void ttp_view_forget_butterfly(struct ttape_view *view);

/* ---- answers: each writes the fields of one object ---- */

typedef ttape_status ttp_view_answer(struct ttape_view *view,
                                     const struct ttp_view_question *question, ttape_error *err);
ttp_view_answer ttp_view_trace, ttp_view_threads, ttp_view_sites, ttp_view_tiles, ttp_view_get_node,
    ttp_view_children, ttp_view_stack, ttp_view_path, ttp_view_functions, ttp_view_function,
    ttp_view_longest, ttp_view_next, ttp_view_search, ttp_view_get_butterfly, ttp_view_source,
    ttp_view_lines, ttp_view_modules, ttp_view_module_sites, ttp_view_call_values, ttp_view_find,
    ttp_view_progress;

#endif
