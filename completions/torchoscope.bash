# Completion for bash: commands, options, their values, files, and names inside a file.
# The words come from the program itself: torchoscope __complete.

_torchoscope() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} program=${COMP_WORDS[0]} word file=
    local IFS=$'\n'

    COMPREPLY=()
    if [[ $COMP_CWORD == 1 && $current != -* ]]; then
        COMPREPLY=($(compgen -W "$("$program" __complete commands 2>/dev/null | cut -f 1)" -- "$current"))
        COMPREPLY+=($(compgen -f -- "$current"))
        compopt -o filenames 2>/dev/null
        return
    fi
    if ! "$program" __complete commands 2>/dev/null | cut -f 1 | grep -qx -- "$command"; then
        command=FILE # a file stands where a command might
    fi
    if [[ $previous == '=' && $COMP_CWORD -gt 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]} # bash breaks --sort=params in three
    fi
    if [[ $previous == --* ]]; then
        COMPREPLY=($(compgen -W "$("$program" __complete values "$command" "$previous" 2>/dev/null | cut -f 1)" -- "${current#=}"))
        [[ ${#COMPREPLY[@]} == 0 ]] || return
    fi
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$("$program" __complete options "$command" 2>/dev/null | cut -f 1)" -- "$current"))
        return
    fi
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        if [[ -z $file && $word != -* && -e ${word/#\~/$HOME} ]]; then
            file=${word/#\~/$HOME}
        fi
    done
    if [[ -n $file && ($command == show || $command == stats) ]]; then
        COMPREPLY=($("$program" __complete "$file" "$current" 2>/dev/null))
        [[ ${COMPREPLY[0]} != *. ]] || compopt -o nospace 2>/dev/null
        return
    fi
    COMPREPLY=($(compgen -f -- "$current"))
    compopt -o filenames 2>/dev/null
}

complete -F _torchoscope torchoscope
