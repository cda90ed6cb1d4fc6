# Completion for fish: commands, options, their values, files, and names inside a file.
# The words come from the program itself: torchoscope __complete.

function __torchoscope_command
    set -l words (commandline -opc)
    if test (count $words) -gt 1; and torchoscope __complete commands 2>/dev/null | cut -f 1 | grep -qx -- $words[2]
        echo $words[2]
    else
        echo FILE # a file stands where a command might
    end
end

function __torchoscope_first
    test (count (commandline -opc)) -eq 1
end

# The file that was given, if the command takes names inside one.
function __torchoscope_file
    set -l words (commandline -opc)
    contains -- (__torchoscope_command) show stats; or return 1
    for word in $words[3..-1]
        if not string match -q -- '-*' $word; and test -e $word
            echo $word
            return 0
        end
    end
    return 1
end

function __torchoscope_after_option
    string match -q -- '--*' (commandline -opc)[-1]
    and test -n "$(torchoscope __complete values (__torchoscope_command) (commandline -opc)[-1] 2>/dev/null)"
end

complete -c torchoscope -n __torchoscope_first -a '(torchoscope __complete commands 2>/dev/null)'
complete -c torchoscope -n 'string match -q -- "-*" (commandline -ct)' -a '(torchoscope __complete options (__torchoscope_command) 2>/dev/null)'
complete -c torchoscope -f -n __torchoscope_after_option -a '(torchoscope __complete values (__torchoscope_command) (commandline -opc)[-1] 2>/dev/null)'
complete -c torchoscope -f -n '__torchoscope_file >/dev/null' -a '(torchoscope __complete (__torchoscope_file) (commandline -ct) 2>/dev/null)'
