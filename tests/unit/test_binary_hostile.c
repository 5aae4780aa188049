/* The loader's own file, as the reader of binaries sees it when it is damaged: cut short at every
 * head and table, and with bytes changed where it is believed. Each copy has its exact size, so
 * that a sanitizer sees one byte too many. What comes out is a plan that fits, or a reason. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/binary/code/code_calls.h"
#include "program/binary/code/plan_make.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"
#include "tests/unit/patch_rules.h"

static const uint8_t no_content[TTP_PLAN_CONTENT_BYTES];

static uint8_t *file;
static size_t file_bytes;

static void read_loader(void)
{
    char line[4096], path[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (path[0] == 0 && fgets(line, sizeof line, maps) != NULL) {
        char *slash = strchr(line, '/');
        if (slash != NULL && strstr(slash, "/ld-") != NULL)
            (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(slash, "\n"), slash);
    }
    (void)fclose(maps);
    int fd = open(path[0] != 0 ? path : "/proc/self/exe", O_RDONLY);
    struct stat status;
    ck_assert(fd >= 0 && fstat(fd, &status) == 0);
    file_bytes = (size_t)status.st_size;
    file = malloc(file_bytes);
    ck_assert(file != NULL && read(fd, file, file_bytes) == (ssize_t)file_bytes);
    ck_assert_int_eq(close(fd), 0);
}

static bool take_call(void *context, const struct tool_code_call *call)
{
    const struct tool_code *code = context;
    ck_assert_uint_lt(call->function, code->function_count);
    return true;
}

static void check_plan(const struct tool_code *code, const uint8_t *plan, size_t size_bytes)
{
    struct ttp_plan_head head;
    memcpy(&head, plan, sizeof head);
    ck_assert_uint_eq(head.total_bytes, size_bytes);
    for (size_t i = 0; i < code->site_count; i++) {
        struct ttp_plan_site site;
        memcpy(&site, plan + head.sites_at + i * sizeof site, sizeof site);
        if (site.kind == TTP_PLAN_CAN)
            ck_assert(site.window >= head.code_start && site.window <= site.address &&
                      site.window + site.window_bytes <= head.code_end);
    }
}

/* Whatever the file is, a patch plan of it changes nothing outside of a function. */
static void look_whole(const uint8_t *bytes, size_t size_bytes)
{
    struct tool_image image;
    struct tool_code code = {0};
    struct tool_patch patch = {0};
    const char *reason = tool_image_open(&image, bytes, size_bytes);
    if (reason == NULL)
        reason = tool_code_open_whole(&code, &image);
    if (reason == NULL && tool_patch_open(&patch, &code) == NULL) {
        const char *broken = ttest_patch_broken(&patch);
        if (broken == NULL)
            broken = ttest_inlined_broken(&patch);
        ck_assert_msg(broken == NULL, "%s", broken);
    }
    tool_patch_close(&patch);
    tool_code_close(&code);
}

/* Whether a plan could be made of these bytes; is_whole: a patch plan is tried, too, which takes
 * longer. */
static bool look(const uint8_t *bytes, size_t size_bytes, bool is_whole)
{
    uint8_t *copy = malloc(size_bytes > 0 ? size_bytes : 1), *plan = NULL;
    struct tool_image image;
    struct tool_code code = {0};
    size_t plan_bytes;
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size_bytes);
    const char *reason = tool_image_open(&image, copy, size_bytes);
    if (reason == NULL)
        reason = tool_code_open(&code, &image);
    if (reason == NULL && tool_plan_make(&code, no_content, &plan, &plan_bytes) == NULL)
        check_plan(&code, plan, plan_bytes);
    bool made = plan != NULL;
    free(plan);
    tool_code_close(&code);
    if (is_whole)
        look_whole(copy, size_bytes);
    free(copy);
    return made;
}

