/* What a recording is asked for, and what is taken where nothing is said. */
#include "recorder/recording/recording_options.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "format/base/sized.h"
#include "recorder/state/chosen_calls.h"
#include "recorder/state/recording_internal.h"

#define DEFAULT_THREAD    (896u << 10)
#define DEFAULT_SPILL     (4ull << 30)
#define KEPT_SPILL        16u /* times what is kept: records are larger than events in a file */
#define LEAST_SPILL       (64ull << 20)
#define DEFAULT_PARTITION 1000000u
#define LIVE_PARTITION    65536u
#define EVENT_BYTES       32u /* that encoding takes for each event of a partition, at most */
#define ENCODING_SHARE    3u  /* of free memory; the arena takes a quarter */

/* Where memory is short, fewer partitions are encoded at a time, then smaller ones. */
static void fit_memory(ttape_writer_options *w)
{
    uint64_t events = ttp_memory_free() / ENCODING_SHARE / EVENT_BYTES;
    uint64_t jobs = events / w->partition_events;
    if (jobs < w->jobs)
        w->jobs = jobs == 0 ? 1 : (uint32_t)jobs;
    if (jobs == 0 && w->partition_events > LIVE_PARTITION)
        w->partition_events = events < LIVE_PARTITION ? LIVE_PARTITION : (uint32_t)events;
}

/* Where only the last of it is kept, more that waits makes no event more: a program that is faster
 * than the recorder fills any room, and all of it is to be encoded before the last event is. */
static uint64_t default_spill(const ttape_recording_options *o)
{
    uint64_t kept =
        o->keep_bytes < DEFAULT_SPILL / KEPT_SPILL ? o->keep_bytes * KEPT_SPILL : DEFAULT_SPILL;
    if (o->keep_bytes == 0)
        return DEFAULT_SPILL;
    return kept < LEAST_SPILL ? LEAST_SPILL : kept;
}

ttape_status ttp_recording_options_take(ttape_recording_options *o,
                                        const ttape_recording_options *options, ttape_error *err)
{
    if (options != NULL)
        TTP_TRY(ttp_take_sized(o, sizeof *o, options, "recording", err));
    o->thread_bytes = o->thread_bytes == 0 ? DEFAULT_THREAD : o->thread_bytes;
    o->spill_bytes = o->spill_bytes == 0 ? default_spill(o) : o->spill_bytes;
    if (o->writer.partition_events == 0)
        o->writer.partition_events = o->live ? LIVE_PARTITION : DEFAULT_PARTITION;
    if (o->clock > TTAPE_CLOCK_NONE || o->when_full > TTAPE_FULL_DROP ||
        o->writer.partition_events > 16000000u || o->syscalls.data_bytes > TTP_CALL_DATA_MAX ||
        (o->syscalls.measure != NULL && ttp_counter_of(o->syscalls.measure) == 0))
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "an option is out of range");
    fit_memory(&o->writer);
    return TTAPE_OK;
}

/* All files of a recording are pieces of one trace. */
ttape_status ttp_trace_id_draw(ttape_writer_options *w, ttape_error *err)
{
    if (w->has_trace_id)
        return TTAPE_OK;
    if (getrandom(w->trace_id, sizeof w->trace_id, 0) != (ssize_t)sizeof w->trace_id)
        return ttp_fail_plain(err, TTAPE_E_IO, "no random number: %s", strerror(errno));
    w->has_trace_id = true;
    return TTAPE_OK;
}
