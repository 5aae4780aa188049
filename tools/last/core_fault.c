/* Reads the notes of an ELF core file, as Linux writes them on x86-64: first those of the thread
 * that ended the process, and its siginfo. The file is data of anybody's: each read is bounded, and
 * what does not fit ends the search.
 *
 *   head -> program headers -> segments of notes -> "CORE" 1: thread; "CORE" SIGI: siginfo */
#include "tools/last/core_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/io/scratch_file.h"

#define HEAD_BYTES      64u
#define ENTRY_BYTES     56u
#define NOTE_BYTES      20u /* sizes, type, and a name of up to eight bytes */
#define NOTES_MAX       65536u
#define TYPE_CORE       4u
#define MACHINE_X86_64  62u
#define SEGMENT_NOTE    4u
#define NOTE_STATUS     1u
#define NOTE_SIGINFO    0x53494749u
#define STATUS_TID      32u
#define STATUS_BYTES    36u
#define STATUS_CODE     240u /* rip */
#define SIGINFO_CODE    8u
#define SIGINFO_ADDRESS 16u
#define SIGINFO_BYTES   24u
#define CODE_NO_ADDRESS 0x80u /* from there on and below 1 */

struct reading {
    int fd;
    uint64_t file_bytes;
    uint32_t notes; /* looked at so far */
    bool has_tid, has_signal;
    struct tool_core_fault *fault;
};

static bool read_at(const struct reading *core, uint64_t offset, uint8_t *to, size_t size_bytes)
{
    return offset <= core->file_bytes && size_bytes <= core->file_bytes - offset &&
           tool_read_full(core->fd, to, size_bytes, (off_t)offset) == (ssize_t)size_bytes;
}

static uint64_t number(const uint8_t *at, unsigned size_bytes)
{
    uint64_t value = 0;
    for (unsigned i = size_bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void take_status(struct reading *core, uint64_t offset, uint64_t size_bytes)
{
    uint8_t status[STATUS_BYTES];
    if (core->has_tid || size_bytes < STATUS_BYTES || !read_at(core, offset, status, sizeof status))
        return;
    core->fault->tid = number(status + STATUS_TID, 4);
    core->has_tid = true;
    if (size_bytes < STATUS_CODE + 8 || !read_at(core, offset + STATUS_CODE, status, 8))
        return;
    core->fault->code = number(status, 8);
    core->fault->has_code = true;
}

static void take_siginfo(struct reading *core, uint64_t offset, uint64_t size_bytes)
{
    uint8_t info[SIGINFO_BYTES];
    struct tool_core_fault *fault = core->fault;
    if (core->has_signal || size_bytes < SIGINFO_BYTES || !read_at(core, offset, info, sizeof info))
        return;
    uint32_t code = (uint32_t)number(info + SIGINFO_CODE, 4);
    fault->signal = number(info, 4);
    bool is_fault = fault->signal == SIGSEGV || fault->signal == SIGBUS ||
                    fault->signal == SIGFPE || fault->signal == SIGILL;
    fault->has_address = is_fault && code - 1 < CODE_NO_ADDRESS - 1;
    fault->address = fault->has_address ? number(info + SIGINFO_ADDRESS, 8) : 0;
    core->has_signal = true;
}

/* Name size, content size, type; name and content are padded to four bytes. */
static void read_notes(struct reading *core, uint64_t at, uint64_t left)
{
    uint8_t note[NOTE_BYTES];
    while (left >= NOTE_BYTES && core->notes++ < NOTES_MAX && !core->has_signal &&
           read_at(core, at, note, sizeof note)) {
        uint64_t name = (number(note, 4) + 3) / 4 * 4, content = (number(note + 4, 4) + 3) / 4 * 4;
        uint64_t offset = at + 12 + name, type = number(note + 8, 4);
        if (name + content > left - 12)
            return;
        if (name == 8 && memcmp(note + 12, "CORE", 5) == 0 && type == NOTE_STATUS)
            take_status(core, offset, content);
        else if (name == 8 && memcmp(note + 12, "CORE", 5) == 0 && type == NOTE_SIGINFO)
            take_siginfo(core, offset, content);
        at = offset + content;
        left -= 12 + name + content;
    }
}

static const char *read_core(struct reading *core)
{
    static const uint8_t ident[6] = {0x7F, 'E', 'L', 'F', 2, 1}; /* 64 bits, little-endian */
    uint8_t head[HEAD_BYTES], entry[ENTRY_BYTES];
    if (!read_at(core, 0, head, sizeof head) || memcmp(head, ident, sizeof ident) != 0 ||
        number(head + 16, 2) != TYPE_CORE || number(head + 18, 2) != MACHINE_X86_64)
        return "it is no core file of x86-64";
    uint64_t offset = number(head + 32, 8), step = number(head + 54, 2);
    for (uint64_t i = 0; i < number(head + 56, 2) && !core->has_signal; i++) {
        if (step < ENTRY_BYTES || offset > core->file_bytes ||
            !read_at(core, offset + i * step, entry, sizeof entry))
            break;
        if (number(entry, 4) == SEGMENT_NOTE)
            read_notes(core, number(entry + 8, 8), number(entry + 32, 8));
    }
    return core->has_tid && core->has_signal ? NULL : "it does not say which signal ended what";
}

const char *tool_core_fault_read(const char *path, struct tool_core_fault *fault)
{
    struct stat info;
    struct reading core = {.fault = fault};
    *fault = (struct tool_core_fault){0};
    core.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (core.fd < 0)
        return strerror(errno);
    const char *why = "it is no regular file";
    if (fstat(core.fd, &info) == 0 && S_ISREG(info.st_mode)) {
        core.file_bytes = (uint64_t)info.st_size;
        why = read_core(&core);
    }
    (void)close(core.fd);
    return why;
}
