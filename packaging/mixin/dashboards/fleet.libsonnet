// All machines: what they are, who does not count, and which workloads take most. From recorded series
// where there are many machines or containers to sum over.
local g = import '../lib/dashboard.libsonnet';
local neighbours = import '../lib/neighbours.libsonnet';
local sums = import '../lib/sums.libsonnet';
local s = g.ofFleet;
local cluster = 'cluster=~"$cluster"';  // what is recorded of machines and workloads has no job

local own(metric) = 'perf_event_exporter_%s{%s}' % [metric, s];
local nothing = 'max by (cluster, job, instance) (%s) == 0' % own('counting');

local state = g.row('State', 4, [
  g.stat('Exporters', 'Exporters that could be scraped, and all there are.', 'short', [
    g.query('sum(max by (cluster, instance) (up{%s} * on (cluster, job, instance) group by (cluster, job, instance) (last_over_time(%s[$__range]))))' % [s, own('build_info')], 'up'),
    g.query('count(group by (cluster, instance) (last_over_time(%s[$__range])))' % own('build_info'), 'all'),
  ]),
  g.stat('Count nothing',
         'Exporters that run and count none of their events: see the table below.',
         'short',
         [g.query('count(%s) or vector(0)' % nothing, 'exporters')],
         limits=g.above(1)),
  g.stat('CPUs',
         'CPUs that are counted.',
         'short',
         [g.query('sum(perf_event_exporter_cpus{%s, state="counted"})' % s, 'CPUs')]),
  g.stat('CPU models',
         'Needs the recording rules.',
         'short',
         [g.query('count(group by (cpu_model) (instance:perf_machine_cpu_model:relabel{%s}))' % cluster, 'models')]),
  g.stat('Versions',
         'Versions of the exporter in use.',
         'short',
         [g.query('count(group by (version) (%s))' % own('build_info'), 'versions')]),
  g.stat('Outliers',
         'Containers and services that may have a noisy neighbour. Needs the recording rules.',
         'short',
         [g.query('sum(instance:perf_cgroup_outliers:count{%s}) or vector(0)' % cluster, 'outliers')],
         limits=g.above(1)),
], open=true);

local models(config) =
  local ipc = 'cpu_model:perf_cpu_instructions_per_cycle:ratio_rate%s{%s}' % [config.window, cluster];
  g.row('CPU models (needs the recording rules)', 8, [
    g.timeSeries('Instructions per cycle, by CPU model',
                 'All CPUs of all machines of a model together. Compare a model with itself over time.',
                 'short',
                 [g.query(ipc, '{{cluster}} {{cpu_model}}')]),
    g.timeSeries('Cycles per instruction, by CPU model',
                 'The inverse.',
                 'short',
                 [g.query('1 / ' + ipc, '{{cluster}} {{cpu_model}}')]),
    g.timeSeries('Machines, by CPU model',
                 'The model is that of perf_machine_info, or the label cpu_model of the target.',
                 'short',
                 [g.query('count by (cluster, cpu_model) (instance:perf_machine_cpu_model:relabel{%s})' % cluster, '{{cluster}} {{cpu_model}}')],
                 stacked=true),
  ], open=true);

local exporters = g.row('Exporters', 8, [
  g.timeSeries('Exporters, by version',
               'Exporters that could be scraped.',
               'short',
               [g.query('count by (version) (group by (cluster, instance, version) (%s))' % own('build_info'), '{{version}}')],
               stacked=true),
  g.table('Exporters that count nothing',
          'They run, and count none of their configured events.',
          [{ name: 'Counts', unit: 'bool_yes_no', query: nothing }],
          ['instance', 'cluster', 'job'],
          width=8),
  g.table('Refused events',
          'Configured events that could be counted after a change, by error.',
          [{ name: 'Events', unit: 'short', query: 'count by (cluster, job, instance, errno) (perf_event_exporter_event_refusal_info{%s, remedy="yes"})' % s }],
          ['instance', 'errno', 'cluster', 'job'],
          width=8),
]);

local workloads(config) =
  local rate(event) = 'namespace_workload:perf_cgroup_%s:rate%s{%s}' % [event, config.window, cluster];
  local legend = '{{cluster}} {{namespace}} {{workload}}';
  // The same workloads in all panels.
  local ofTop(expr) = g.query('%s\nand\ntopk($top, avg_over_time(%s[$__range] @ end()))' % [expr, rate('task_clock_seconds')], legend, needs=expr);
  g.row('Workloads (needs the recording rules and kube-state-metrics)', 9, [
    g.timeSeries('CPU time, by workload',
                 'CPUs in use by the workloads that use most, by task-clock. Of one that sleeps often, cpu.stat has more (docs/metrics.md).',
                 'short',
                 [ofTop(rate('task_clock_seconds'))],
                 width=12,
                 many=true),
    g.timeSeries('Cycles per instruction, by workload',
                 'Of the same workloads, on all CPU models together.',
                 'short',
                 [ofTop('%s / %s' % [rate('cycles'), rate('instructions')])],
                 width=12,
                 many=true),
  ]);

local noisy(config) = g.row('Noisy neighbours (needs the recording rules)', 9, [
  g.timeSeries('Machines with most outliers',
               'Containers and services that take far more cycles per instruction than others of their workload on the same CPU model.',
               'short',
               [g.query('topk($top, instance:perf_cgroup_outliers:count{%s})' % cluster, '{{instance}}')],
               width=12,
               many=true),
  g.timeSeries('Suspects',
               'Cgroups that grew while others of their machine were outliers, as a fraction of the machine.',
               'percentunit',
               [g.query('topk($top, %s{%s})' % [neighbours.suspect(config), cluster], '{{instance}} {{signal}} {{namespace}} {{pod}} {{container}} {{cgroup}}')],
               width=12,
               many=true),
]);

{
  grafanaDashboards+:: {
    'fleet.json': g.fleetDashboard(
      $._config,
      'perf-event-exporter-fleet',
      'perf_event_exporter / Fleet',
      'All machines: CPU models, versions, exporters that count nothing, workloads.',
      [g.choice('top', 'Show', ['10', '5', '20', '50'], 'How many workloads, sums and machines')] + sums.variables(s),
      [
        state,
        models($._config),
        exporters,
        workloads($._config),
        sums.row(s, 'cluster'),
        noisy($._config),
      ]
    ),
  },
}
