#!/bin/sh
# What the third text did to tell how much of its libraries each program of a folder uses: for each
# program ldd, then objdump -T of every library it names, then objdump -R of the program. The folder
# is the first argument.
find "$1" -type f -executable | while read -r program; do
    offered=$(ldd "$program" 2>/dev/null |
        awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' |
        while read -r library; do objdump -T "$library"; done |
        awk 'NF >= 5 { print $NF }' | sort -u | wc -l)
    used=$(objdump -R "$program" 2>/dev/null | awk 'NF >= 3 { print $NF }' | sort -u | wc -l)
    [ "$offered" = 0 ] || echo "$program $offered $used"
done
