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
#define CODE_MAX    255u

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
    TTP_TRY(ttp_output_append(e, thread, (struct ttp_events){&event, NULL}, 1, err));
    e->appended--; /* no program recorded it */
    e->ends++;
    return TTAPE_OK;
}

/* The process knows whether it called _exit, the recorder what came of it. What programs write is
 * not believed blindly. */
void ttp_end_merge(struct ttp_end *seen, uint32_t how, uint32_t number)
{
    bool is_exit = how == TTAPE_PROCESS_END_EXIT || how == TTAPE_PROCESS_END_QUICK_EXIT;
    bool is_same = seen->how == TTAPE_PROCESS_END_EXIT && seen->number == number;
    if (is_exit && number <= CODE_MAX && (seen->how == TTAPE_PROCESS_END_UNKNOWN || is_same)) {
        seen->how = how;
        seen->number = number;
    }
}

/* The last that it said counts. */
static void take_said(struct ttp_image *image, uint64_t payload)
{
    struct ttp_end said = {0};
    ttp_end_merge(&said, ttp_end_how(payload), ttp_end_number(payload));
    if (said.how != TTAPE_PROCESS_END_UNKNOWN && !image->is_over)
        image->end = said;
}

/* The recorder may see it twice, where all blocks of the process were given back before. */
static void take_seen(struct ttp_image *image, struct ttp_end_word *word)
{
    if (image->is_end_told) {
        word->is_process = false;
        word->end.how = TTAPE_THREAD_END_PROCESS;
        return;
    }
    ttp_end_merge(&word->end, image->end.how, image->end.number);
    image->end = word->end;
    image->is_over = true;
}

/* A process has one fact: where the thread that was to tell it has no stream, another one does.
 * Where the recorder did not see the end, it may still know of it. */
static void take_thread(const struct ttp_image *image, struct ttp_end_word *word)
{
    uint32_t how = word->end.how;
    bool has_said = image->end.how != TTAPE_PROCESS_END_UNKNOWN;
    bool is_unseen = how == TTAPE_THREAD_END_RECORDING || how == TTAPE_THREAD_END_RECORDER_DIED;
    if (how != TTAPE_THREAD_END_PROCESS && !(is_unseen && has_said))
        return;
    word->is_process = !image->is_end_told && (image->is_over || has_said);
    word->end = image->end;
    if (!word->is_process)
        word->end.how = TTAPE_THREAD_END_PROCESS;
}

static ttape_status put(struct ttp_encode *e, struct ttp_thread *thread,
                        const struct ttp_end_word *word, uint64_t ns, ttape_error *err)
{
    uint64_t address = THREAD_SITE + word->is_process;
    ttape_value values[] = {{.type = TTAPE_VALUE_UNSIGNED, .number = word->end.how},
                            {.type = TTAPE_VALUE_UNSIGNED, .number = word->end.number}};
    TTP_TRY(tell_site(e, thread, address,
                      word->is_process ? "tracetape:process_end" : "tracetape:thread_end", err));
    TTP_TRY(append(e, thread, address, ns, err));
    if (!thread->has_ended)
        TTP_TRY(ttp_journal_ended(e, thread, err));
    thread->has_ended = true;
    ttape_writer *writer = ttp_output_of(e, thread)->writer;
    if (!ttp_stream_takes_values(writer, thread->stream))
        return TTAPE_OK;
    return ttape_writer_attach(writer, thread->stream, values, word->is_process ? 2 : 1, err);
}

ttape_status ttp_end_put(struct ttp_encode *e, struct ttp_thread *thread, uint64_t payload,
                         uint64_t ns, ttape_error *err)
{
    struct ttp_image *image = ttp_image_at(e, thread->image);
    struct ttp_end_word word = {
        .is_process = (payload & 1) != 0,
        .end = {.how = ttp_end_how(payload), .number = ttp_end_number(payload)}};
    if ((payload & TTP_END_SAID) != 0) {
        take_said(image, payload);
        return TTAPE_OK;
    }
    if (word.is_process)
        take_seen(image, &word);
    else
        take_thread(image, &word);
    if (thread->stream == TTAPE_NONE || !has_events(e, thread))
        return TTAPE_OK;
    image->is_end_told |= word.is_process && word.end.how <= TTAPE_PROCESS_END_SIGNAL;
    return put(e, thread, &word, ns, err);
}
