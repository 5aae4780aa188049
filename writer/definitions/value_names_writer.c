/* What values are called, as it comes in: encoded at once, equal enumerations of a chunk once. */
#include <stdlib.h>
#include <string.h>

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/secret_hash.h"
#include "format/container/value_names.h"
#include "writer/writer_internal.h"

/* Where an encoded enumeration lies, and what tells it from most others. */
struct ttp_names_place {
    size_t start, size_bytes;
    uint64_t hash;
};

/* A site of the chunk to come, and where its encoded values lie. */
struct ttp_fresh_site {
    struct ttp_named_site site;
    size_t start, size_bytes;
};

static ttape_status refuse_names(const char *rule, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_ARGUMENT, rule, TTAPE_ERROR_NO_OFFSET, "%s", what);
}

static ttape_status check_text(ttape_string s, ttape_error *err)
{
    return s.size_bytes <= TTP_MAX_STRING_BYTES
               ? TTAPE_OK
               : refuse_names("F-SIT-04", "a name is longer than 1,048,576 bytes", err);
}

static ttape_status check_names(const ttape_value_name *names, uint32_t count, ttape_error *err)
{
    if (count > TTAPE_EVENT_MAX_VALUES)
        return refuse_names("F-VNM-06", "more than 255 values of an event are named", err);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_value_name *n = &names[i];
        if (n->reserved_count != 0 || n->reserved[0] != 0 || n->reserved[1] != 0)
            return refuse_names("", "a value's name has fields that this version does not know",
                                err);
        if (n->constant_count > TTAPE_ENUMERATION_MAX_CONSTANTS)
            return refuse_names("F-VNM-02", "an enumeration has more than 65,535 constants", err);
        TTP_TRY(check_text(n->name, err));
        TTP_TRY(check_text(n->type, err));
        TTP_TRY(check_text(n->enumeration, err));
        for (uint32_t k = 0; k < n->constant_count; k++)
            TTP_TRY(check_text(n->constants[k].name, err));
    }
    return TTAPE_OK;
}

static bool is_named(const struct ttp_scope *scope, uint32_t site)
{
    const uint8_t *bits = scope->is_named.data;
    return site / 8 < scope->is_named.count && (bits[site / 8] >> site % 8 & 1) != 0;
}

static ttape_status set_named(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                              ttape_error *err)
{
    size_t had = scope->is_named.count;
    if (site / 8 >= had) {
        TTP_TRY(ttp_grow(&w->allocator, &scope->is_named, 1, site / 8 + 1, err));
        scope->is_named.count = site / 8 + 1;
        memset((uint8_t *)scope->is_named.data + had, 0, scope->is_named.count - had);
    }
    ((uint8_t *)scope->is_named.data)[site / 8] |= (uint8_t)(1u << site % 8);
    return TTAPE_OK;
}

/* Makes room for `bytes` more bytes behind what is there. */
static ttape_status begin_record(ttape_writer *w, struct ttp_growing *to, size_t bytes,
                                 struct ttp_writer_cursor *c, ttape_error *err)
{
    TTP_TRY(ttp_grow(&w->allocator, to, 1, to->count + bytes, err));
    *c = ttp_writer_cursor_init((uint8_t *)to->data + to->count, bytes);
    return TTAPE_OK;
}

/* ---- enumerations ---- */

static ttape_status encode_enumeration(ttape_writer *w, struct ttp_fresh_names *names,
                                       const ttape_value_name *of, struct ttp_names_place *place,
                                       ttape_error *err)
{
    struct ttp_growing *to = &names->enumerations;
    struct ttp_writer_cursor c;
    int64_t before = 0;
    size_t bound = TTP_NAMED_BOUND + of->enumeration.size_bytes;
    for (uint32_t i = 0; i < of->constant_count; i++)
        bound += TTP_NAMED_BOUND + of->constants[i].name.size_bytes;
    TTP_TRY(begin_record(w, to, bound, &c, err));
    ttp_enumeration_write(&c, &(struct ttp_enumeration){of->enumeration, of->constant_count});
    for (uint32_t i = 0; i < of->constant_count; i++) {
        ttp_constant_write(&c, &of->constants[i], before);
        before = of->constants[i].value;
    }
    *place = (struct ttp_names_place){to->count, ttp_written(&c), 0};
    place->hash = ttp_checksum((uint8_t *)to->data + place->start, place->size_bytes);
    to->count += place->size_bytes;
    return TTAPE_OK;
}

/* Where an enumeration stands in the slots, or would. */
static size_t slot_of(const ttape_writer *w, const struct ttp_fresh_names *names,
                      const struct ttp_names_place *place)
{
    const struct ttp_names_place *places = names->places.data;
    const uint32_t *slots = names->slots.data;
    const uint8_t *bytes = names->enumerations.data;
    size_t mask = names->slots.count - 1;
    size_t at = (size_t)ttp_secret_hash(place->hash, w->hash_key) & mask;
    for (; slots[at] != 0; at = (at + 1) & mask) {
        const struct ttp_names_place *known = &places[slots[at] - 1];
        if (known->hash == place->hash && known->size_bytes == place->size_bytes &&
            memcmp(bytes + known->start, bytes + place->start, place->size_bytes) == 0)
            break;
    }
    return at;
}

