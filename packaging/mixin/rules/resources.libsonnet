// Energy and memory of packages. Domains of energy are never summed: some are parts of others.
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local sumOfRates(series, labels) =
    'sum %s (%s)' % [promql.by(labels), promql.rate(series, c.window)],
  local package = c.hostLabels + ['package'],

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.package.rules', rules: [
        {
          record: 'instance_package_domain:perf_energy_watts:rate%s' % c.window,
          expr: sumOfRates('perf_energy_joules_total', package + ['domain']),
        },
        {
          record: 'instance_domain:perf_energy_watts:rate%s' % c.window,
          expr: sumOfRates('perf_energy_joules_total', c.hostLabels + ['domain']),
        },
        {
          record: 'instance:perf_energy_joules_per_instruction:ratio_rate%s' % c.window,
          expr: promql.ratio(sumOfRates('perf_energy_joules_total{domain="package"}', c.hostLabels),
                             sumOfRates('perf_cpu_instructions_total', c.hostLabels)),
        },
        {
          record: 'instance_package:perf_memory_read_bytes:rate%s' % c.window,
          expr: sumOfRates('perf_uncore_imc_cas_count_read_bytes_total', package),
        },
        {
          record: 'instance_package:perf_memory_written_bytes:rate%s' % c.window,
          expr: sumOfRates('perf_uncore_imc_cas_count_write_bytes_total', package),
        },
      ] },
    ],
  },
}
