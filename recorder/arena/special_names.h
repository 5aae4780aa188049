/* Functions of libraries that are no library calls to a recorder, by their names: for the runtime,
 * which finds what a program calls, and for attach, which plans it. */
#ifndef TTP_SPECIAL_NAMES_H
#define TTP_SPECIAL_NAMES_H

/* They return twice, or to elsewhere; where the runtime stands in front of them it records them. */
#define TTP_FRONTED_NAMES                                                                          \
    "vfork", "_Fork", "clone", "swapcontext", "longjmp", "_longjmp", "siglongjmp", "setcontext",   \
        "__longjmp_chk"
/* They are called in a way of their own, or others than programs call them. */
#define TTP_SPECIAL_NAMES                                                                          \
    "__tls_get_addr", "mcount", "_mcount", "__fentry__", "__libc_start_main", "__stack_chk_fail",  \
        "__cxa_finalize"
/* So are those whose names begin so. */
#define TTP_SPECIAL_STARTS                                                                         \
    "__cyg_", "__sanitizer_", "__asan_", "__tsan_", "_dl_", "ttape_", "_ITM_", "__gmon_"

#endif
