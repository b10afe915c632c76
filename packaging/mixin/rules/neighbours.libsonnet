// Tasks of one workload do the same work, so one that takes more cycles for each instruction than the
// others is held up by something outside of it: who shares its caches and memory (Zhang et al., "CPI2:
// CPU performance isolation for shared compute clusters", EuroSys 2013).
local neighbours = import '../lib/neighbours.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local kinds = neighbours.of(c),

  // Tasks that do next to nothing are left out. Their CPU time may be scraped by another job than
  // their cycles.
  local ratioOf(selector) =
    local rate(event) = 'sum without (cpu, pmu) (rate(perf_cgroup_%s_total{%s}[%s]))' % [event, selector, c.window];
    |||
      (
        %(ratio)s
        and %(on)s
        %(time)s >= %(cpus)g
      )
    ||| % {
      ratio: promql.nested(promql.ratio(rate('cycles'), rate('instructions')), 2),
      time: rate('task_clock_seconds'),
      on: promql.on(c.machineLabels + ['cgroup']),
      cpus: c.cpi.minCpus,
    },

  local perTask(kind, selector, join) = {
    record: neighbours.perTask(kind, c),
    expr: 'avg %s (\n  %s\n)' % [promql.by(kind.workload + kind.task), promql.nested(ratioOf(selector) + join, 2)],
  },
  local ofContainers = perTask(kinds[0], 'container_id!=""', |||
    * %s group_left (namespace, pod, container) container_id:kube_pod_container_info:relabel
    * %s group_left (workload) namespace_pod:perf_workload:relabel
  ||| % [promql.on(c.clusterLabels + ['container_id']), promql.on(c.clusterLabels + ['namespace', 'pod'])]),
  // The instances of a template are one workload, as is a service of the same name on many machines.
  local ofServices = perTask(kinds[1], 'container_id=""', |||
    * %s group_left (workload) max %s (
      label_replace(
        label_replace(perf_cgroup_info{unit=~".+[.]service"}, "workload", "$1", "unit", "(.+)"),
        "workload", "$1@.service", "unit", "([^@]+)@.+[.]service"
      )
    )
  ||| % [promql.on(c.hostLabels + ['cgroup']), promql.by(c.hostLabels + ['cgroup', 'workload'])]),

  local meanOf(kind) = {
    record: neighbours.mean(kind, c),
    expr: 'avg %s (avg_over_time(%s[%s]))' %
          [promql.by(kind.workload), neighbours.perTask(kind, c), c.cpi.history],
  },
  // Of all tasks at all times: that within each task, and that between their means.
  local deviationOf(kind) = {
    record: neighbours.deviation(kind, c),
    expr: |||
      sqrt(clamp_min(
        avg %(by)s (avg_over_time(%(task)s[%(history)s]) ^ 2 + stdvar_over_time(%(task)s[%(history)s]))
        - %(mean)s ^ 2, 0))
    ||| % {
      by: promql.by(kind.workload),
      task: neighbours.perTask(kind, c),
      history: c.cpi.history,
      mean: neighbours.mean(kind, c),
    },
  },
  local tasksOf(kind) = {
    record: neighbours.tasks(kind, c),
    expr: 'count %s (%s)' % [promql.by(kind.workload), neighbours.perTask(kind, c)],
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.tasks.rules', rules: [ofContainers, ofServices] + [tasksOf(k) for k in kinds] },
      // They read a day, and change slowly; their last value is looked up for five minutes.
      { name: 'perf_event_exporter.workloads.rules', interval: '2m', rules: std.flattenArrays([
        [meanOf(k), deviationOf(k)]
        for k in kinds
      ]) },
    ],
  },
}
