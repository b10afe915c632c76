// Pieces of PromQL.
{
  list(labels):: std.join(', ', labels),
  by(labels):: 'by (%s)' % $.list(labels),
  on(labels):: 'on (%s)' % $.list(labels),

  rate(series, window):: 'rate(%s[%s])' % [series, window],

  // All lines but the first are moved to the right, because the first follows other text.
  nested(text, spaces):: std.strReplace(std.rstripChars(text, '\n'), '\n', '\n' + std.repeat(' ', spaces)),

  // Where nothing was done there is no ratio, and no NaN either.
  ratio(over, under, factor=1)::
    '%s%s\n/\n(%s > 0)' % [if factor == 1 then '' else '%d * ' % factor, over, under],
}
