#!/bin/sh
# What the third text did to count the libraries of a folder's programs: ldd for each, which has the
# loader load it, and a count of the names by awk. The folder is the first argument.
find "$1" -type f -executable -print0 | xargs -0 ldd 2>/dev/null |
    awk '/^\t.*\.so/ { path = $1; sub(/.*\//, "", path); count[path]++ }
        END { for (name in count) print count[name] "\t" name }' |
    sort -rn
