/* Notes beside the trace in an HTML file: what the command knows and the trace alone does not say.
 * One after the other: a head, then a text.
 *
 *   | kind 1 | site 4 | size of the text 4 | text |          little-endian */
#ifndef TOOL_HTML_NOTES_H
#define TOOL_HTML_NOTES_H

#define HTML_NOTE_HEAD_BYTES 9u

enum html_note_kind {
    HTML_NOTE_TRACE,     /* what the trace is called on a command line */
    HTML_NOTE_NAME,      /* of a site, for people; where it has none, ttape_site_name makes it */
    HTML_NOTE_FULL_NAME, /* with types and parameters */
    HTML_NOTE_PATH,      /* of a source file, as sites have it; its text is the next note */
    HTML_NOTE_TEXT,
    HTML_NOTE_LINES /* what `tracetape lines --json` says of a function */
};

#endif
