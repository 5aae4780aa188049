/* Between the converter for CTF and the process that reads CTF for it: what goes through the pipe.
 *
 *   child (convert_ctf_graph.c)        pipe                     parent (convert_ctf.c)
 *   babeltrace2 -> message -> tool_ctf_wire + text ----------> definitions, scratch file -> writer
 *
 * babeltrace2 reads bytes that may be forged: when it dies over them, only the child dies. */
#ifndef TOOL_CONVERT_CTF_H
#define TOOL_CONVERT_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_CTF_TEXT_MAX   65536u /* bytes of text behind a record */
#define TOOL_CTF_TRACES_MAX 4096u  /* folders that are read as one */

enum tool_ctf_kind {
    TOOL_CTF_WIRE_ENTRY, /* a address, b site + 1 or 0, c 1: was open before; text: values */
    TOOL_CTF_WIRE_EXIT,  /* a address, b site + 1 or 0, c tool_ctf_left; text: values */
    TOOL_CTF_WIRE_POINT, /* a, b; text: values */
    TOOL_CTF_WIRE_UNSEEN,
    TOOL_CTF_WIRE_GAP, /* a lost events; text: reason */
    TOOL_CTF_WIRE_SWITCH,
    TOOL_CTF_WIRE_SIGNAL,     /* a number, c as ENTRY */
    TOOL_CTF_WIRE_SIGNAL_END, /* a number, c as EXIT */
    TOOL_CTF_WIRE_LOST,       /* a discarded events of `source`, of whatever thread; 0: unknown */
    TOOL_CTF_WIRE_EVENTS,     /* kinds below are events, in the order of time */

    TOOL_CTF_WIRE_SITE,     /* a address, b site, c line; texts: kind, symbol, module, file */
    TOOL_CTF_WIRE_THREAD,   /* a pid, b tid, c parent's pid; texts: process, thread */
    TOOL_CTF_WIRE_NAME,     /* text: what the thread's process is called */
    TOOL_CTF_WIRE_MODULE,   /* a start, b bytes; text: path */
    TOOL_CTF_WIRE_BUILD_ID, /* a start; text: the bytes */
    TOOL_CTF_WIRE_CLOCK,    /* text: name */
    TOOL_CTF_WIRE_OTHER,    /* a events of other kinds, b whose time has no ns, at the end */
    TOOL_CTF_WIRE_DAMAGE,   /* a events read, b folder; text: the file that ends there */
    TOOL_CTF_WIRE_DONE,     /* read to the end */
    TOOL_CTF_WIRE_FAILED    /* text: why; a 1: before it read anything */
};

/* What an event's name makes of it. */
enum tool_ctf_event {
    TOOL_CTF_EVENT_OTHER = 1,
    TOOL_CTF_EVENT_ENTRY,
    TOOL_CTF_EVENT_EXIT,
    TOOL_CTF_EVENT_POINT,
    TOOL_CTF_EVENT_UNSEEN,
    TOOL_CTF_EVENT_GAP,
    TOOL_CTF_EVENT_SWITCH,
    TOOL_CTF_EVENT_SIGNAL,
    TOOL_CTF_EVENT_SIGNAL_END,
    TOOL_CTF_EVENT_SITE,
    TOOL_CTF_EVENT_THREAD,
    TOOL_CTF_EVENT_MODULE,
    TOOL_CTF_EVENT_BUILD_ID
};

enum tool_ctf_left {
    TOOL_CTF_LEFT_EXIT,
    TOOL_CTF_LEFT_UNWIND,
    TOOL_CTF_LEFT_OPEN /* it was not left: the export ended there */
};

#define TOOL_CTF_HAS_ADDRESS 1u /* otherwise an EXIT is of whatever is on top */
#define TOOL_CTF_HAS_THREAD  2u /* otherwise `tid` is the number of the CTF stream */

/* Texts follow, text_bytes of them, each NUL-terminated. */
struct tool_ctf_wire {
    uint32_t kind, text_bytes;
    uint64_t time_ns;
    uint64_t a, b, c;
    uint64_t pid, tid;
    uint32_t source, flags;
};

/* The child's end of the pipe: records that are collected, and the text of the next one. */
struct tool_ctf_out {
    int fd;
    bool failed;
    char *bytes;
    size_t used;
    char text[TOOL_CTF_TEXT_MAX];
    size_t text_bytes;
};

/* convert_ctf_out.c. False: no memory. */
bool tool_ctf_out_begin(struct tool_ctf_out *out, int fd);
void tool_ctf_out_flush(struct tool_ctf_out *out);
/* Sends a record with the text. */
void tool_ctf_out_send(struct tool_ctf_out *out, struct tool_ctf_wire *wire);
/* Adds a text to the next record, cut where it is too long. */
void tool_ctf_out_text(struct tool_ctf_out *out, const char *text);

/* What convert_ctf.c gives to that child (program/process/child.h). */
struct tool_ctf_folders {
    char *const *paths;
    size_t count;
};

/* convert_ctf_graph.c: reads the folders and writes records to a descriptor. Only ever called in a
 * process of its own; returns its exit status. */
int tool_ctf_read(char *const *folders, size_t count, int fd);
/* convert_ctf_names.c. */
enum tool_ctf_event tool_ctf_event_of(const char *name);
/* Whether babeltrace2 can open a trace's folder. Only ever called in a process of its own. */
bool tool_ctf_is_sound(const char *folder);

/* convert_ctf_folders.c. is_any: whether there is a trace at or below a folder. find: the folders
 * below one that hold a CTF trace each, as paths that start with
 * `path`, allocated. Returns a tool_exit; links and anything else that is no plain file in them is
 * refused. TOOL_OK and a count of 0: there is none. */
bool tool_ctf_is_any(int directory);
int tool_ctf_find(int directory, const char *path, char ***folders, size_t *count);

#endif
