# Functions shared by the scripts here, to check for and install packages and to build. Sourced, not run.

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# as_invoker COMMAND...: runs as the calling user, under sudo as the user who ran sudo, so that no build file belongs to root.
as_invoker() {
    if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
        sudo -u "$SUDO_USER" -- "$@"
    else
        "$@"
    fi
}

have_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# missing PACKAGE...: prints the packages that are not installed, one per line.
missing() {
    for package in "$@"; do
        have_package "$package" || say "$package"
    done
}

# install REASON PACKAGE...: installs missing packages; does not call apt if there are none. Prints REASON before its only sudo.
install() {
    reason=$1
    shift
    set -- $(missing "$@")
    [ $# -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        complain "missing packages, and there is no apt-get to install them: $*"
        return 1
    fi
    elevate=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            complain "missing packages; install them as root: apt-get install $*"
            return 1
        fi
        say "sudo is needed once, to install $reason: $*"
        elevate=sudo
        [ -t 0 ] || elevate="sudo -n"
    else
        say "installing $reason: $*"
    fi
    # Waits for the lock of another apt; asks no questions.
    $elevate sh -c 'export DEBIAN_FRONTEND=noninteractive
        apt="apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0"
        $apt install --no-install-recommends "$@" >/dev/null 2>&1 && exit 0
        $apt update >/dev/null && $apt install --no-install-recommends "$@" >/dev/null' sh "$@" </dev/null
}

BUILD_PACKAGES="g++ cmake ninja-build pkg-config clang bpftool libbpf-dev libspdlog-dev libfmt-dev libcli11-dev
    nlohmann-json3-dev libcap-dev libelf-dev libdw-dev libiberty-dev libncurses-dev libzstd-dev libxxhash-dev
    libsqlite3-dev libprotozero-dev libmicrohttpd-dev prometheus-cpp-dev"
TEST_PACKAGES="strace libgtest-dev libbenchmark-dev python3 python3-jsonschema procps smem util-linux libcap2-bin linux-perf tmux
    protobuf-compiler abigail-tools python3-pytest man-db sudo ccache"
# For tests of --long: prometheus to scrape, shells for completion, mmdebstrap for chroots, chromium for pages, an archive that libdw.a needs.
LONG_PACKAGES="prometheus prometheus-node-exporter zsh fish mandoc mmdebstrap chromium libbz2-dev"
VM_PACKAGES="qemu-system-x86 busybox-static cpio kmod zstd xz-utils e2fsprogs"

# Copies ninja's output to $LOG and prints the progress: on one line of a terminal, otherwise one line per 10 %.
build_progress() {
    failed=0 printed=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$LOG"
        case $line in
            "build failed") failed=1 ;;
            \[[0-9]*/[0-9]*\]*)
                line=${line#?}
                percent=$((100 * ${line%%/*} / $(expr "$line" : '[0-9]*/\([0-9]*\)')))
                if [ -t 1 ]; then
                    printf '\rbuilding: %s %%' "$percent"
                elif [ $((percent / 10)) -gt $printed ]; then
                    printed=$((percent / 10))
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

# formatted: succeeds if clang-format would change nothing. BPF programs and headers that C includes are formatted by hand.
formatted() {
    git ls-files 'userspace/*.cpp' 'userspace/*.h' 'include/*.h' 'tests/*.cpp' 'tests/*.h' |
        grep -v -e abi.h -e include/rsslag.h -e '\.bpf\.h' | xargs clang-format --dry-run -Werror
}
