// Which pod a container belongs to, and which workload the pod, from kube-state-metrics; without it,
// these yield nothing.
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local l = c.clusterLabels,
  local sum(event) = {
    record: 'namespace_pod_container:perf_cgroup_%s:rate%s' % [event, c.window],
    expr: |||
      sum %(by)s (
        rate(perf_cgroup_%(event)s_total{container_id!=""}[%(window)s])
        * %(on)s group_left (namespace, pod, container) container_id:kube_pod_container_info:relabel
      )
    ||| % {
      by: promql.by(c.hostLabels + ['namespace', 'pod', 'container']),
      on: promql.on(l + ['container_id']),
      event: event,
      window: c.window,
    },
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.kubernetes.rules', rules: [
        {
          // It has "containerd://9f2c...", we have the id alone.
          record: 'container_id:kube_pod_container_info:relabel',
          expr: |||
            max %s (
              label_replace(kube_pod_container_info{container_id!=""}, "container_id", "$1", "container_id", ".+://(.+)")
            )
          ||| % promql.by(l + ['container_id', 'namespace', 'pod', 'container']),
        },
        {
          // A Deployment owns its pods through ReplicaSets, one for each of its versions.
          record: 'namespace_pod:perf_workload:relabel',
          expr: |||
            max %(by)s (
              label_replace(
                label_replace(kube_pod_owner{owner_kind="ReplicaSet"}, "replicaset", "$1", "owner_name", "(.+)")
                * %(on)s group_left (workload) max %(owned)s (
                  label_replace(kube_replicaset_owner{owner_kind!="", owner_kind!="<none>"}, "workload", "$1", "owner_name", "(.+)")
                ),
                "owner_kind", "", "", ""
              )
              or
              label_replace(kube_pod_owner{owner_kind!~"ReplicaSet|<none>|"}, "workload", "$1", "owner_name", "(.+)")
            )
          ||| % {
            by: promql.by(l + ['namespace', 'pod', 'workload']),
            on: promql.on(l + ['namespace', 'replicaset']),
            owned: promql.by(l + ['namespace', 'replicaset', 'workload']),
          },
        },
      ] + [sum(e) for e in ['task_clock_seconds', 'cycles', 'instructions']] + [
        {
          record: 'namespace_pod_container:perf_cgroup_cycles_per_instruction:ratio_rate%s' % c.window,
          expr: promql.ratio('namespace_pod_container:perf_cgroup_cycles:rate%s' % c.window,
                             'namespace_pod_container:perf_cgroup_instructions:rate%s' % c.window),
        },
      ] },
    ],
  },
}
