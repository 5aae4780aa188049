/* Heads of ELF files: made by hand in every word size and byte order, damaged at every byte, and
 * those of this process, whose loader is the oracle. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/elf/elf_head.h"
#include "tests/asserts.h"

static char folder[64], path[128];

static void set_up(void)
{
    strcpy(folder, "/tmp/test_elf_head.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
}

static void tear_down(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* A file of two segments and a build id of 8 bytes, field by field. */
struct image {
    unsigned char bytes[1024];
    bool wide, big;
};

static void put(struct image *image, size_t at, uint64_t value, unsigned size_bytes)
{
    for (unsigned i = 0; i < size_bytes; i++)
        image->bytes[at + i] = (unsigned char)(value >> 8 * (image->big ? size_bytes - 1 - i : i));
}

static void put_segment(struct image *image, unsigned number, uint32_t type, uint32_t flags,
                        uint64_t offset, uint64_t address, uint64_t file_bytes, uint64_t bytes)
{
    unsigned w = image->wide ? 8 : 4;
    size_t at = 64 + number * (image->wide ? 56 : 32);
    const uint64_t small[] = {type, offset, address, 0, file_bytes, bytes, flags, 4};
    const uint64_t wide[] = {offset, address, 0, file_bytes, bytes, 4};
    if (image->wide) {
        put(image, at, type, 4);
        put(image, at + 4, flags, 4);
        for (unsigned i = 0; i < 6; i++)
            put(image, at + 8 + i * w, wide[i], w);
        return;
    }
    for (unsigned i = 0; i < 8; i++)
        put(image, at + i * w, small[i], w);
}

static void make_image(struct image *image, bool wide, bool big)
{
    memset(image, 0, sizeof *image);
    image->wide = wide;
    image->big = big;
    memcpy(image->bytes, "\177ELF", 4);
    image->bytes[4] = wide ? 2 : 1;
    image->bytes[5] = big ? 2 : 1;
    put(image, 16, 3, 2);
    put(image, 18, 62, 2);
    put(image, wide ? 32 : 28, 64, wide ? 8 : 4);
    put(image, wide ? 54 : 42, wide ? 56 : 32, 2);
    put(image, wide ? 56 : 44, 3, 2);
    put_segment(image, 0, 1, 5, 0, 0x10000, 0x234, 0x234);
    put_segment(image, 1, 1, 6, 0x234, 0x12234, 0x10, 0x9000);
    put_segment(image, 2, 4, 4, 512, 0x10200, 48, 48);
    put(image, 512, 4, 4); /* a note that is something else, then the build id */
    put(image, 516, 4, 4);
    put(image, 520, 1, 4);
    memcpy(image->bytes + 524, "GNU", 4);
    put(image, 532, 4, 4);
    put(image, 536, 8, 4);
    put(image, 540, 3, 4);
    memcpy(image->bytes + 544, "GNU", 4);
    memcpy(image->bytes + 548, "\1\2\3\4\5\6\7\10", 8);
}

static void store(const struct image *image, size_t size_bytes)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(image->bytes, 1, size_bytes, f), size_bytes);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(every_word_size_and_byte_order)
{
    for (int kind = 0; kind < 4; kind++) {
        struct image image;
        struct tool_elf_head head;
        make_image(&image, kind & 1, kind >> 1);
        store(&image, sizeof image.bytes);
        ck_assert_ptr_null(tool_elf_head_of(NULL, path, &head));
        ck_assert_uint_eq(head.load_count, 2);
        ck_assert_uint_eq(head.loads[1].address, 0x12234);
        ck_assert_uint_eq(head.loads[1].memory_bytes, 0x9000);
        ck_assert(head.loads[0].executable && !head.loads[1].executable);
        ck_assert_uint_eq(head.build_id_bytes, 8);
        ck_assert_mem_eq(head.build_id, "\1\2\3\4\5\6\7\10", 8);
        ck_assert_uint_eq(head.machine, 62);
    }
}
END_TEST

