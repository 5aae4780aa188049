/* The page's files, as the build made them (tools/view/page/). */
#include <string.h>

#include "tools/view/view_server.h"

#ifdef TOOL_VIEW_PAGE

/* What the assembler puts between two names. */
#define INCLUDE(name, path)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".balign 16\n" #name ":\n"                                                             \
            ".incbin \"" path "\"\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const unsigned char name[], name##_end[]

INCLUDE(view_page_html, TOOL_VIEW_PAGE "/page.html");
INCLUDE(view_page_script, TOOL_VIEW_PAGE "/page.js");
INCLUDE(view_page_style, TOOL_VIEW_PAGE "/page.css");
INCLUDE(view_page_icon, TOOL_VIEW_PAGE "/icon.svg");

bool view_has_page(void) { return true; }

struct view_file view_find_file(const char *path)
{
    const struct view_file files[] = {
        {"/", "text/html; charset=utf-8", view_page_html,
         (size_t)(view_page_html_end - view_page_html)},
        {"/page.js", "text/javascript; charset=utf-8", view_page_script,
         (size_t)(view_page_script_end - view_page_script)},
        {"/page.css", "text/css; charset=utf-8", view_page_style,
         (size_t)(view_page_style_end - view_page_style)},
        {"/icon.svg", "image/svg+xml", view_page_icon,
         (size_t)(view_page_icon_end - view_page_icon)},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i];
    return (struct view_file){0};
}

#else

bool view_has_page(void) { return false; }

struct view_file view_find_file(const char *path)
{
    (void)path;
    return (struct view_file){0};
}

#endif
