#!/bin/sh
# Starts the compiler, with ccache, after the old precompiled header is removed. g++ -E, by which ccache
# recognizes a compilation, reads that in place of the header that has changed: ccache would return what
# another change of the same precompiled header has led to.
#
#   ccache.sh COMMAND [ARGS...]
for word; do
  case $word in
    *.gch) rm -f "$word" ;;
  esac
done
exec "$@"
