/* What a module is called by: a hash of all of its bytes, kept under what the kernel says of it. */
#define _GNU_SOURCE /* st_mtim and the like */
#include "program/binary/plans/plan_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "program/binary/plans/plan_hash.h"
#include "program/elf/elf_head.h"

#define SECOND_NS    1000000000u
#define STEP_NS      20000000u        /* of clocks that files are stamped with, twice */
#define LONG_STEP_NS (2u * SECOND_NS) /* where a file system keeps no more than seconds */
#define READINGS     3u               /* of a file that somebody writes */
#define STAMP_NAME   (2 * sizeof(struct ttp_plan_stamp) + sizeof TTP_FILE_SUFFIX)

static uint64_t in_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static bool stamp(int fd, struct ttp_plan_stamp *stamp)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    *stamp = (struct ttp_plan_stamp){.device = (uint64_t)status.st_dev,
                                     .inode = (uint64_t)status.st_ino,
                                     .size_bytes = (uint64_t)status.st_size,
                                     .written_ns = in_ns(status.st_mtim),
                                     .changed_ns = in_ns(status.st_ctim)};
    return true;
}

static void put_digits(char *to, const uint8_t *bytes, size_t count, const char *suffix)
{
    for (size_t i = 0; i < count; i++)
        (void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    memcpy(to + 2 * count, suffix, strlen(suffix) + 1);
}

void tool_plan_name(char name[TOOL_PLAN_NAME_BYTES], const uint8_t content[TTP_PLAN_CONTENT_BYTES],
                    const char *suffix)
{
    put_digits(name, content, TTP_PLAN_CONTENT_BYTES, suffix);
}

static void name_stamp(char name[STAMP_NAME], const struct ttp_plan_stamp *stamp)
{
    put_digits(name, (const uint8_t *)stamp, sizeof *stamp, TTP_FILE_SUFFIX);
}

/* -- the file -- */

const char *tool_plan_input_read(struct tool_plan_input *input, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return "it cannot be read";
    if ((uint64_t)status.st_size > TOOL_PLAN_FILE_MAX)
        return "it has more than 1 GiB";
    input->size_bytes = (size_t)status.st_size;
    input->bytes = malloc(input->size_bytes > 0 ? input->size_bytes : 1);
    if (input->bytes == NULL)
        return "there is no memory for it";
    return tool_elf_read_exactly(fd, 0, input->bytes, input->size_bytes) ? NULL
                                                                         : "it cannot be read";
}

void tool_plan_input_close(struct tool_plan_input *input)
{
    free(input->bytes);
    *input = (struct tool_plan_input){0};
}

const char *tool_plan_module_open(struct tool_plan_module *module, const char *path)
{
    struct tool_elf_head head;
    const char *reason;
    *module = (struct tool_plan_module){.fd = tool_elf_open_file(NULL, path, &reason)};
    if (module->fd < 0)
        return reason;
    if (!stamp(module->fd, &module->stamp))
        return "it cannot be read";
    reason = tool_elf_head_read(module->fd, &head);
    if (reason != NULL)
        return reason;
    if (!head.is_64 || head.is_big_endian || head.machine != TOOL_ELF_X86_64)
        return "it is not for x86-64";
    return module->stamp.size_bytes > TOOL_PLAN_FILE_MAX ? "it has more than 1 GiB" : NULL;
}

void tool_plan_module_close(struct tool_plan_module *module)
{
    if (module->fd >= 0)
        close(module->fd);
    tool_plan_input_close(&module->input);
    module->fd = -1;
}

const char *tool_plan_input_open(struct tool_plan_input *input, const char *path)
{
    struct tool_plan_module module;
    *input = (struct tool_plan_input){0};
    const char *reason = tool_plan_module_open(&module, path);
    if (reason == NULL)
        reason = tool_plan_input_read(input, module.fd);
    tool_plan_module_close(&module);
    return reason;
}

/* -- what is in it -- */

bool tool_plan_module_find(struct tool_plan_module *module, const struct tool_plan_cache *cache)
{
    char name[STAMP_NAME];
    struct ttp_plan_file file;
    name_stamp(name, &module->stamp);
    if (module->is_known || cache == NULL || cache->fd < 0 ||
        !tool_plan_head_read(cache, name, &file, sizeof file) ||
        file.magic != TTP_PLAN_FILE_MAGIC || file.version != TTP_FILE_VERSION ||
        file.head_bytes != sizeof file ||
        memcmp(&file.stamp, &module->stamp, sizeof file.stamp) != 0)
        return module->is_known;
    memcpy(module->content, file.content, sizeof module->content);
    module->is_known = true;
    return true;
}

/* Clocks that files are stamped with go in steps: what is changed twice within one has one stamp.
 * Once the step is over, each change shows. A file of the future cannot be waited for. */
static void wait_for_step(const struct ttp_plan_stamp *stamp)
{
    struct timespec time;
    bool is_coarse = stamp->changed_ns % SECOND_NS == 0 && stamp->written_ns % SECOND_NS == 0;
    uint64_t step = is_coarse ? LONG_STEP_NS : STEP_NS;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0)
        return;
    uint64_t now = in_ns(time);
    if (now < stamp->changed_ns || now - stamp->changed_ns >= step)
        return;
    uint64_t left = step - (now - stamp->changed_ns);
    time = (struct timespec){(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
    (void)nanosleep(&time, NULL);
}

static void keep_content(const struct tool_plan_module *module, struct tool_plan_cache *cache)
{
    char name[STAMP_NAME];
    struct ttp_plan_file file = {.magic = TTP_PLAN_FILE_MAGIC,
                                 .version = TTP_FILE_VERSION,
                                 .head_bytes = sizeof file,
                                 .stamp = module->stamp};
    memcpy(file.content, module->content, sizeof file.content);
    name_stamp(name, &module->stamp);
    (void)tool_plan_write(cache, name, &file, sizeof file);
}

static const char *read_once(struct tool_plan_module *module, bool *is_whole)
{
    struct ttp_plan_stamp after;
    tool_plan_input_close(&module->input);
    *is_whole = false;
    if (!stamp(module->fd, &module->stamp))
        return "it cannot be read";
    wait_for_step(&module->stamp);
    const char *reason = tool_plan_input_read(&module->input, module->fd);
    *is_whole = stamp(module->fd, &after) && memcmp(&after, &module->stamp, sizeof after) == 0;
    return *is_whole ? reason : "somebody is changing it";
}

const char *tool_plan_module_read(struct tool_plan_module *module, struct tool_plan_cache *cache)
{
    static const uint8_t no_key[TOOL_PLAN_KEY_BYTES];
    const char *reason = NULL;
    bool is_whole = false, has_key = cache != NULL && tool_plan_cache_key(cache);
    if (module->input.bytes != NULL)
        return NULL;
    for (unsigned i = 0; i < READINGS && !is_whole; i++)
        reason = read_once(module, &is_whole);
    if (reason != NULL)
        return reason;
    tool_plan_hash(module->content, module->input.bytes, module->input.size_bytes,
                   has_key ? cache->key : no_key);
    module->is_known = true;
    if (has_key)
        keep_content(module, cache);
    return NULL;
}
