/* A recorder that is killed while it writes a slot leaves half of one: that is no loss, for a block
 * is given back only when its slot is written, and a slot is written again only when its records
 * are in the trace. What is damaged and neither behind the checkpoint nor in the arena is lost. */
#include "libtrace/recover/recover_slots.h"

#include "writer/recording/decode/word_map.h"

static bool is_in_trace(const ttape_recording *r, const struct ttp_recovered_slot *slot)
{
    uint32_t index = ttp_map_find(&r->thread_by_serial, slot->serial);
    if (index >= r->threads.count)
        return false;
    const struct ttp_thread *thread = ((struct ttp_thread **)r->threads.data)[index];
    return slot->sequence < thread->sequence ||
           (slot->sequence == thread->sequence && slot->end <= thread->consumed);
}

static bool is_in_arena(const struct ttp_recovered_files *files,
                        const struct ttp_recovered_slot *slot)
{
    for (size_t i = 0; i < files->slots.count; i++) {
        const struct ttp_recovered_slot *block = &files->slots.items[i];
        if (block->in_arena && block->serial == slot->serial && block->sequence == slot->sequence)
            return true;
    }
    return false;
}

/* Whose a slot is may not be there yet: then it is the last one, where the writing stopped. */
static bool has_stopped_there(const struct ttp_recovered_files *files)
{
    return files->arena.memory != NULL && files->nobodys_last + 1 == files->spill_count;
}

uint64_t ttp_slots_tell(const struct ttp_telling *t, const struct ttp_recovered_files *files,
                        const ttape_recording *r)
{
    uint64_t lost = files->nobodys, others;
    if (lost != 0 && has_stopped_there(files))
        lost--;
    for (size_t i = 0; i < files->damaged.count; i++) {
        const struct ttp_recovered_slot *slot = &files->damaged.items[i];
        lost += !is_in_trace(r, slot) && !is_in_arena(files, slot);
    }
    others = files->damaged.count + files->nobodys - lost;
    if (lost != 0)
        ttp_tell(t, true, "%llu slots of the spill file are damaged, with what was only there",
                 (unsigned long long)lost);
    if (others != 0)
        ttp_tell(t, false,
                 "%llu slots of the spill file are damaged: what was in them is elsewhere, too",
                 (unsigned long long)others);
    return lost;
}
