/* Which objects are mapped where: messages in the stream of the thread that asks, complete lists
 * each time, so that a reader needs no history. Not for signal handlers: the loader's lock.
 *
 * No function of the C library but the loader's is called: the program may have one of that name,
 * as a sanitizer's, which is not ready before its own constructor has run. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define PAGE           4096u
#define PATH_BYTES_MAX 4096u
#define BUILD_ID_MAX   64u
#define OWN_FILE       "/proc/self/exe"

typedef int (*iterate_function)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

/* The loader's own, where the program has one in front of it. It is looked for once, when there is
 * one thread: looking takes the lock of dlopen, which must not be taken within a visit. */
void ttp_modules_visit(int (*see)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static iterate_function real;
    iterate_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dl_iterate_phdr;
#ifdef TTP_RUNTIME_SHARED
        void *next = ttp_next_function("dl_iterate_phdr");
        ttp_lookup_quiet();
        if (next != NULL)
            found = (iterate_function)next;
#endif
        __atomic_store_n(&real, found, __ATOMIC_RELAXED);
    }
    found(see, data);
}

static bool begins_with(const char *text, const char *wanted)
{
    while (*wanted != '\0' && *text == *wanted) {
        text++;
        wanted++;
    }
    return *wanted == '\0';
}

static size_t rounded(size_t size) { return (size + 3) & ~(size_t)3; }

/* The build id among the notes of one segment. Sizes are the object's own words: checked. */
static void find_build_id(const uint8_t *notes, size_t size, struct ttp_module_seen *module)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        __builtin_memcpy(&head, notes, sizeof(head));
        size_t name = rounded(head.n_namesz), body = rounded(head.n_descsz);
        size_t whole = sizeof(head) + name + body;
        if (head.n_namesz > size || head.n_descsz > size || whole > size)
            return;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
            begins_with((const char *)notes + sizeof(head), "GNU") &&
            head.n_descsz <= BUILD_ID_MAX) {
            module->build_id = notes + sizeof(head) + name;
            module->build_id_size = head.n_descsz;
            return;
        }
        notes += whole;
        size -= whole;
    }
}

bool ttp_module_look(const struct dl_phdr_info *info, struct ttp_module_seen *module)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
            continue;
        low = segment->p_vaddr < low ? segment->p_vaddr : low;
        high =
            segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz : high;
    }
    if (low >= high)
        return false;
    *module = (struct ttp_module_seen){.start = info->dlpi_addr + (low & ~(uint64_t)(PAGE - 1)),
                                       .end = info->dlpi_addr + high};
    for (uint32_t i = 0; i < info->dlpi_phnum && module->build_id == NULL; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && segment->p_vaddr >= low &&
            segment->p_memsz <= high - segment->p_vaddr && segment->p_vaddr < high)
            find_build_id((const uint8_t *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                          module);
    }
    return true;
}

/* A name that does not begin at the root is as the program gave it to dlopen: the kernel knows
 * better. */
static size_t path_of(const char *name, uint64_t start, char *buffer, const char **path)
{
    *path = name;
    if (name[0] != '\0' && name[0] != '/') {
        size_t size = ttp_mapping_path((uintptr_t)start, buffer, PATH_BYTES_MAX);
        if (size != 0) {
            *path = buffer;
            return size;
        }
    }
    size_t size = 0;
    while (size < PATH_BYTES_MAX && name[size] != '\0')
        size++;
    return size;
}

struct ttp_telling {
    uint32_t count;
    bool failed;
    bool keeps; /* for later */
    char buffer[PATH_BYTES_MAX];
};

static int tell_one(struct dl_phdr_info *info, size_t size, void *data)
{
    struct ttp_telling *telling = data;
    struct ttp_module_seen module;
    const char *path;
    (void)size;
    if (!ttp_module_look(info, &module))
        return 0;
    size_t path_size = path_of(info->dlpi_name != NULL ? info->dlpi_name : "", module.start,
                               telling->buffer, &path);
    uint64_t range[2] = {module.start, module.end};
    struct ttp_message_field fields[4] = {{range, sizeof(range)},
                                          {&module.build_id_size, sizeof(module.build_id_size)},
                                          {module.build_id, module.build_id_size},
                                          {path, path_size}};
    telling->count++;
    if (telling->keeps)
        ttp_kept_add(fields, 4);
    else
        telling->failed = !ttp_message(TTP_MESSAGE_MODULE, fields, 4);
    return telling->failed;
}

static void keep_all(struct ttp_telling *telling)
{
    if (!ttp_kept_begin())
        return;
    *telling = (struct ttp_telling){.keeps = true};
    ttp_modules_visit(tell_one, telling);
    ttp_kept_end(telling->count);
    telling->failed = true;
}

