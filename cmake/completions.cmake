# Completions for three shells, from the --help of the command and of each verb, which is the option
# tables' own text. Run as a script, with COMMAND (the command), LIBRARIES (the folder of its own
# one, which is on no path where packages are built) and FOLDER (what to write into).

if(NOT "$ENV{LD_LIBRARY_PATH}" STREQUAL "")
    string(APPEND LIBRARIES ":$ENV{LD_LIBRARY_PATH}")
endif()
set(ENV{LD_LIBRARY_PATH} "${LIBRARIES}")

function(ask out)
    execute_process(COMMAND "${COMMAND}" ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${COMMAND} ${ARGN}: ${status}")
    endif()
    set("${out}" "${text}" PARENT_SCOPE)
endfunction()

# The lines below a heading, up to the next one. No lists: texts hold brackets and semicolons.
function(section out text heading)
    string(FIND "${text}" "\n${heading}:\n" at)
    string(LENGTH "\n${heading}:\n" skip)
    math(EXPR at "${at} + ${skip}")
    string(SUBSTRING "${text}" ${at} -1 rest)
    string(FIND "${rest}" "\n\n" end)
    string(SUBSTRING "${rest}" 0 ${end} rest)
    set("${out}" "${rest}\n" PARENT_SCOPE)
endfunction()

macro(next_line line rest)
    string(FIND "${${rest}}" "\n" at)
    string(SUBSTRING "${${rest}}" 0 ${at} "${line}")
    math(EXPR at "${at} + 1")
    string(SUBSTRING "${${rest}}" ${at} -1 "${rest}")
endmacro()

# A text within '...' of zsh's _arguments and _describe, and of fish.
function(quote_zsh out text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "[" "\\[" text "${text}")
    string(REPLACE "]" "\\]" text "${text}")
    string(REPLACE ":" "\\:" text "${text}")
    string(REPLACE "'" "'\\''" text "${text}")
    set("${out}" "${text}" PARENT_SCOPE)
endfunction()

function(quote_fish out text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "'" "\\'" text "${text}")
    set("${out}" "${text}" PARENT_SCOPE)
endfunction()

set(only_first "__fish_is_first_token")
set(names "")
set(bash_cases "")
set(zsh_verbs "")
set(zsh_cases "")
set(fish "complete -c tracetape -n '${only_first}' -f -l version\n")

macro(add_option verb)
    set(letter "${CMAKE_MATCH_2}")
    set(name "${CMAKE_MATCH_3}")
    set(argument "${CMAKE_MATCH_5}")
    set(help "${CMAKE_MATCH_6}")
    quote_zsh(zsh_help "${help}")
    quote_zsh(zsh_argument "${argument}")
    quote_fish(fish_help "${help}")
    string(APPEND words " --${name}")
    string(APPEND fish "complete -c tracetape -n '__fish_seen_subcommand_from ${verb}'")
    string(APPEND fish " -l ${name}")
    set(spelled "--${name}")
    set(takes "")
    if(NOT argument STREQUAL "")
        set(spelled "--${name}=")
        set(takes ":${zsh_argument}:_files")
        string(APPEND fish " -r")
    endif()
    if(letter STREQUAL "")
        set(zsh_names "'${spelled}")
    else()
        string(APPEND words " -${letter}")
        string(APPEND fish " -s ${letter}")
        set(plus "")
        if(NOT takes STREQUAL "")
            set(plus "+")
        endif()
        set(zsh_names "{-${letter}${plus},${spelled}}'")
    endif()
    string(APPEND zsh_cases " \\\n            ${zsh_names}[${zsh_help}]${takes}'")
    string(APPEND fish " -d '${fish_help}'\n")
endmacro()

ask(overview --help)
section(verbs "${overview}" Verbs)
while(NOT verbs STREQUAL "")
    next_line(line verbs)
    if(NOT line MATCHES "^  ([a-z]+) +(.*)$")
        message(FATAL_ERROR "no verb: ${line}")
    endif()
    set(verb "${CMAKE_MATCH_1}")
    quote_zsh(zsh_about "${CMAKE_MATCH_2}")
    quote_fish(fish_about "${CMAKE_MATCH_2}")
    string(APPEND names " ${verb}")
    string(APPEND zsh_verbs "    '${verb}:${zsh_about}'\n")
    string(APPEND zsh_cases "    ${verb})\n        _arguments -s")
    string(APPEND fish "complete -c tracetape -n '${only_first}' -f -a ${verb}")
    string(APPEND fish " -d '${fish_about}'\n")
    ask(help "${verb}" --help)
    section(options "${help}" Options)
    set(words "")
    while(NOT options STREQUAL "")
        next_line(line options)
        if(line MATCHES "^ [A-Z]") # what the next ones are for
            continue()
        endif()
        if(NOT line MATCHES "^  (-(.), |    )--([a-z-]+)( ([^ ]+)|\\[=[A-Z]+\\])? +([^ ].*)$")
            message(FATAL_ERROR "no option: ${line}")
        endif()
        add_option("${verb}")
    endwhile()
    string(APPEND bash_cases "    ${verb}) words='${words}' ;;\n")
    string(APPEND zsh_cases " \\\n            '*:file:_files' ;;\n")
endwhile()

file(WRITE "${FOLDER}/tracetape" "# bash completion for tracetape, made from its --help
_tracetape() {
    local word=\${COMP_WORDS[COMP_CWORD]} words=
    if [ \"$COMP_CWORD\" -eq 1 ]; then
        words='${names} help --help --version'
    else
        case \${COMP_WORDS[1]} in
${bash_cases}    help) words='${names}' ;;
        esac
        if [ \"\${COMP_WORDS[1]}\" != help ] && [[ $word != -* ]]; then
            return # files
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")
}
complete -o default -F _tracetape tracetape
")
file(WRITE "${FOLDER}/_tracetape" "#compdef tracetape
# zsh completion for tracetape, made from its --help
local -a verbs
verbs=(
${zsh_verbs})
if (( CURRENT == 2 )); then
    _describe verb verbs
    return
fi
shift words
(( CURRENT-- ))
case $words[1] in
${zsh_cases}esac
")
file(WRITE "${FOLDER}/tracetape.fish" "# fish completion for tracetape, made from its --help
${fish}")
