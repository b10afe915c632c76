// A task that takes more cycles for its work than its like: see rules/neighbours.libsonnet.
local alert = import '../lib/alert.libsonnet';
local neighbours = import '../lib/neighbours.libsonnet';
{
  local c = $._config,
  local names = {
    Workload: '{{ $labels.container }} of pod {{ $labels.namespace }}/{{ $labels.pod }} (workload {{ $labels.workload }})',
    Service: '{{ $labels.cgroup }} (workload {{ $labels.workload }})',
  },
  // What the alert is about, as it is found among the suspects.
  local victims = { Workload: ['namespace', 'pod', 'container'], Service: ['cgroup'] },
  // A sentence for each suspect, or none. A task that is slow may hold up another one, but not itself.
  local suspects(kind) =
    local select(labels) = '%s{%s}' % [neighbours.suspect(c), std.join(',', ['%s=%%q' % label for label in labels])];
    local victim = c.machineLabels + victims[kind];
    local values = std.join(' ', ['$labels.' + label for label in c.machineLabels + victim]);
    '{{ range printf "topk(3, %s unless %s)" %s | query }}' % [select(c.machineLabels), select(victim), values] +
    ' Suspect: {{ if .Labels.pod }}{{ .Labels.container }} of pod {{ .Labels.namespace }}/{{ .Labels.pod }}' +
    '{{ else }}{{ .Labels.cgroup }}{{ end }} ({{ .Labels.signal }} +{{ .Value | humanizePercentage }}).{{ end }}',

  prometheusAlerts+:: {
    groups+: [{ name: 'perf_event_exporter.neighbours.alerts', rules: [
      alert(c,
            'Perf%sCPIOutlier' % kind.kind,
            'info',
            '5m',
            neighbours.outlier(kind),
            'A %s needs more cycles per instruction than others of its workload. It may have a noisy neighbour.' % kind.noun,
            'On {{ $labels.instance }}, %s needs {{ $value | humanize }} cycles per instruction, far more than the others of its workload on the same CPU model.%s' % [names[kind.kind], suspects(kind.kind)])
      for kind in neighbours.of(c)
    ] }],
  },
}
