#include "recorder/decode/thread_names.h"

#include <string.h>

#include "format/base/bytes.h"
#include "recorder/arena/record.h"
#include "writer/events/stream_names.h"

/* Every file of the recording has the same name of a stream, so that they can be joined. The first
 * one that has it may still say another one. */
static bool may_rename(const struct ttp_encode *e, const struct ttp_thread *thread)
{
    const ttape_recording_options *o = &e->options;
    return (o->rotate_bytes == 0 && o->keep_bytes == 0 && o->keep_ns == 0) ||
           thread->first_file == e->outputs.count;
}

static struct ttp_thread *find_named(struct ttp_encode *e, uint32_t image, uint32_t tid)
{
    for (size_t i = e->threads.count; i-- > 0;)
        if (ttp_thread_at(e, i)->tid == tid && ttp_thread_at(e, i)->image == image)
            return ttp_thread_at(e, i);
    return NULL;
}

static void rename_thread(struct ttp_encode *e, struct ttp_thread *thread, uint64_t ns,
                          const char *name, size_t size_bytes)
{
    ttape_string text = {name, size_bytes};
    if (ns < thread->named_ns ||
        (thread->stream != TTAPE_NONE &&
         (!may_rename(e, thread) ||
          !ttp_stream_rename(ttp_output_of(e, thread)->writer, thread->stream, text))))
        return;
    thread->named_ns = ns;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name, size_bytes);
}

static ttape_status keep_name(struct ttp_encode *e, const struct ttp_thread_name *name,
                              ttape_error *err)
{
    struct ttp_thread_name *list = e->names.data, *place = NULL;
    for (size_t i = 0; i < e->names.count && place == NULL; i++)
        if (list[i].image == name->image && list[i].tid == name->tid)
            place = &list[i];
    if (place == NULL)
        place = ttp_push(&e->allocator, &e->names, sizeof *place, err);
    else if (name->ns < place->ns)
        return TTAPE_OK;
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = *name;
    return TTAPE_OK;
}

ttape_status ttp_thread_named(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                              uint64_t ns, const uint8_t *bytes, size_t size_bytes,
                              ttape_error *err)
{
    struct ttp_thread_name name = {.image = thread->image, .ns = ns};
    if (kind == TTP_MESSAGE_NAMED) {
        if (size_bytes < sizeof(uint32_t))
            return TTAPE_OK;
        name.tid = ttp_load32(bytes);
        thread = find_named(e, thread->image, name.tid);
        bytes += sizeof(uint32_t);
        size_bytes -= sizeof(uint32_t);
    }
    size_bytes = size_bytes < sizeof name.name ? size_bytes : sizeof name.name - 1;
    memcpy(name.name, bytes, size_bytes);
    if (thread == NULL)
        return keep_name(e, &name, err);
    rename_thread(e, thread, ns, name.name, size_bytes);
    return TTAPE_OK;
}

/* Another thread may have had its id before. */
void ttp_thread_take_name(struct ttp_encode *e, struct ttp_thread *thread)
{
    struct ttp_thread_name *list = e->names.data;
    for (size_t i = 0; i < e->names.count; i++) {
        if (list[i].image != thread->image || list[i].tid != thread->tid)
            continue;
        if (list[i].ns >= ttp_clock_ns(&e->clock, thread->started))
            rename_thread(e, thread, list[i].ns, list[i].name, strlen(list[i].name));
        list[i] = list[--e->names.count];
        return;
    }
}
