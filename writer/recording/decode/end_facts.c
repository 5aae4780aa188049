/* Facts of ends: the recorder's own sites, at addresses where no program has any, and their values
 * (spec/facts.md). */
#include <string.h>

#include "format/base/bytes.h"
#include "writer/arena/record.h"
#include "writer/events/stream_edge.h"
#include "writer/recording/journal.h"

#define SITE_BYTES  18u /* of a message about a site, before its name */
#define THREAD_SITE 1u
#define NAME_MAX    32u

static ttape_status tell_site(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                              const char *name, ttape_error *err)
{
    uint8_t bytes[SITE_BYTES + NAME_MAX] = {0};
    size_t size = strlen(name);
    ttp_store64(bytes, address);
    ttp_store32(bytes + 8, TTAPE_SITE_MARKER);
    ttp_store16(bytes + 16, (uint16_t)size);
    memcpy(bytes + SITE_BYTES, name, size);
    return ttp_image_message(e, thread, TTP_MESSAGE_SITE, bytes, SITE_BYTES + size, err);
}

/* Whether anything of the thread is kept: filters may leave nothing. */
static bool has_events(struct ttp_encode *e, const struct ttp_thread *thread)
{
    return thread->must_resume ||
           ttp_stream_next_event(ttp_output_of(e, thread)->writer, thread->stream) != 0;
}

static ttape_status append(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                           uint64_t ns, ttape_error *err)
{
    uint32_t index;
    TTP_TRY(ttp_site_of(e, thread, address, &index, err));
    ttape_event event = {.time_ns = ns,
                         .kind = TTAPE_EVENT_LEAF,
                         .site = ttp_site_at(e, thread, index)->id,
                         .depth = TTAPE_DEPTH_AUTO};
    thread->may_attach = false;
    TTP_TRY(ttp_output_append(e, thread, &event, 1, err));
    e->appended--; /* no program recorded it */
    return TTAPE_OK;
}

ttape_status ttp_end_put(struct ttp_encode *e, struct ttp_thread *thread, uint64_t payload,
                         uint64_t ns, ttape_error *err)
{
    if (thread->stream == TTAPE_NONE || !has_events(e, thread))
        return TTAPE_OK;
    bool is_process = (payload & 1) != 0;
    uint64_t address = THREAD_SITE + is_process;
    ttape_value values[] = {
        {.type = TTAPE_VALUE_UNSIGNED, .number = payload >> TTP_END_HOW_SHIFT & TTP_END_HOW_MASK},
        {.type = TTAPE_VALUE_UNSIGNED, .number = payload >> TTP_END_NUMBER_SHIFT & UINT32_MAX}};
    TTP_TRY(tell_site(e, thread, address,
                      is_process ? "tracetape:process_end" : "tracetape:thread_end", err));
    TTP_TRY(append(e, thread, address, ns, err));
    if (!thread->has_ended)
        TTP_TRY(ttp_journal_ended(e, thread, err));
    thread->has_ended = true;
    ttape_writer *writer = ttp_output_of(e, thread)->writer;
    if (!ttp_stream_takes_values(writer, thread->stream))
        return TTAPE_OK;
    return ttape_writer_attach(writer, thread->stream, values, is_process ? 2 : 1, err);
}
