// Who may hold up an outlier: on its machine, the cgroups that do more while others are outliers than
// they did before. What a cgroup does is recorded only while it has a part of the machine that can hold up
// others, which is true of few; no series means none. Sums over time then cost little.
local neighbours = import '../lib/neighbours.libsonnet';
local parts = import '../lib/parts.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local kinds = neighbours.of(c),
  local history = c.suspects.history,
  local ofMachine = promql.on(c.machineLabels) + ' group_left ()',
  local activity = neighbours.activity(c),
  local slowed = 'cgroup_signal:perf_cgroup_activity_while_others_are_outliers:rate' + c.window,
  local moved = 'cgroup_signal:perf_cgroup_activity_moved:delta' + history,
  local movedNames = 'container_id:kube_pod_container_info:moved',
  local outliers = 'instance:perf_cgroup_outliers:count',
  local cpus = 'instance:perf_machine_cpus:sum',
  local misses = 'instance:perf_machine_cache_misses:rate' + c.window,
  local outlierContainers = neighbours.outlier(kinds[0]),
  local outlierServices = neighbours.outlier(kinds[1]),

  local activityOf(signal, event, whole, part, selector) = {
    record: activity,
    labels: { signal: signal } + parts.label(part),
    expr: |||
      max %(by)s (
        sum without (cpu, pmu) (rate(perf_cgroup_%(event)s_total{%(selector)s}[%(window)s]))
        > %(of)s (%(share)g * %(whole)s)
      )
    ||| % {
      by: promql.by(c.machineLabels + ['cgroup', 'container_id']),
      event: event,
      selector: selector,
      window: c.window,
      of: ofMachine,
      share: c.suspects.minShare,
      whole: whole,
    },
  },

  // By how much it moved, as a fraction of what the machine has; with the names of the container.
  local suspectBy(signal, of, factor, whole) = {
    local named = |||
      max without (part) (
        %(moved)s
        * %(on)s group_left (namespace, pod, container) %(names)s
        or %(each)s
        %(moved)s
      )
      / %(machine)s
      %(whole)s
      > %(min)g
    |||,
    record: neighbours.suspect(c),
    labels: { signal: signal },
    expr: named % {
      moved: '%s%s{signal="%s"}' % [factor, moved, of],
      on: promql.on(c.clusterLabels + ['container_id']),
      names: movedNames,
      each: promql.on(c.machineLabels + ['cgroup']),
      machine: ofMachine,
      whole: whole,
      min: c.suspects.minMoved,
    },
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.suspects.rules', rules: [
        activityOf(signal.name, signal.event, signal.whole, part, if part < parts.number then parts.ofIds('container_id', part) else 'container_id=""')
        for signal in [
          { name: 'cpu', event: 'task_clock_seconds', whole: cpus },
          { name: 'cache_misses', event: 'cache_misses', whole: misses },
        ]
        for part in parts.all + [parts.number]
      ] + [
        {
          record: outliers,
          expr: 'count %s (%s or %s)' % [promql.by(c.machineLabels), outlierContainers, outlierServices],
        },
        {
          // Of an outlier only if there is another one: otherwise it would be its own suspect.
          record: slowed,
          expr: |||
            %(activity)s
            and %(on)s %(outliers)s > 1
            or
            %(activity)s
            and %(on)s %(outliers)s == 1
            unless %(onCgroup)s %(services)s
            unless %(onContainer)s (
              container_id:kube_pod_container_info:relabel
              and %(onName)s %(containers)s
            )
          ||| % {
            activity: activity,
            on: promql.on(c.machineLabels),
            outliers: outliers,
            onCgroup: promql.on(c.machineLabels + ['cgroup']),
            services: outlierServices,
            onContainer: promql.on(c.clusterLabels + ['container_id']),
            onName: promql.on(c.clusterLabels + ['namespace', 'pod', 'container']),
            containers: outlierContainers,
          },
        },
        {
          // Mean while there are outliers, less the mean while there are none. Without some time of
          // both there is no answer.
          record: moved,
          expr: |||
            sum_over_time(%(slowed)s[%(history)s])
            / %(of)s
            count_over_time(%(outliers)s[%(history)s])
            -
            (sum_over_time(%(activity)s[%(history)s]) - sum_over_time(%(slowed)s[%(history)s]))
            / %(of)s
            (count_over_time(%(cpus)s[%(history)s]) - (count_over_time(%(outliers)s[%(history)s]) and %(outliers)s) > 5)
          ||| % { slowed: slowed, history: history, of: ofMachine, outliers: outliers, activity: activity, cpus: cpus },
        },
        {
          // Few: the names of all containers are read once.
          record: movedNames,
          expr: 'container_id:kube_pod_container_info:relabel\nand %s %s' % [promql.on(c.clusterLabels + ['container_id']), moved],
        },
        suspectBy('cpu', 'cpu', '', cpus),
        suspectBy('cache_misses', 'cache_misses', '', misses),
        // Each miss reads a line of 64 bytes.
        suspectBy('memory_traffic', 'cache_misses', '64 * ', 'sum %(by)s (instance_package:perf_memory_read_bytes:rate%(window)s + instance_package:perf_memory_written_bytes:rate%(window)s)' % { by: promql.by(c.machineLabels), window: c.window }),
      ] },
    ],
  },
}
