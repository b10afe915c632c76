#!/usr/bin/env bash
# Writes what the sources here say: rules.yaml and alerts.yaml in prometheus/, dashboards in grafana/.
#
#   generate.sh [OUT [MIXIN]]   below OUT, default ..; of another MIXIN than mixin.libsonnet here, such as
#                               one with a _config of your own
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/..}
mixin=${2:-$here/mixin.libsonnet}
readonly here out mixin

rules() {  # KEY
  jsonnet -J "$here" -S -e "(import 'lib/rule_file.libsonnet')((import '$(realpath "$mixin")').$1)"
}

mkdir -p "$out/prometheus" "$out/grafana"
rules prometheusRules >"$out/prometheus/rules.yaml"
rules prometheusAlerts >"$out/prometheus/alerts.yaml"
jsonnet -J "$here" -m "$out/grafana" -e "(import '$(realpath "$mixin")').grafanaDashboards" >/dev/null
