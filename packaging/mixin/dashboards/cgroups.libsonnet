// What services and containers do, and at whose cost.
local g = import '../lib/dashboard.libsonnet';
local neighbours = import '../lib/neighbours.libsonnet';
local sums = import '../lib/sums.libsonnet';
local s = g.selected + ', cgroup=~"$cgroup"';

local rate(event) = 'rate(perf_cgroup_%s_total{%s}[$__rate_interval])' % [event, s];
local sum(event) = 'sum without (cpu, pmu) (%s)' % rate(event);
local ratio(over, under, factor='') = '%s%s\n/ %s' % [factor, sum(over), sum(under)];

// The same cgroups in all panels, whatever they show and however it changes: those that used most CPU
// time in all of the time that is shown. On a machine that does not count task-clock, the next of
// these events decides.
local busiest = 'topk by (cluster, instance) ($top,\n    %s\n  )' % std.join('\n    or on (cluster, instance) ', [
  'sum without (cpu, pmu) (rate(perf_cgroup_%s_total{%s}[$__range] @ end()))' % [event, s]
  for event in ['task_clock_seconds', 'cycles', 'instructions', 'context_switches']
]);
local shortened(expr) = 'label_replace(%s, "name", "$1", "cgroup", ".*/([^/]{1,44})[^/]*")' % expr;
local ofBusiest(expr) = g.query(
  shortened('\n  (%s)\n  and on (cluster, instance, cgroup)\n  %s\n' % [std.strReplace(expr, '\n', '\n   '), busiest]),
  '{{instance}} {{name}}',
  needs=expr
);
local panel(title, description, unit, expr, max=null) =
  g.timeSeries(title, description, unit, [ofBusiest(expr)], width=12, max=max, many=true);

local usage = g.row('Use of the machine', 9, [
  panel('CPU time',
        'CPUs in use by the busiest cgroups, by task-clock. 1 is one CPU that is always busy. Of a cgroup that sleeps often, cpu.stat has more (docs/metrics.md).',
        'short',
        sum('task_clock_seconds')),
  panel('Instructions per second',
        'Instructions retired per second.',
        'ops',
        sum('instructions')),
], open=true);

local efficiency = g.row('How well the CPUs serve them', 9, [
  panel('Instructions per cycle', 'Of each cgroup by itself.', 'short', ratio('instructions', 'cycles')),
  panel('Cycles per instruction',
        'The inverse. If it grows for the same work, another cgroup may use the same caches and memory.',
        'short',
        ratio('cycles', 'instructions')),
  panel('Cycles per second of CPU time',
        'Clock frequency of the CPUs while the cgroup runs.',
        'hertz',
        ratio('cycles', 'task_clock_seconds')),
  panel('Branches predicted wrongly',
        'Fraction of the branches of each cgroup.',
        'percentunit',
        ratio('branch_misses', 'branches')),
]);

local cache = g.row('Caches', 9, [
  panel('Cache misses per 1000 instructions',
        'Usually misses of the last level cache.',
        'short',
        ratio('cache_misses', 'instructions', '1000 * ')),
  panel("Part of the machine's cache misses",
        'Shows which cgroups use the shared memory. Compare with the cycles per instruction of the others.',
        'percentunit',
        '%s\n/ on (cluster, job, instance) group_left ()\nsum by (cluster, job, instance) (rate(perf_cpu_cache_misses_total{%s}[$__rate_interval]))' %
        [sum('cache_misses'), g.selected]),
]);

local kernel = g.row('Kernel', 9, [
  panel('Context switches', 'In a second.', 'ops', sum('context_switches')),
  panel('Migrations', 'Tasks that moved to another CPU, per second.', 'ops', sum('migrations')),
  panel('Minor faults', 'Page faults served from memory, in a second.', 'ops', sum('minor_faults')),
  panel('Major faults', 'Page faults that had to wait for I/O, in a second.', 'ops', sum('major_faults')),
]);

