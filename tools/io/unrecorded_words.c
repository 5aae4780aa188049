#include "tools/io/unrecorded_words.h"

static const struct {
    const char *name, *words;
} reasons[TTAPE_UNRECORDED_COUNT] = {
    [TTAPE_UNRECORDED_NOT_INSTRUMENTED] = {"not_instrumented",
                                           "not compiled with -finstrument-functions"},
    [TTAPE_UNRECORDED_NO_CALLS] = {"no_calls", "called no instrumented function"},
    [TTAPE_UNRECORDED_STATIC] = {"static", "linked statically"},
    [TTAPE_UNRECORDED_SET_UID] = {"set_uid", "set-user-id or with capabilities"},
    [TTAPE_UNRECORDED_OTHER_USER] = {"other_user", "run as another user"},
    [TTAPE_UNRECORDED_OTHER_NAMESPACE] = {"other_namespace", "in another namespace of process ids"},
    [TTAPE_UNRECORDED_SANITIZER] = {"sanitizer", "refused by a sanitizer"},
    [TTAPE_UNRECORDED_ENVIRONMENT] = {"environment",
                                      "started without LD_PRELOAD and TRACETAPE_ARENA"},
    [TTAPE_UNRECORDED_OTHER_MACHINE] = {"other_machine", "for another machine"},
    [TTAPE_UNRECORDED_UNKNOWN] = {"unknown", "for no known reason"},
    [TTAPE_UNRECORDED_OTHER_LIBC] = {"other_libc", "of another C library than glibc"},
    [TTAPE_UNRECORDED_OLDER_LIBC] = {"older_libc", "of a glibc before 2.35, without hooks"},
    [TTAPE_UNRECORDED_OWN_THREADS] = {"own_threads", "with threads that are not the C library's"},
    [TTAPE_UNRECORDED_NOT_STARTED] = {"not_started", "that the loader did not start"},
    [TTAPE_UNRECORDED_UNREACHABLE] = {"unreachable", "where the recorder is out of reach"},
    [TTAPE_UNRECORDED_SANDBOX] = {"sandbox", "in a sandbox that keeps recording out"},
};

const char *tool_unrecorded_name(uint32_t reason) { return reasons[reason].name; }

const char *tool_unrecorded_words(uint32_t reason) { return reasons[reason].words; }
