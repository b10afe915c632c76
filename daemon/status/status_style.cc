#include "daemon/status/status_assets.h"

namespace pex::daemon {

/// Every pair of text and ground has the contrast of WCAG AA in both schemes (4.5 to 1); what a
/// colour says stands there in words as well.
const std::string_view kStatusStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --paper: #ffffff; --ink: #1a1f26; --soft: #57606b; --rule: #dde1e6;
  --link: #0a58a8; --line: #2a6fb5; --track: #e2e6eb;
  --good: #17692f; --warn: #855000; --bad: #b3201a;
  --text: system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  --code: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101317; --paper: #171b21; --ink: #e4e8ed; --soft: #9ba6b2; --rule: #2b313a;
    --link: #82b8f5; --line: #6aa5e8; --track: #2b313a;
    --good: #6fcf8a; --warn: #e0b04a; --bad: #ff938a;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { background: var(--ground); color: var(--ink); font: 15px/1.5 var(--text);
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; scrollbar-gutter: stable; }
body { max-width: 76rem; margin: 0 auto; padding: 1.25rem 1.25rem 2rem; }
h1, h2, p, dl, dd, ul { margin: 0; padding: 0; }
ul { list-style: none; }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: 1px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px;
  border-radius: 2px; }
code, .path { font-family: var(--code); font-size: .9em; overflow-wrap: anywhere; }
abbr { text-decoration: none; }
.soft, .unknown { color: var(--soft); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }

header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1.25rem;
  padding-bottom: .75rem; }
h1 { font-size: 1.25rem; font-weight: 650; letter-spacing: -.01em; }
h1 small { font-size: .8rem; font-weight: 400; color: var(--soft); letter-spacing: 0;
  padding-left: .35rem; }
nav { margin-left: auto; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; font-size: .87rem; }
.reach { color: var(--warn); font-size: .87rem; }
.reach:not(:empty) { padding-bottom: .5rem; }

main > * { margin-bottom: 1rem; }
section, .figures { background: var(--paper); border: 1px solid var(--rule); border-radius: 6px; }
section { padding: .85rem 1rem .95rem; }
h2 { font-size: 1rem; font-weight: 650; }
h2 + p, caption { color: var(--soft); font-size: .87rem; text-align: left; }
h2 + p { padding-bottom: .35rem; }
caption { padding-bottom: .35rem; }

.notices { display: grid; gap: .2rem; font-size: .93rem; }
.notices strong { font-weight: 650; }

.figures { display: grid; grid-template-columns: repeat(6, 1fr); overflow: hidden; }
.figures > div { padding: .7rem 1rem .75rem; box-shadow: -1px -1px 0 var(--rule); min-width: 0; }
.figures dt { font-size: .8rem; color: var(--soft); }
.figures dd { font-size: 1.35rem; font-weight: 550; line-height: 1.35; letter-spacing: -.01em; }
.figures dd.note { font-size: .8rem; font-weight: 400; color: var(--soft); letter-spacing: 0;
  overflow-wrap: anywhere; }
.figures .unknown { font-weight: 400; font-size: 1.1rem; }

table { width: 100%; border-collapse: collapse; font-size: .87rem; }
th, td { text-align: left; vertical-align: baseline; padding: .32rem 1.25rem .32rem 0;
  border-top: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 500; color: var(--soft); font-size: .8rem; border-top: 0;
  vertical-align: bottom; }
tbody th { font-weight: 550; }
tbody th.path, tbody th.events { font-weight: 400; }
.n { text-align: right; white-space: nowrap; width: 1%; padding-left: 1rem; }
.spark-cell { white-space: nowrap; width: 1%; }
tbody tr:hover { background: color-mix(in srgb, var(--track) 30%, transparent); }
td.spark-cell { padding-top: .1rem; padding-bottom: .1rem; }
.whole { white-space: nowrap; }
.figures .spark { display: block; max-width: 100%; margin-top: .2rem; }
td small, th small { font-size: .92em; color: var(--soft); font-weight: 400;
  font-family: var(--text); }
th small, td small.below { display: block; }
tbody th.whole { width: 1%; }

svg { vertical-align: middle; }
.spark .line { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-linejoin: round;
  stroke-linecap: round; }
.spark .base { stroke: var(--track); stroke-width: 1; }
.spark .area { fill: var(--line); opacity: .16; }
.bar { width: 5.5rem; height: .4rem; border-radius: 2px; margin-right: .5rem; }
.bar .track { fill: var(--track); } .bar .fill { fill: var(--line); }

.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem;
  font-size: .87rem; padding-top: .35rem; }
.facts dt { color: var(--soft); }
.facts dd { overflow-wrap: anywhere; min-width: 0; }
.list { font-size: .87rem; padding-top: .35rem; }
.list li { padding: .15rem 0; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.as-of { color: var(--soft); font-size: .8rem; }
summary { cursor: pointer; font-size: .87rem; color: var(--link); width: max-content;
  max-width: 100%; }
footer { color: var(--soft); font-size: .8rem; display: grid; gap: .15rem; }
.refreshes .by-hand { display: none; }
html:not(.refreshes) .by-itself { display: none; }

@media (max-width: 60rem) {
  .figures { grid-template-columns: repeat(3, 1fr); }
  .pair { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 44rem) {
  body { padding: .9rem .75rem 1.5rem; }
  nav { margin-left: 0; width: 100%; }
  section { padding: .75rem .75rem .85rem; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  .figures > div { padding: .55rem .75rem .6rem; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, tbody th, td, caption { display: block; }
  tr { border-top: 1px solid var(--rule); padding: .45rem 0; }
  tbody th, td { border: 0; padding: .05rem 0; text-align: left; }
  td { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .5rem; white-space: normal; }
  td::before { content: attr(data-label); color: var(--soft); }
  td.whole, td.n, td.spark-cell { width: auto; padding-left: 0; text-align: left; white-space: normal; }
  #busiest tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 1rem; }
  #busiest th { grid-column: 1 / -1; }
  #busiest td { grid-template-columns: 4rem minmax(0, 1fr); }
  #busiest td.spark-cell { display: block; }
  #busiest td.spark-cell::before { content: none; }
  .facts { grid-template-columns: minmax(0, 9.5rem) minmax(0, 1fr); gap: .15rem .75rem; }
}
@media print { html { background: none; } nav, .reach { display: none; } }
)css";

}  // namespace pex::daemon
