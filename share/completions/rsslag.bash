# bash completion for rsslag                               -*- shell-script -*-
# `rsslag completion` prints the candidates for the current word. Files, users and so on are completed by bash itself.

# Sets REPLY to $1 without its quotes and backslashes, and `quote` to the quote that is still open at its end.
_rsslag_unquote()
{
    local i c
    REPLY= quote=
    for ((i = 0; i < ${#1}; ++i)); do
        c=${1:i:1}
        if [[ $c == \\ && $quote != \' ]]; then
            REPLY+=${1: ++i:1}
        elif [[ -n $quote && $c == "$quote" ]]; then
            quote=
        elif [[ -z $quote && $c == [\'\"] ]]; then
            quote=$c
        else
            REPLY+=$c
        fi
    done
}

_rsslag()
{
    # Bash splits words at = and : too. Join the parts that have no blank between them.
    local i word whole=() at=0 rest=${COMP_LINE#*"${COMP_WORDS[0]}"}
    for ((i = 1; i <= COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if ((at == 0)) || [[ $rest == [[:space:]]* ]]; then
            whole[at++]=$word
        else
            whole[at - 1]+=$word
        fi
        rest=${rest#*"$word"}
    done
    # Bash replaces only the part after the last = or :, without a leading quote.
    local cur=${COMP_WORDS[COMP_CWORD]} before quote REPLY
    [[ $cur == [=:] ]] && cur=
    _rsslag_unquote "${whole[at - 1]%"$cur"}"
    before=$REPLY
    for ((i = 0; i < at; ++i)); do
        _rsslag_unquote "${whole[i]}"
        whole[i]=$REPLY
    done
    _rsslag_unquote "$cur"
    cur=$REPLY

    local also line text about
    COMPREPLY=()
    {
        IFS= read -r also || return
        while IFS= read -r line; do
            text=${line%%$'\t'*} about=
            [[ -n ${text#"$before"} ]] || continue
            [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
            # A number alone is not helpful: in a list of all matches, its description follows it.
            if [[ $text == *([0-9,]) && -n $about && ($COMP_TYPE -eq 63 || $COMP_TYPE -eq 33) ]]; then
                COMPREPLY+=("${text#"$before"} ($about)")
            else
                text=${text#"$before"}
                # printf %q would also quote commas, which the next completion of a list would have to undo.
                [[ -z $quote && $text == *[!A-Za-z0-9_.,:=%+@/-]* ]] && printf -v text %q "$text"
                COMPREPLY+=("$text")
            fi
        done
    } < <("${COMP_WORDS[0]}" completion -- "${whole[@]}" 2>/dev/null)

    if ((${#COMPREPLY[@]} == 1)); then
        COMPREPLY[0]=${COMPREPLY[0]%% (*}
        [[ ${COMPREPLY[0]} == *[=:\<,] ]] && compopt -o nospace 2>/dev/null
    fi
    case $also in
        files) compopt -o filenames 2>/dev/null && mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        directories) compopt -o filenames 2>/dev/null && mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        users) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
        groups) mapfile -t COMPREPLY < <(compgen -g -- "$cur") ;;
        command) _rsslag_command ;;
    esac
}

# After --: the first word is a command, the others are its arguments.
_rsslag_command()
{
    local i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        [[ ${COMP_WORDS[i]} == -- ]] && break
    done
    if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
    elif ((COMP_CWORD == i + 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    fi
}

complete -F _rsslag rsslag
