// A task that takes more cycles for its work than its like: see rules/neighbours.libsonnet.
local alert = import '../lib/alert.libsonnet';
local neighbours = import '../lib/neighbours.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local names = {
    Workload: '{{ $labels.container }} of pod {{ $labels.namespace }}/{{ $labels.pod }} (workload {{ $labels.workload }})',
    Service: '{{ $labels.cgroup }} (workload {{ $labels.workload }})',
  },
  // `group_left ()` with its parentheses: without, those of the next operand are taken for its labels.
  local outlier(kind) = |||
    %(task)s
      > %(on)s group_left () (%(mean)s + %(deviations)g * %(deviation)s)
      > %(on)s group_left () (%(excess)g * %(mean)s)
      and %(on)s %(tasks)s >= %(minTasks)d
  ||| % {
    task: neighbours.perTask(kind, c),
    on: promql.on(kind.workload),
    mean: neighbours.mean(kind, c),
    deviation: neighbours.deviation(kind, c),
    tasks: neighbours.tasks(kind, c),
    deviations: c.cpi.deviations,
    excess: c.cpi.minExcess,
    minTasks: c.cpi.minTasks,
  },

  prometheusAlerts+:: {
    groups+: [{ name: 'perf_event_exporter.neighbours.alerts', rules: [
      alert(c,
            'Perf%sCPIOutlier' % kind.kind,
            'info',
            '5m',
            outlier(kind),
            'A %s needs more cycles per instruction than others of its workload. It may have a noisy neighbour.' % kind.noun,
            'On {{ $labels.instance }}, %s needs {{ $value | humanize }} cycles per instruction, far more than the others of its workload.' % names[kind.kind])
      for kind in neighbours.of(c)
    ] }],
  },
}
