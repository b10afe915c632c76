// Which pod a container belongs to, and which workload the pod, from kube-state-metrics; without it,
// these yield nothing.
local parts = import '../lib/parts.libsonnet';
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
  local owner = l + ['namespace', 'owner_kind', 'owner_name'],
  local workloads = 'namespace_pod:perf_workload:relabel',
  local names = 'container_id:kube_pod_container_info:relabel',

  local events = ['task_clock_seconds', 'cycles', 'instructions', 'cache_misses'],
  // Whatever else machines are distinguished by goes on to the tasks.
  local ofTarget = [label for label in c.cpi.platformLabels if !std.member(c.hostLabels + ['cpu_model'], label)],
  local sum(event, part) = {
    record: 'namespace_pod_container:perf_cgroup_%s:rate%s' % [event, c.window],
    labels: parts.label(part),
    expr: |||
      sum %(by)s (
        rate(perf_cgroup_%(event)s_total{%(part)s}[%(window)s])
        * %(on)s group_left (namespace, workload, pod, container) %(names)s{%(part)s}
      )
    ||| % {
      by: promql.by(c.hostLabels + ofTarget + ['namespace', 'workload', 'pod', 'container']),
      on: promql.on(l + ['container_id']),
      names: names,
      event: event,
      part: parts.ofIds('container_id', part),
      window: c.window,
    },
  },
  local ofWorkloads(event) = {
    record: 'namespace_workload:perf_cgroup_%s:rate%s' % [event, c.window],
    expr: 'sum %s (namespace_pod_container:perf_cgroup_%s:rate%s{workload!=""})' %
          [promql.by(l + ['namespace', 'workload']), event, c.window],
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.kubernetes.rules', rules: [
        {
          // A Deployment owns its pods through ReplicaSets, one for each of its versions, and a CronJob
          // through Jobs, one for each run; other ReplicaSets and Jobs have no owner themselves. topk:
          // exactly one.
          record: 'namespace_owner:perf_workload:relabel',
          expr: |||
            topk %(byOwner)s (1,
              group %(byParent)s (
                %(replicaSets)s
                or
                %(jobs)s
              )
            )
          ||| % {
            byOwner: promql.by(owner),
            byParent: promql.by(owner + ['workload']),
            replicaSets: promql.nested(parents('ReplicaSet', 'kube_replicaset_owner', 'replicaset'), 4),
            jobs: promql.nested(parents('Job', 'kube_job_owner', 'job_name'), 4),
          },
        },
      ] + [
        {
          // A pod has at most one controller. Where it is not known, which owner that is, topk: any.
          record: workloads,
          labels: parts.label(part),
          local controllers = |||
            (
              kube_pod_owner{owner_is_controller="true", %(part)s}
              or %(onPod)s
              topk %(byPod)s (1, kube_pod_owner{owner_is_controller!~"true|false", owner_kind!~"<none>|", %(part)s})
            )
          ||| % {
            byPod: promql.by(l + ['namespace', 'pod']),
            onPod: promql.on(l + ['namespace', 'pod']),
            part: parts.ofIdsAndOthers('uid', part),
          },
          expr: |||
            group %(by)s (
              %(controllers)s
              * %(onOwner)s group_left (workload) namespace_owner:perf_workload:relabel
              or %(onPod)s
              label_replace(
                %(sameControllers)s,
                "workload", "$1", "owner_name", "(.+)"
              )
            )
          ||| % {
            by: promql.by(l + ['namespace', 'pod', 'workload']),
            onPod: promql.on(l + ['namespace', 'pod']),
            onOwner: promql.on(owner),
            controllers: promql.nested(controllers, 2),
            sameControllers: promql.nested(controllers, 4),
          },
        }
        for part in parts.all
      ] + [
        {
          // It has "containerd://9f2c...", we have the id alone. Containers that wait have none, as
          // vector(1) has none.
          record: names,
          labels: parts.label(part),
          expr: |||
            label_replace(
              max %(by)s (
                %(info)s
                * %(onPod)s group_left (workload) %(workloads)s{%(recorded)s}
                or %(onContainer)s
                %(info)s
              )
              unless %(onId)s vector(1),
              "container_id", "$1", "container_id", ".+://(.+)"
            )
          ||| % {
            by: promql.by(l + ['container_id', 'namespace', 'pod', 'container', 'workload']),
            // The second has sidecars that are init containers which are restarted.
            info: '{__name__=~"kube_pod_container_info|kube_pod_init_container_info",%s}' % parts.ofIdsAndOthers('uid', part),
            onPod: promql.on(l + ['namespace', 'pod']),
            onContainer: promql.on(l + ['namespace', 'pod', 'container', 'container_id']),
            onId: promql.on(['container_id']),
            workloads: workloads,
            recorded: parts.recorded(part),
          },
        }
        for part in parts.all
      ] + [sum(e, part) for e in events for part in parts.all] + [ofWorkloads(e) for e in events] + [
        {
          record: 'namespace_pod_container:perf_cgroup_cycles_per_instruction:ratio_rate%s' % c.window,
          labels: parts.label(part),
          local rate(event) = 'namespace_pod_container:perf_cgroup_%s:rate%s{%s}' % [event, c.window, parts.recorded(part)],
          expr: promql.ratio(rate('cycles'), rate('instructions')),
        }
        for part in parts.all
      ] },
    ],
  },
}
