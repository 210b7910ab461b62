#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the shared library of ISA-L or isa-l_crypto, whichever sources are given, newer ones than distributions have:
#
#     studies/build_isal.sh SOURCES FOLDER
#
# puts libisal.so.2 or libisal_crypto.so.2 into FOLDER, and nothing else. Studies take it from there with
# LD_LIBRARY_PATH=FOLDER, and their rows name its version. Needs make, gcc and nasm (apt-get install make gcc nasm).
set -euo pipefail

fail() { printf 'error: %s\n\nhint: %s\n' "$1" "$2" >&2; exit 2; }

[ $# = 2 ] || fail "two folders are needed" "studies/build_isal.sh SOURCES FOLDER"
sources=$1 folder=$2
[ -f "$sources/Makefile.unx" ] || fail "$sources holds no Makefile.unx" "name the folder of ISA-L's or isa-l_crypto's sources"
for tool in make gcc nasm; do
    command -v "$tool" >/dev/null || fail "$tool is missing" "apt-get install make gcc nasm"
done

# the sources stay as they are
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$sources/." "$work"
make -s -C "$work" -f Makefile.unx -j "${JOBS:-$(nproc)}" slib >"$work/log" 2>&1 ||
    { tail -20 "$work/log" >&2; fail "it does not compile" "its README names the versions of nasm and gcc that it needs"; }

built=$(find "$work/bin" -maxdepth 1 -name 'libisal*.so' -type f | head -1)
[ -n "$built" ] || fail "no library was made" "look into $sources/README.md"
name=$(basename "$built")
# MAJOR, MINOR and PATCH as the headers have them
part() { { grep -rhoE "define ISAL(_CRYPTO)?_$1_VERSION +[0-9]+" --include='*.h' "$work" || true; } | head -1 | grep -oE '[0-9]+$' || echo 0; }
version="$(part MAJOR).$(part MINOR).$(part PATCH)"
mkdir -p "$folder"
install -m 755 "$built" "$folder/$name.$version"
ln -sf "$name.$version" "$folder/$name.2"
printf '%s\n' "$folder/$name.$version" "use it so: LD_LIBRARY_PATH=$(cd "$folder" && pwd) nodewise study …"
