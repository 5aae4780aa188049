/* The log that a program under test keeps of itself, see own.h. Compiled without instrumentation.
 * */
#define _GNU_SOURCE
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct own_entry {
    uint32_t serial;
    char kind;
    char text[27];
};

struct own_log {
    uint32_t count, serials, lost, forks;
    uint32_t reserved[12];
    struct own_entry entries[];
};

static struct own_log *own;
static uint32_t capacity;
static int state; /* 0 not looked for, 1 somebody does, 2 done */
static __thread uint32_t serial;

static void open_log(void)
{
    int expected = 0;
    struct stat file;
    if (!__atomic_compare_exchange_n(&state, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 1)
            ;
        return;
    }
    const char *path = getenv("OWN_LOG");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &file) == 0) {
        void *memory = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            own = memory;
            capacity = (uint32_t)(((size_t)file.st_size - sizeof(*own)) / sizeof(own->entries[0]));
        }
        close(fd);
    }
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
}

static char *put_decimal(char *end, long number)
{
    unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;
    do {
        *--end = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0)
        *--end = '-';
    return end;
}

static void store(char kind, const char *text)
{
    uint32_t index = __atomic_fetch_add(&own->count, 1, __ATOMIC_RELAXED);
    if (index >= capacity) {
        __atomic_fetch_add(&own->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    struct own_entry *entry = &own->entries[index];
    entry->serial = serial;
    size_t i = 0;
    for (; text[i] != '\0' && i < sizeof(entry->text) - 1; i++)
        entry->text[i] = text[i];
    entry->text[i] = '\0';
    __atomic_store_n(&entry->kind, kind, __ATOMIC_RELEASE);
}

static void begin(void)
{
    char text[32], *end = text + sizeof(text) - 1;
    serial = __atomic_add_fetch(&own->serials, 1, __ATOMIC_RELAXED);
    *end = '\0';
    end = put_decimal(end, syscall(SYS_gettid));
    *--end = ' ';
    store('T', put_decimal(end, getpid()));
}

void own_put(char kind, const char *text)
{
    int kept = errno;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 2)
        open_log();
    if (own != NULL) {
        if (serial == 0)
            begin();
        store(kind, text);
    }
    errno = kept;
}

void own_number(char kind, long number)
{
    char text[24], *end = text + sizeof(text) - 1;
    *end = '\0';
    own_put(kind, put_decimal(end, number));
}

void own_back(const char *name) { own_put('B', name); }

long own_forking(void)
{
    own_put('N', "forks");
    if (own == NULL)
        return 0;
    long number = __atomic_fetch_add(&own->forks, 1, __ATOMIC_RELAXED);
    own_number('f', number);
    return number;
}

void own_forked(long fork)
{
    serial = 0;
    own_number('F', fork);
}

void own_report(const char *key, long value)
{
    char line[128], number[24], *start = number + sizeof(number) - 1;
    int kept = errno;
    const char *path = getenv("OWN_REPORT");
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        size_t size = strlen(key) < 90 ? strlen(key) : 90;
        *start = '\0';
        start = put_decimal(start, value);
        memcpy(line, key, size);
        line[size++] = ' ';
        memcpy(line + size, start, strlen(start));
        size += strlen(start);
        line[size++] = '\n';
        if (write(fd, line, size) < 0)
            _exit(99);
        close(fd);
    }
    errno = kept;
}

long own_argument(int argc, char **argv, int index, long otherwise)
{
    return index < argc ? strtol(argv[index], NULL, 10) : otherwise;
}
