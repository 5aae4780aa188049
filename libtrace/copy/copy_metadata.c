/* Of pieces of one trace, what the last one says stands. */
#include "libtrace/copy/copy_metadata.h"

#include <string.h>

#include "base/text.h"
#include "format/base/fail.h"
#include "libtrace/copy/copy_definitions.h"

#define SHIFT_KEY "clock_shift_ns"
#define ERROR_KEY "axis_error_ns"

static ttape_string text_of(const char *word) { return (ttape_string){word, strlen(word)}; }

static bool begins(ttape_string key, const char *start)
{
    size_t size = strlen(start);
    return key.size_bytes >= size && memcmp(key.data, start, size) == 0;
}

/* Whether the scope has this pair already. */
static ttape_status is_known_pair(ttape_writer *w, struct ttp_scope *to,
                                  const ttape_metadata_entry *entry, bool *is_known,
                                  ttape_error *err)
{
    uint64_t key = ttp_copied_hash_string(0, entry->key);
    uint64_t value = entry->type == TTAPE_METADATA_TEXT ? ttp_copied_hash_string(1, entry->text)
                                                        : ttp_copied_hash_number(2, entry->number);
    struct ttp_pair_hash *known = to->metadata_hashes.data;
    for (size_t i = 0; i < to->metadata_hashes.count; i++)
        if (known[i].key == key) {
            *is_known = known[i].value == value;
            known[i].value = value;
            return TTAPE_OK;
        }
    known = ttp_push(&w->allocator, &to->metadata_hashes, sizeof *known, err);
    if (known == NULL)
        return TTAPE_E_MEMORY;
    *known = (struct ttp_pair_hash){key, value};
    *is_known = false;
    return TTAPE_OK;
}

static ttape_status add_entry(ttape_writer *w, struct ttp_scope *to,
                              const ttape_metadata_entry *entry, ttape_error *err)
{
    bool is_known = false;
    TTP_TRY(is_known_pair(w, to, entry, &is_known, err));
    if (is_known)
        return TTAPE_OK;
    return ttp_writer_scope_metadata(w, to, entry->key, entry->type == TTAPE_METADATA_TEXT,
                                     entry->text, entry->number, err);
}

/* C-MRG-01: times move with all others, and from what times are added to, to get UTC, that is
 * taken. */
static void move_number(ttape_metadata_entry *entry, uint64_t shift_ns)
{
    if (entry->type != TTAPE_METADATA_NUMBER)
        return;
    if (begins(entry->key, "realtime_step_") ||
        ttp_is_same_text(entry->key, text_of("checkpoint_ns")))
        entry->number += shift_ns;
    else if (begins(entry->key, "realtime_offset_"))
        entry->number -= shift_ns;
}

/* C-MRG-02 */
static ttape_status add_shift(ttape_writer *w, struct ttp_scope *to, uint64_t shifted_ns,
                              const ttape_clock_shift *place, ttape_error *err)
{
    ttape_metadata_entry entry = {.key = text_of(SHIFT_KEY),
                                  .type = TTAPE_METADATA_NUMBER,
                                  .number = shifted_ns + place->shift_ns};
    TTP_TRY(add_entry(w, to, &entry, err));
    if (!place->has_error)
        return TTAPE_OK;
    entry.key = text_of(ERROR_KEY);
    entry.number = place->error_ns;
    return add_entry(w, to, &entry, err);
}

ttape_status ttp_copied_metadata(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                 uint32_t scope, const ttape_reduction *reduction,
                                 const ttape_clock_shift *place, ttape_error *err)
{
    ttape_metadata_entry entry;
    uint64_t shifted_ns = 0;
    for (uint32_t i = 0; ttape_reader_get_metadata(r, i, &entry) == TTAPE_OK; i++) {
        bool is_shift = ttp_is_same_text(entry.key, text_of(SHIFT_KEY));
        if (entry.scope != scope || entry.type == TTAPE_METADATA_OTHER ||
            ttp_is_same_text(entry.key, text_of("trace_id")) || /* written with the scope itself */
            (reduction->keeps != NULL && !reduction->keeps(reduction->context, &entry)))
            continue;
        if (is_shift && entry.type == TTAPE_METADATA_NUMBER)
            shifted_ns = entry.number;
        if (place != NULL && (is_shift || ttp_is_same_text(entry.key, text_of(ERROR_KEY))))
            continue;
        if (place != NULL)
            move_number(&entry, place->shift_ns);
        TTP_TRY(add_entry(w, to, &entry, err));
    }
    return place != NULL ? add_shift(w, to, shifted_ns, place, err) : TTAPE_OK;
}
