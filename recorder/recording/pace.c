/* Programs must not wait for the encoding thread. It is given less of a core than they are, so that
 * what waits in the spill file grows where they record faster than it encodes; where that file is
 * full, they would wait. The fast level needs a quarter of the time, for files up to twice as
 * large. So it is taken late, and left soon, and what waits when programs have ended is of the
 * usual level: nobody waits for it but who wants the file. */
#include "recorder/state/pace.h"

#include "recorder/state/recording_internal.h"

#define BEHIND_SLOTS   2048u /* 8 million events: less is taken up by a burst and a pause */
#define BEHIND_SHARE   4u    /* or this part of the spill file, where that is less */
#define RECOVERED_PART 4u    /* of either: it is not behind any more */

void ttp_pace_judge(struct ttp_pace *pace, const struct ttp_backlog *backlog)
{
    uint32_t most = backlog->slot_limit / BEHIND_SHARE;
    bool has_stalled = backlog->stall_count != pace->stall_count;
    most = most < BEHIND_SLOTS ? most : BEHIND_SLOTS;
    pace->stall_count = backlog->stall_count;
    if (backlog->is_final)
        pace->is_behind = false;
    else if (has_stalled || backlog->slots >= most)
        pace->is_behind = true;
    else if (backlog->slots <= most / RECOVERED_PART)
        pace->is_behind = false;
}

void ttp_pace_count(struct ttp_encode *e)
{
    struct ttp_output **outputs = e->outputs.data;
    for (size_t i = 0; i < e->outputs.count; i++) {
        ttape_writer_progress progress;
        if (outputs[i]->writer == NULL)
            continue;
        ttape_writer_get_progress(outputs[i]->writer, &progress);
        if (e->pace.is_behind)
            e->pace.fast_partitions += progress.sealed_count - outputs[i]->counted;
        outputs[i]->counted = progress.sealed_count;
    }
}

static bool may_change(const struct ttp_encode *e)
{
    const ttape_writer_options *options = &e->options.writer;
    return !e->is_replaying && !options->literal && options->level != TTAPE_LEVEL_FAST;
}

void ttp_pace_set_levels(struct ttp_encode *e)
{
    struct ttp_backlog backlog = {0};
    struct ttp_output **outputs = e->outputs.data;
    int32_t usual = e->options.writer.level;
    if (!may_change(e))
        return;
    ttp_pace_count(e);
    ttp_spill_backlog(e->spill, &backlog);
    backlog.stall_count += e->shared->wait_count;
    ttp_pace_judge(&e->pace, &backlog);
    usual = usual == 0 ? TTAPE_LEVEL_DEFAULT : usual;
    for (size_t i = 0; i < e->outputs.count; i++)
        if (outputs[i]->writer != NULL) /* a writer that has failed says so at the next seal */
            (void)ttape_writer_set_level(outputs[i]->writer,
                                         e->pace.is_behind ? TTAPE_LEVEL_FAST : usual, NULL);
}
