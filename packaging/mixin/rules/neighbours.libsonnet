// Tasks of one workload do the same work, so one that takes more cycles for each instruction than the
// others on the same kind of CPU is held up by something outside of it: who shares its caches and memory
// (Zhang et al., "CPI2: CPU performance isolation for shared compute clusters", EuroSys 2013).
local neighbours = import '../lib/neighbours.libsonnet';
local parts = import '../lib/parts.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local kinds = neighbours.of(c),

  // Tasks that do next to nothing are left out. Their CPU time may be scraped by another job than
  // their cycles.
  local ofContainers(part) = {
    record: neighbours.perTask(kinds[0], c),
    labels: parts.label(part),
    local recorded(what) =
      'namespace_pod_container:perf_cgroup_%s%s{workload!="", %s}' % [what, c.window, parts.recorded(part)],
    expr: |||
      (
        %(ratio)s
        and %(on)s
        %(time)s >= %(cpus)g
      )
      * %(onMachine)s group_left (cpu_model) instance:perf_machine_cpu_model:relabel
    ||| % {
      ratio: recorded('cycles_per_instruction:ratio_rate'),
      on: promql.on(c.machineLabels + ['namespace', 'pod', 'container']),
      time: recorded('task_clock_seconds:rate'),
      cpus: c.cpi.minCpus,
      onMachine: promql.on(c.machineLabels),
    },
  },
  // The instances of a template are one workload, as is a service of the same name on many machines.
  // Those in containers are left out by `and`, because a selector of series without a label looks at all
  // that have the label.
  local workloadOfServices = {
    record: 'cgroup:perf_workload:relabel',
    expr: |||
      max %s (
        label_replace(
          label_replace(perf_cgroup_info{unit=~".+[.]service"}, "workload", "$1", "unit", "(.+)"),
          "workload", "$1@.service", "unit", "([^@]+)@.+[.]service"
        )
        and on (container_id) vector(1)
      )
    ||| % promql.by(c.hostLabels + ['cgroup', 'workload']),
  },
  local rateOfServices(event) =
    'sum without (cpu, pmu) (rate(perf_cgroup_%s_total{cgroup=~".+[.]service(/.*)?"}[%s]))' % [event, c.window],
  local ofServices = {
    record: neighbours.perTask(kinds[1], c),
    expr: |||
      avg %(by)s (
        (
          %(ratio)s
          and %(on)s
          %(time)s >= %(cpus)g
        )
        * %(onInfo)s group_left (workload) cgroup:perf_workload:relabel
        * %(onMachine)s group_left (cpu_model) instance:perf_machine_cpu_model:relabel
      )
    ||| % {
      by: promql.by(kinds[1].workload + kinds[1].task),
      ratio: promql.nested(promql.ratio(rateOfServices('cycles'), rateOfServices('instructions')), 4),
      on: promql.on(c.machineLabels + ['cgroup']),
      time: rateOfServices('task_clock_seconds'),
      cpus: c.cpi.minCpus,
      onInfo: promql.on(c.hostLabels + ['cgroup']),
      onMachine: promql.on(c.machineLabels),
    },
  },

  // The median and the lower quartile do not change if fewer than half of the tasks are held up. For a
  // normal distribution, the standard deviation is 1.4826 times the distance between the two.
  local atPresent(kind) =
    local by = promql.by(kind.workload);
    local task = neighbours.perTask(kind, c);
    [
      { record: neighbours.tasks(kind), expr: 'count %s (%s)' % [by, task] },
      { record: neighbours.median(kind), expr: 'quantile %s (0.5, %s)' % [by, task] },
      { record: neighbours.lowerQuartile(kind), expr: 'quantile %s (0.25, %s)' % [by, task] },
      {
        // The larger of the two.
        record: neighbours.limit(kind),
        local wide = '%(median)s + %(factor)g * (%(median)s - %(quartile)s)' % {
          median: neighbours.median(kind),
          quartile: neighbours.lowerQuartile(kind),
          factor: 1.4826 * c.cpi.deviations,
        },
        expr: '%g * %s > %s\nor\n%s' % [c.cpi.minExcess, neighbours.median(kind), wide, wide],
      },
      {
        // Few: a comparison with each task is made once, and without labels of those below.
        record: neighbours.aboveLimit(kind),
        expr: '%s\n> %s group_left () %s' % [task, promql.on(kind.workload), neighbours.limit(kind)],
      },
    ],

  // Recorded sums make a day of all samples cheap to read, and give each sample the same weight, however
  // long its task lived. Tasks above the limit would raise the mean that they are compared with.
  local samplesOf(kind) =
    local below = '%s unless %s' % [neighbours.perTask(kind, c), neighbours.aboveLimit(kind)];
    local by = promql.by(kind.workload);
    [
      { record: neighbours.samples(kind), expr: 'count %s (%s)' % [by, below] },
      { record: neighbours.sum(kind), expr: 'sum %s (%s)' % [by, below] },
      { record: neighbours.sumOfSquares(kind), expr: 'sum %s ((%s) ^ 2)' % [by, below] },
    ],

  local ofHistory(kind) =
    local over(name) = 'sum_over_time(%s[%s])' % [name, c.cpi.history];
    local samples = over(neighbours.samples(kind));
    [
      {
        record: neighbours.mean(kind, c),
        expr: '%s\n/ %s' % [over(neighbours.sum(kind)), samples],
      },
      {
        record: neighbours.deviation(kind, c),
        expr: 'sqrt(clamp_min(\n  %s\n  / %s\n  - %s ^ 2, 0))' %
              [over(neighbours.sumOfSquares(kind)), samples, neighbours.mean(kind, c)],
      },
    ],

  // Far above the past of the workload, and above its other tasks at present: if a new version takes
  // more cycles, all tasks do. `group_left ()` with its parentheses: without, those of the next operand
  // are taken for its labels.
  local outlierOf(kind) = {
    record: neighbours.outlier(kind),
    expr: |||
      max without (part) (
        %(above)s
          > %(on)s group_left () (%(mean)s + %(deviations)g * %(deviation)s)
          > %(on)s group_left () (%(excess)g * %(mean)s)
          and %(on)s %(tasks)s >= %(minTasks)d
      )
    ||| % {
      above: neighbours.aboveLimit(kind),
      on: promql.on(kind.workload),
      mean: neighbours.mean(kind, c),
      deviation: neighbours.deviation(kind, c),
      tasks: neighbours.tasks(kind),
      deviations: c.cpi.deviations,
      excess: c.cpi.minExcess,
      minTasks: c.cpi.minTasks,
    },
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.tasks.rules', rules: [ofContainers(part) for part in parts.all] +
                                                        [workloadOfServices, ofServices] +
                                                        std.flattenArrays([atPresent(k) for k in kinds]) +
                                                        [outlierOf(k) for k in kinds] },
      // Rates over the window are independent once in each window.
      {
        name: 'perf_event_exporter.samples.rules',
        interval: c.window,
        rules: std.flattenArrays([samplesOf(k) for k in kinds]),
      },
      // They read a day, and change slowly; their last value is looked up for five minutes.
      {
        name: 'perf_event_exporter.workloads.rules',
        interval: '2m',
        rules: std.flattenArrays([ofHistory(k) for k in kinds]),
      },
    ],
  },
}
