// Matchers that split series into parts of about the same size, so that a rule with a result for each
// container is several rules with the same name, each of which is short. Together they match all series.
{
  // By the first digit of hexadecimal identifiers; the last part also has what is not one.
  ofIds(label):: [
    '%s=~"[0-3].*"' % label,
    '%s=~"[4-7].*"' % label,
    '%s=~"[89ab].*"' % label,
    '%s!~"[0-9ab].*"' % label,
  ],

  // Names of machines have no part in common that differs for all: by whether the number of characters
  // of two sets is even. Numbers in sequence and random names are spread by both.
  local odd = '13579acegikmoqsuwy',
  local pairs = '2367bcfgjknorsvwz',
  local even(set) = '[^%(set)s]*([%(set)s][^%(set)s]*[%(set)s][^%(set)s]*)*' % { set: set },
  ofNames(label):: [
    '%s%s"%s", %s%s"%s"' % [label, a, even(odd), label, b, even(pairs)]
    for a in ['=~', '!~']
    for b in ['=~', '!~']
  ],
}
