# Warnings and sanitizers: the opinions of a developer build, empty in a consumer's.
add_library(ttape_developer INTERFACE)
add_library(ttape_strict INTERFACE)

if(TTAPE_WARNINGS)
    target_compile_options(ttape_developer INTERFACE
        -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wcast-align
        -Wimplicit-fallthrough -Wdate-time)
    # Narrowing is a defect in the product; Check's macros make it noise in the tests.
    target_compile_options(ttape_strict INTERFACE -Wconversion -Wno-sign-conversion)
endif()
if(TTAPE_WERROR)
    target_compile_options(ttape_developer INTERFACE -Werror)
endif()
if(TTAPE_SANITIZE)
    target_compile_options(ttape_developer INTERFACE
        -fsanitize=${TTAPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ttape_developer INTERFACE -fsanitize=${TTAPE_SANITIZE})
    # Undefined behaviour ends in a trap, of which ASan says where (handle_sigill). What says its
    # kind is some 100,000 variables of gcc's own, which ASan watches, too: half of each start.
    option(TTAPE_SANITIZE_TRAPS
           "With ASan: undefined behaviour is a trap; OFF: its kind is said (developers)" ON)
    mark_as_advanced(TTAPE_SANITIZE_TRAPS)
    if(TTAPE_SANITIZE_TRAPS AND TTAPE_SANITIZE MATCHES "address.*undefined")
        check_c_compiler_flag(-fsanitize-undefined-trap-on-error TTAPE_HAS_UNDEFINED_TRAPS)
        if(TTAPE_HAS_UNDEFINED_TRAPS)
            target_compile_options(ttape_developer INTERFACE -fsanitize-undefined-trap-on-error)
        endif()
    endif()
    # of some 230 programs each is linked with all of the library
    find_program(TTAPE_LLD ld.lld)
    mark_as_advanced(TTAPE_LLD)
    if(TTAPE_LLD AND TTAPE_SANITIZE MATCHES "address")
        target_link_options(ttape_developer INTERFACE -fuse-ld=lld)
    endif()
endif()
