/* Reading slots of a spill file. */
#define _GNU_SOURCE /* memfd_create */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer/recording/recording_internal.h"

#define CUT 20000u /* bytes of the last slot that are there */

/* Behind its end there is nothing: not what the memory held, which may be the same slot, whole. */
START_TEST(a_cut_slot_ends_in_zeros)
{
    struct ttp_slot *slot = malloc(sizeof *slot);
    ttape_error err = {0};
    int fd = memfd_create("spill", 0);
    ck_assert_int_ge(fd, 0);
    memset(slot, 0x5A, sizeof *slot);
    ck_assert_int_eq(pwrite(fd, slot, sizeof *slot, 0), sizeof *slot);
    ck_assert_int_eq(pwrite(fd, slot, CUT, sizeof *slot), CUT);
    for (uint32_t number = 0; number < 3; number++) {
        size_t there = number == 0 ? sizeof *slot : number == 1 ? CUT : 0;
        const uint8_t *bytes = (const uint8_t *)slot;
        memset(slot, 0x5A, sizeof *slot);
        ck_assert_int_eq(ttp_spill_read(fd, number, slot, &err), TTAPE_OK);
        for (size_t i = 0; i < sizeof *slot; i++)
            ck_assert_msg(bytes[i] == (i < there ? 0x5A : 0), "slot %u, byte %zu", number, i);
    }
    ck_assert_int_eq(close(fd), 0);
    free(slot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spill read");
    TCase *tests = tcase_create("slots");
    tcase_add_test(tests, a_cut_slot_ends_in_zeros);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