START_TEST(cut_short)
{
    read_loader();
    ck_assert(look(file, file_bytes, false));
    for (size_t i = 0; i <= 64; i++)
        ck_assert(!look(file, i, true)); /* no head, or no segments */
    uint64_t tables[] = {tool_le64(file + 32), tool_le64(file + 40)};
    for (unsigned i = 0; i < tool_le16(file + 56); i += ttest_every(2)) {
        const uint8_t *segment = file + tables[0] + 56u * i;
        uint64_t ends[] = {(uint64_t)(segment - file), tool_le64(segment + 8),
                           tool_le64(segment + 8) + tool_le64(segment + 32)};
        for (unsigned end = 0; end < 3; end++)
            for (int off = -1; off <= 0; off++) /* one more is what follows */
                if (ends[end] + (uint64_t)(int64_t)off < file_bytes)
                    (void)look(file, (size_t)(ends[end] + (uint64_t)(int64_t)off), off == 0);
    }
    for (unsigned i = 0; i < tool_le16(file + 60); i += ttest_every(5))
        (void)look(file, (size_t)tables[1] + 64u * i + 1, false);
    free(file);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Values that break sums: zero, all ones, the sign, one off. */
static void damage(uint8_t *at, uint64_t how, size_t room)
{
    static const uint64_t values[] = {0, UINT64_MAX, 1ull << 63, 1ull << 31, 0x7fffffff, 1};
    uint64_t value = values[how / 8 % 6];
    size_t size_bytes = (size_t)1 << how % 4;
    memcpy(at, &value, size_bytes < room ? size_bytes : room);
}

#define LOCAL_PARTS 4u /* from this one on */

START_TEST(changed)
{
    uint64_t seed = 1;
    struct tool_image image;
    read_loader();
    ck_assert_ptr_null(tool_image_open(&image, file, file_bytes));
    const struct {
        size_t from, size_bytes;
    } parts[] = {{0, 64},
                 {64, 56u * image.segment_count},
                 {(size_t)tool_le64(file + 40), 64u * tool_le16(file + 60)},
                 {(size_t)(image.frames.bytes - file), image.frames.size_bytes},
                 {(size_t)(image.dynamic_symbols.bytes - file), image.dynamic_symbols.size_bytes},
                 {(size_t)image.code_start, image.code_end - image.code_start}};
    for (unsigned i = 0; i < 400; i += ttest_every(13)) {
        unsigned part = (unsigned)(i % (sizeof parts / sizeof parts[0]));
        bool is_local = part >= LOCAL_PARTS; /* a change is of one function: many at once */
        if (is_local && i % 4 != part % 4)
            continue;
        uint8_t *copy = malloc(file_bytes);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, file, file_bytes);
        for (unsigned n = 0; n < (1 + i % 8) * (is_local ? 4 : 1); n++) {
            size_t at = parts[part].from + next_random(&seed) % parts[part].size_bytes;
            damage(copy + at, next_random(&seed), file_bytes - at);
        }
        (void)look(copy, file_bytes, next_random(&seed) % ttest_step(5, 5) == 0);
        free(copy);
    }
    free(file);
}
END_TEST

/* Calls of a sound file: all of it is decoded. */
START_TEST(sound)
{
    struct tool_image image;
    struct tool_code code;
    read_loader();
    ck_assert_ptr_null(tool_image_open(&image, file, file_bytes));
    ck_assert_ptr_null(tool_code_open(&code, &image));
    ck_assert(code.function_count > 100 && code.row_count > code.function_count);
    ck_assert_uint_eq(code.bad_frames, 0);
    ck_assert(tool_code_names(&code) && tool_code_calls(&code, take_call, &code));
    for (size_t i = 1; i < code.row_count; i++)
        ck_assert_uint_lt(code.rows[i - 1].address, code.rows[i].address);
    tool_code_close(&code);
    struct tool_patch patch;
    ck_assert_ptr_null(tool_code_open_whole(&code, &image));
    ck_assert_ptr_null(tool_patch_open(&patch, &code));
    ck_assert_ptr_null(ttest_patch_broken(&patch));
    ck_assert_uint_gt(patch.function_count, 100);
    ck_assert_ptr_null(ttest_inlined_broken(&patch));
    ck_assert_uint_gt(patch.function_count, 100);
    tool_patch_close(&patch);
    tool_code_close(&code);
    /* too little memory is a reason, not an end */
    code = (struct tool_code){.image = &image, .memory = {.left_bytes = 4096}};
    ck_assert(!tool_code_functions(&code) && code.memory.is_short);
    tool_code_close(&code);
    free(file);
}
END_TEST

