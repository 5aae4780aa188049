/* The kernel's list of this process's mappings, read with small buffers because stacks may be
 * small: which mapping an address is in, what file it is of, and whether a file is mapped already.
 * At the start, when it is asked for each module, it is read once. */
#include <fcntl.h>
#include <sys/syscall.h>

#include "recorder/runtime/slow.h"

#define HELD_MAX   256u /* files that are mapped; of more, the list is read again */
#define HELD_BYTES 4096u

struct maps_reader {
    long fd;
    uint32_t at, size, room;
    char *large; /* of `room` bytes; NULL: there is a small one */
    char small[256];
};

static bool open_maps(struct maps_reader *in)
{
    in->at = in->size = 0;
    in->room = sizeof(in->small);
    in->large = NULL;
    in->fd =
        ttp_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    return in->fd >= 0;
}

static void close_maps(struct maps_reader *in) { ttp_syscall(SYS_close, in->fd, 0, 0, 0, 0, 0); }

static int next_char(struct maps_reader *in)
{
    char *buffer = in->large != NULL ? in->large : in->small;
    if (in->at == in->size) {
        long got = ttp_syscall(SYS_read, in->fd, (long)buffer, in->room, 0, 0, 0);
        if (got <= 0)
            return -1;
        in->size = (uint32_t)got;
        in->at = 0;
    }
    return (unsigned char)buffer[in->at++];
}

/* Returns the character behind the number. */
static int read_number(struct maps_reader *in, uint32_t base, uint64_t *value)
{
    int c;
    *value = 0;
    while ((c = next_char(in)) >= 0) {
        uint32_t digit = c >= 'a' ? (uint32_t)c - 'a' + 10 : (uint32_t)c - '0';
        if (digit >= base || (c > '9' && c < 'a'))
            break;
        *value = *value * base + digit;
    }
    return c;
}

static int skip_to(struct maps_reader *in, int wanted)
{
    int c;
    while ((c = next_char(in)) >= 0 && c != wanted && c != '\n') {
    }
    return c;
}

/* The next line's range. */
static bool next_mapping(struct maps_reader *in, uint64_t *low, uint64_t *high)
{
    return read_number(in, 16, low) == '-' && read_number(in, 16, high) == ' ';
}

/* `before` is the end of the mapping below, so that nothing lies between it and this one. */
bool ttp_mapping_find(uintptr_t address, uintptr_t *low, uintptr_t *high, uintptr_t *before)
{
    struct maps_reader in;
    bool found = false;
    *before = *high = 0;
    if (!open_maps(&in))
        return false;
    while (!found) {
        *before = *high;
        if (!next_mapping(&in, low, high))
            break;
        found = address >= *low && address < *high;
        if (skip_to(&in, '\n') != '\n')
            break;
    }
    close_maps(&in);
    return found;
}

/* Behind the range come rights, offset, device, inode and the path, apart by spaces. */
static size_t read_path(struct maps_reader *in, char *path, size_t room)
{
    size_t size = 0;
    int c = 0;
    for (int field = 0; field < 4 && c != '\n' && c >= 0; field++)
        c = skip_to(in, ' ');
    while (c == ' ')
        c = next_char(in);
    for (; c >= 0 && c != '\n'; c = next_char(in))
        if (size < room)
            path[size++] = (char)c;
    return size;
}

size_t ttp_mapping_path(uintptr_t address, char *path, size_t room)
{
    struct maps_reader in;
    uint64_t low, high;
    size_t size = 0;
    if (!open_maps(&in))
        return 0;
    while (next_mapping(&in, &low, &high)) {
        if (address >= low && address < high) {
            size = read_path(&in, path, room);
            break;
        }
        if (skip_to(&in, '\n') != '\n')
            break;
    }
    close_maps(&in);
    return size != 0 && path[0] == '/' ? size : 0;
}

/* The number of a device as stat() has it. The C library's macro may be a call that others lack. */
static uint64_t device_of(uint64_t major, uint64_t minor)
{
    return (major & 0xfffu) << 8 | (major & ~(uint64_t)0xfffu) << 32 | (minor & 0xffu) |
           (minor & ~(uint64_t)0xffu) << 12;
}

/* From behind the range on to the line's end. False: there are no such numbers. */
static bool read_file(struct maps_reader *in, uint64_t *device, uint64_t *inode)
{
    uint64_t major, minor;
    skip_to(in, ' '); /* rights */
    skip_to(in, ' '); /* offset */
    if (read_number(in, 16, &major) != ':' || read_number(in, 16, &minor) != ' ')
        return false;
    if (read_number(in, 10, inode) != '\n')
        skip_to(in, '\n');
    *device = device_of(major, minor);
    return true;
}

static bool is_of_file(struct maps_reader *in, uint64_t device, uint64_t inode)
{
    uint64_t its_device, its_inode;
    return read_file(in, &its_device, &its_inode) && its_device == device && its_inode == inode;
}

bool ttp_mapped_file_read(uintptr_t address, struct ttp_mapped_file *file)
{
    struct maps_reader in;
    uint64_t low, high;
    bool found = false;
    if (!open_maps(&in))
        return false;
    while (!found && next_mapping(&in, &low, &high) && read_file(&in, &file->device, &file->inode))
        found = address >= low && address < high;
    close_maps(&in);
    return found && file->inode != 0;
}

/* One entry for each file that follows itself. */
static struct held {
    uint64_t low, high;
    struct ttp_mapped_file file;
} held[HELD_MAX];
static uint32_t held_count;

static void hold_range(uint64_t low, uint64_t high, const struct ttp_mapped_file *file)
{
    struct held *last = held_count != 0 ? &held[held_count - 1] : NULL;
    if (last != NULL && last->file.device == file->device && last->file.inode == file->inode)
        last->high = high;
    else if (held_count < HELD_MAX)
        held[held_count++] = (struct held){low, high, *file};
}

void ttp_mapped_files_hold(void)
{
    static char buffer[HELD_BYTES];
    struct maps_reader in;
    struct ttp_mapped_file file;
    uint64_t low, high;
    held_count = 0;
    if (!open_maps(&in))
        return;
    in.large = buffer;
    in.room = sizeof(buffer);
    while (next_mapping(&in, &low, &high) && read_file(&in, &file.device, &file.inode))
        hold_range(low, high, &file);
    close_maps(&in);
}

void ttp_mapped_files_let(void) { held_count = 0; }

bool ttp_mapped_file_find(uintptr_t address, struct ttp_mapped_file *file)
{
    for (uint32_t i = 0; i < held_count; i++)
        if (address >= held[i].low && address < held[i].high) {
            *file = held[i].file;
            return file->inode != 0;
        }
    return ttp_mapped_file_read(address, file);
}

bool ttp_mapping_has_file(uint64_t device, uint64_t inode)
{
    struct maps_reader in;
    uint64_t low, high;
    bool found = false;
    if (!open_maps(&in))
        return false;
    while (!found && next_mapping(&in, &low, &high))
        found = is_of_file(&in, device, inode);
    close_maps(&in);
    return found;
}

/* Not the kernel's own page, which is above all addresses of a process. */
bool ttp_mappings_visit(ttp_mapping_visitor visit, void *context)
{
    struct maps_reader in;
    uint64_t low, high;
    if (!open_maps(&in))
        return false;
    while (next_mapping(&in, &low, &high)) {
        bool is_arena = is_of_file(&in, ttp_process.arena_device, ttp_process.arena_file);
        if (high <= INTPTR_MAX)
            visit(context, low, high, is_arena);
    }
    close_maps(&in);
    return true;
}
