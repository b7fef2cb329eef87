#!/bin/sh
# Installs what the peers and the tests need and this machine lacks. With the argument `test`, as
# `make deps` has it, also a browser; with `bench` also what `make bench` compares with.
#
# It looks for the tools themselves, not for packages: what is there, from wherever, is left
# alone. It installs Debian's and Ubuntu's packages as root or through sudo. Where it may not,
# or where the package manager is another, it prints the one command to run. It always ends
# well: a peer that lacks its tools is reported as not installed, and the rest goes on.

set -u
purpose=${1-}

# The first of these that is here is the machine's package manager.
manager=unknown
for candidate in apt-get dnf pacman apk; do
    if command -v "$candidate" >/dev/null; then
        manager=$candidate
        break
    fi
done

# What is missing, as this machine's packages, each once.
missing=''
lack() { # APT DNF PACMAN APK: who has it; - where nobody does
    case $manager in
    dnf) package=$2 ;;
    pacman) package=$3 ;;
    apk) package=$4 ;;
    *) package=$1 ;;
    esac
    case " $missing " in
    *" $package "*) ;;
    *) [ "$package" = - ] || missing="${missing:+$missing }$package" ;;
    esac
}

tool() { # TOOL APT DNF PACMAN APK
    command -v "$1" >/dev/null || {
        shift
        lack "$@"
    }
}

gcc_file() { # PATTERN 'GCC-OPTIONS' APT DNF PACMAN APK: gcc prints a path that fits when it has it
    # shellcheck disable=SC2086,SC2254 # the options are several words; the pattern is one
    case $(gcc $2 2>/dev/null) in
    $1) ;;
    *)
        shift 2
        lack "$@"
        ;;
    esac
}

# For the peers.
tool as binutils binutils binutils binutils
tool gcc gcc gcc gcc gcc
gcc_file '/*' -print-file-name=libc.a libc6-dev glibc-static glibc -
tool musl-gcc musl-tools musl-gcc musl -
tool diet dietlibc-dev dietlibc - -
tool klcc libklibc-dev - - -
# For the tests: an oracle, two readers of ordinary files, two other linkers, a 32-bit subject.
tool strace strace strace strace strace
tool gdb gdb gdb gdb gdb
tool objdump binutils binutils binutils binutils
tool ld.lld lld lld lld lld
tool mold mold mold mold mold
gcc_file '*/32/libgcc.a' '-m32 -print-file-name=libgcc.a' gcc-multilib glibc-devel.i686 lib32-gcc-libs -
# The names of libc's own functions, for who makes each call.
set -- "${DEBUG_FILES-/usr/lib/debug/.build-id}"/*/*.debug
[ -e "$1" ] || lack libc6-dbg - - -
# For the tests of the report's page: a browser, and a checker of HTML.
if [ "$purpose" = test ]; then
    tool chromium chromium chromium chromium chromium
    tool tidy tidy tidy tidy tidyhtml
fi
# For the bench: launchers to compare with. chpst is measured where it is installed; its package,
# runit, would set up services as well.
if [ "$purpose" = bench ]; then
    tool execlineb execline - execline execline
    tool s6-setsid s6 - s6 s6
    tool busybox busybox-static busybox busybox busybox-static
    tool gosu gosu - - -
    tool su-exec - - - su-exec
fi

case $manager in
apt-get) command="apt-get install -y $missing" ;;
dnf) command="dnf install -y $missing" ;;
pacman) command="pacman -S --needed $missing" ;;
apk) command="apk add $missing" ;;
*) command='' ;;
esac

# How to become root, if it is possible. Without a terminal nobody can type a password.
root=''
may_install() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || return
    if [ -t 0 ]; then
        root=sudo
        sudo -v
    else
        root='sudo -n'
        sudo -n true 2>/dev/null
    fi
}

as_root() {
    $root "$@"
}

# --no-remove: a package that would push out another one is rather left away.
apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends --no-remove "$@"
}

# The lists of packages are only fetched when they are missing or too old to install from, and
# one package that cannot be had does not keep the others away.
apt_install_all() {
    apt_install "$@" 2>/dev/null && return
    echo 'deps: fetching the lists of packages'
    as_root apt-get update -qq
    apt_install "$@" && return
    for package in "$@"; do
        apt_install "$package" || echo "deps: could not install $package; what needs it is left out"
    done
}

if [ -z "$missing" ]; then
    echo 'deps: nothing is missing'
elif [ -z "$command" ]; then
    echo "deps: install these with your package manager (by Debian's names): $missing"
elif [ "$manager" != apt-get ]; then
    echo "deps: to install what is missing, run as root: $command"
elif may_install; then
    echo "deps: installing $missing"
    # shellcheck disable=SC2086 # a list of names
    apt_install_all $missing
else
    echo "deps: to install what is missing, run as root: $command"
fi

# The peer on Rust's musl target. Without rustup, the distribution's Rust is left as it is.
target=x86_64-unknown-linux-musl
if command -v rustup >/dev/null; then
    case $(rustup target list --installed 2>/dev/null) in
    *"$target"*) ;;
    *)
        echo "deps: adding Rust's target $target"
        rustup target add "$target" || echo "deps: could not add $target; its peer is left out"
        ;;
    esac
fi
exit 0