/* A file of parts that are loaded, each with code: `bytes` at `address`, which say nothing, and
 * `zeros` behind them. */
static const char *open_zeros(unsigned count, uint64_t address, uint64_t bytes, uint64_t zeros)
{
    static uint8_t made[64 + 56 * 80];
    struct tool_image image;
    const uint16_t each = 56, number = (uint16_t)count;
    const uint64_t table = 64, is_loaded = 1 | UINT64_C(5) << 32, memory = bytes + zeros;
    memcpy(made,
           "\x7f"
           "ELF\2\1\1",
           7);
    made[16] = 2; /* an executable */
    made[18] = TOOL_IMAGE_MACHINE;
    memcpy(made + 32, &table, sizeof table);
    memcpy(made + 54, &each, sizeof each);
    memcpy(made + 56, &number, sizeof number);
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = i + 1 < count ? 4096u * i : address;
        uint8_t *entry = made + 64 + 56u * i;
        memcpy(entry, &is_loaded, sizeof is_loaded);
        memcpy(entry + 16, &at, sizeof at);
        memcpy(entry + 32, &bytes, sizeof bytes);
        memcpy(entry + 40, &memory, sizeof memory);
    }
    const char *reason = tool_image_open(&image, made, sizeof made);
    if (reason == NULL)
        ck_assert_uint_eq(image.code_end, address + bytes);
    return reason;
}

static const char *open_parts(unsigned count, uint64_t address, uint64_t bytes)
{
    return open_zeros(count, address, bytes, 0);
}

/* Plans have 32 bits for a place: what has code that they cannot name, or that nobody looks at, has
 * no plan. */
START_TEST(places_that_no_plan_can_name)
{
    ck_assert_ptr_null(open_parts(1, 0xffffefab, 0x85)); /* its last page ends at 4 GiB */
    ck_assert_ptr_null(open_parts(2, TOOL_IMAGE_ADDRESS_MAX - 8, 8));
    ck_assert_ptr_null(open_parts(64, 1u << 20, 8));
    const struct {
        uint64_t address, bytes;
    } above[] = {{TOOL_IMAGE_ADDRESS_MAX - 8, 9},    {UINT64_C(1) << 32, 8},
                 {(UINT64_C(1) << 32) + 0x1000, 64}, {UINT64_MAX - 8, 16},
                 {0x1000, UINT64_MAX - 0x800},       {UINT64_C(1) << 63, 8}};
    for (unsigned i = 0; i < sizeof above / sizeof above[0]; i++)
        ck_assert_str_eq(open_parts(1 + i % 3, above[i].address, above[i].bytes),
                         "a part of it has addresses above 4 GiB, which plans cannot name");
    ck_assert_ptr_null(open_zeros(2, 0x1000, 8, UINT64_C(5) << 30)); /* no code, wherever */
    ck_assert_ptr_nonnull(open_zeros(1, 0x1000, 8, UINT64_MAX - 0x1000));
    ck_assert_str_eq(open_parts(65, 1u << 20, 8), "more than 64 parts of it are loaded");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binary_hostile");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, cut_short);
    tcase_add_test(tests, changed);
    tcase_add_test(tests, sound);
    tcase_add_test(tests, places_that_no_plan_can_name);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
