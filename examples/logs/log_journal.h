/* A context value as the field TTAPE_CONTEXT of a journal's entry:
 *
 *     journal_context("MESSAGE=no route to %s", name, "PRIORITY=%i", LOG_ERR, NULL);
 *     journalctl -o json --output-fields=MESSAGE,TTAPE_CONTEXT
 */
#ifndef LOG_JOURNAL_H
#define LOG_JOURNAL_H

#include <systemd/sd-journal.h>

#include <tracetape/context.h>

#define journal_context(...)                                                                       \
    do {                                                                                           \
        char log_where_[TTAPE_CONTEXT_TEXT_BYTES];                                                 \
        ttape_context_text(log_where_, sizeof log_where_);                                         \
        sd_journal_send("TTAPE_CONTEXT=%s", log_where_, __VA_ARGS__);                              \
    } while (0)

#endif
