// The way to memory, and what it all takes.
local g = import '../lib/dashboard.libsonnet';
local s = g.selected;

local rate(metric, selector=s) = 'rate(%s{%s}[$__rate_interval])' % [metric, selector];
local sumBy(labels, metric, selector=s) = 'sum by (cluster, %s) (%s)' % [labels, rate(metric, selector)];
local host(event) = sumBy('instance', 'perf_cpu_%s_total' % event);
local perInstance(expr) = g.query(expr, '{{instance}}');
local perPackage(expr, suffix='') = g.query(expr, '{{instance}} package {{package}}' + suffix);

local read = 'perf_uncore_imc_cas_count_read_bytes_total';
local written = 'perf_uncore_imc_cas_count_write_bytes_total';
local joules = 'perf_energy_joules_total';
local ofPackages = s + ', domain="package"';

// Cgroups by the traffic that their misses make.
local cgroup(event) = 'sum without (cpu, pmu) (%s)' % rate('perf_cgroup_%s_total' % event);
local named(expr) = 'label_replace(%s, "name", "$1", "cgroup", ".*/([^/]{1,44})[^/]*")' % expr;

local bandwidth = g.row('Memory bandwidth (needs uncore_imc events)', 8, [
  g.timeSeries('Read from memory',
               'By the memory controllers of each package.',
               'Bps',
               [perPackage(sumBy('instance, package', read))]),
  g.timeSeries('Written to memory',
               'By the memory controllers of each package.',
               'Bps',
               [perPackage(sumBy('instance, package', written))]),
  g.timeSeries('Part of the peak',
               'Bytes read and written, as a fraction of the peak that is set above. Above about 70 %, accesses take longer.',
               'percentunit',
               [perPackage('(\n  %s\n  + %s\n) / ($peak * 1e9)' % [sumBy('instance, package', read), sumBy('instance, package', written)])],
               limits=g.above(0.7, 0.9)),
], open=true);

local misses = g.row('What is not in the caches', 8, [
  g.timeSeries('Cache misses, in bytes',
               'Misses of the last level cache, 64 bytes each: what the CPUs read from memory, without prefetches and writes. For machines whose memory controllers cannot be counted.',
               'Bps',
               [perInstance('64 * ' + host('cache_misses'))]),
  g.timeSeries('Misses per 1000 instructions',
               'Loads that missed the last level cache, and loads that missed the data TLB.',
               'short',
               [
                 g.query('1000 * %s\n/ %s' % [host('llc_load_misses'), host('instructions')], '{{instance}} last level cache'),
                 g.query('1000 * %s\n/ %s' % [host('dtlb_load_misses'), host('instructions')], '{{instance}} data TLB'),
               ]),
  g.timeSeries('Loads from memory of other nodes',
               "Part of the loads of memory that missed the CPU's own node (NUMA).",
               'percentunit',
               [perInstance('%s\n/ %s' % [host('node_load_misses'), host('node_loads')])]),
  g.timeSeries('Cache misses by cgroup, in bytes',
               'Cgroups with the most reads from memory, 64 bytes for each miss.',
               'Bps',
               [g.query(named('\n  topk($top, 64 * %s)\n' % cgroup('cache_misses')), '{{instance}} {{name}}')],
               width=12,
               many=true),
  g.timeSeries('Page faults',
               'Per second. Pages that are used for the first time, or read from disk.',
               'ops',
               [
                 g.query(host('minor_faults'), '{{instance}} minor'),
                 g.query(host('major_faults'), '{{instance}} major'),
               ],
               width=12),
]);

local power = g.row('Power (needs energy events)', 8, [
  g.timeSeries('Power, by package and domain',
               'Measured by the CPU. Domains overlap: "package" includes "cores" and "gpu", and "psys" is the whole platform.',
               'watt',
               [g.query(sumBy('instance, package, domain', joules), '{{instance}} package {{package}} {{domain}}')],
               width=12,
               many=true),
  g.timeSeries('Power of packages and of memory',
               'Sum over the packages of a machine. The machine as a whole needs more power.',
               'watt',
               [g.query(sumBy('instance, domain', joules, s + ', domain=~"package|dram"'), '{{instance}} {{domain}}')],
               width=12,
               stacked=true),
]);

local worth = g.row('What the energy does', 8, [
  g.timeSeries('Energy per instruction',
               'Energy of the packages. Idle machines have high values, because they need power for few instructions.',
               'joule',
               [perInstance('%s\n/ %s' % [sumBy('instance', joules, ofPackages), host('instructions')])]),
  g.stat('Energy of the time that is shown',
         'Energy of the packages.',
         'watth',
         [perInstance('sum by (cluster, instance) (increase(%s{%s}[$__range])) / 3600' % [joules, ofPackages])],
         width=4,
         decimals=1),
  g.timeSeries('Power by cgroup, shared out by cycles',
               'The power of the packages, divided among cgroups by their cycles. This is an estimate: it attributes idle power to the busy cgroups, and not all cycles need the same energy.',
               'watt',
               [g.query(named(
                 '\n  topk($top,\n    %s\n    / on (cluster, instance) group_left () %s\n    * on (cluster, instance) group_left () %s\n  )\n' %
                 [cgroup('cycles'), host('cycles'), sumBy('instance', joules, ofPackages)]
               ), '{{instance}} {{name}}')],
               width=12,
               many=true),
]);

{
  grafanaDashboards+:: {
    'memory-energy.json': g.dashboard(
      $._config,
      'perf-event-exporter-memory',
      'perf_event_exporter / Memory and energy',
      'Memory bandwidth, cache misses and power of machines.',
      [
        g.typed('peak', 'Peak of a package, GB/s', '100', 'Maximum bandwidth of the memory of one package'),
        g.choice('top', 'Show', ['10', '5', '20', '50'], 'How many cgroups'),
      ],
      [bandwidth, misses, power, worth]
    ),
  },
}
