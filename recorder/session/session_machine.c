/* The machine on which a command ran, as it was when that began, and what the command took of it:
 * into the metadata. What cannot be read is left out. */
#include "recorder/session/session_machine.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES 4096u /* of /proc: what is looked for stands at the beginning */
#define SECOND_NS  UINT64_C(1000000000)

static bool read_file(const char *path, char text[FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, FILE_BYTES - 1);
    if (fd >= 0)
        (void)close(fd);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* What stands behind "KEY:" or "KEY=" in a line, up to its end, without quotes; "": nothing. */
static void find_value(const char *text, const char *key, char sign, char *value, size_t size_bytes)
{
    size_t length = strlen(key), size = 0;
    value[0] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + length;
        if (strncmp(line, key, length) != 0 || (*at != sign && !isblank((unsigned char)*at)))
            continue;
        at += strspn(at, " \t:=\"");
        size = strcspn(at, "\"\n");
        size = size < size_bytes - 1 ? size : size_bytes - 1;
        memcpy(value, at, size);
        value[size] = '\0';
        return;
    }
}

static uint64_t find_bytes(const char *text, const char *key)
{
    char value[64];
    find_value(text, key, ':', value, sizeof value);
    return strtoull(value, NULL, 10) * 1024;
}

void ttp_machine_read(struct ttp_machine *machine)
{
    char text[FILE_BYTES];
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    *machine = (struct ttp_machine){.cpus = count > 0 ? (uint64_t)count : 0};
    if (read_file("/proc/cpuinfo", text))
        find_value(text, "model name", ':', machine->cpu, sizeof machine->cpu);
    if (read_file("/etc/os-release", text))
        find_value(text, "PRETTY_NAME", '=', machine->system, sizeof machine->system);
    if (read_file("/proc/meminfo", text)) {
        machine->memory_bytes = find_bytes(text, "MemTotal");
        machine->memory_free_bytes = find_bytes(text, "MemAvailable");
    }
    if (read_file("/proc/loadavg", text)) {
        char *end = strchr(text, ' '); /* behind the first, the second and the third number */
        for (int i = 0; i < 2 && end != NULL; i++)
            end = strchr(end + 1, ' ');
        if (end != NULL && (size_t)(end - text) < sizeof machine->load)
            memcpy(machine->load, text, (size_t)(end - text));
    }
}

static void put_text(ttape_recording *recording, const char *key, const char *text)
{
    if (text[0] != '\0')
        (void)ttape_recording_set_text(recording, key, text, NULL);
}

static void put_number(ttape_recording *recording, const char *key, uint64_t number)
{
    if (number != 0)
        (void)ttape_recording_set_number(recording, key, number, NULL);
}

void ttp_machine_put(const struct ttp_machine *machine, ttape_recording *recording)
{
    put_text(recording, "system", machine->system);
    put_text(recording, "cpu", machine->cpu);
    put_number(recording, "cpus", machine->cpus);
    put_number(recording, "memory_bytes", machine->memory_bytes);
    put_number(recording, "memory_free_bytes", machine->memory_free_bytes);
    put_text(recording, "load", machine->load);
}

static uint64_t to_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_usec * 1000;
}

static uint64_t count_of(long number) { return number > 0 ? (uint64_t)number : 0; }

void ttp_usage_put(const struct rusage *usage, ttape_recording *recording)
{
    const struct {
        const char *key;
        uint64_t number;
    } all[] = {{"user_ns", to_ns(usage->ru_utime)},
               {"system_ns", to_ns(usage->ru_stime)},
               {"max_rss_bytes", 1024 * count_of(usage->ru_maxrss)},
               {"minor_faults", count_of(usage->ru_minflt)},
               {"major_faults", count_of(usage->ru_majflt)},
               {"blocks_read", count_of(usage->ru_inblock)},
               {"blocks_written", count_of(usage->ru_oublock)},
               {"voluntary_switches", count_of(usage->ru_nvcsw)},
               {"involuntary_switches", count_of(usage->ru_nivcsw)}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)ttape_recording_set_number(recording, all[i].key, all[i].number, NULL);
}
