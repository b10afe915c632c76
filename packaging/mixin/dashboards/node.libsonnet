// What the CPUs of machines do: first what each machine counts, then what needs a PMU.
local g = import '../lib/dashboard.libsonnet';
local s = g.selected;

local rate(event) = 'rate(perf_cpu_%s_total{%s}[$__rate_interval])' % [event, s];
local sum(event) = 'sum by (cluster, instance) (%s)' % rate(event);
local ratio(over, under, factor='') = '%s%s\n/ %s' % [factor, sum(over), sum(under)];
// A series without a label 'cpu' is a sum over several CPUs ('aggregate').
local cyclesPerCpu = 'avg by (cluster, instance) (\n  sum without (pmu) (rate(perf_cpu_cycles_total{%s, cpu!=""}[$__rate_interval]))\n)' % s;
local perInstance(expr) = g.query(expr, '{{instance}}');

local everyMachine = g.row('Every machine', 7, [
  g.timeSeries('CPUs in use',
               'By counted cgroups (task-clock), and by all else: other cgroups, kernel threads and interrupts.',
               'short',
               [
                 g.query('sum by (cluster, instance) (rate(perf_cgroup_task_clock_seconds_total{%s}[$__rate_interval]))' % s, '{{instance}} counted cgroups'),
                 g.query('sum by (cluster, instance) (rate(perf_event_exporter_uncounted_cpu_seconds_total{%s}[$__rate_interval]))' % s, '{{instance}} other'),
               ],
               stacked=true),
  g.timeSeries('Context switches',
               'Per second, on all CPUs of a machine.',
               'ops',
               [perInstance(sum('context_switches'))]),
  g.timeSeries('Migrations',
               'Tasks that moved to another CPU, per second.',
               'ops',
               [perInstance(sum('migrations'))]),
  g.timeSeries('Page faults',
               'Per second. Minor faults found the page in memory, major faults waited for I/O.',
               'ops',
               [
                 g.query(sum('minor_faults'), '{{instance}} minor'),
                 g.query(sum('major_faults'), '{{instance}} major'),
               ]),
  g.stat('Least time on the PMU',
         'The group of events that was on the PMU for the smallest part of the time. At 100 %, all counts are exact. Below 20 %, see the dashboard Exporter health.',
         'percentunit',
         [perInstance('min by (cluster, instance) (\n  sum by (cluster, instance, group) (rate(perf_group_running_seconds_total{%s, cgroup="", sum=""}[$__rate_interval]))\n  / sum by (cluster, instance, group) (rate(perf_group_enabled_seconds_total{%s, cgroup="", sum=""}[$__rate_interval]))\n)' % [s, s])],
         limits=g.below(0.2, 0.05),
         width=8,
         decimals=0),
  g.stat('Events missing',
         'Configured events that the machine cannot count. The dashboard Exporter health shows why.',
         'short',
         [g.query(g.refusedEvents('sum by (cluster, instance)', s), '{{instance}}', needs=g.counting(s))],
         width=8,
         limits=g.above(1)),
], open=true);

local work = g.row('Instructions and cycles', 8, [
  g.timeSeries('Instructions per cycle',
               'All CPUs of a machine together.',
               'short',
               [perInstance(ratio('instructions', 'cycles'))]),
  g.timeSeries('Instructions per second',
               'All CPUs of a machine.',
               'ops',
               [perInstance(sum('instructions'))]),
  g.timeSeries('Cycles per CPU and second',
               'Average over the CPUs, including halted ones.',
               'hertz',
               [perInstance(cyclesPerCpu)]),
], open=true);

