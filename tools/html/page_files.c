/* The page's files, as the build made them (tools/view/page/). */
#include <string.h>

#include "tools/html/page_files.h"

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
#ifdef TOOL_ENGINE
INCLUDE(html_worker, TOOL_VIEW_PAGE "/worker.js");
INCLUDE(html_engine, TOOL_ENGINE);
INCLUDE(html_script_hash, TOOL_VIEW_PAGE "/page.js.sha256");
INCLUDE(html_style_hash, TOOL_VIEW_PAGE "/page.css.sha256");
#endif

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

#if defined TOOL_VIEW_PAGE && defined TOOL_ENGINE

struct view_file html_find_part(enum html_part part)
{
    const struct {
        const unsigned char *bytes, *end;
    } parts[] = {
        [HTML_PART_SCRIPT] = {view_page_script, view_page_script_end},
        [HTML_PART_STYLE] = {view_page_style, view_page_style_end},
        [HTML_PART_WORKER] = {html_worker, html_worker_end},
        [HTML_PART_ENGINE] = {html_engine, html_engine_end},
        [HTML_PART_SCRIPT_HASH] = {html_script_hash, html_script_hash_end},
        [HTML_PART_STYLE_HASH] = {html_style_hash, html_style_hash_end},
    };
    return (struct view_file){.bytes = parts[part].bytes,
                              .size_bytes = (size_t)(parts[part].end - parts[part].bytes)};
}

#else

struct view_file html_find_part(enum html_part part)
{
    (void)part;
    return (struct view_file){0};
}

#endif
