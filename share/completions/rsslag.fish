# fish completion for rsslag
# `rsslag completion` prints the candidates for the current word. Files, users and so on are completed by fish itself.

function __rsslag_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] completion -- $words[2..-1] 2>/dev/null)
    set -l current (commandline -ct)
    # The functions of fish complete only the value of --option=value.
    set -l option (string match -r -- '^--[^=]*=' $current; or echo)
    set -l value (string replace -r -- '^--[^=]*=' '' $current)
    switch "$lines[1]"
        case files
            printf '%s\n' $option(__fish_complete_path $value)
        case directories
            printf '%s\n' $option(__fish_complete_directories $value '')
        case users
            printf '%s\n' $option(__fish_complete_users)
        case groups
            printf '%s\n' $option(__fish_complete_groups)
        case command
            set -l dashes (contains -i -- -- $words)
            complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..-2]) $current)
    end
    for line in $lines[2..-1]
        echo $line
    end
end

complete -c rsslag -f -a '(__rsslag_complete)'
