/* Of the stacks that programs tell, the application's part, where only that is wanted. What the
 * journal keeps of a path is that part: a recovery need not ask again. */
#include <string.h>

#include "format/base/bytes.h"
#include "recorder/decode/layouts.h"

/* What the callback says of a module is asked once. */
static bool is_wanted(const struct ttp_encode *e, const struct ttp_thread *thread, uint32_t module)
{
    const ttape_site_rules *rules = &e->options.rules;
    const struct ttp_image *image = ttp_image_at(e, thread->image);
    struct ttp_layout *layout = ttp_layout_at(e, image->layout);
    if (module == TTAPE_NONE)
        return rules->is_application(rules->context, NULL, ttp_text_of(image->path));
    struct ttp_module_seen *seen = (struct ttp_module_seen *)layout->modules.data + module;
    if (!seen->is_asked)
        seen->is_application = rules->is_application(
            rules->context, &seen->module,
            ttp_image_executable(image, seen->module.build_id.size_bytes != 0));
    seen->is_asked = true;
    return seen->is_application;
}

ttape_status ttp_path_application(struct ttp_encode *e, struct ttp_thread *thread,
                                  const uint8_t **bytes, size_t *size_bytes, uint8_t *part,
                                  ttape_error *err)
{
    const uint8_t *told = *bytes;
    uint16_t flags = ttp_load16(told + 10);
    uint32_t count = ttp_load16(told + 8), kept = 0;
    if (e->options.rules.is_application == NULL || (flags & TTP_PATH_APPLICATION) != 0)
        return TTAPE_OK;
    for (uint32_t i = 0; i < count && kept < TTP_PATH_PART_FRAMES; i++) {
        uint64_t frame = ttp_load64(told + TTP_PATH_HEAD_BYTES + 8 * (size_t)i);
        uint32_t module;
        TTP_TRY(ttp_frame_module(e, thread, frame, &module, err));
        if (is_wanted(e, thread, module))
            ttp_store64(part + TTP_PATH_HEAD_BYTES + 8 * (size_t)kept++, frame);
    }
    /* Without any: the stack was seen, and its outermost frames are left out. */
    if (kept == 0 || kept == TTP_PATH_PART_FRAMES)
        flags |= TTP_PATH_CUT;
    memcpy(part, told, 8);
    ttp_store16(part + 8, (uint16_t)kept);
    ttp_store16(part + 10, flags | TTP_PATH_APPLICATION);
    *bytes = part;
    *size_bytes = TTP_PATH_HEAD_BYTES + 8 * (size_t)kept;
    return TTAPE_OK;
}
