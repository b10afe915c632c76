// Rules, alerts and dashboards under the keys that monitoring mixins use. `./generate.sh` writes what
// is committed in ../prometheus and ../grafana.
(import 'config.libsonnet') +
(import 'rules/ratios.libsonnet') +
(import 'rules/resources.libsonnet') +
(import 'rules/evidence.libsonnet') +
(import 'rules/kubernetes.libsonnet') +
(import 'rules/machines.libsonnet') +
(import 'rules/neighbours.libsonnet') +
(import 'rules/suspects.libsonnet') +
(import 'alerts/exporter.libsonnet') +
(import 'alerts/counting.libsonnet') +
(import 'alerts/neighbours.libsonnet') +
(import 'dashboards/fleet.libsonnet') +
(import 'dashboards/node.libsonnet') +
(import 'dashboards/cgroups.libsonnet') +
(import 'dashboards/memory_energy.libsonnet') +
(import 'dashboards/health.libsonnet')
