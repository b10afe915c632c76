// What is made of two events: of a machine, of a CPU, of a cgroup. Sums come before the division.
local promql = import '../lib/promql.libsonnet';

local ratios = [
  { name: 'instructions_per_cycle', over: 'instructions', under: 'cycles', ofCpus: true },
  { name: 'cycles_per_instruction', over: 'cycles', under: 'instructions' },
  { name: 'branch_misses_per_branch', over: 'branch_misses', under: 'branches' },
  { name: 'cache_misses_per_reference', over: 'cache_misses', under: 'cache_references' },
  { name: 'branch_misses_per_kiloinstruction', over: 'branch_misses', under: 'instructions', factor: 1000 },
  { name: 'cache_misses_per_kiloinstruction', over: 'cache_misses', under: 'instructions', factor: 1000 },
  { name: 'llc_load_misses_per_kiloinstruction', over: 'llc_load_misses', under: 'instructions', factor: 1000 },
  { name: 'llc_load_misses_per_load', over: 'llc_load_misses', under: 'llc_loads' },
  { name: 'stalled_cycles_frontend_per_cycle', over: 'stalled_cycles_frontend', under: 'cycles' },
  { name: 'stalled_cycles_backend_per_cycle', over: 'stalled_cycles_backend', under: 'cycles' },
  // Of a CPU the clock runs on while it is idle, of a cgroup only with its tasks.
  { name: 'cycles_per_second', over: 'cycles', under: 'task_clock_seconds', ofCpus: true },
];

{
  local c = $._config,
  local levels = {
    instance: { scope: 'cpu', sum: 'sum ' + promql.by(c.hostLabels) },
    cpu: { scope: 'cpu', sum: 'sum without (pmu)' },
    cgroup: { scope: 'cgroup', sum: 'sum without (cpu, pmu)' },
  },
  local rate(level, event) =
    local l = levels[level];
    '%s (%s)' % [l.sum, promql.rate('perf_%s_%s_total' % [l.scope, event], c.window)],
  local rule(level, ratio) = {
    record: '%s:perf_%s_%s:ratio_rate%s' % [level, levels[level].scope, ratio.name, c.window],
    expr: promql.ratio(rate(level, ratio.over), rate(level, ratio.under), std.get(ratio, 'factor', 1)),
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.machine.rules', rules: [rule('instance', r) for r in ratios] + [
        {
          // aperf and mperf count while the CPU is not halted, at its own clock and at that of tsc.
          record: 'instance:perf_cpu_unhalted_hertz:ratio_rate%s' % c.window,
          expr: |||
            sum %(by)s (rate(perf_cpu_msr_aperf_total[%(window)s]))
            /
            (sum %(by)s (rate(perf_cpu_msr_mperf_total[%(window)s])) > 0)
            * avg %(by)s (rate(perf_cpu_msr_tsc_total[%(window)s]))
          ||| % { by: promql.by(c.hostLabels), window: c.window },
        },
      ] },
      { name: 'perf_event_exporter.cpu.rules', rules: [rule('cpu', r) for r in ratios if std.objectHas(r, 'ofCpus')] },
      { name: 'perf_event_exporter.cgroup.rules', rules: [
        {
          record: 'cgroup:perf_cgroup_task_clock_seconds:rate%s' % c.window,
          expr: rate('cgroup', 'task_clock_seconds'),
        },
      ] + [rule('cgroup', r) for r in ratios] },
    ],
  },
}
