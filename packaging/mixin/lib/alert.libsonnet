// One alert with what an alert must have; `expr`, `for` and texts are its own. Where it is explained,
// and what to do, is in docs/monitoring.md under its name.
function(config, name, severity, duration, expr, summary, description) {
  alert: name,
  expr: expr,
  'for': duration,
  labels: { severity: severity },
  annotations: {
    summary: summary,
    description: description,
    runbook_url: config.runbookURLPattern % std.asciiLower(name),
  },
}
