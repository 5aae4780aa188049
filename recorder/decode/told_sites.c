/* Sites that a program tells of by messages: its own, of the API, and system calls. */
#include "base/text.h"
#include "format/base/bytes.h"
#include "libtrace/names/call_names.h"
#include "recorder/arena/record.h"
#include "recorder/decode/layouts.h"

#define KIND_MAX   0xFFFFu /* that a trace can hold */
#define SITE_BYTES 18u

/* A message about a site; the strings are in the message. */
struct told_site {
    uint64_t address;
    uint32_t kind, line;
    ttape_string symbol, file;
};

static bool parse_site(struct told_site *told, const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < SITE_BYTES)
        return false;
    size_t name_bytes = ttp_load16(bytes + 16), text_bytes = size_bytes - SITE_BYTES;
    uint32_t kind = ttp_load32(bytes + 8);
    const char *text = (const char *)bytes + SITE_BYTES;
    if (name_bytes > text_bytes)
        return false;
    *told = (struct told_site){.address = ttp_load64(bytes),
                               .kind = kind <= KIND_MAX ? kind : TTAPE_SITE_FUNCTION,
                               .line = ttp_load32(bytes + 12),
                               .symbol = {text, name_bytes},
                               .file = {text + name_bytes, text_bytes - name_bytes}};
    return told->address != 0;
}

static bool is_name_same(const struct ttp_site_seen *site, const struct told_site *told)
{
    return (told->kind == TTAPE_SITE_SYSCALL && told->symbol.size_bytes == 0) ||
           (site->symbol != NULL && ttp_is_same_text(ttp_text_of(site->symbol), told->symbol));
}

/* A message that names no file or line says nothing else than symbols do, which may have been asked
 * when a call was read before it; nor do symbols that know none. */
static bool is_place_same(const struct ttp_site_seen *site, const struct told_site *told)
{
    ttape_string file = ttp_text_of(site->file);
    if (told->kind == TTAPE_SITE_SYSCALL) /* the line is its number, and read's is 0 */
        return site->line == told->line;
    return (site->line == 0 || told->line == 0 || site->line == told->line) &&
           (file.size_bytes == 0 || told->file.size_bytes == 0 ||
            ttp_is_same_text(file, told->file));
}

/* Every thread writes a message for each site that it passes. */
static bool is_known(const struct ttp_layout *layout, const struct told_site *told)
{
    uint32_t known = ttp_map_find(&layout->by_address, told->address);
    if (known == TTAPE_NONE)
        return false;
    const struct ttp_site_seen *site = (const struct ttp_site_seen *)layout->sites.data + known;
    return site->kind == told->kind && is_name_same(site, told) && is_place_same(site, told);
}

static ttape_status take_site(struct ttp_encode *e, struct ttp_layout *layout,
                              struct told_site *told, ttape_error *err)
{
    char name[TTP_CALL_NAME_BYTES];
    bool is_call = told->kind == TTAPE_SITE_SYSCALL;
    if (is_call && told->symbol.size_bytes == 0) {
        ttp_call_name(told->line, name);
        told->symbol = ttp_text_of(name);
    }
    struct ttp_site_seen *added = ttp_push(&e->allocator, &layout->sites, sizeof *added, err);
    if (added == NULL)
        return TTAPE_E_MEMORY;
    *added = (struct ttp_site_seen){.address = told->address,
                                    .module = is_call ? TTAPE_NONE
                                                      : ttp_module_find(layout, told->address),
                                    .kind = told->kind,
                                    .line = told->line,
                                    .id = TTAPE_NONE};
    TTP_TRY(ttp_keep_text(&added->symbol, told->symbol, err));
    TTP_TRY(ttp_keep_text(&added->file, told->file, err));
    ttp_plain_forget(&e->plain);
    return ttp_map_set(&e->allocator, &layout->by_address, told->address,
                       (uint32_t)(layout->sites.count - 1), err);
}

bool ttp_told_site_is_new(const struct ttp_layout *layout, const uint8_t *bytes, size_t size_bytes)
{
    struct told_site told;
    return parse_site(&told, bytes, size_bytes) && !is_known(layout, &told);
}

ttape_status ttp_told_site_take(struct ttp_encode *e, struct ttp_layout *layout,
                                const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct told_site told;
    return parse_site(&told, bytes, size_bytes) ? take_site(e, layout, &told, err) : TTAPE_OK;
}

/* A message about a path; the frames are in the message. */
struct told_path {
    struct ttp_site_seen *site; /* that it led to */
    const uint8_t *frames;      /* u64 each, innermost first */
    uint32_t count;
    bool is_cut;
};

/* u64 address of the site, u16 frames, u16 flags, the frames. False: of no call, or not the first
 * of it, or of one that is used already. */
static bool parse_path(const struct ttp_layout *layout, struct told_path *told,
                       const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < TTP_PATH_HEAD_BYTES)
        return false;
    uint32_t known = ttp_map_find(&layout->by_address, ttp_load64(bytes));
    if (known == TTAPE_NONE)
        return false;
    *told = (struct told_path){.site = (struct ttp_site_seen *)layout->sites.data + known,
                               .frames = bytes + TTP_PATH_HEAD_BYTES,
                               .count = ttp_load16(bytes + 8),
                               .is_cut = (ttp_load16(bytes + 10) & TTP_PATH_CUT) != 0};
    return told->count <= (size_bytes - TTP_PATH_HEAD_BYTES) / 8 && ttp_site_is_call(told->site) &&
           !told->site->has_path && told->site->id == TTAPE_NONE;
}

bool ttp_told_path_is_new(const struct ttp_layout *layout, const uint8_t *bytes, size_t size_bytes)
{
    struct told_path told;
    return parse_path(layout, &told, bytes, size_bytes);
}

ttape_status ttp_told_path_take(struct ttp_encode *e, struct ttp_layout *layout,
                                const uint8_t *bytes, size_t size_bytes, ttape_error *err)
{
    struct told_path told;
    if (!parse_path(layout, &told, bytes, size_bytes))
        return TTAPE_OK;
    size_t first = layout->frames.count;
    TTP_TRY(ttp_grow(&e->allocator, &layout->frames, sizeof(uint64_t), first + told.count, err));
    for (uint32_t i = 0; i < told.count; i++)
        ((uint64_t *)layout->frames.data)[layout->frames.count++] =
            ttp_load64(told.frames + 8 * (size_t)i);
    told.site->has_path = true;
    told.site->is_cut = told.is_cut;
    told.site->first_frame = (uint32_t)first;
    told.site->frame_count = told.count;
    return TTAPE_OK;
}
