#define _GNU_SOURCE /* asprintf */
#include "tools/record/output/record_send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/record/output/output_pattern.h"

#define SPILL_BYTES (UINT64_C(4) << 30) /* as of what waits to be encoded */

/* No two recordings are called alike: nobody is there who could choose another name. */
static void choose_name(char name[TOOL_SEND_NAME_MOST + 1], const char *command_name)
{
    char *machine = tool_record_fill_pattern("-%h-%p");
    int room = (int)(TOOL_SEND_NAME_MOST / 3); /* a machine's name has at most 64 */
    int rest = (int)(TOOL_SEND_NAME_MOST - sizeof TOOL_SEND_SUFFIX + 1) - room;
    (void)snprintf(name, TOOL_SEND_NAME_MOST + 1, "%.*s%.*s" TOOL_SEND_SUFFIX, room,
                   ttp_base_name(command_name), rest, machine != NULL ? machine : "");
    free(machine);
    for (char *at = name; *at != '\0'; at++) {
        const char behind[] = {'_', *at, '.', 't', 't', 'a', 'p', 'e', '\0'};
        const char *tried = behind + (at == name); /* the first one has a rule of its own */
        if (!tool_send_is_name(tried, strlen(tried)))
            *at = '_';
    }
}

int tool_record_send_open(struct tool_record_send *send, const char *verb, const char *output,
                          const char *command_name)
{
    const char *why;
    struct tool_send_place *place = &send->sender.place;
    send->sender.fd = -1;
    send->is_asked = output != NULL && tool_send_is_url(output);
    if (!send->is_asked)
        return TOOL_OK;
    if (!tool_send_parse_place(output, place, &why))
        return tool_usage(verb, "'%s': %s", output, why);
    if (place->name[0] == '\0')
        choose_name(place->name, command_name);
    if (asprintf(&send->shown, "tcp://%s%s%s:%s/%s", strchr(place->host, ':') ? "[" : "",
                 place->host, strchr(place->host, ':') ? "]" : "", place->port, place->name) < 0 ||
        asprintf(&send->local, "%s.unsent", place->name) < 0)
        tool_out_of_memory();
    return tool_sender_ask(place) ? TOOL_OK : TOOL_CANNOT;
}

void tool_record_send_begin(struct tool_record_send *send, const char *output, bool is_live,
                            uint64_t spill_bytes, bool (*gives_up)(void))
{
    char *path = NULL;
    if (!send->is_asked)
        return;
    if (asprintf(&path, "%s%s", output, is_live ? "" : ".recording/trace.0") < 0)
        tool_out_of_memory();
    send->sender.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    send->sender.spill_bytes = spill_bytes != 0 ? spill_bytes : SPILL_BYTES;
    send->sender.gives_up = gives_up;
    if (send->sender.fd >= 0)
        tool_sender_begin(&send->sender);
    else
        tool_message("cannot open '%s': %s: nothing is sent before the end", path, strerror(errno));
    free(path);
}

bool tool_record_send_is_full(const struct tool_record_send *send)
{
    return atomic_load(&send->sender.is_full);
}

static void say_rest(const struct tool_record_send *send, const char *output)
{
    const struct tool_sender *s = &send->sender;
    tool_message("the receiver has %llu of %llu bytes: %s",
                 (unsigned long long)s->acknowledged_bytes, (unsigned long long)s->size_bytes,
                 s->why);
    tool_message("%s is '%s' here: 'tracetape send %s %s' goes on",
                 s->given_back_bytes != 0 ? "the rest" : "the whole trace", output, output,
                 send->shown);
}

int tool_record_send_end(struct tool_record_send *send, const char *output, bool is_complete,
                         bool is_quiet, int status)
{
    struct tool_sender *s = &send->sender;
    if (!send->is_asked)
        return status;
    if (s->fd < 0 && is_complete)
        s->fd = open(output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool has_all = tool_sender_end(s, !is_complete || s->fd < 0);
    if (!is_complete)
        return status;
    if (!has_all) {
        say_rest(send, output);
        return status == TOOL_OK || status == TOOL_LOSS ? TOOL_CANNOT : status;
    }
    (void)unlink(output);
    if (!is_quiet && s->lost_count != 0)
        tool_message("'%s' is with the receiver, all %llu bytes; the connection was lost %u time%s",
                     send->shown, (unsigned long long)s->size_bytes, s->lost_count,
                     s->lost_count == 1 ? "" : "s");
    else if (!is_quiet)
        tool_message("'%s' is with the receiver, all %llu bytes", send->shown,
                     (unsigned long long)s->size_bytes);
    return status;
}

void tool_record_send_close(struct tool_record_send *send)
{
    free(send->shown);
    free(send->local);
}
