/* The trace says it itself: by gap events where the place is known, else in its metadata. Gaps
 * also stand for calls that record left out on purpose, two events each: the metadata count them.
 */
#include <inttypes.h>

#include "tools/calls/losses.h"

#include "tools/calls/end_words.h"
#include "tools/command/tool.h"
#include "tools/io/table.h"

#define TIME_BYTES   40u
#define WAIT_SAID_NS 10000000u /* as record says it */

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_key(const ttape_metadata_entry *entry, const char *key)
{
    return entry->type == TTAPE_METADATA_NUMBER && tool_text_is(entry->key, key);
}

static uint64_t sum_of(const ttape_reader *reader, const char *key)
{
    uint64_t sum = 0;
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (is_key(&entry, key))
            sum = add_counts(sum, entry.number);
    return sum;
}

uint64_t tool_lost_nowhere(const ttape_reader *reader) { return sum_of(reader, "dropped_events"); }

uint64_t tool_lost_silenced(const ttape_reader *reader)
{
    return sum_of(reader, "silenced_events");
}

uint64_t tool_lost_sandboxed(const ttape_reader *reader)
{
    return add_counts(sum_of(reader, "sandboxed_events"), tool_lost_silenced(reader));
}

uint64_t tool_lost_events(const ttape_reader *reader)
{
    ttape_info info;
    uint64_t culled = sum_of(reader, "culled_calls");
    ttape_reader_get_info(reader, &info);
    culled = add_counts(culled, culled);
    uint64_t uncounted = add_counts(tool_lost_nowhere(reader), tool_lost_silenced(reader));
    return add_counts(info.lost_count > culled ? info.lost_count - culled : 0, uncounted);
}

bool tool_stacks_are_sampled(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (is_key(&entry, "syscalls_stack_every") || is_key(&entry, "syscalls_stack_rate"))
            return true;
    return false;
}

void tool_stacks_warn(const struct tool_input *input)
{
    if (tool_stacks_are_sampled(input->reader))
        tool_message("'%s' has the stacks of some system calls only: the others are without a path",
                     input->name);
}

static const ttape_metadata_entry *find_entry(const ttape_reader *reader, const char *key,
                                              ttape_metadata_entry *entry)
{
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, entry) == TTAPE_OK; i++)
        if (tool_text_is(entry->key, key))
            return entry;
    return NULL;
}

/* Who attaches to a process knows that it goes on. */
static void warn_of_stop(const struct tool_input *input)
{
    static const struct {
        const char *word;
        ttape_stop_reason reason;
    } words[] = {{"switch", TTAPE_STOP_OFF},     {"time", TTAPE_STOP_TIME},
                 {"size", TTAPE_STOP_SIZE},      {"request", TTAPE_STOP_ASKED},
                 {"recorder", TTAPE_STOP_ENDED}, {"failure", TTAPE_STOP_FAILED}};
    ttape_metadata_entry entry;
    uint64_t reason = TTAPE_STOP_UNKNOWN;
    bool is_attached = find_entry(input->reader, "syscalls_from", &entry) != NULL &&
                       tool_text_is(entry.text, "attach");
    if (is_attached || find_entry(input->reader, "stopped_by", &entry) == NULL)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tool_text_is(entry.text, words[i].word))
            reason = words[i].reason;
    tool_message("'%s': recording stopped before the program ended (%s): calls that were open then "
                 "have no end",
                 input->name, tool_stop_words(reason));
}

bool tool_site_is_recorder(const ttape_reader *reader, uint32_t number)
{
    ttape_site site;
    return ttape_reader_get_site(reader, number, &site) == TTAPE_OK &&
           site.kind == TTAPE_SITE_FUNCTION && site.module == TTAPE_NONE &&
           tool_text_is(site.symbol, "(the recorder)");
}

/* The recorder's doing, not the program's. */
static void warn_of_waits(const struct tool_input *input)
{
    char text[TIME_BYTES];
    uint64_t wait_ns = sum_of(input->reader, "recorder_wait_ns");
    text[tool_put_time(text, (int64_t)wait_ns)] = '\0';
    if (wait_ns >= WAIT_SAID_NS)
        tool_message("'%s': threads waited %s for the recorder (added up), told apart as calls of "
                     "'(the recorder)': with a larger --buffer they wait less",
                     input->name, text);
}

void tool_losses_warn(const struct tool_input *input)
{
    char off[TIME_BYTES];
    uint64_t off_ns = sum_of(input->reader, "off_ns");
    off[tool_put_time(off, (int64_t)off_ns)] = '\0';
    warn_of_stop(input);
    if (off_ns != 0)
        tool_message("'%s': recording was off for %s (threads added up): calls that were open when "
                     "it went off or on are not whole",
                     input->name, off);

    warn_of_waits(input);
    uint64_t lost = tool_lost_events(input->reader);
    if (lost != 0)
        tool_message("'%s' lost %" PRIu64 " events when it was recorded: calls are missing, and "
                     "times are wrong around them (dump shows the gaps)",
                     input->name, lost);
}
