/* Changes of a module's code, put into this process by itself: while it has one thread, or before
 * any of the code has run. */
#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/patch.h"

#define PAGE 4096u

struct ttp_code_view ttp_view_of(const struct dl_phdr_info *info)
{
    return (struct ttp_code_view){
        .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum, .bias = info->dlpi_addr};
}

bool ttp_changes_begin(struct ttp_changes *changes, uint32_t capacity)
{
    long memory = ttp_room_map((size_t)capacity * sizeof *changes->list);
    *changes = (struct ttp_changes){.capacity = capacity};
    if (ttp_failed(memory))
        return false;
    changes->list = (struct ttp_change *)memory;
    return true;
}

void ttp_changes_end(struct ttp_changes *changes)
{
    ttp_room_unmap(changes->list, (size_t)changes->capacity * sizeof *changes->list);
}

static long protect(uintptr_t start, uintptr_t end, int protection)
{
    return ttp_syscall(SYS_mprotect, (long)start, (long)(end - start), protection, 0, 0, 0);
}

/* Bytes are put where the code is what they were decided for. */
static void put_bytes(const struct ttp_changes *changes, uintptr_t from, uint64_t bytes)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct ttp_change *change = &changes->list[i];
        uint8_t *at = (uint8_t *)change->at;
        if (change->at - from < bytes && ttp_bytes_read(at, change->count) == change->was)
            ttp_bytes_write(at, change->count, change->becomes);
    }
}

static bool change_segment(const struct ttp_code_change *change, const ElfW(Phdr) * segment)
{
    uintptr_t from = change->info->dlpi_addr + segment->p_vaddr;
    uintptr_t start = from & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = (from + segment->p_filesz + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    int before = PROT_EXEC | ((segment->p_flags & PF_R) != 0 ? PROT_READ : 0);
    if (protect(start, end, PROT_READ | PROT_WRITE) != 0) {
        (void)protect(start, end, before);
        return false;
    }
    put_bytes(change->changes, from, segment->p_filesz);
    if (protect(start, end, before) == 0)
        return true;
    ttp_syscall(SYS_mmap, (long)start, (long)(end - start), before, MAP_PRIVATE | MAP_FIXED,
                change->file, (long)(segment->p_offset & ~(uint64_t)(PAGE - 1)));
    return false;
}

bool ttp_code_change(const struct ttp_code_change *change)
{
    bool is_any = false;
    for (uint32_t i = 0; i < change->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &change->info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & (PF_X | PF_W)) == PF_X)
            is_any |= change_segment(change, segment);
    }
    return is_any;
}
