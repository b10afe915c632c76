# shellcheck shell=dash
# shellcheck source=/dev/null

# The same as sources.sh on a machine without hardware counters.

source_config=software counted_by_work=-
. /guest/sources.sh
