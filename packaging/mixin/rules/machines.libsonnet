// Of each machine, whichever jobs scrape it: its kind, which work is only compared within, and its size.
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local machine = c.machineLabels,

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.machines.rules', rules: [
        {
          // topk: exactly one for a machine, as joins need it. Where perf_machine_info is not scraped,
          // targets may have a label, which `up` has whatever is scraped.
          record: 'instance:perf_machine_cpu_model:relabel',
          expr: |||
            topk %(by)s (1,
              max %(byModel)s (
                label_replace(
                  label_join(perf_machine_info, "cpu_model", " ", "vendor", "family", "model", "stepping"),
                  "cpu_model", "$1", "model_name", "(.+)"
                )
              )
              or %(on)s
              group %(byModel)s (perf_event_exporter_build_info)
              or %(on)s
              group %(byModel)s (up{%(exporters)s})
            )
          ||| % {
            by: promql.by(machine),
            exporters: c.exporterSelector,
            byModel: promql.by(machine + ['cpu_model']),
            on: promql.on(machine),
          },
        },
        {
          record: 'instance:perf_machine_cpus:sum',
          expr: 'max %s (sum %s (perf_event_exporter_cpus{state!="left_out"}))' %
                [promql.by(machine), promql.by(c.hostLabels)],
        },
      ] + [
        {
          record: 'instance:perf_machine_%s:rate%s' % [event, c.window],
          expr: 'max %s (sum %s (rate(perf_cpu_%s_total[%s])))' %
                [promql.by(machine), promql.by(c.hostLabels), event, c.window],
        }
        for event in ['cycles', 'instructions', 'cache_misses']
      ] + [
        {
          record: 'cpu_model:perf_cpu_instructions_per_cycle:ratio_rate' + c.window,
          local sum(event) = 'sum %s (instance:perf_machine_%s:rate%s * %s group_left (cpu_model) instance:perf_machine_cpu_model:relabel)' %
                             [promql.by(c.clusterLabels + ['cpu_model']), event, c.window, promql.on(machine)],
          expr: promql.ratio(sum('instructions'), sum('cycles')),
        },
      ] },
    ],
  },
}