static void check_damaged(int fd)
{
    struct tool_elf_head head;
    const char *reason = tool_elf_head_read(fd, &head);
    ck_assert(reason != NULL || head.load_count > 0);
    ck_assert(head.load_count <= TOOL_ELF_LOADS_MAX);
    ck_assert(head.build_id_bytes <= TOOL_BUILD_ID_BYTES_MAX);
}

START_TEST(damage_is_survived)
{
    enum { USED_BYTES = 600 };
    struct image image;
    for (int kind = 0; kind < 4; kind++) {
        make_image(&image, kind & 1, kind >> 1);
        store(&image, sizeof image.bytes);
        int fd = open(path, O_RDWR);
        for (off_t bit = 0; bit < USED_BYTES * 8; bit++) {
            unsigned char byte = image.bytes[bit / 8] ^ (unsigned char)(1 << bit % 8);
            ck_assert_int_eq(pwrite(fd, &byte, 1, bit / 8), 1);
            check_damaged(fd);
            ck_assert_int_eq(pwrite(fd, &image.bytes[bit / 8], 1, bit / 8), 1);
        }
        for (off_t size = USED_BYTES; size >= 0; size--) {
            ck_assert_int_eq(ftruncate(fd, size), 0);
            check_damaged(fd);
        }
        ck_assert_int_eq(close(fd), 0);
    }
}
END_TEST

