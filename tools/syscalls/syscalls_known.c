/* How the calls were recorded, and what is therefore not known: one line below a table. */
#include <inttypes.h>
#include <string.h>

#include "tools/syscalls/syscalls_view.h"

static bool is_text(const ttape_metadata_entry *entry, const char *text)
{
    return entry->type == TTAPE_METADATA_TEXT && tool_text_is(entry->text, text);
}

void tool_sys_find_known(const ttape_reader *reader, struct tool_sys_known *known)
{
    ttape_metadata_entry entry;
    *known = (struct tool_sys_known){0};
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (tool_text_is(entry.key, "syscalls_engine"))
            known->engine = is_text(&entry, "ptrace") ? "ptrace" : "in-process";
        else if (tool_text_is(entry.key, "syscalls_measure"))
            known->measure = entry.text;
        else if (tool_text_is(entry.key, "syscalls_from"))
            known->from = is_text(&entry, "attach")              ? "attach"
                          : is_text(&entry, "first instruction") ? "first instruction"
                                                                 : "constructor";
        else if (entry.type == TTAPE_METADATA_NUMBER &&
                 tool_text_begins(entry.key, "syscalls_unseen_"))
            known->unseen += entry.number;
        else if (entry.type == TTAPE_METADATA_NUMBER && tool_text_begins(entry.key, "unrecorded_"))
            known->unrecorded += entry.number;
}

bool tool_sys_is_time(const struct tool_sys *view)
{
    return view->asked.measure == NULL || strcmp(view->asked.measure, "cpu-time") == 0;
}

static const char *since_words(const struct tool_sys_known *known)
{
    if (known->from == NULL)
        return "";
    return strcmp(known->from, "attach") == 0 ? ", from the moment when it was attached to"
           : strcmp(known->from, "constructor") == 0
               ? ", without what the loader did before the program began"
               : ", from its first instruction on";
}

void tool_sys_put_known(const struct tool_sys *view, struct tool_output *out)
{
    struct tool_sys_known known;
    tool_sys_find_known(view->reader, &known);
    if (known.engine == NULL)
        return;
    tool_output_printf(out, "Recorded %s%s",
                       strcmp(known.engine, "ptrace") == 0 ? "by ptrace" : "in process",
                       since_words(&known));
    if (known.unseen > 0)
        tool_output_printf(out, "; calls at %" PRIu64 " places are not seen", known.unseen);
    if (known.unrecorded > 0)
        tool_output_printf(out, "; of %" PRIu64 " processes nothing is known", known.unrecorded);
    tool_output_text(out, known.unseen + known.unrecorded > 0 ? " (see tracetape info).\n" : ".\n");
}
