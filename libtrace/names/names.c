/* Names of the numbers in <tracetape/types.h>: the words of the CSV's kind column and of every
 * message. */
#include <tracetape/types.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const site_kinds[] = {"function", "block", "branch", "syscall",
                                         "marker",   "frame", "target", "call-site"};

static const char *const event_kinds[TTAPE_EVENT_KIND_COUNT] = {
    [TTAPE_EVENT_ENTER] = "enter",
    [TTAPE_EVENT_EXIT] = "exit",
    [TTAPE_EVENT_LEAF] = "leaf",
    [TTAPE_EVENT_OPEN] = "open",
    [TTAPE_EVENT_SIGNAL_BEGIN] = "signal",
    [TTAPE_EVENT_SIGNAL_END] = "signal_end",
    [TTAPE_EVENT_EXIT_UNSEEN] = "exit",
    [TTAPE_EVENT_UNWIND] = "unwind",
    [TTAPE_EVENT_EXIT_ACROSS] = "exit",
    [TTAPE_EVENT_SWITCH] = "switch",
    [TTAPE_EVENT_GAP] = "gap",
};

static const char *const gap_reasons[] = {"unknown", "overflow", "damage", "filter",
                                          "cut",     "sandbox",  "stopped"};

const char *ttape_site_kind_name(uint32_t site_kind)
{
    return site_kind < COUNT(site_kinds) ? site_kinds[site_kind] : "unknown";
}

const char *ttape_event_kind_name(uint32_t event_kind, uint32_t site_kind)
{
    /* A leaf is called by what its site is; a function's site can only be a leaf by mistake. */
    if (event_kind == TTAPE_EVENT_LEAF && site_kind != TTAPE_SITE_FUNCTION &&
        site_kind < COUNT(site_kinds))
        return site_kinds[site_kind];
    return event_kind < TTAPE_EVENT_KIND_COUNT ? event_kinds[event_kind] : "unknown";
}

const char *ttape_status_name(ttape_status status)
{
    switch (status) {
    case TTAPE_OK: return "ok";
    case TTAPE_END: return "end";
    case TTAPE_E_ARGUMENT: return "argument";
    case TTAPE_E_STATE: return "state";
    case TTAPE_E_NOT_FOUND: return "not found";
    case TTAPE_E_MEMORY: return "memory";
    case TTAPE_E_IO: return "io";
    case TTAPE_E_EXISTS: return "exists";
    case TTAPE_E_TRUNCATED: return "truncated";
    case TTAPE_E_CORRUPT: return "corrupt";
    case TTAPE_E_CHECKSUM: return "checksum";
    case TTAPE_E_LIMIT: return "limit";
    case TTAPE_E_VERSION: return "version";
    case TTAPE_E_UNSUPPORTED: return "unsupported";
    case TTAPE_E_NOT_TRACE: return "not a trace";
    }
    return "unknown";
}

const char *ttape_gap_reason_name(uint32_t reason)
{
    return reason < COUNT(gap_reasons) ? gap_reasons[reason] : "unknown";
}
