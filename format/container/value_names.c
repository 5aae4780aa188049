/* Value names, row by row: a few hundred rows at most are worth columns, and zstd finds what comes
 * again in them. */
#include "format/container/value_names.h"

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/definitions.h"

void ttp_enumeration_write(struct ttp_writer_cursor *c, const struct ttp_enumeration *enumeration)
{
    ttp_string_write(c, enumeration->name);
    ttp_write_varint(c, enumeration->constant_count);
}

void ttp_constant_write(struct ttp_writer_cursor *c, const ttape_value_constant *constant,
                        int64_t before)
{
    ttp_write_svarint(c, (int64_t)((uint64_t)constant->value - (uint64_t)before));
    ttp_string_write(c, constant->name);
}

void ttp_named_site_write(struct ttp_writer_cursor *c, uint32_t next_site,
                          const struct ttp_named_site *site)
{
    ttp_write_varint(c, site->site - next_site);
    ttp_write_varint(c, site->enter_count);
    ttp_write_varint(c, site->exit_count);
}

void ttp_named_value_write(struct ttp_writer_cursor *c, const struct ttp_named_value *value)
{
    ttp_string_write(c, value->name);
    ttp_string_write(c, value->type);
    ttp_write_varint(c, value->enumeration_plus_one);
}

static ttape_status bad_names(const struct ttp_reader_cursor *c, const char *rule, const char *what,
                              ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

/* A count of what takes `least` bytes each at least. */
static ttape_status read_count(struct ttp_reader_cursor *c, const char *rule, unsigned least,
                               uint32_t limit, uint32_t *count, ttape_error *err)
{
    uint64_t n = ttp_read_varint(c);
    if (c->bad || n > limit || n > ttp_reader_left(c) / least)
        return bad_names(c, rule, "a count of value names is out of bounds", err);
    *count = (uint32_t)n;
    return TTAPE_OK;
}

ttape_status ttp_enumerations_read_count(struct ttp_reader_cursor *c, uint32_t *count,
                                         ttape_error *err)
{
    return read_count(c, "F-VNM-01", 2, TTP_MAX_SITES, count, err);
}

ttape_status ttp_enumeration_read(struct ttp_reader_cursor *c, uint32_t max_string,
                                  struct ttp_enumeration *out, ttape_error *err)
{
    TTP_TRY(ttp_string_read(c, max_string, &out->name, err));
    return read_count(c, "F-VNM-02", 2, TTAPE_ENUMERATION_MAX_CONSTANTS, &out->constant_count, err);
}

ttape_status ttp_constant_read(struct ttp_reader_cursor *c, uint32_t max_string,
                               ttape_value_constant *out, ttape_error *err)
{
    uint64_t step = (uint64_t)ttp_read_svarint(c);
    if (c->bad)
        return bad_names(c, "F-VNM-03", "the value of a constant is no number", err);
    out->value = (int64_t)((uint64_t)out->value + step);
    return ttp_string_read(c, max_string, &out->name, err);
}

ttape_status ttp_named_sites_read_count(struct ttp_reader_cursor *c, uint32_t *count,
                                        ttape_error *err)
{
    return read_count(c, "F-VNM-04", 3, TTP_MAX_SITES, count, err);
}

ttape_status ttp_named_site_read(struct ttp_reader_cursor *c, uint32_t next_site,
                                 struct ttp_named_site *out, ttape_error *err)
{
    uint64_t step = ttp_read_varint(c);
    if (c->bad || next_site >= TTP_MAX_SITES || step >= TTP_MAX_SITES - next_site)
        return bad_names(c, "F-VNM-05", "a site of named values is out of range", err);
    out->site = next_site + (uint32_t)step;
    TTP_TRY(read_count(c, "F-VNM-06", 3, TTAPE_EVENT_MAX_VALUES, &out->enter_count, err));
    return read_count(c, "F-VNM-06", 3, TTAPE_EVENT_MAX_VALUES, &out->exit_count, err);
}

ttape_status ttp_named_value_read(struct ttp_reader_cursor *c, uint32_t max_string,
                                  uint32_t enumeration_count, struct ttp_named_value *out,
                                  ttape_error *err)
{
    TTP_TRY(ttp_string_read(c, max_string, &out->name, err));
    TTP_TRY(ttp_string_read(c, max_string, &out->type, err));
    uint64_t enumeration = ttp_read_varint(c);
    if (c->bad || enumeration > enumeration_count)
        return bad_names(c, "F-VNM-07", "a value is of an enumeration that is not there", err);
    out->enumeration_plus_one = (uint32_t)enumeration;
    return TTAPE_OK;
}
