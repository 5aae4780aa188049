/* In place of all else here, where the command was built without recording (TTAPE_RECORD=OFF). */
#include "tools/command/tool.h"
#include "tools/record/session/record_session.h"
#include "tools/record/values/record_values.h"

static int fail_absent(const char *verb)
{
    return tool_fail("'%s' is not in this tracetape, which was built to read traces only "
                     "(TTAPE_RECORD=OFF): on x86-64 Linux, build it with TTAPE_RECORD=ON",
                     verb);
}

int tool_verb_record(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return fail_absent("record");
}

int tool_verb_control(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return fail_absent("control");
}

int tool_verb_recover(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return fail_absent("recover");
}

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

bool tool_parse_record_engine(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_record_patch(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_libcalls(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_values(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_data(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_measure(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}

bool tool_parse_stack_rate(const char *text, void *into)
{
    (void)text;
    (void)into;
    return true;
}