static ttape_status grow_slots(ttape_writer *w, struct ttp_fresh_names *names, ttape_error *err)
{
    const struct ttp_names_place *places = names->places.data;
    size_t slots = names->slots.count == 0 ? 64 : names->slots.count * 2;
    TTP_TRY(ttp_grow(&w->allocator, &names->slots, sizeof(uint32_t), slots, err));
    names->slots.count = slots;
    memset(names->slots.data, 0, slots * sizeof(uint32_t));
    for (uint32_t i = 0; i < names->places.count; i++)
        ((uint32_t *)names->slots.data)[slot_of(w, names, &places[i])] = i + 1;
    return TTAPE_OK;
}

/* The number + 1 of the enumeration that a value is of, which is new or known; 0: of none. */
static ttape_status number_enumeration(ttape_writer *w, struct ttp_fresh_names *names,
                                       const ttape_value_name *of, uint32_t *plus_one,
                                       ttape_error *err)
{
    struct ttp_names_place place;
    *plus_one = 0;
    if (of->constant_count == 0 && of->enumeration.size_bytes == 0)
        return TTAPE_OK;
    if ((names->places.count + 1) * 2 > names->slots.count)
        TTP_TRY(grow_slots(w, names, err));
    TTP_TRY(encode_enumeration(w, names, of, &place, err));
    uint32_t *slot = (uint32_t *)names->slots.data + slot_of(w, names, &place);
    if (*slot == 0) {
        struct ttp_names_place *to = ttp_push(&w->allocator, &names->places, sizeof *to, err);
        if (to == NULL)
            return TTAPE_E_MEMORY;
        *to = place;
        *slot = (uint32_t)names->places.count;
    } else {
        names->enumerations.count = place.start;
    }
    *plus_one = *slot;
    return TTAPE_OK;
}

/* ---- sites ---- */

static ttape_status encode_values(ttape_writer *w, struct ttp_fresh_names *names,
                                  const ttape_value_name *values, uint32_t count, ttape_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_named_value value = {values[i].name, values[i].type, 0};
        struct ttp_writer_cursor c;
        TTP_TRY(number_enumeration(w, names, &values[i], &value.enumeration_plus_one, err));
        TTP_TRY(begin_record(w, &names->rows,
                             TTP_NAMED_BOUND + value.name.size_bytes + value.type.size_bytes, &c,
                             err));
        ttp_named_value_write(&c, &value);
        names->rows.count += ttp_written(&c);
    }
    return TTAPE_OK;
}

ttape_status ttp_scope_name_values(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                                   const ttape_site_values *values, ttape_error *err)
{
    struct ttp_fresh_names *names = &scope->fresh.value_names;
    struct ttp_fresh_site added = {.site = {site, values->enter_count, values->exit_count},
                                   .start = names->rows.count};
    if (values->reserved[0] != 0 || values->reserved[1] != 0)
        return refuse_names("", "names of values have fields that this version does not know", err);
    if (site >= scope->site_count)
        return refuse_names("F-VNM-08", "values of an unknown site are named", err);
    if (is_named(scope, site))
        return refuse_names("F-VNM-08", "values of a site are named twice", err);
    TTP_TRY(check_names(values->enter, values->enter_count, err));
    TTP_TRY(check_names(values->exit, values->exit_count, err));
    TTP_TRY(encode_values(w, names, values->enter, values->enter_count, err));
    TTP_TRY(encode_values(w, names, values->exit, values->exit_count, err));
    added.size_bytes = names->rows.count - added.start;
    struct ttp_fresh_site *to = ttp_push(&w->allocator, &names->sites, sizeof *to, err);
    if (to == NULL)
        return TTAPE_E_MEMORY;
    *to = added;
    return set_named(w, scope, site, err);
}

bool ttp_scope_has_value_names(const struct ttp_scope *scope, uint32_t site)
{
    return is_named(scope, site);
}

/* ---- the chunk ---- */

static int by_site(const void *a, const void *b)
{
    const struct ttp_fresh_site *x = a, *y = b;
    return (x->site.site > y->site.site) - (x->site.site < y->site.site);
}

ttape_status ttp_scope_collect_value_names(ttape_writer *w, struct ttp_scope *scope,
                                           struct ttp_growing *out, ttape_error *err)
{
    struct ttp_fresh_names *names = &scope->fresh.value_names;
    struct ttp_fresh_site *sites = names->sites.data;
    size_t count = names->sites.count,
           bound = TTP_NAMED_BOUND * (count + 1) + names->enumerations.count + names->rows.count;
    struct ttp_writer_cursor c;
    uint32_t next_site = 0;
    TTP_TRY(begin_record(w, out, bound, &c, err));
    qsort(sites, count, sizeof *sites, by_site);
    ttp_write_varint(&c, names->places.count);
    ttp_write_bytes(&c, names->enumerations.data, names->enumerations.count);
    ttp_write_varint(&c, count);
    for (size_t i = 0; i < count; i++) {
        ttp_named_site_write(&c, next_site, &sites[i].site);
        ttp_write_bytes(&c, (uint8_t *)names->rows.data + sites[i].start, sites[i].size_bytes);
        next_site = sites[i].site.site + 1;
    }
    out->count += ttp_written(&c);
    ttp_fresh_names_free(w, names);
    return TTAPE_OK;
}

void ttp_fresh_names_free(ttape_writer *w, struct ttp_fresh_names *names)
{
    ttp_grown_free(&w->allocator, &names->enumerations);
    ttp_grown_free(&w->allocator, &names->places);
    ttp_grown_free(&w->allocator, &names->slots);
    ttp_grown_free(&w->allocator, &names->rows);
    ttp_grown_free(&w->allocator, &names->sites);
}
