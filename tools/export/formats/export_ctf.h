/* The Common Trace Format's side of an export: what its events are called and what they hold. The
 * converter reads them back by the same names. */
#ifndef TOOL_EXPORT_CTF_H
#define TOOL_EXPORT_CTF_H

/* Calls have the names of LTTng's function tracer, so that what knows those knows ours. */
#define TOOL_CTF_ENTRY "lttng_ust_cyg_profile:func_entry"
#define TOOL_CTF_EXIT  "lttng_ust_cyg_profile:func_exit"

#define TOOL_CTF_NO_TEXT "-" /* stands where a name is not known */

#define TOOL_CTF_THREAD      "tracetape:thread"
#define TOOL_CTF_SITE        "tracetape:site"
#define TOOL_CTF_POINT       "tracetape:point"
#define TOOL_CTF_EXIT_UNSEEN "tracetape:exit_unseen"
#define TOOL_CTF_GAP         "tracetape:gap"
#define TOOL_CTF_SWITCH      "tracetape:switch"
#define TOOL_CTF_SIGNAL      "tracetape:signal"
#define TOOL_CTF_SIGNAL_END  "tracetape:signal_end"

#endif
