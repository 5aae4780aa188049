/* Check's assertions at no cost while they hold. Check itself writes each one that holds to a file,
 * so that it can tell after a crash which was the last: of sweeps with millions of them that was
 * most of the time. A sanitizer's or a debugger's stack says more. Every C test includes this in
 * place of <check.h>. */
#ifndef TTEST_ASSERTS_H
#define TTEST_ASSERTS_H

#include <check.h>

#undef ck_assert
#undef ck_assert_msg
#define ck_assert(expression)                                                                      \
    ((expression) ? (void)0 : ck_abort_msg("%s", "Assertion '" #expression "' failed"))
#define ck_assert_msg(expression, ...) ((expression) ? (void)0 : ck_abort_msg(__VA_ARGS__))

#endif
