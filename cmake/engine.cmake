# The reader as WebAssembly, for `tracetape export --format html`: Debian's clang, lld and binaryen
# with wasi-libc, and zstd's decompressor from its source (scripts/fetch-zstd). Where one of them is
# missing, TTAPE_ENGINE stays empty.
if(POLICY CMP0116)
    cmake_policy(SET CMP0116 NEW) # lists of dependencies, by Ninja
endif()
set(TTAPE_ZSTD_SOURCE "/usr/local/src/zstd" CACHE PATH "zstd's source, for export --format html")
set(TTAPE_ENGINE "")
find_program(TTAPE_WASM_CLANG NAMES clang clang-14)
find_program(TTAPE_WASM_LD NAMES wasm-ld wasm-ld-14)
find_program(TTAPE_WASM_OPT NAMES wasm-opt)
mark_as_advanced(TTAPE_WASM_CLANG TTAPE_WASM_LD TTAPE_WASM_OPT)

set(wasm_libc "/usr/lib/wasm32-wasi/libc.a")
set(wasm_printing "/usr/lib/wasm32-wasi/libc-printscan-no-floating-point.a")
if(TTAPE_WASM_CLANG)
    execute_process(COMMAND "${TTAPE_WASM_CLANG}" --print-resource-dir
                    OUTPUT_VARIABLE wasm_resources OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(wasm_builtins "${wasm_resources}/lib/wasi/libclang_rt.builtins-wasm32.a")
endif()
set(needs)
if(TTAPE_SANITIZE)
    list(APPEND needs "no sanitizers")
endif()
if(NOT TTAPE_ESBUILD AND NOT TTAPE_PAGE)
    list(APPEND needs esbuild)
endif()
if(NOT TTAPE_WASM_CLANG)
    list(APPEND needs clang)
endif()
if(NOT TTAPE_WASM_LD)
    list(APPEND needs lld)
endif()
if(NOT TTAPE_WASM_OPT)
    list(APPEND needs binaryen)
endif()
if(NOT EXISTS "${wasm_libc}" OR NOT EXISTS "${wasm_printing}")
    list(APPEND needs wasi-libc)
endif()
if(NOT TTAPE_WASM_CLANG OR NOT EXISTS "${wasm_builtins}")
    list(APPEND needs libclang-rt-14-dev-wasm32)
endif()
if(NOT EXISTS "${TTAPE_ZSTD_SOURCE}/lib/decompress/zstd_decompress.c")
    list(APPEND needs "zstd's source (scripts/fetch-zstd)")
endif()
ttape_part(HTML "traces as one HTML file" "${needs}")
list(JOIN needs ", " TTAPE_ENGINE_MISSING)
if(NOT TTAPE_HAS_HTML)
    if(NOT needs)
        set(TTAPE_ENGINE_MISSING "-DTTAPE_HTML=ON")
    endif()
    return()
endif()

# The module is all that reads but libcbor's door, and the page's own side in tools/html/engine/.
set(zstd "${TTAPE_ZSTD_SOURCE}/lib")
set(wasm_folder "${PROJECT_BINARY_DIR}/engine")
set(TTAPE_ENGINE "${wasm_folder}/engine.wasm")
set(wasm_sources)
foreach(folder IN ITEMS base format reader answers libtrace/names tools/html/engine)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.c")
    list(APPEND wasm_sources ${found})
endforeach()
list(FILTER wasm_sources EXCLUDE REGEX "/cbor_library\\.c$")
foreach(name IN ITEMS command/float_text command/output_text io/dump_values
        kernel/flags/kernel_errors kernel/flags/kernel_flags kernel/flags/kernel_flags_more
        kernel/flags/kernel_modes kernel/kernel_buffers kernel/kernel_calls
        kernel/kernel_controls kernel/kernel_fields kernel/kernel_files kernel/kernel_letters
        kernel/kernel_processes kernel/kernel_results kernel/kernel_signals
        kernel/kernel_sockets kernel/kernel_times kernel/kernel_waiting kernel/kernel_words
        # values as the command says them
        values/call_site values/parameter_names values/value_words)
    list(APPEND wasm_sources "${PROJECT_SOURCE_DIR}/tools/${name}.c")
endforeach()
foreach(name IN ITEMS entropy_common error_private fse_decompress xxhash zstd_common)
    list(APPEND wasm_sources "${zstd}/common/${name}.c")
endforeach()
foreach(name IN ITEMS huf_decompress zstd_ddict zstd_decompress zstd_decompress_block)
    list(APPEND wasm_sources "${zstd}/decompress/${name}.c")
endforeach()

# The module has to be small: a page carries it as text, a third larger.
set(wasm_flags --target=wasm32-wasi -Oz -std=gnu11 -DNDEBUG -ffunction-sections -fdata-sections
    -ftls-model=local-exec -mbulk-memory -mnontrapping-fptoint -msign-ext
    -DTTP_NO_THREADS -DTTP_NO_LIBCBOR -D_FILE_OFFSET_BITS=64
    "-DTTP_PROJECT_VERSION=\"${PROJECT_VERSION}\""
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${TTAPE_ZSTD_SOURCE}=zstd"
    "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_SOURCE_DIR}/libtrace/include" "-I${zstd}")
set(wasm_strict -Wall -Wextra)
if(TTAPE_WERROR)
    list(APPEND wasm_strict -Werror)
endif()
set(zstd_flags -w -DHUF_FORCE_DECOMPRESS_X1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT -DZSTD_NO_INLINE
    -DZSTD_STRIP_ERROR_STRINGS -DDYNAMIC_BMI2=0)

set(wasm_objects)
foreach(source IN LISTS wasm_sources)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" name "${source}")
    string(REPLACE "${zstd}/" "zstd/" name "${name}")
    set(object "${wasm_folder}/${name}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    set(more ${wasm_strict})
    if(name MATCHES "^zstd/")
        set(more ${zstd_flags})
    endif()
    add_custom_command(OUTPUT "${object}"
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} "${TTAPE_WASM_CLANG}" ${wasm_flags} ${more}
                -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
        DEPENDS "${source}" DEPFILE "${object}.d" COMMENT "Building ${name} for WebAssembly"
        VERBATIM)
    list(APPEND wasm_objects "${object}")
endforeach()
string(REPLACE ";" "\n" wasm_list "${wasm_objects}")
file(GENERATE OUTPUT "${wasm_folder}/objects.txt" CONTENT "${wasm_list}\n") # written if new
# A stack that overflows runs into nothing; memory ends where two of them are below 300 MiB.
add_custom_command(OUTPUT "${TTAPE_ENGINE}"
    COMMAND "${TTAPE_WASM_LD}" --no-entry --gc-sections --strip-all -O2 --stack-first
            -z stack-size=524288 --max-memory=150994944 "@${wasm_folder}/objects.txt"
            "${wasm_printing}" "${wasm_libc}" "${wasm_builtins}" -o "${wasm_folder}/linked.wasm"
    COMMAND "${TTAPE_WASM_OPT}" -Oz --enable-bulk-memory --enable-nontrapping-float-to-int
            --enable-sign-ext --enable-mutable-globals "${wasm_folder}/linked.wasm"
            -o "${TTAPE_ENGINE}"
    DEPENDS ${wasm_objects} "${wasm_folder}/objects.txt"
    COMMENT "Linking the reader as WebAssembly" VERBATIM)
add_custom_target(ttape_engine DEPENDS "${TTAPE_ENGINE}")
