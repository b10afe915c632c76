# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# A cgroup that switches as often as can be, and one that hardly runs, on one CPU.

new_cgroup often
new_cgroup often-partner
new_cgroup light

# All groups have the PMU whenever they want it.
start_work often often 0 instructions:u switch 400
start_daemon beside
mark alone-0
run_for 5 often
note_switches often alone-1
mark alone-1
run_for 5 often
mark alone-2
stop_daemon

# Three groups exclude each other.
start_daemon rotated
mark rotated-0
run_for 10 often
mark rotated-1
run_for 10 often
mark rotated-2
end_work often
start_work light light 0 cgroup/instructions pulse 5000
run_for 10 light  # so that each group has had the PMU
mark light-0
run_for 60 light
mark light-1
run_for 120 light
mark light-2
end_work light
stop_daemon
