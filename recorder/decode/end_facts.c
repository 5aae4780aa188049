/* Facts of ends and stops: the recorder's own sites, at addresses where no program has any, and
 * their values (spec/facts.md). */
#include <string.h>

#include "format/base/bytes.h"
#include "recorder/arena/record.h"
#include "recorder/state/journal.h"
#include "writer/events/stream_edge.h"

#define SITE_BYTES  18u /* of a message about a site, before its name */
#define THREAD_SITE 1u
#define STOP_SITE   3u /* behind that of processes */
#define NAME_MAX    32u
#define CODE_MAX    255u

struct own_site {
    uint64_t address;
    uint32_t kind;
    const char *name;
};

static ttape_status find_site(struct ttp_encode *e, struct ttp_thread *thread,
                              const struct own_site *site, uint32_t *index, ttape_error *err)
{
    uint8_t bytes[SITE_BYTES + NAME_MAX] = {0};
    size_t size = strlen(site->name);
    ttp_store64(bytes, site->address);
    ttp_store32(bytes + 8, site->kind);
    ttp_store16(bytes + 16, (uint16_t)size);
    memcpy(bytes + SITE_BYTES, site->name, size);
    TTP_TRY(ttp_image_message(e, thread, TTP_MESSAGE_SITE, bytes, SITE_BYTES + size, err));
    return ttp_site_of(e, thread, site->address, index, err);
}

ttape_status ttp_wait_site(struct ttp_encode *e, struct ttp_thread *thread, uint32_t *index,
                           ttape_error *err)
{
    const struct own_site site = {TTP_WAIT_SITE, TTAPE_SITE_FUNCTION, "(the recorder)"};
    return find_site(e, thread, &site, index, err);
}

/* Whether anything of the thread is kept: filters may leave nothing. */
static bool has_events(struct ttp_encode *e, const struct ttp_thread *thread)
{
    return thread->must_resume ||
           ttp_stream_next_event(ttp_output_of(e, thread)->writer, thread->stream) != 0;
}

/* No program recorded it. */
static ttape_status append_fact(struct ttp_encode *e, struct ttp_thread *thread,
                                const ttape_event *event, ttape_error *err)
{
    thread->may_attach = false;
    thread->is_told_of = true;
    TTP_TRY(ttp_output_append(e, thread, (struct ttp_events){event, NULL}, 1, err));
    thread->is_told_of = false;
    e->appended--;
    e->ends++;
    return TTAPE_OK;
}

struct fact {
    uint64_t address, ns;
    const char *name;
    ttape_value values[2];
    uint32_t count;
};

static ttape_status put_fact(struct ttp_encode *e, struct ttp_thread *thread,
                             const struct fact *fact, ttape_error *err)
{
    uint32_t index;
    TTP_TRY(ttp_stream_ready(e, thread, err));
    const struct own_site site = {fact->address, TTAPE_SITE_MARKER, fact->name};
    TTP_TRY(find_site(e, thread, &site, &index, err));
    const ttape_event event = {.time_ns = fact->ns,
                               .kind = TTAPE_EVENT_LEAF,
                               .site = ttp_site_at(e, thread, index)->id,
                               .depth = TTAPE_DEPTH_AUTO};
    TTP_TRY(append_fact(e, thread, &event, err));
    ttape_writer *writer = ttp_output_of(e, thread)->writer;
    if (!ttp_stream_takes_values(writer, thread->stream))
        return TTAPE_OK;
    return ttape_writer_attach(writer, thread->stream, fact->values, fact->count, err);
}

/* -- stops -- */

static ttape_status put_plain(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                              uint32_t argument, uint64_t ns, ttape_error *err)
{
    const ttape_event event = {.time_ns = ns,
                               .kind = kind,
                               .site = TTAPE_NONE,
                               .argument = argument,
                               .depth = TTAPE_DEPTH_AUTO};
    return append_fact(e, thread, &event, err);
}

