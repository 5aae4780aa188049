/* What arguments of system calls point to, in words: structures, arrays, vectors. Their bytes are
 * those of Linux on x86-64, whatever machine this is; they come from a file, and may be short. */
#ifndef TOOL_KERNEL_PARTS_H
#define TOOL_KERNEL_PARTS_H

#include "tools/kernel/kernel_words.h"

/* One argument: its token is a sign and a letter (kernel_calls.h). */
struct tool_part {
    const struct tool_call_values *call;
    ttape_string given, filled; /* no bytes: not recorded */
    uint64_t address;           /* where nothing is known of it */
    uint32_t index;             /* of the argument */
    char sign, letter;
};

/* The bytes that its words are made of. */
ttape_string tool_part_contents(const struct tool_part *part);
/* Contents, or the address. */
void tool_part_put(struct tool_output *out, const struct tool_part *part);

/* ---- what the files of the parts share ---- */

/* The little-endian number of that size; 0 behind the end. */
uint64_t tool_part_number(ttape_string bytes, size_t offset, size_t size);
int64_t tool_part_signed(ttape_string bytes, size_t offset, size_t size);
ttape_string tool_part_rest(ttape_string bytes, size_t offset);               /* from there on */
ttape_string tool_part_piece(ttape_string bytes, size_t offset, size_t size); /* cut at the end */
void tool_kernel_put_address(struct tool_output *out, uint64_t value);
void tool_kernel_put_quoted(struct tool_output *out, ttape_string text, bool is_cut);
/* Up to the first zero, as C writes it. */
void tool_kernel_put_name(struct tool_output *out, ttape_string text);

/* A row of a structure: what stands in front of it, where it is, and how it is shown. */
struct tool_field {
    const char *before; /* with size 0 the last row: what stands at the end */
    uint16_t offset;
    uint8_t size;
    char how;             /* d signed, u unsigned, x hexadecimal, p address, - user or group, */
    unsigned char letter; /* f flags of this letter */
};
void tool_part_put_fields(struct tool_output *out, const struct tool_field *fields,
                          ttape_string bytes);
/* The argument's number; 0: it has none. */
uint64_t tool_call_number_at(const struct tool_call_values *call, uint32_t i);

/* Each of them puts the part of its letters, and is not called without contents. False: it has too
 * few bytes, or is none of them; nothing was written. */
bool tool_part_put_time(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_file(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_signal(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_socket(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_buffers(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_waiting(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_process(struct tool_output *out, const struct tool_part *part);
bool tool_part_put_control(struct tool_output *out, const struct tool_part *part);

void tool_kernel_put_timespec(struct tool_output *out, ttape_string bytes);
void tool_kernel_put_timeval(struct tool_output *out, ttape_string bytes);
/* As a comment, with as many digits of a part of a second; nothing at 0. */
void tool_kernel_put_date(struct tool_output *out, int64_t seconds, uint64_t part, int digits);
void tool_kernel_put_signals(struct tool_output *out, ttape_string mask);
void tool_kernel_put_siginfo(struct tool_output *out, ttape_string bytes);
/* What a call like poll says with its result. */
void tool_kernel_put_waited(struct tool_output *out, const struct tool_call_values *call);
/* " ([{fd=5, revents=POLLOUT}])", or what of select is ready, and which time is left. */
void tool_kernel_put_ready(struct tool_output *out, const struct tool_call_values *call,
                           const struct tool_part *parts, uint32_t count);

#endif
