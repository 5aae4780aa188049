# How a folder of sources becomes a layer: every .c file in it and in its rooms.

# An empty translation unit stands in for a folder that has no sources yet.
function(ttape_glob_sources out folder)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.c")
    list(FILTER sources EXCLUDE REGEX "/recorder/runtime/") # a library of its own
    if(NOT sources)
        string(MAKE_C_IDENTIFIER "${folder}" name)
        set(sources "${PROJECT_BINARY_DIR}/placeholder/${name}.c")
        file(CONFIGURE OUTPUT "${sources}" CONTENT "typedef int ttp_no_sources_yet;\n")
    endif()
    set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# What is installed is the same bytes wherever it was built: paths in it, those of debug
# information too, begin at the source folder or at the build's.
include(CheckCCompilerFlag)
check_c_compiler_flag(-ffile-prefix-map=/from=to TTAPE_HAS_PREFIX_MAP)
function(ttape_reproducible target)
    # gcov looks for its files by the true paths.
    if(TTAPE_HAS_PREFIX_MAP AND NOT CMAKE_C_FLAGS MATCHES "--coverage")
        target_compile_options(${target} PRIVATE
            "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=."
            "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build")
    endif()
endfunction()

# What every compiled target of ours has in common, whatever its layer.
function(ttape_common target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON
        C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # the same numbers where registers have 80 bits
        target_compile_options(${target} PRIVATE -fexcess-precision=standard)
    endif()
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ttape_developer>)
endfunction()

# Includes are spelled from the repository's root ("format/base/bytes.h") or are public
# (<tracetape/error.h>).
function(ttape_add_layer target folder)
    ttape_glob_sources(sources ${folder})
    add_library(${target} OBJECT ${sources})
    ttape_common(${target})
    ttape_reproducible(${target})
    target_link_libraries(${target} PRIVATE ttape_strict)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/libtrace/include")
endfunction()
