/* The names of the events that are taken. */
#include <string.h>

#include "tools/convert/ctf/convert_ctf.h"
#include "tools/export/formats/export_ctf.h"

static const struct {
    const char *name;
    enum tool_ctf_event kind;
} event_names[] = {{TOOL_CTF_ENTRY, TOOL_CTF_EVENT_ENTRY},
                   {TOOL_CTF_EXIT, TOOL_CTF_EVENT_EXIT},
                   {"lttng_ust_cyg_profile_fast:func_entry", TOOL_CTF_EVENT_ENTRY},
                   {"lttng_ust_cyg_profile_fast:func_exit", TOOL_CTF_EVENT_EXIT},
                   {TOOL_CTF_POINT, TOOL_CTF_EVENT_POINT},
                   {TOOL_CTF_EXIT_UNSEEN, TOOL_CTF_EVENT_UNSEEN},
                   {TOOL_CTF_GAP, TOOL_CTF_EVENT_GAP},
                   {TOOL_CTF_SWITCH, TOOL_CTF_EVENT_SWITCH},
                   {TOOL_CTF_SIGNAL, TOOL_CTF_EVENT_SIGNAL},
                   {TOOL_CTF_SIGNAL_END, TOOL_CTF_EVENT_SIGNAL_END},
                   {TOOL_CTF_SITE, TOOL_CTF_EVENT_SITE},
                   {TOOL_CTF_THREAD, TOOL_CTF_EVENT_THREAD},
                   {"lttng_ust_statedump:bin_info", TOOL_CTF_EVENT_MODULE},
                   {"lttng_ust_lib:load", TOOL_CTF_EVENT_MODULE},
                   {"lttng_ust_dl:dlopen", TOOL_CTF_EVENT_MODULE},
                   {"lttng_ust_statedump:build_id", TOOL_CTF_EVENT_BUILD_ID},
                   {"lttng_ust_lib:build_id", TOOL_CTF_EVENT_BUILD_ID}};

enum tool_ctf_event tool_ctf_event_of(const char *name)
{
    for (size_t i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++)
        if (strcmp(name, event_names[i].name) == 0)
            return event_names[i].kind;
    return TOOL_CTF_EVENT_OTHER;
}