static ttape_status go_to(struct ttp_encode *e, struct ttp_thread *thread, uint32_t *stack,
                          uint32_t next, uint64_t ns, ttape_error *err)
{
    if (*stack == next)
        return TTAPE_OK;
    *stack = next;
    return put_plain(e, thread, TTAPE_EVENT_SWITCH, next, ns, err);
}

/* The frames of each stack are left. */
static ttape_status leave_frames(struct ttp_encode *e, struct ttp_thread *thread,
                                 const ttape_edge *edge, uint32_t *stack, uint64_t ns,
                                 ttape_error *err)
{
    for (uint32_t i = 0, end; i < edge->frame_count; i = end) {
        for (end = i; end < edge->frame_count && edge->frames[end].stack == edge->frames[i].stack;)
            end++;
        TTP_TRY(go_to(e, thread, stack, edge->frames[i].stack, ns, err));
        TTP_TRY(put_plain(e, thread, TTAPE_EVENT_UNWIND, end - i, ns, err));
    }
    return go_to(e, thread, stack, edge->stack, ns, err);
}

static ttape_status open_again(struct ttp_encode *e, struct ttp_thread *thread,
                               const ttape_edge *edge, uint32_t *stack, uint64_t ns,
                               ttape_error *err)
{
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *frame = &edge->frames[i];
        bool is_signal = frame->kind == TTAPE_EVENT_SIGNAL_BEGIN;
        const ttape_event event = {.time_ns = ns,
                                   .kind = is_signal ? frame->kind : TTAPE_EVENT_OPEN,
                                   .site = is_signal ? TTAPE_NONE : frame->site,
                                   .argument = frame->argument,
                                   .depth = TTAPE_DEPTH_AUTO};
        TTP_TRY(go_to(e, thread, stack, frame->stack, ns, err));
        TTP_TRY(append_fact(e, thread, &event, err));
    }
    return go_to(e, thread, stack, edge->stack, ns, err);
}

static ttape_status break_frames(struct ttp_encode *e, struct ttp_thread *thread,
                                 const struct ttp_stop *stop, ttape_error *err)
{
    ttape_edge edge;
    struct ttp_growing frames = {0};
    ttape_status status =
        ttp_stream_get_edge(ttp_output_of(e, thread)->writer, thread->stream, &edge, &frames, err);
    uint32_t stack = edge.stack;
    if (status == TTAPE_OK)
        status = leave_frames(e, thread, &edge, &stack, stop->ns, err);
    if (status == TTAPE_OK && stop->what == TTP_STOP_FRAMES)
        status = open_again(e, thread, &edge, &stack, stop->next_ns, err);
    if (stop->what != TTP_STOP_FRAMES)
        ttp_filter_close(e, thread);
    ttp_grown_free(&e->allocator, &frames);
    return status;
}

/* Where nothing of the thread has been recorded yet, it has begun while it was off. */
static uint64_t time_of_stop(struct ttp_encode *e, const struct ttp_thread *thread,
                             const struct ttp_stop *stop)
{
    uint64_t begun = ttp_clock_ns(&e->clock, thread->started);
    if (e->options.clock == TTAPE_CLOCK_NONE || begun <= stop->ns)
        return stop->ns;
    return begun < stop->next_ns ? begun : stop->next_ns;
}

