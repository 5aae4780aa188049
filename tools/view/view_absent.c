/* In place of the server, where the command was built without libmicrohttpd's header. */
#include "tools/command/tool.h"
#include "tools/view/view_server.h"

int view_http_open(struct view_http **out, struct view_workers *workers,
                   struct view_filters *filters, const char *key)
{
    (void)filters;
    (void)workers;
    (void)key;
    *out = NULL;
    return tool_fail("this tracetape was built without a server: install libmicrohttpd-dev, and "
                     "build it again");
}

void view_http_close(struct view_http *http) { (void)http; }

unsigned view_http_port(const struct view_http *http)
{
    (void)http;
    return 0;
}

bool view_http_was_asked(const struct view_http *http)
{
    (void)http;
    return false;
}
