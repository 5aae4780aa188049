/* Two read heads of CBOR, libcbor and the small one of builds without it: of whatever bytes they
 * say the same. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/cbor_item.h"
#include "tests/asserts.h"

#define VECTOR_BYTES_MOST (1u << 20)

static size_t compare(const uint8_t *data, size_t size_bytes)
{
    struct ttp_cbor_item one = {0}, other = {0};
    size_t read = ttp_cbor_read_item(&one, data, size_bytes);
    ck_assert_uint_eq(ttp_cbor_read_item_small(&other, data, size_bytes), read);
    if (read >= TTP_CBOR_WRONG)
        return read;
    ck_assert_int_eq(one.kind, other.kind);
    ck_assert_int_eq(one.endless, other.endless);
    ck_assert_uint_eq(one.number, other.number);
    ck_assert_uint_eq(one.size_bytes, other.size_bytes);
    ck_assert(one.size_bytes == 0 || one.data == other.data);
    return read;
}

/* Each first byte, with arguments of all kinds behind it, at each length. */
START_TEST(first_bytes)
{
    static const uint8_t behind[][9] = {{0},
                                        {1, 1, 1, 1, 1, 1, 1, 1, 1},
                                        {0, 0, 0, 3},
                                        {0, 0, 0, 0, 0, 0, 0, 3},
                                        {255, 255, 255, 255, 255, 255, 255, 255, 255},
                                        {0x20},
                                        {0x18, 0x18},
                                        {3, 'a', 'b', 'c'}};
    uint32_t right = 0;
    for (uint32_t first = 0; first < 256; first++)
        for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
            for (size_t length = 0; length <= 16; length++) {
                uint8_t bytes[16] = {(uint8_t)first};
                memcpy(bytes + 1, behind[i], sizeof behind[i]);
                right += compare(bytes, length) < TTP_CBOR_WRONG;
            }
    ck_assert_uint_gt(right, 10000);
}
END_TEST

/* Any place of a file can be taken for a head. */
START_TEST(vectors)
{
    static uint8_t bytes[VECTOR_BYTES_MOST];
    const char *source = getenv("TTAPE_SRC");
    char folder[1024], path[2048];
    uint32_t files = 0;
    ck_assert(source != NULL);
    (void)snprintf(folder, sizeof folder, "%s/spec/vectors", source);
    DIR *all = opendir(folder);
    ck_assert(all != NULL);
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (strstr(entry->d_name, ".ttape") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        ck_assert(file != NULL);
        size_t size_bytes = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        files++;
        for (size_t at = 0; at < size_bytes; at++)
            (void)compare(bytes + at, size_bytes - at);
    }
    (void)closedir(all);
    ck_assert_uint_gt(files, 500);
}
END_TEST

/* A tag is a list of what it tags, whichever tag it is: libcbor 0.8 knows only some. */
START_TEST(tags)
{
    struct ttp_cbor_item item;
    for (uint32_t tag = 0xc0; tag < 0xd8; tag++) {
        uint8_t bytes[] = {(uint8_t)tag, 1};
        ck_assert_uint_eq(ttp_cbor_read_item(&item, bytes, sizeof bytes), 1);
        ck_assert_int_eq(item.kind, TTP_CBOR_LIST);
        ck_assert_uint_eq(item.number, 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cbor item");
    TCase *tests = tcase_create("cbor item");
    tcase_add_test(tests, first_bytes);
    tcase_add_test(tests, vectors);
    tcase_add_test(tests, tags);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
