/* A context value in front of each message of GLib's structured log, and as its field
 * TTAPE_CONTEXT:
 *
 *     g_log_set_writer_func(log_glib_writer, NULL, NULL);
 *
 * The writer runs in the thread that logs, so that the value is that of g_message's caller. */
#ifndef LOG_GLIB_H
#define LOG_GLIB_H

#include <string.h>

#include <glib.h>

#include <tracetape/context.h>

#define LOG_GLIB_FIELDS 30u

__attribute__((no_instrument_function, unused)) static GLogWriterOutput
log_glib_writer(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer unused)
{
    char context[TTAPE_CONTEXT_TEXT_BYTES], line[4096];
    GLogField own[LOG_GLIB_FIELDS + 1];
    gsize kept = count < LOG_GLIB_FIELDS ? count : LOG_GLIB_FIELDS;
    (void)unused;
    if (ttape_context_text(context, sizeof context) == 0)
        return g_log_writer_default(level, fields, count, NULL);
    for (gsize i = 0; i < kept; i++) {
        own[i] = fields[i];
        if (strcmp(fields[i].key, "MESSAGE") != 0 || fields[i].length >= 0)
            continue;
        g_snprintf(line, sizeof line, "[%s] %s", context, (const char *)fields[i].value);
        own[i].value = line;
    }
    own[kept] = (GLogField){"TTAPE_CONTEXT", context, -1};
    return g_log_writer_default(level, own, kept + 1, NULL);
}

#endif
