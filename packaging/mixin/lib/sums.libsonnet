// What `cgroups.sums` adds up: a row for a dashboard, and its variables. The name of a sum is a part of the
// names of its metrics, and its labels are those of its `by`.
local g = import 'dashboard.libsonnet';
{
  variables(selected):: [
    g.oneLabelValue('sum', 'Sum', 'perf_event_exporter_sums{%s}' % selected, 'sum'),
    g.typed('by', 'Labels of the sum', 'namespace, container', 'As in `by` of cgroups.sums, separated by commas. Empty: everything together'),
  ],

  // `labels`: what machines are distinguished by. A comma may be the last thing in a list of labels, so
  // the list is also right if `by` is empty.
  row(selected, labels)::
    local sum(series) = 'sum by (%s, $by) (%s)' % [labels, series];
    local rate(event) = sum('rate({__name__="perf_${sum}_%s_total", %s}[$__rate_interval])' % [event, selected]);
    local panel(title, description, unit, expr) =
      g.timeSeries(title, description, unit, [g.query('topk($top, %s)' % expr, '__auto')], width=12, many=true);
    g.row('Sums of cgroups (needs cgroups.sums)', 9, [
      panel('CPU time, by sum',
            'CPUs in use by the cgroups of each sum, ended ones included, by task-clock. Of cgroups that sleep often, cpu.stat has more (docs/metrics.md).',
            'short',
            rate('task_clock_seconds')),
      panel('Cycles per instruction, by sum',
            'The sums with the highest values.',
            'short',
            '%s\n/ %s' % [rate('cycles'), rate('instructions')]),
      panel('Cache misses per 1000 instructions, by sum',
            'The sums with the highest values. Usually misses of the last level cache.',
            'short',
            '1000 * %s\n/ %s' % [rate('cache_misses'), rate('instructions')]),
      panel('Context switches, by sum', 'In a second.', 'ops', rate('context_switches')),
      panel('Cgroups, by sum',
            'Cgroups that are in the sum now.',
            'short',
            sum('{__name__="perf_${sum}_cgroups", %s}' % selected)),
    ]),
}
