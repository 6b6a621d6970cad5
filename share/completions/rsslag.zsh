#compdef rsslag
# `rsslag completion` prints the candidates for the current word. Files, users and so on are completed by zsh itself.

_rsslag() {
    local -a lines more whole typed
    local line text about
    # A quote of the current word may still be open.
    typed=("${(@Q)words[2,CURRENT]}")
    typed[-1]=${typed[-1]#[\'\"]}
    lines=("${(@f)$(_call_program rsslag ${(q)words[1]} completion -- "${(@q)typed}" 2>/dev/null)}")
    # The functions of zsh complete only the value of --option=value.
    [[ ${lines[1]} == (files|directories|users|groups) && $PREFIX == --*=* ]] && compset -P 1 '*='
    case ${lines[1]} in
        files) _files; return ;;
        directories) _files -/; return ;;
        users) _users; return ;;
        groups) _groups; return ;;
        command)
            local dashes=${words[(i)--]}
            (( CURRENT -= dashes ))
            shift dashes words
            _normal
            return ;;
    esac
    for line in "${(@)lines[2,-1]}"; do
        text=${line%%$'\t'*}
        about=
        [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
        text=${text//:/\\:}${about:+:$about}
        if [[ ${line%%$'\t'*} == *[=:\<,] ]]; then more+=("$text"); else whole+=("$text"); fi
    done
    local found=1
    (( $#whole )) && _describe -V rsslag whole && found=0
    (( $#more )) && _describe -V rsslag more -S '' && found=0
    return found
}

if [[ ${funcstack[1]} == _rsslag ]]; then _rsslag "$@"; else compdef _rsslag rsslag; fi