START_TEST(what_is_no_elf_file)
{
    const char *reason;
    struct tool_elf_head head;
    ck_assert_str_eq(tool_elf_head_of(NULL, path, &head), "no such file");
    ck_assert_str_eq(tool_elf_head_of(NULL, folder, &head), "not a regular file");
    ck_assert_str_eq(tool_elf_head_of(NULL, "/dev/zero", &head), "not a regular file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_str_eq(tool_elf_head_of(NULL, path, &head), "not a regular file");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(path, path), 0);
    ck_assert_int_eq(tool_elf_open_file(NULL, path, &reason), -1);
    ck_assert_str_eq(reason, "too many symbolic links");
    ck_assert_int_eq(unlink(path), 0);
    store(&(struct image){.bytes = "#!/bin/sh"}, 100);
    ck_assert_str_eq(tool_elf_head_of(NULL, path, &head), "not an ELF file");
    ck_assert_str_eq(tool_elf_head_of("/nowhere", path, &head), "no such file");
}
END_TEST

START_TEST(a_root_is_not_left)
{
    struct image image;
    struct tool_elf_head head;
    char inner[192], link[192];
    make_image(&image, true, false);
    store(&image, sizeof image.bytes);
    (void)snprintf(inner, sizeof inner, "%s/root", folder);
    (void)snprintf(link, sizeof link, "%s/root/link", folder);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    ck_assert_int_eq(symlink("../file", link), 0);
    ck_assert_str_eq(tool_elf_head_of(inner, "/link", &head), "no such file");
    ck_assert_str_eq(tool_elf_head_of(inner, "/../file", &head), "no such file");
    ck_assert_ptr_null(tool_elf_head_of(folder, "/file", &head));
    ck_assert_ptr_null(tool_elf_head_of(folder, "/root/link", &head));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(rmdir(inner), 0);
}
END_TEST

START_TEST(addresses_of_a_shared_page)
{
    /* Text ends and data begins in the file's page 0x1000, which is mapped twice. */
    static const struct tool_elf_head head = {
        .load_count = 3,
        .loads = {
            {.offset = 0,
             .file_bytes = 0x1500,
             .address = 0x400000,
             .memory_bytes = 0x1500,
             .executable = true},
            {.offset = 0x1500, .file_bytes = 0x300, .address = 0x402500, .memory_bytes = 0x4000},
            {.offset = 0x2000, .file_bytes = 0, .address = 0x600000, .memory_bytes = 0x1000}}};
    const struct tool_elf_mapping text = {.start = 0x7000000, .offset = 0, .executable = true};
    const struct tool_elf_mapping data = {.start = 0x7002000, .offset = 0x1000};
    const uint64_t start = 0x7000000;
    uint64_t address;
    ck_assert(tool_elf_address_in_mapping(&head, &text, 0x7001234, &address));
    ck_assert_uint_eq(address, 0x401234);
    ck_assert(tool_elf_address_in_mapping(&head, &data, 0x7002500, &address));
    ck_assert_uint_eq(address, 0x402500);
    ck_assert(tool_elf_address_in_mapping(&head, &data, 0x7002100, &address));
    ck_assert_uint_eq(address, 0x402100);
    ck_assert(!tool_elf_address_in_mapping(&head, &text, 0x7009000, &address));
    ck_assert(!tool_elf_address_in_mapping(&head, &text, 0x6ffffff, &address));
    /* The text's second page alone, as after mprotect: data begins in it, but is not executable. */
    const struct tool_elf_mapping part = {.start = 0x7001000, .offset = 0x1000, .executable = true};
    ck_assert(tool_elf_address_in_mapping(&head, &part, 0x7001600, &address));
    ck_assert_uint_eq(address, 0x401600);
    ck_assert(tool_elf_address_in_module(&head, start, 0x7001234, &address));
    ck_assert_uint_eq(address, 0x401234);
    ck_assert(!tool_elf_address_in_module(&head, start, start - 1, &address));
}
END_TEST

START_TEST(a_library_that_was_linked_high)
{
    static const struct tool_elf_head head = {.load_count = 1,
                                              .loads = {{.offset = 0x1040,
                                                         .file_bytes = 0x100,
                                                         .address = 0xffffffff81000040,
                                                         .memory_bytes = 0x100,
                                                         .executable = true}}};
    uint64_t address;
    ck_assert(tool_elf_address_in_module(&head, 0x5000, 0x5044, &address));
    ck_assert_uint_eq(address, 0xffffffff81000044);
}
END_TEST

/* What the loader says of one object, against the first mapping of its file and those with code. */
static int check_object(struct dl_phdr_info *object, size_t size_bytes, void *context)
{
    unsigned *checked = context;
    char line[512], file[256];
    unsigned long start, end, offset;
    char rights[8];
    struct tool_elf_head head;
    uint64_t address, lowest;
    bool first = true;
    const char *name = object->dlpi_name[0] != '\0' ? object->dlpi_name : "/proc/self/exe";
    (void)size_bytes;
    if (tool_elf_head_of(NULL, name, &head) != NULL)
        return 0; /* the vdso */
    ck_assert(tool_elf_lowest_page(&head, &lowest));
    FILE *maps = fopen("/proc/self/maps", "r");
    char *real = realpath(name, NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &offset, file) !=
                5 ||
            strcmp(file, real) != 0)
            continue;
        const struct tool_elf_mapping mapping = {start, offset, rights[2] == 'x'};
        if (!first && !mapping.executable)
            continue;
        first = false;
        ck_assert(tool_elf_address_in_mapping(&head, &mapping, start, &address));
        ck_assert_uint_eq(address, start - object->dlpi_addr);
        ck_assert(tool_elf_address_in_module(&head, object->dlpi_addr + lowest, start, &address));
        ck_assert_uint_eq(address, start - object->dlpi_addr);
        (*checked)++;
    }
    free(real);
    (void)fclose(maps);
    return 0;
}

START_TEST(this_process)
{
    unsigned checked = 0;
    (void)dl_iterate_phdr(check_object, &checked);
    ck_assert_uint_ge(checked, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf_head");
    TCase *test_case = tcase_create("elf_head");
    tcase_add_checked_fixture(test_case, set_up, tear_down);
    tcase_set_timeout(test_case, 60);
    tcase_add_test(test_case, every_word_size_and_byte_order);
    tcase_add_test(test_case, damage_is_survived);
    tcase_add_test(test_case, what_is_no_elf_file);
    tcase_add_test(test_case, a_root_is_not_left);
    tcase_add_test(test_case, addresses_of_a_shared_page);
    tcase_add_test(test_case, a_library_that_was_linked_high);
    tcase_add_test(test_case, this_process);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
