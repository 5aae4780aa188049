# Parts of the build that need more than the library itself. Each has an option of its name with
# three values: AUTO (in, where what it needs is there), ON (an error, where it is not) and OFF; and
# the end of a configuration has a table of what is in, and what would bring the rest.

# Declares a part. `needs` is a list of what is missing, empty where nothing is; TTAPE_HAS_<name>
# says then whether it is in.
function(ttape_part name about needs)
    set(TTAPE_${name} AUTO CACHE STRING "${about}: AUTO, ON or OFF")
    set_property(CACHE TTAPE_${name} PROPERTY STRINGS AUTO ON OFF)
    list(JOIN needs ", " missing)
    set(is_in OFF)
    if(NOT TTAPE_${name} STREQUAL "AUTO" AND NOT TTAPE_${name})
        set(state "no    -DTTAPE_${name}=${TTAPE_${name}}")
    elseif(missing STREQUAL "")
        set(is_in ON)
        set(state "yes")
    elseif(TTAPE_${name} STREQUAL "AUTO")
        set(state "no    would be with: ${missing}")
    else()
        message(FATAL_ERROR "TTAPE_${name}=${TTAPE_${name}}, and missing is: ${missing}")
    endif()
    set(TTAPE_HAS_${name} ${is_in} PARENT_SCOPE)
    string(SUBSTRING "${about}                                    " 0 36 column)
    set_property(GLOBAL APPEND PROPERTY TTAPE_PARTS "  ${column}${state}")
endfunction()

# Prints the table.
function(ttape_print_parts)
    get_property(lines GLOBAL PROPERTY TTAPE_PARTS)
    list(JOIN lines "\n" text)
    message(STATUS "tracetape ${PROJECT_VERSION} is built with\n${text}")
endfunction()
