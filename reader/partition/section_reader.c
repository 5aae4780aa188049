/* Every byte of a partition that is used passes here or is in its head: so its hash is
 * checked. */
#include "reader/partition/section_reader.h"

#include "format/base/checksum.h"
#include "format/base/fail.h"

static ttape_status get_stored(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               struct ttp_content *c, const uint8_t **stored, ttape_error *err)
{
    const struct ttp_section *s = c->section;
    uint64_t light_payload = p->light_bytes - TTP_CHUNK_HEADER_BYTES;
    if (s->offset <= light_payload && s->stored_bytes <= light_payload - s->offset) {
        *stored = p->light + TTP_CHUNK_HEADER_BYTES + s->offset;
        return TTAPE_OK;
    }
    c->stored = ttp_memory_take(&d->memory, ttp_scratch_bytes(&d->memory, s->stored_bytes), 1, err);
    if (c->stored == NULL)
        return d->memory.status;
    *stored = c->stored;
    return ttp_source_read(&d->reader->source, c->offset, c->stored, s->stored_bytes, err);
}

static ttape_status get_content(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                struct ttp_content *c, ttape_error *err)
{
    const struct ttp_section *s = c->section;
    const uint8_t *stored = NULL;
    TTP_TRY(get_stored(d, p, c, &stored, err));
    if (ttp_checksum(stored, s->stored_bytes) != s->hash)
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-PAR-09", c->offset,
                        "checksum of section '%u' of a partition does not match", s->kind);
    c->data = stored;
    c->size_bytes = s->stored_bytes;
    if ((s->flags & TTP_FLAG_ZSTD) == 0)
        return TTAPE_OK;
    c->plain = ttp_memory_take(&d->memory, ttp_scratch_bytes(&d->memory, s->content_bytes), 1, err);
    if (c->plain == NULL)
        return d->memory.status;
    ttape_status status = ttp_zstd_decode(&d->zstd, &d->memory, stored, s->stored_bytes, c->plain,
                                          s->content_bytes, "F-PAR-09", err);
    if (status != TTAPE_OK)
        ttp_error_rebase(err, c->offset);
    ttp_memory_give(&d->memory, c->stored, ttp_scratch_bytes(&d->memory, s->stored_bytes), 1);
    c->stored = NULL;
    c->data = c->plain;
    c->size_bytes = s->content_bytes;
    return status;
}

ttape_status ttp_content_open(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                              const struct ttp_section *section, struct ttp_content *out,
                              ttape_error *err)
{
    struct ttp_content content = {.section = section,
                                  .offset = p->payload_offset + section->offset};
    ttape_status status = get_content(d, p, &content, err);
    if (status != TTAPE_OK)
        ttp_content_close(d, &content);
    *out = content;
    return status;
}

void ttp_content_close(struct ttp_trace_decoder *d, struct ttp_content *content)
{
    if (content->section == NULL)
        return;
    const struct ttp_section *s = content->section;
    ttp_memory_give(&d->memory, content->stored, ttp_scratch_bytes(&d->memory, s->stored_bytes), 1);
    ttp_memory_give(&d->memory, content->plain, ttp_scratch_bytes(&d->memory, s->content_bytes), 1);
    *content = (struct ttp_content){0};
}

void ttp_content_rebase(const struct ttp_content *content, ttape_error *err)
{
    if (err == NULL || err->offset == TTAPE_ERROR_NO_OFFSET)
        return;
    /* In a compressed section no single stored byte belongs to a byte of the content. */
    err->offset = content->offset + (content->plain == NULL ? err->offset : 0);
}