ttape_status ttp_stop_put(struct ttp_encode *e, struct ttp_thread *thread,
                          const struct ttp_stop *stop, ttape_error *err)
{
    bool begins = thread->stream == TTAPE_NONE || !has_events(e, thread);
    uint64_t ns = begins ? time_of_stop(e, thread, stop) : stop->ns;
    const struct fact fact = {.address = STOP_SITE,
                              .ns = ns,
                              .name = "tracetape:stopped",
                              .values = {{.type = TTAPE_VALUE_UNSIGNED, .number = stop->reason}},
                              .count = 1};
    const ttape_event gap = {.time_ns = ns,
                             .kind = TTAPE_EVENT_GAP,
                             .site = TTAPE_NONE,
                             .argument = TTAPE_GAP_REASON_STOPPED,
                             .lost_count = stop->count,
                             .depth = TTAPE_DEPTH_AUTO};
    if (begins && stop->count == 0 && stop->what != TTP_STOP_FRAMES)
        return TTAPE_OK; /* and so it ends: nothing of it is kept */
    TTP_TRY(put_fact(e, thread, &fact, err));
    TTP_TRY(append_fact(e, thread, &gap, err));
    e->off_ns += stop->next_ns - ns;
    return stop->what == TTP_STOP_SEEN ? TTAPE_OK : break_frames(e, thread, stop, err);
}

/* -- ends -- */

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
static void take_thread(const struct ttp_image *image, const struct ttp_thread *thread,
                        struct ttp_end_word *word)
{
    uint32_t how = word->end.how;
    bool has_said = image->end.how != TTAPE_PROCESS_END_UNKNOWN;
    bool is_unseen = how == TTAPE_THREAD_END_RECORDING || how == TTAPE_THREAD_END_RECORDER_DIED;
    if (how != TTAPE_THREAD_END_PROCESS && !(is_unseen && has_said))
        return;
    word->is_process = !image->is_end_told && (image->is_over || has_said);
    word->end = image->end;
    if (!word->is_process)
        word->end.how = thread->has_said ? TTAPE_THREAD_END_CALLED : TTAPE_THREAD_END_PROCESS;
}

static ttape_status put_end(struct ttp_encode *e, struct ttp_thread *thread,
                            const struct ttp_end_word *word, uint64_t ns, ttape_error *err)
{
    bool goes_on = !word->is_process && word->end.how == TTAPE_THREAD_END_RECORDING;
    const struct ttp_stop stop = {
        .reason = word->end.number, .what = TTP_STOP_SEEN, .ns = ns, .next_ns = ns};
    if (goes_on)
        e->stop_reason = stop.reason < TTAPE_STOP_COUNT ? stop.reason : TTAPE_STOP_UNKNOWN;
    e->has_gone_on |= goes_on;
    const struct fact fact = {
        .address = THREAD_SITE + word->is_process,
        .ns = ns,
        .name = word->is_process ? "tracetape:process_end" : "tracetape:thread_end",
        .values = {{.type = TTAPE_VALUE_UNSIGNED, .number = word->end.how},
                   {.type = TTAPE_VALUE_UNSIGNED, .number = word->end.number}},
        .count = word->is_process ? 2 : 1};
    if (goes_on)
        TTP_TRY(ttp_stop_put(e, thread, &stop, err));
    TTP_TRY(put_fact(e, thread, &fact, err));
    if (!thread->has_ended)
        TTP_TRY(ttp_journal_ended(e, thread, err));
    thread->has_ended = true;
    return TTAPE_OK;
}

bool ttp_end_goes_on(const struct ttp_encode *e, uint64_t payload)
{
    return e->ends_only ||
           ((payload & 1) == 0 && ttp_end_how(payload) == TTAPE_THREAD_END_RECORDING);
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
        thread->has_said = image->end.how != TTAPE_PROCESS_END_UNKNOWN;
        return TTAPE_OK;
    }
    if (e->ends_only) /* it has ended since */
        word = (struct ttp_end_word){
            .end = {.how = TTAPE_THREAD_END_RECORDING, .number = TTAPE_STOP_SIZE}};
    if (word.is_process)
        take_seen(image, &word);
    else
        take_thread(image, thread, &word);
    if (thread->stream == TTAPE_NONE || !has_events(e, thread))
        return TTAPE_OK;
    image->is_end_told |= word.is_process && word.end.how <= TTAPE_PROCESS_END_SIGNAL;
    return put_end(e, thread, &word, ns, err);
}
