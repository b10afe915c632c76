#!/bin/sh
# Whether a service is enabled is decided by the presets of the system, also of one that is installed
# into a folder and does not run.
if [ "$1" -eq 1 ]; then
  [ ! -d /run/systemd/system ] || systemctl daemon-reload || :
  systemctl --no-reload preset perf_event_exporter.service || :
fi
