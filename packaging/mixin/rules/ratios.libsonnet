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
  // Per second of elapsed time for a CPU, and per second of CPU time for a cgroup. A series without
  // a label 'cpu' is a sum over several CPUs ('aggregate').
  local cyclesPerSecond = {
    cpu: 'sum without (pmu) (%s)' % promql.rate('perf_cpu_cycles_total{cpu!=""}', c.window),
    instance: 'avg %s (\n  %s\n)' % [promql.by(c.hostLabels), self.cpu],
    cgroup: promql.ratio(rate('cgroup', 'cycles'), rate('cgroup', 'task_clock_seconds')),
  },
  local cyclesPerSecondRule(level) = {
    record: '%s:perf_%s_cycles_per_second:ratio_rate%s' % [level, levels[level].scope, c.window],
    expr: cyclesPerSecond[level],
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.machine.rules', rules: [rule('instance', r) for r in ratios] + [
        cyclesPerSecondRule('instance'),
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
    ] + (if c.cpuRules then [
           { name: 'perf_event_exporter.cpu.rules', rules: [rule('cpu', r) for r in ratios if std.objectHas(r, 'ofCpus')] + [
             cyclesPerSecondRule('cpu'),
           ] },
         ] else []) + (if c.cgroupRules then [
                         { name: 'perf_event_exporter.cgroup.rules', rules: [
                           {
                             record: 'cgroup:perf_cgroup_task_clock_seconds:rate%s' % c.window,
                             expr: rate('cgroup', 'task_clock_seconds'),
                           },
                         ] + [rule('cgroup', r) for r in ratios] + [cyclesPerSecondRule('cgroup')] },
                       ] else []),
  },
}