local waiting = g.row('Cycles, clock and power', 8, [
  g.timeSeries('Stalled cycles',
               'Fraction of the cycles in which nothing could be fetched (frontend) or retired (backend). The definition depends on the CPU: compare only CPUs of the same kind.',
               'percentunit',
               [
                 g.query(ratio('stalled_cycles_frontend', 'cycles'), '{{instance}} frontend'),
                 g.query(ratio('stalled_cycles_backend', 'cycles'), '{{instance}} backend'),
               ]),
  g.timeSeries('Top-down, level 1',
               'Fraction of the pipeline slots that retired an instruction, were lost to bad speculation, got no instruction (frontend), or waited for data or an execution unit (backend). Sum over the selected machines.',
               'percentunit',
               [
                 g.query('sum (%s)\n/ sum (%s)' % [rate('topdown_' + slot.event), rate('slots')], slot.name)
                 for slot in [
                   { event: 'retiring', name: 'retiring' },
                   { event: 'bad_spec', name: 'bad speculation' },
                   { event: 'fe_bound', name: 'frontend bound' },
                   { event: 'be_bound', name: 'backend bound' },
                 ]
               ],
               max=1,
               stacked=true),
  g.timeSeries('Clock frequency while not halted',
               'From msr/aperf/, msr/mperf/ and msr/tsc/ (x86). Above the nominal frequency, the CPUs boost; below it, they are throttled or save power.',
               'hertz',
               [perInstance(ratio('msr_aperf', 'msr_mperf') + '\n* avg by (cluster, instance) (%s)' % rate('msr_tsc'))],
               min=null),
  g.timeSeries('Power of packages',
               'All packages. Their memory is not included if it is measured separately.',
               'watt',
               [perInstance('sum by (cluster, instance) (rate(perf_energy_joules_total{%s, domain="package"}[$__rate_interval]))' % s)]),
]);

local misses = g.row('Misses', 8, [
  g.timeSeries('Branches predicted wrongly',
               'Fraction of all branches.',
               'percentunit',
               [perInstance(ratio('branch_misses', 'branches'))]),
  g.timeSeries('Cache misses',
               'Fraction of the accesses to the cache, usually the last level cache.',
               'percentunit',
               [perInstance(ratio('cache_misses', 'cache_references'))]),
  g.timeSeries('Misses per 1000 instructions',
               'Cache misses and mispredicted branches. Unlike fractions of accesses, these values show how much misses matter.',
               'short',
               [
                 g.query(ratio('cache_misses', 'instructions', '1000 * '), '{{instance}} cache'),
                 g.query(ratio('branch_misses', 'instructions', '1000 * '), '{{instance}} branches'),
               ]),
]);

local perCpu(event) = 'sum by (cluster, instance, cpu) (%s)' % rate(event);
local cpus = g.row('By CPU', 10, [
  g.heatmap('CPUs by instructions per cycle',
            'How many CPUs have which value. A band that leaves the others shows CPUs that do other work, or are disturbed.',
            'short',
            [g.query('%s\n/ %s' % [perCpu('instructions'), perCpu('cycles')], '{{instance}} CPU {{cpu}}')],
            width=12),
  g.heatmap('CPUs by cycles per second',
            'How many CPUs have which value: idle ones at the bottom, busy ones at their clock frequency.',
            'hertz',
            [g.query(perCpu('cycles'), '{{instance}} CPU {{cpu}}')],
            width=12),
  g.history('Instructions per cycle, by CPU',
            'One row for each CPU. With many CPUs, select one instance.',
            'short',
            [g.query('%s\n/ %s' % [rate('instructions'), rate('cycles')], '{{instance}} CPU {{cpu}}')],
            width=12),
  g.history('Cycles per second, by CPU',
            'One row for each CPU. The value depends on how busy the CPU is, and on its clock frequency.',
            'hertz',
            [g.query(rate('cycles'), '{{instance}} CPU {{cpu}}')],
            width=12),
]);

{
  grafanaDashboards+:: {
    'node.json': g.dashboard(
      $._config,
      'perf-event-exporter-node',
      'perf_event_exporter / Node',
      'How the CPUs of a machine use their cycles.',
      [],
      [everyMachine, work, waiting, misses, cpus]
    ),
  },
}
