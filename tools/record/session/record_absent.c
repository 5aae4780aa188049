/* This stands in place of all else here, where the command was built without recording
 * (TTAPE_RECORD=OFF). */
#include "tools/command/tool.h"
#include "tools/record/session/record_session.h"
#include "tools/record/values/record_values.h"

static int fail_absent(const char *verb)
{
    return tool_fail("'%s' is not in this tracetape, which was built to read traces only "
                     "(TTAPE_RECORD=OFF): on x86-64 Linux, build it with TTAPE_RECORD=ON",
                     verb);
}

#define VERB_ABSENT(verb)                                                                          \
    int tool_verb_##verb(int argc, char **argv)                                                    \
    {                                                                                              \
        (void)argc;                                                                                \
        (void)argv;                                                                                \
        return fail_absent(#verb);                                                                 \
    }

VERB_ABSENT(record)
VERB_ABSENT(attach)
VERB_ABSENT(control)
VERB_ABSENT(recover)

/* ---- what `syscalls` asks for, of a command ---- */

void tool_record_session_open(struct tool_record_session *session, const char *verb)
{
    *session = (struct tool_record_session){.verb = verb};
}

int tool_record_session_run(struct tool_record_session *session, int count, char **argv)
{
    (void)session;
    (void)count;
    (void)argv;
    return fail_absent("syscalls of a command");
}

int tool_record_session_close(struct tool_record_session *session, int status)
{
    (void)session;
    return status;
}

/* Options are read as if they were right: the run says what is missing. */
#define PARSE_ABSENT(name)                                                                         \
    bool name(const char *text, void *into)                                                        \
    {                                                                                              \
        (void)text;                                                                                \
        (void)into;                                                                                \
        return true;                                                                               \
    }

PARSE_ABSENT(tool_parse_record_engine)
PARSE_ABSENT(tool_parse_record_patch)
PARSE_ABSENT(tool_parse_libcalls)
PARSE_ABSENT(tool_parse_values)
PARSE_ABSENT(tool_parse_data)
PARSE_ABSENT(tool_parse_measure)
PARSE_ABSENT(tool_parse_stack_rate)
