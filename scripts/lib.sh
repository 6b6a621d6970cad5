# Shared by the scripts here: what is installed, what is missing, how to install it. Sourced, not run.

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# The user who called: under sudo the one behind it, so that no file of the build belongs to root.
as_invoker() {
    if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
        sudo -u "$SUDO_USER" -- "$@"
    else
        "$@"
    fi
}

have_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# missing PACKAGE...: those that are not installed, a line each.
missing() {
    for package in "$@"; do
        have_package "$package" || say "$package"
    done
}

# install REASON PACKAGE...: only what is missing; apt is not called when nothing is. One sudo with its reason.
install() {
    reason=$1
    shift
    set -- $(missing "$@")
    [ $# -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        complain "these packages are missing and there is no apt-get: $*"
        return 1
    fi
    elevate=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            complain "these packages are missing, install them as root: apt-get install $*"
            return 1
        fi
        say "sudo is needed once, to install $reason: $*"
        elevate=sudo
        [ -t 0 ] || elevate="sudo -n"
    else
        say "installing $reason: $*"
    fi
    # The lock of another apt is waited for; nothing asks questions.
    $elevate sh -c 'export DEBIAN_FRONTEND=noninteractive
        apt="apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0"
        $apt install --no-install-recommends "$@" >/dev/null 2>&1 && exit 0
        $apt update >/dev/null && $apt install --no-install-recommends "$@" >/dev/null' sh "$@" </dev/null
}

BUILD_PACKAGES="g++ cmake ninja-build pkg-config clang bpftool libbpf-dev libspdlog-dev libfmt-dev libcli11-dev
    nlohmann-json3-dev libcap-dev libelf-dev libncurses-dev libzstd-dev libxxhash-dev
    libsqlite3-dev libprotozero-dev libmicrohttpd-dev prometheus-cpp-dev"
TEST_PACKAGES="strace libgtest-dev libbenchmark-dev python3 python3-jsonschema procps smem util-linux libcap2-bin linux-perf tmux
    protobuf-compiler abigail-tools python3-pytest man-db sudo"
# Of tests that --long runs: an engine that scrapes, shells that complete, what makes a chroot.
LONG_PACKAGES="prometheus prometheus-node-exporter zsh fish mandoc mmdebstrap"
VM_PACKAGES="qemu-system-x86 busybox-static cpio kmod zstd xz-utils e2fsprogs"

# Keeps what ninja prints in $LOG and tells how far it is: on one line of a terminal, elsewhere with a line for each tenth.
build_progress() {
    failed=0 told=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$LOG"
        case $line in
            "build failed") failed=1 ;;
            \[[0-9]*/[0-9]*\]*)
                line=${line#?}
                percent=$((100 * ${line%%/*} / $(expr "$line" : '[0-9]*/\([0-9]*\)')))
                if [ -t 1 ]; then
                    printf '\rbuilding: %s %%' "$percent"
                elif [ $((percent / 10)) -gt $told ]; then
                    told=$((percent / 10))
                    say "building: $percent %"
                fi ;;
        esac
    done
    [ ! -t 1 ] || say ""
    return $failed
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
    preset=$1
    shift
    as_invoker cmake --preset "$preset" >"$LOG" 2>&1 || { cat "$LOG" >&2; return 1; }
    directory=$(sed -n 's/^-- Build files have been written to: //p' "$LOG" | tail -n 1)
    : >"$LOG"
    { as_invoker cmake --build "$directory" ${1:+--target "$@"} 2>&1 || say "build failed"; } | build_progress ||
        { tail -n 60 "$LOG" >&2; return 1; }
}

# formatted: whether clang-format would change nothing. BPF programs and what C includes as well are laid out by hand.
formatted() {
    git ls-files 'userspace/*.cpp' 'userspace/*.h' 'include/*.h' 'tests/*.cpp' 'tests/*.h' |
        grep -v -e abi.h -e include/rsslag.h -e '\.bpf\.h' | xargs clang-format --dry-run -Werror
}
