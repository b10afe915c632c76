// Pieces of PromQL.
{
  list(labels):: std.join(', ', labels),
  by(labels):: 'by (%s)' % $.list(labels),
  on(labels):: 'on (%s)' % $.list(labels),

  rate(series, window):: 'rate(%s[%s])' % [series, window],

  // Whether a counter grew, whose series appears with its first event: increase() ignores that one. The
  // window is at most the `for` of an alert: a new series alone, such as the first scrape ever, is no alert.
  grew(counter, window)::
    'increase(%(of)s[%(in)s]) > 0\nor\n%(of)s unless %(of)s offset %(in)s' % { of: counter, 'in': window },

  // All lines but the first are moved to the right, because the first follows other text.
  nested(text, spaces):: std.strReplace(std.rstripChars(text, '\n'), '\n', '\n' + std.repeat(' ', spaces)),

  // Where nothing was done there is no ratio, and no NaN either.
  ratio(over, under, factor=1)::
    '%s%s\n/\n(%s > 0)' % [if factor == 1 then '' else '%d * ' % factor, over, under],
}
