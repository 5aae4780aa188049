/* These rules say who may ask. The server listens on the loopback interface alone, but every page
 * that a browser shows, and every program of this machine, can reach that. So: the name by which
 * it was reached is looked at before anything else (a page whose name was bound to 127.0.0.1 has
 * another one), a request that another page began is refused, and nothing of the trace is said
 * without the key. */
#include <string.h>

#include "tools/view/view_server.h"

/* Digits of a port behind it, or nothing. */
static bool is_port(const char *text)
{
    size_t digits = strspn(text + (*text == ':'), "0123456789");
    return *text == '\0' || (*text == ':' && digits > 0 && digits <= 5 && text[1 + digits] == '\0');
}

/* With any port: ssh -L has one of its own. */
static bool is_here(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(host, names[i], length) == 0 && is_port(host + length))
            return true;
    }
    return false;
}

static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, strlen(scheme)) == 0 &&
           strcmp(origin + strlen(scheme), host) == 0;
}

/* Takes as long wherever they differ. */
static bool is_key(const char *given, const char *key)
{
    unsigned difference = 0;
    if (given == NULL || strlen(given) != VIEW_KEY_BYTES)
        return false;
    for (size_t i = 0; i < VIEW_KEY_BYTES; i++)
        difference |= (unsigned)(given[i] ^ key[i]);
    return difference == 0;
}

/* A link or a file may lead to the page itself, which says nothing; not to what it loads. */
static bool is_from_here(const struct view_head *head)
{
    if (head->site == NULL || strcmp(head->site, "same-origin") == 0 ||
        strcmp(head->site, "none") == 0)
        return true;
    return strcmp(head->path, "/") == 0 && head->mode != NULL &&
           strcmp(head->mode, "navigate") == 0 && strcmp(head->method, "GET") == 0;
}

unsigned view_check_head(const struct view_head *head, const char *key)
{
    bool is_question = strcmp(head->path, "/ask") == 0 || strcmp(head->path, "/save") == 0;
    if (head->host == NULL || head->is_odd || (head->length != NULL && head->encoding != NULL))
        return 400;
    if (!is_here(head->host))
        return 421;
    if ((head->origin != NULL && !is_own_origin(head->origin, head->host)) || !is_from_here(head))
        return 403;
    if (head->has_query || (!is_question && view_find_file(head->path).bytes == NULL))
        return 404;
    if (strcmp(head->method, is_question ? "POST" : "GET") != 0)
        return 405;
    if (is_question && !is_key(head->key, key))
        return 401;
    return 0;
}

const struct view_header *view_response_headers(void)
{
    static const struct view_header headers[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {NULL, NULL},
    };
    return headers;
}
