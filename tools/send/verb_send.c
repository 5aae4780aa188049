/* send: a trace that is complete, to a receiver: what record could not send, or any other. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/send/sender.h"

struct options {
    bool quiet;
};

static const struct tool_option table[] = {
    {"quiet", 'q', NULL, "say nothing when all is there", NULL, TOOL_AT(quiet)}, {0}};

static const struct tool_command command = {
    .verb = "send",
    .usage = "[OPTION]... FILE tcp://HOST:PORT[/NAME]",
    .about =
        "Sends a complete trace to 'tracetape receive', or the rest of one that was sent while\n"
        "it was recorded, until the connection was lost.",
    .options = table,
    .examples = "  tracetape send run.ttape tcp://127.0.0.1:8271\n",
    .statuses = NULL,
    .operands_min = 2,
    .operands_max = 2,
};

/* It goes by headers alone: what gave its room back is there no more. */
static bool is_whole(int fd)
{
    struct stat info;
    struct tool_arrival a = {0};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    tool_arrival_walk_all(&a, fd, (uint64_t)info.st_size);
    return a.is_complete && a.whole_bytes == (uint64_t)info.st_size;
}

static int send_file(const struct options *options, const char *path,
                     const struct tool_send_place *place)
{
    struct tool_sender sender = {.place = *place,
                                 .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (sender.fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    if (!is_whole(sender.fd)) {
        (void)close(sender.fd);
        return tool_fail("'%s' is no complete trace: 'tracetape recover %s -o FILE' makes one of "
                         "what is left of a trace",
                         path, path);
    }
    tool_sender_begin(&sender);
    if (!tool_sender_end(&sender, false))
        return tool_fail("the receiver at %s:%s has %llu of the %llu bytes of '%s': %s",
                         place->host, place->port, (unsigned long long)sender.acknowledged_bytes,
                         (unsigned long long)sender.size_bytes, path, sender.why);
    if (!options->quiet)
        tool_message("'%s' is with the receiver at %s:%s: %llu bytes", place->name, place->host,
                     place->port, (unsigned long long)sender.size_bytes);
    return TOOL_OK;
}

int tool_verb_send(int argc, char **argv)
{
    int count, status;
    const char *why;
    struct options options = {0};
    struct tool_send_place place;
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (!tool_send_is_url(argv[1]) || !tool_send_parse_place(argv[1], &place, &why))
        return tool_usage("send", "'%s': %s", argv[1],
                          tool_send_is_url(argv[1]) ? why : "a place is tcp://HOST:PORT");
    const char *name = ttp_base_name(argv[0]);
    if (place.name[0] == '\0' && tool_send_is_name(name, strlen(name)))
        memcpy(place.name, name, strlen(name) + 1);
    if (place.name[0] == '\0')
        return tool_usage("send", "'%s' is no name for a receiver: say tcp://HOST:PORT/NAME.ttape",
                          name);
    return send_file(&options, argv[0], &place);
}