/* Runs under the loader's lock, which is recursive: no other thread's list comes between. */
static int tell_all(struct dl_phdr_info *info, size_t size, void *data)
{
    struct ttp_telling *telling = data;
    (void)info;
    (void)size;
    if (!telling->failed)
        ttp_modules_visit(tell_one, telling);
    if (!telling->failed) {
        struct ttp_message_field count = {&telling->count, sizeof(telling->count)};
        telling->failed = !ttp_message(TTP_MESSAGE_MODULES_END, &count, 1);
    }
    if (telling->failed)
        keep_all(telling);
    else
        ttp_kept_forget();
    return 1;
}

bool ttp_modules_write(void)
{
    struct ttp_telling telling = {.count = 0};
    telling.failed = !ttp_thread_ready((uintptr_t)__builtin_frame_address(0));
    ttp_modules_visit(tell_all, &telling);
    return !telling.failed;
}

/* -- the C library's code -- */

static bool is_libc(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at != '\0'; at++)
        name = *at == '/' ? at + 1 : name;
    return begins_with(name, "libc.so") || begins_with(name, "libc-2") ||
           begins_with(name, "ld-musl") || begins_with(name, "libc.musl");
}

/* The first object is the program, which has it all when it was linked statically. */
static int look_for_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    uint32_t *count = data;
    bool is_first = (*count)++ == 0;
    (void)size;
    if (!is_first && !is_libc(info->dlpi_name != NULL ? info->dlpi_name : ""))
        return 0;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 ||
            segment->p_memsz < sizeof(uint64_t))
            continue;
        ttp_process.libc_low = info->dlpi_addr + segment->p_vaddr;
        ttp_process.libc_high = ttp_process.libc_low + segment->p_memsz - sizeof(uint64_t);
    }
    return !is_first;
}

/* Where handlers return to: nothing else is looked at as code. */
void ttp_libc_find(void)
{
    uint32_t count = 0;
    ttp_modules_visit(look_for_libc, &count);
}

/* -- the program -- */

/* Under a filter, what the kernel has told already. */
size_t ttp_program_path(char *path, size_t room)
{
    if (!ttp_process.avoids_system_calls) {
        long size = ttp_syscall(SYS_readlink, (long)OWN_FILE, (long)path, (long)room, 0, 0, 0);
        return size > 0 ? (size_t)size : 0;
    }
    const char *executed = ttp_process.executed;
    size_t size = 0;
    for (; executed != NULL && size < room && executed[size] != '\0'; size++)
        path[size] = executed[size];
    return size;
}

static size_t last_part(const char *path, size_t size)
{
    size_t at = size;
    while (at > 0 && path[at - 1] != '/')
        at--;
    return at;
}

static bool has_same_end(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t i = last_part(a, a_bytes), k = last_part(b, b_bytes);
    while (i < a_bytes && k < b_bytes && a[i] == b[k]) {
        i++;
        k++;
    }
    return i == a_bytes && k == b_bytes;
}

/* A script is not: that is its interpreter. */
static bool is_program_file(const char *path)
{
    struct stat named, program;
    return ttp_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)&named, 0, 0, 0) == 0 &&
           ttp_syscall(SYS_newfstatat, AT_FDCWD, (long)OWN_FILE, (long)&program, 0, 0, 0) == 0 &&
           named.st_dev == program.st_dev && named.st_ino == program.st_ino;
}

/* Where a link of another name led to the program: behind its path, which has `size` bytes, a 0
 * byte and the link's. Returns the size of both. */
size_t ttp_program_link(char *path, size_t size, size_t room)
{
    const char *executed = ttp_process.executed;
    size_t link_bytes = 0, at = size + 1;
    while (executed != NULL && link_bytes < room && executed[link_bytes] != '\0')
        link_bytes++;
    if (link_bytes == 0 || ttp_process.avoids_system_calls ||
        has_same_end(path, size, executed, link_bytes) || !is_program_file(executed))
        return size;
    if (executed[0] != '/') {
        long folder = at < room ? ttp_syscall(SYS_getcwd, (long)path + (long)at, (long)(room - at),
                                              0, 0, 0, 0)
                                : 0;
        if (ttp_failed(folder) || folder <= 1 || path[at] != '/')
            return size;
        at += (size_t)folder;
        path[at - 1] = '/';
        for (; link_bytes > 2 && executed[0] == '.' && executed[1] == '/'; link_bytes -= 2)
            executed += 2;
    }
    if (at >= room || link_bytes > room - at)
        return size;
    for (size_t i = 0; i < link_bytes; i++)
        path[at + i] = executed[i];
    path[size] = '\0';
    return at + link_bytes;
}

/* Returns the place of the entry. */
char **ttp_environment_find(char **environment, const char *name, const char **value)
{
    for (char **at = environment; at != NULL && *at != NULL; at++) {
        const char *entry = *at, *wanted = name;
        while (*wanted != '\0' && *entry == *wanted) {
            entry++;
            wanted++;
        }
        if (*wanted == '\0' && *entry == '=') {
            *value = entry + 1;
            return at;
        }
    }
    return NULL;
}
