// Which pod a container belongs to, and which workload the pod, from kube-state-metrics; without it,
// these yield nothing.
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local l = c.clusterLabels,
  // The owners of owners: `workload`, by what its pods have as owner_kind and owner_name.
  local parents(kind, series, name) = |||
    label_replace(
      label_replace(
        label_replace(%(series)s{owner_kind!~"<none>|"}, "workload", "$1", "owner_name", "(.+)"),
        "owner_name", "$1", "%(name)s", "(.+)"
      ),
      "owner_kind", "%(kind)s", "", ""
    )
  ||| % { kind: kind, series: series, name: name },
  local events = ['task_clock_seconds', 'cycles', 'instructions'],
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
  local ofWorkloads(event) = {
    record: 'namespace_workload:perf_cgroup_%s:rate%s' % [event, c.window],
    expr: |||
      sum %(by)s (
        namespace_pod_container:perf_cgroup_%(event)s:rate%(window)s
        * %(on)s group_left (workload) namespace_pod:perf_workload:relabel
      )
    ||| % {
      by: promql.by(l + ['namespace', 'workload']),
      on: promql.on(l + ['namespace', 'pod']),
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
          // A pod may have several owners, of which at most one is its controller; topk: exactly one. A
          // Deployment owns its pods through ReplicaSets, one for each of its versions, and a CronJob
          // through Jobs, one for each run; other ReplicaSets and Jobs have no owner themselves.
          record: 'namespace_pod:perf_workload:relabel',
          expr: |||
            group %(by)s (
              topk %(byPod)s (1, kube_pod_owner{owner_is_controller!="false", owner_kind!~"<none>|"})
              * %(onOwner)s group_left (workload) (
                topk %(byOwner)s (1,
                  group %(byParent)s (
                    %(replicaSets)s
                    or
                    %(jobs)s
                  )
                )
                or %(onOwner)s
                label_replace(group %(byOwner)s (kube_pod_owner), "workload", "$1", "owner_name", "(.+)")
              )
            )
          ||| % {
            local owner = l + ['namespace', 'owner_kind', 'owner_name'],
            by: promql.by(l + ['namespace', 'pod', 'workload']),
            byPod: promql.by(l + ['namespace', 'pod']),
            byOwner: promql.by(owner),
            onOwner: promql.on(owner),
            byParent: promql.by(owner + ['workload']),
            replicaSets: promql.nested(parents('ReplicaSet', 'kube_replicaset_owner', 'replicaset'), 8),
            jobs: promql.nested(parents('Job', 'kube_job_owner', 'job_name'), 8),
          },
        },
      ] + [sum(e) for e in events] + [ofWorkloads(e) for e in events] + [
        {
          record: 'namespace_pod_container:perf_cgroup_cycles_per_instruction:ratio_rate%s' % c.window,
          expr: promql.ratio('namespace_pod_container:perf_cgroup_cycles:rate%s' % c.window,
                             'namespace_pod_container:perf_cgroup_instructions:rate%s' % c.window),
        },
      ] },
    ],
  },
}
