#!/bin/sh
# Writes rules.yaml and alerts.yaml here: those of packaging/prometheus as the spec of a
# PrometheusRule.
set -eu

cd "$(dirname "$0")"
for kind in rules alerts; do
  {
    cat <<END
# Generated from packaging/prometheus/$kind.yaml by generate.sh.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: perf-event-exporter-$kind
  labels:
    app.kubernetes.io/name: perf-event-exporter
    app.kubernetes.io/component: exporter
    app.kubernetes.io/part-of: perf-event-exporter
    app.kubernetes.io/version: 0.1.0
spec:
END
    sed -e '/^#/d' -e '/./s/^/  /' "../../../prometheus/$kind.yaml"
  } >"$kind.yaml"
done