// Of the last minutes, as a table has one value for each row.
local last(event) = 'sum without (cpu, pmu) (rate(perf_cgroup_%s_total{%s}[$__range]))' % [event, s];
local withInfo(expr) = '%s\n* on (cluster, job, instance, cgroup) group_left (unit, runtime) perf_cgroup_info' % expr;
local list = g.row('All of them', 10, [
  g.table('Cgroups', 'Over the time that is shown. The unit is that of systemd, the runtime that of the container.', [
    { name: 'CPUs', unit: 'short', query: withInfo(last('task_clock_seconds')) },
    { name: 'Instructions per cycle', unit: 'short', query: withInfo('(%s / %s)' % [last('instructions'), last('cycles')]) },
    { name: 'Context switches', unit: 'ops', query: withInfo(last('context_switches')) },
    { name: 'Cache misses per 1000 instructions', unit: 'short', query: withInfo('(1000 * %s / %s)' % [last('cache_misses'), last('instructions')]) },
  ], ['instance', 'cgroup', 'unit', 'runtime'], hidden=['job', 'container_id', 'pod_uid', '__name__']),
]);

// With names of kube-state-metrics, through the recording rules.
local ofPods(measure) = 'namespace_pod_container:%s{%s}' % [measure, g.selected];
local byPod(measure) = 'topk($top, %s)' % ofPods(measure);
local kubernetes(config) = g.row('Kubernetes (needs the recording rules and kube-state-metrics)', 9, [
  g.timeSeries('CPU time, by container',
               'CPUs in use, by task-clock. Of a container that sleeps often, cpu.stat has more (docs/metrics.md).',
               'short',
               [g.query(byPod('perf_cgroup_task_clock_seconds:rate' + config.window), '{{namespace}}/{{pod}} {{container}}')],
               width=12,
               many=true),
  g.timeSeries('Cycles per instruction, by container',
               'The containers with the highest values.',
               'short',
               [g.query(byPod('perf_cgroup_cycles_per_instruction:ratio_rate' + config.window), '{{namespace}}/{{pod}} {{container}}')],
               width=12,
               many=true),
  g.timeSeries('Cache misses per 1000 instructions, by container',
               'The containers with the highest values. Usually misses of the last level cache.',
               'short',
               [g.query('topk($top,\n  1000 * %s\n  / %s\n)' % [
                 ofPods('perf_cgroup_%s:rate%s' % [event, config.window])
                 for event in ['cache_misses', 'instructions']
               ], '{{namespace}}/{{pod}} {{container}}')],
               width=12,
               many=true),
]);

local against(kind, config, legend) = g.timeSeries(
  'Cycles per instruction against the mean of the %s' % if kind.kind == 'Service' then 'service' else 'workload',
  'For each %s that uses at least %g CPUs. 1 is the mean of its workload over %s. Above %g, and %g standard deviations above the mean, it may have a noisy neighbour.' %
  [kind.noun, config.cpi.minCpus, config.cpi.history, config.cpi.minExcess, config.cpi.deviations],
  'short',
  [g.query('topk($top,\n  %s{%s}\n  / on (%s) group_left () %s\n)' % [
    neighbours.perTask(kind, config),
    g.selected,
    std.join(', ', kind.workload),
    neighbours.mean(kind, config),
  ], legend)],
  width=12,
  many=true,
  limits=g.above(config.cpi.minExcess)
);
local noisy(config) =
  local kinds = neighbours.of(config);
  g.row('Noisy neighbours (needs the recording rules)', 9, [
    against(kinds[0], config, '{{instance}} {{namespace}}/{{pod}} {{container}}'),
    against(kinds[1], config, '{{instance}} {{cgroup}}'),
    g.timeSeries('Suspects',
                 'Cgroups that grew while others of their machine were outliers: by what part of its CPUs, cache misses or memory traffic, compared with the rest of the last %s.' % config.suspects.history,
                 'percentunit',
                 [g.query('topk($top, %s{cluster=~"$cluster", instance=~"$instance"})' % neighbours.suspect(config), '{{instance}} {{signal}} {{namespace}} {{pod}} {{container}} {{cgroup}}')],
                 width=24,
                 many=true),
  ]);

{
  grafanaDashboards+:: {
    'services-containers.json': g.dashboard(
      $._config,
      'perf-event-exporter-cgroups',
      'perf_event_exporter / Services and containers',
      'How services and containers use the CPUs. Most panels show the cgroups that used most CPU time (task-clock; else cycles, instructions or context-switches).',
      [
        g.labelValues('cgroup', 'Cgroup', 'perf_cgroup_info{%s}' % g.selected, 'cgroup'),
        g.choice('top', 'Show', ['10', '5', '20', '50'], 'How many cgroups of each machine, containers and sums'),
      ] + sums.variables(g.selected),
      [
        usage,
        efficiency,
        cache,
        kernel,
        list,
        sums.row(g.selected, 'cluster, instance'),
        kubernetes($._config),
        noisy($._config),
      ]
    ),
  },
}
