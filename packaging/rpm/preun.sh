#!/bin/sh
if [ "$1" -eq 0 ]; then
  if [ -d /run/systemd/system ]; then
    systemctl --no-reload disable --now perf_event_exporter.service || :
  else
    systemctl --no-reload disable perf_event_exporter.service || :
  fi
fi
