// Draws the status of the exporter, api/v1/status, and redraws it every few seconds.
// docs/serving.md documents its keys; null means unknown.
//
// Names of cgroups, events and files are untrusted. element() turns them into text and attribute
// values, never into markup, and the policy of the page makes the browser refuse markup from
// strings.

const period = 5000; // ms from one refresh to the next
const wholeWindow = 300; // s that a chart shows at least: all points that the exporter keeps
const tickSteps = [60, 300, 900, 3600, 21600, 86400]; // s between two ticks of a chart
const maxTicks = 6;

// -------------------------------------------------------------------------------------------------
// Numbers for people, independent of the locale

const space = "\u00a0"; // does not break
const thinSpace = "\u202f"; // narrow, and does not break

const prefixes = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const unitsOfTime = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** Enough decimals for three digits, for a value below 1000. */
const threeDigits = (value) =>
  value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3);

/** Three digits, and a prefix of the SI from 1000 on: "0", "0.004", "1.35", "24.1", "3.21 G". */
export function compact(value) {
  if (value < 0) return "\u2212" + compact(-value);
  if (value === 0) return "0";
  if (value < 0.0005) return `under${space}0.001`;
  const prefix = prefixes.find(([worth]) => value >= worth * 0.9995);
  return prefix ? threeDigits(value / prefix[0]) + space + prefix[1] : threeDigits(value);
}

/** Every digit, in groups of three: "65 536". */
export const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, thinSpace);

/** "63.2 %". Only all is "100 %", and only nothing is "0 %". */
export function percent(ratio) {
  const text = (number) => `${number}${space}%`;
  if (ratio === 0) return text("0");
  if (ratio >= 1) return text((ratio * 100).toFixed(0));
  if (ratio >= 0.9995) return text("99.9");
  return ratio < 0.001 ? `under${space}${text("0.1")}` : text((ratio * 100).toFixed(1));
}

const perSecond = { events: "/s", bytes: "B/s", joules: "W", seconds: "s/s" };

/** A rate of an event with this unit: "2.40 G/s", "12.3/s", "1.50 MB/s", "48.0 W". */
export function rate(value, unit) {
  const number = compact(value);
  const symbol = perSecond[unit] ?? "/s";
  return symbol.startsWith("/") || /[kMGTPE]$/.test(number) ? number + symbol
    : number + space + symbol;
}

/** From a minute on, the largest unit, and the next one unless it is 0. */
function twoUnits(seconds) {
  const largest = unitsOfTime.findIndex(([worth]) => seconds >= worth);
  if (largest < 0) return `0${space}s`;
  const parts = unitsOfTime.slice(largest, largest + 2).map(([worth, symbol]) => {
    const number = Math.floor(seconds / worth);
    seconds -= number * worth;
    return number ? number + space + symbol : "";
  });
  return parts.filter(Boolean).join(" ");
}

/** "640 µs", "3.21 ms", "1.25 s", "42 s", "4 min 5 s", "3 h 4 min", "9 d 6 h". */
export function duration(seconds) {
  if (seconds <= 0) return `0${space}s`;
  if (seconds < 1e-3) return `${threeDigits(seconds * 1e6)}${space}µs`;
  if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)}${space}ms`;
  return seconds < 9.995 ? `${threeDigits(seconds)}${space}s` : twoUnits(Math.round(seconds));
}

/** A configured duration: "5 s", "1.5 s". */
export const setting = (seconds) =>
  duration(seconds).replace(/\.0+(?=\u00a0)|(\.\d*[1-9])0+(?=\u00a0)/, "$1");

/** How long ago something was, in whole seconds. */
export const age = (seconds) =>
  seconds < 1 ? `under 1${space}s` : twoUnits(Math.floor(seconds));

const iso = (timestamp) => `${new Date(timestamp * 1000).toISOString().slice(0, 19)}Z`;

/** "2026-01-31 09:05:07 UTC" */
export const utc = (timestamp) => iso(timestamp).replace("T", " ").replace("Z", " UTC");

const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

// -------------------------------------------------------------------------------------------------
// Elements

const drawings = new Set(["svg", "path", "rect", "circle", "title"]);

/**
 * Text with a visible sign for each control character, and each character that changes the
 * direction of text, which can disguise a name. These are the characters that printable() of
 * base/utf8.h escapes.
 */
export const shown = (text) => text
  .replace(/[\x00-\x1f\x7f]/g, (control) => control === "\x7f"
    ? "\u2421" : String.fromCharCode(0x2400 + control.charCodeAt(0)))
  .replace(/[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (format) => `\\u${format.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Strings among the attributes and the content are always text. */
function element(name, attributes, ...content) {
  const made = drawings.has(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value) made.setAttribute(key, shown(value));
  }
  for (const each of content.flat(Infinity)) {
    if (each) made.append(typeof each === "string" ? shown(each) : each);
  }
  return made;
}

const unknown = (why = "unknown") => element("span", { class: "unknown" }, why);

/** `value` in the given `format`; null is unknown. */
const known = (value, format = count) => (value === null ? unknown() : format(value));

const separated = (nodes) => nodes.flatMap((node, i) => (i ? [", ", node] : [node]));

/** May be broken into lines after its slashes. */
const path = (text) => text.split(/(?<=[^]\/)(?=[^])/)
  .flatMap((part, i) => (i ? [element("wbr", {}), part] : [part]));

/** May be broken into lines after its underscores. */
const word = (text) => text.split(/(?<=_)(?=[^])/)
  .flatMap((part, i) => (i ? [element("wbr", {}), part] : [part]));

/** Names of events. A short one is not broken into lines. */
const codes = (names) => separated(names.map((name) =>
  element("code", { class: name.length <= 32 ? "whole" : "" }, name)));

const section = (id, title, ...content) =>
  element("section", { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), content);

const facts = (list) => element("dl", { class: "facts" },
  list.map(([name, ...value]) => [element("dt", {}, name), element("dd", {}, value)]));

const lines = (list) => list.length > 0 &&
  element("ul", { class: "list" }, list.map((line) => element("li", {}, line)));

/**
 * A column has a title, a class, and where the screen is narrow a label before each cell. The first
 * cell of a row is its title. All parts state their roles (WAI-ARIA 1.2): a browser forgets what is
 * a row or a cell where a style displays it as something else, and the one for narrow screens does.
 */
function table(caption, columns, rows, style = "") {
  const row = (cells) => element("tr", { role: "row" }, cells);
  const title = ({ title, style }) =>
    element("th", { scope: "col", role: "columnheader", class: style }, title);
  const cell = (content, i) => {
    const { title, style, label = title } = columns[i];
    if (i === 0) return element("th", { scope: "row", role: "rowheader", class: style }, content);
    return element("td", { role: "cell", class: style, "data-label": label },
      element("div", {}, content));
  };
  return element("table", { role: "table", class: style },
    caption && element("caption", {}, caption),
    element("thead", { role: "rowgroup" }, row(columns.map(title))),
    element("tbody", { role: "rowgroup" }, rows.map((cells) => row(cells.map(cell)))));
}

// -------------------------------------------------------------------------------------------------
// Drawings

/** A bar that is filled up to `ratio`. Decorative: the number is next to it. */
export function bar(ratio, style = "") {
  const width = (100 * Math.min(Math.max(ratio, 0), 1)).toFixed(1);
  return element("svg", { class: style ? `bar ${style}` : "bar", viewBox: "0 0 100 6",
    preserveAspectRatio: "none", "aria-hidden": "true" },
    element("rect", { class: "track", width: "100", height: "6" }),
    element("rect", { class: "fill", width, height: "6" }));
}

/** The highest one; null if none is known. */
const peak = (points) =>
  points.reduce((most, point) => (point === null || point < most ? most : point), null);

const box = { width: 120, height: 24, margin: 2 }; // half a stroke, and some air

/** The time axis of all charts, in seconds: it ends at the newest reading. */
function timeAxis({ span_seconds: span }) {
  const range = Math.max(span, wholeWindow);
  return { range, step: tickSteps.find((step) => range / step <= maxTicks) ?? range };
}

const clamped = (ratio) => Math.min(Math.max(ratio || 0, 0), 1);

const xOf = (age, range) =>
  box.margin + (box.width - 2 * box.margin) * (1 - clamped(age / range));

/** Runs of known points without a gap, as lists of places. */
function runs(points, ages, range, highest) {
  const place = (value, age) => [xOf(age, range),
    box.height - box.margin - (box.height - 2 * box.margin) * clamped(value / highest)];
  const found = [];
  points.forEach((point, i) => {
    if (point === null) return;
    if (i === 0 || points[i - 1] === null) found.push([]);
    found.at(-1).push(place(point, ages[i]).map((coordinate) => coordinate.toFixed(1)));
  });
  return found;
}

/** One for each step of the time axis, at its base. */
function ticks({ range, step }) {
  const number = Math.floor(range / step) + 1;
  return Array.from({ length: number }, (_, i) => `M${xOf(i * step, range).toFixed(1)} 20.5V24`)
    .join("");
}

/** For a single point, a line without length, which its round ends make a dot. */
const line = (run) => `M${[run[0], ...run].map((place) => place.join(" ")).join("L")}`;
const area = (run) => {
  const bottom = box.height - box.margin;
  return `${line(run)}L${run.at(-1)[0]} ${bottom}L${run[0][0]} ${bottom}Z`;
};

/**
 * A small line of `points`. Its right end is the newest reading, its height the highest point;
 * unknown points are gaps. `what` is read out with its current and its highest value: "CPUs used".
 */
export function sparkline(what, points, activity, format = compact) {
  const { point_ages_seconds: ages, span_seconds: span } = activity;
  const axis = timeAxis(activity);
  const highest = peak(points);
  const label = highest === null ? `${what}: unknown` : `${what} over the last ${duration(span)}: ` +
    `now ${points.at(-1) === null ? "unknown" : format(points.at(-1))}, at most ${format(highest)}`;
  const drawn = runs(points, ages, axis.range, highest);
  const [x, y] = points.at(-1) == null ? [] : drawn.at(-1).at(-1);
  return element("svg", { class: "spark", viewBox: `0 0 ${box.width} ${box.height}`,
    width: `${box.width}`, height: `${box.height}`, role: "img", "aria-label": label },
    element("title", {}, label),
    element("path", { class: "base", d: `M0 23.5H${box.width}` }),
    element("path", { class: "area", d: drawn.map(area).join("") }),
    element("path", { class: "ticks", d: ticks(axis) }),
    element("path", { class: "line", d: drawn.map(line).join("") }),
    x && element("circle", { class: "now", cx: x, cy: y, r: "1.8" }));
}

/** The column of charts: its title names both ends of the time axis. */
const chartColumn = (activity, of) => ({ style: "spark-cell", label: "", of,
  title: element("span", { class: "axis" },
    element("span", {}, `${age(timeAxis(activity).range)} ago`), element("span", {}, "now")) });

/** For the caption of a table with charts. */
function aboutCharts(activity) {
  const { range, step } = timeAxis(activity);
  return ` Charts show the last ${age(range)}; one tick is ${age(step)}.`;
}

// -------------------------------------------------------------------------------------------------
// Notices, one line each

const notice = (style, word, ...text) =>
  element("li", {}, element("strong", { class: style }, word), " ", text);

const link = (id, text) => element("a", { id: `to-${id}`, href: `#${id}` }, text);

const eventsOf = (list) => list.reduce((total, each) => total + each.events.length, 0);

function countingNotice({ groups, machine, cgroups }) {
  const onCpus = eventsOf(groups.filter((group) => group.scope === "cpu"));
  const inCgroups = eventsOf(groups.filter((group) => group.scope === "cgroup"));
  if (onCpus + inCgroups === 0) {
    return notice("bad", "Nothing is counted.",
      "No configured event can be counted on this machine.");
  }
  if (machine.cpus_counted === null || cgroups.counted === null) {
    return notice("soft", "Starting.", "The first poll has not ended yet.");
  }
  const texts = [];
  if (onCpus) texts.push(`${plural(onCpus, "event")} on ${plural(machine.cpus_counted, "CPU")}`);
  if (inCgroups) {
    const served = cgroups.counted + (cgroups.idle ?? 0);
    const none = cgroups.waiting ? `${count(cgroups.waiting)} wait to be opened` : "there is none";
    texts.push(`${plural(inCgroups, "event")} in each ` + (served === 0
      ? `cgroup; ${none}` : `of ${plural(served, "cgroup")}`));
  }
  return notice("good", "Counting", `${texts.join(", ")}.`);
}

const directoriesNotFollowed = ({ directories }) =>
  (directories ? directories.beyond_limit + directories.path_too_long : null);

function notices(status) {
  const { configuration, web_configuration: web, cgroups, machine, polls, warnings } = status;
  const notCounted = eventsOf(status.not_counted);
  const notFollowed = directoriesNotFollowed(cgroups);
  const offPmu = polls.last?.groups_off_pmu;
  const outOfSums = status.sums.reduce((total, each) => total + each.members_left_out, 0);
  return element("ul", { class: "notices" },
    countingNotice(status),
    !configuration.last_load_successful && notice("bad", "Not reloaded:", "the last ",
      link("configuration", "configuration"), " has errors; the previous one is still used."),
    web && !web.last_load_successful && notice("bad", "Not reloaded:", "the last ",
      link("web-configuration", "web configuration"),
      " was refused; the previous one is still used."),
    machine.late_cpus && notice("bad", "Late:",
      `CPU ${machine.late_cpus} did not answer in time; its values are from an earlier poll.`),
    web?.downgrades.length > 0 && notice("warn", "Less protected:", "the last change of the ",
      link("web-configuration", "web configuration"), " lowered a protection."),
    notCounted > 0 && notice("warn", "Not counted:",
      link("not-counted", plural(notCounted, "event")), " of the configuration."),
    cgroups.left_out > 0 && notice("warn", "Left out:",
      link("left-out", plural(cgroups.left_out, "cgroup")), " because of a limit."),
    outOfSums > 0 && notice("warn", "Left out of sums:", link("sums", plural(outOfSums, "cgroup")),
      ", because there are as many sums as the configuration allows."),
    notFollowed > 0 && notice("warn", "Not followed:",
      plural(notFollowed, "cgroup directory", "cgroup directories"),
      ", because of the limit or because the path is too long."),
    warnings.length > 0 && notice("warn", "Warned:",
      link("warnings", plural(warnings.length, "warning")), " about the configuration."),
    cgroups.cpus_without_records && notice("warn", "By descriptors:",
      `cgroups on CPU ${cgroups.cpus_without_records}; ${cgroups.why_no_records}.`),
    offPmu > 0 && notice("warn", "Off the PMU:",
      plural(offPmu, "pinned group"), " had no hardware counters at the last poll."));
}

// -------------------------------------------------------------------------------------------------
// Summary

const tile = (title, value, ...note) => element("div", {},
  element("dt", {}, title), element("dd", {}, value), element("dd", { class: "note" }, note));

const ipc = () => element("abbr", { title: "instructions per cycle" }, "IPC");

function pollTile({ polls: { last, interval_seconds: interval } }) {
  const every = `every ${setting(interval)}`;
  if (!last) return tile("Last poll", unknown("none yet"), every);
  return tile("Last poll took", duration(last.duration_seconds),
    `${age(last.age_seconds)} ago, ${every}`);
}

function cpusTile({ cpus_online: online, online_cpus: list, left_out_cpus: leftOut }) {
  if (online === null) return tile("CPUs online", unknown());
  return tile("CPUs online", count(online), list, leftOut && `; left out: ${leftOut}`);
}

function cgroupsTile({ counted, left_out: leftOut, waiting }) {
  if (counted === null) return tile("Cgroups counted", unknown());
  return tile("Cgroups counted", count(counted), `${count(leftOut)} left out`,
    waiting > 0 && `, ${count(waiting)} waiting`);
}

/** Instructions per cycle; if they are not known, the first rate that is. */
function hostTile({ activity }) {
  const { instructions_per_cycle: value, cycles_per_second: cycles, points, rates } = activity.host;
  const first = rates.find((of) => of.per_second !== null);
  if (cycles !== null || !first) {
    return tile([ipc(), " of all CPUs"], known(value, compact),
      cycles === null ? "cycles unknown" : `${rate(cycles, "events")} cycles`,
      peak(points) !== null && sparkline("Cycles per second of all CPUs", points, activity));
  }
  const format = (number) => rate(number, first.unit);
  return tile([word(nameOf(first, rates)), " of all CPUs"], format(first.per_second),
    sparkline(`${first.event} of all CPUs`, first.points, activity, format));
}

const summary = (status) => element("dl", { class: "summary" },
  tile("Uptime", age(status.uptime_seconds), `since ${utc(status.start_timestamp_seconds)}`),
  pollTile(status),
  cpusTile(status.machine),
  cgroupsTile(status.cgroups),
  tile("Series", known(status.limits.series), `of ${count(status.limits.series_limit)}`),
  hostTile(status));

// -------------------------------------------------------------------------------------------------
// Cgroups

/**
 * The name of an event in its metric, which the configuration may set: "cache_misses" of
 * perf_cpu_cache_misses_total, and of perf_workload_cache_misses_total, which is one of the sum
 * "workload". If several of `rates` share a metric, its spelling.
 */
export function nameOf({ event, metric, unit }, rates, sum = "") {
  if (rates.filter((other) => other.metric === metric).length > 1) return event;
  const ending = unit === "events" ? "_total" : `_${unit}_total`;
  const name = metric.slice(0, -ending.length);
  return sum ? name.slice(`perf_${sum}_`.length) : name.replace(/^perf_(cpu_|cgroup_)?/, "");
}

function whyNoneIsBusy({ groups, cgroups, activity }) {
  if (cgroups.counted === null) return "No counts have been read yet.";
  if (cgroups.counted + cgroups.idle + cgroups.lingering === 0) return "No cgroup is counted.";
  if (!groups.some((group) => group.scope === "cgroup")) return "No event is counted by cgroup.";
  if (activity.point_ages_seconds.length === 0) {
    return "Rates are known from the second reading on.";
  }
  return activity.idle_cgroups ? "All cgroups with known rates were idle over the last " +
    `${age(Math.round(activity.recent_seconds))}.` : "The rates of the cgroups are not known.";
}

/** Labels that the exporter sets by itself: the path has them, or the title. */
const labelsOfPath = new Set(["container_id", "pod_uid", "qos_class", "runtime", "unit", "slice",
  "machine", "uid", "session", "slurm_job", "slurm_step", "batch_job", "ecs_task", "pod",
  "namespace", "container", "image"]);

/** Its labels by the rules of the configuration. */
function ownLabels(labels) {
  const own = Object.entries(labels).filter(([name]) => !labelsOfPath.has(name));
  return own.length > 0 && element("small", { class: "labels" },
    own.map(([name, value]) => [" ", element("span", {}, `${name}="${value}"`)]));
}

/** A path with its last part emphasized. */
function cgroupPath(cgroup) {
  const last = cgroup.lastIndexOf("/") + 1;
  return element("span", { class: "path" }, path(cgroup.slice(0, last)), element("wbr", {}),
    element("strong", {}, cgroup.slice(last)));
}

/**
 * Its name in Kubernetes, or its unit if the path does not have it; its path; labels by rules of
 * the configuration. The metrics have the ids.
 */
function cgroupTitle({ cgroup, labels, gone }) {
  const unit = labels.unit && !cgroup.includes(labels.unit) ? [labels.unit] : [];
  const inKubernetes = ["namespace", "pod", "container"].map((name) => labels[name]);
  const names = inKubernetes.some(Boolean) ? inKubernetes.filter(Boolean) : unit;
  return [names.length > 0 ? [element("span", { class: "name" }, names.join(" / ")),
    element("small", { class: "path" }, path(cgroup))] : cgroupPath(cgroup),
  gone && [" ", unknown("ended")], ownLabels(labels)];
}

/** What a table is sorted by, and how many `things` ("cgroup", "sum") it leaves out. */
function busiestCaption(activity, { rows, busy, idle, thing }, by) {
  return `By ${by}, over the last ${age(Math.round(activity.recent_seconds))}.` +
    (busy > rows.length ? ` ${count(rows.length)} of ${count(busy)} are shown.` : "") +
    (idle ? ` Not shown: ${plural(idle, `idle ${thing}`)}.` : "") + aboutCharts(activity);
}

/** Without columns that have no known value. All rows have rates of the same events. */
function busiestColumns(activity, { rows, leading, sum }, byTime) {
  const [first, ...others] = rows[0].rates;
  const name = (of) => nameOf(of, rows[0].rates, sum);
  const format = (value) => (byTime ? compact(value) : rate(value, first.unit));
  const hasRatio = rows.some((row) => row.instructions_per_cycle !== null);
  const isShown = ({ event }, i) => !(hasRatio && event === "instructions") &&
    rows.some(({ rates }) => rates[i].per_second !== null);
  const column = (title, of, hint) => ({ style: "n", label: title, of,
    title: hint ? element("abbr", { title: hint }, word(title)) : title });
  const rateColumn = (of, i) => column(name(of), ({ rates }) =>
    known(rates[i].per_second, (value) => rate(value, of.unit)), `${of.event}: ${of.metric}`);
  return [
    ...leading,
    byTime ? column("CPUs", ({ rates }) => known(rates[0].per_second, format))
      : rateColumn(first, 0),
    chartColumn(activity, ({ points }) =>
      sparkline(byTime ? "CPUs used" : first.event, points, activity, format)),
    column("Peak", ({ points }) => known(peak(points), format)),
    hasRatio && column("IPC", (row) => known(row.instructions_per_cycle, compact),
      "instructions per cycle"),
    ...others.map((of, i) => isShown(of, i + 1) && rateColumn(of, i + 1)),
  ].filter(Boolean);
}

/** Of cgroups or of sums; there is at least one row. `sum` is the name of the sum. */
function busiestTable(activity, list) {
  const byTime = list.rankedBy === "cpu_seconds_per_second";
  const { rows, sum } = list;
  const by = byTime ? "CPU time, in CPU seconds per second"
    : `the rate of ${nameOf(rows[0].rates[0], rows[0].rates, sum)}`;
  const columns = busiestColumns(activity, list, byTime);
  const cells = rows.map((row) => columns.map((column) => column.of(row)));
  if (byTime && list.rest) cells.push(columns.map((_, i) => list.rest[i] ?? ""));
  return table(busiestCaption(activity, list, by), columns, cells, "ranked");
}

/** CPU time in no counted cgroup, and where most of it is. */
function uncounted({ cgroups: { uncounted: of } }) {
  if (!of || of.cpu_seconds_per_second === null) return null;
  const columns = [
    { title: "Cgroup", style: "cgroup", of: ({ cgroup, reason }) =>
      [cgroupPath(cgroup), element("small", { class: "below" }, reason)] },
    { title: "CPUs", style: "n", of: (each) => compact(each.cpu_seconds_per_second) },
    { title: "Of all CPU time", style: "n", of: ({ cpu_time_ratio: ratio }) =>
      percent(ratio) }];
  return section("uncounted", "In no counted cgroup",
    element("p", {}, `${compact(of.cpu_seconds_per_second)} CPUs, ${percent(of.cpu_time_ratio)} of the CPU ` +
      "time of this machine."),
    of.largest.length > 0 && table("The largest parts, between the last two readings.", columns,
      of.largest.map((each) => columns.map((column) => column.of(each))), "ranked"));
}

/** The last row of the busiest cgroups: with it, their CPUs add up to those of the machine. */
function restOfMachine({ cgroups: { uncounted: of } }) {
  if (!of || of.cpu_seconds_per_second === null) return null;
  return [link("uncounted", "In no counted cgroup"), compact(of.cpu_seconds_per_second)];
}

function busiest(status) {
  const { activity } = status;
  const title = "Busiest cgroups";
  if (activity.top_cgroups.length === 0) {
    return section("busiest", title, element("p", {}, whyNoneIsBusy(status)));
  }
  return section("busiest", title, busiestTable(activity, { rows: activity.top_cgroups,
    rankedBy: activity.ranked_by, busy: activity.busy_cgroups, idle: activity.idle_cgroups,
    rest: restOfMachine(status), thing: "cgroup", leading: [{ title: "Cgroup", style: "cgroup", of: cgroupTitle }] }));
}

/** Names or values of labels, in the order of the configuration. A sum of all cgroups has none. */
const labelled = (style, texts) =>
  element("span", { class: style }, word(texts.join(" / ") || "all cgroups"));

/** The busiest of one configured sum. */
function busiestSums(activity, sum, i) {
  if (sum.top_sums.length === 0) return null;
  const leading = [
    { title: labelled("of-sum", sum.by), style: "cgroup",
      of: ({ labels }) => labelled("of-sum name", Object.values(labels)) },
    { title: "Cgroups", style: "n", of: ({ members }) => count(members) }];
  return section(`sum-${i}`, `Busiest sums: ${sum.sum}`, busiestTable(activity, {
    rows: sum.top_sums, rankedBy: sum.ranked_by, busy: sum.busy_sums, idle: sum.idle_sums,
    thing: "sum", leading, sum: sum.sum }));
}

/** All configured ones, then the busiest of each. */
function sums({ sums: all, activity }) {
  if (all.length === 0) return null;
  const number = (title, of) => ({ title, style: "n", of });
  const columns = [
    { title: "Name", style: "whole", of: ({ sum }) => sum },
    { title: "By", of: ({ by }) => (by.length > 0 ? codes(by) : "all cgroups") },
    number("Sums", ({ sums_now: now }) => known(now)),
    number("At most", ({ sums_limit: limit }) => count(limit)),
    number("New", ({ new_sums: isNew }) => known(isNew)),
    number("Idle", ({ idle_sums: idle }) => known(idle)),
    number("Cgroups", ({ members }) => known(members)),
    number("Left out", ({ members_left_out: out }) =>
      (out > 0 ? element("span", { class: "warn" }, count(out)) : known(out)))];
  return [section("sums", "Sums of cgroups", table("A sum keeps what its cgroups have counted " +
    "when they end. A new one is served as 0 at first, and its rates are known after that.",
  columns, all.map((each) => columns.map((column) => column.of(each))))),
  all.map((each, i) => busiestSums(activity, each, i))];
}

/** The events of scope cpu, summed over the CPUs. */
function allCpus({ activity, machine }) {
  const { rates } = activity.host;
  if (rates.length === 0 || activity.point_ages_seconds.length === 0) return null;
  const format = ({ unit }) => (value) => rate(value, unit);
  const columns = [
    { title: "Event", style: "events", of: (of) => element("code", {}, word(nameOf(of, rates))) },
    { title: "Rate", style: "n", of: (of) => known(of.per_second, format(of)) },
    chartColumn(activity, (of) => sparkline(of.event, of.points, activity, format(of))),
    { title: "Peak", style: "n", of: (of) => known(peak(of.points), format(of)) },
    { title: "Metric", of: (of) => element("code", {}, word(of.metric)) },
  ];
  return section("all-cpus", "All CPUs", table(
    `The sum over ${plural(machine.cpus_counted, "CPU")}, over the last ` +
    `${age(Math.round(activity.recent_seconds))}.${aboutCharts(activity)}`,
    columns, rates.map((of) => columns.map((column) => column.of(of)))));
}

function leftOut({ cgroups }) {
  const { left_out: number, left_out_paths: paths, left_out_setting: setting } = cgroups;
  if (!number) return null;
  return section("left-out", "Cgroups left out",
    element("p", {}, plural(number, "cgroup"), number === 1 ? " matches and is" : " match and are",
      " not counted because of ", element("code", {}, setting ?? cgroups.left_out_by), "."),
    element("details", { id: "left-out-paths" },
      element("summary", { id: "left-out-summary" },
        number > paths.length ? `The first ${count(paths.length)}` : "Their paths"),
      element("ul", { class: "list" },
        paths.map((each) => element("li", { class: "path" }, path(each))))));
}

const countedBy = ({ cpus_by_records: records, cpus_by_descriptors: descriptors }) => [
  records > 0 && `records of switches on ${plural(records, "CPU")}`,
  descriptors > 0 && `descriptors on ${plural(descriptors, "CPU")}`]
  .filter(Boolean).join(", ") || "—";

const cgroupFacts = ({ cgroups }) => section("cgroups", "Cgroups", facts([
  ["Counted", known(cgroups.counted)],
  ["Idle, counters closed", known(cgroups.idle)],
  ["Waiting to be opened", known(cgroups.waiting)],
  ["Ended, still served", known(cgroups.lingering)],
  ["Left out", known(cgroups.left_out)],
  ["Unreadable", known(cgroups.unreadable)],
  ["Counted by", known(cgroups.cpus_by_records, () => countedBy(cgroups))],
  ["Directories not followed", known(directoriesNotFollowed(cgroups))],
  ["Ended before they were counted", count(cgroups.missed_total)]]));

// -------------------------------------------------------------------------------------------------
// What is counted, and what is not

const places = { cpu: "each CPU", core: "each core", die: "each die", package: "each package",
  numa_node: "each NUMA node", host: "the host" };

function targets({ coverage_ratio: coverage, targets_counted: counted, targets_expected: wanted }) {
  if (counted === null) return unknown();
  if (coverage === null) return element("span", { class: "soft" }, "none");
  const text = `${count(counted)} of ${count(wanted)}`;
  return [bar(coverage), coverage < 1 ? element("span", { class: "warn" }, text) : text];
}

/** The part of the enabled time during which it had the PMU, recently if that is known. */
function timeOnPmu(group) {
  const { running_ratio: all, recent_running_ratio: recent } = group;
  if (!group.shares_pmu) return "always counting";
  if (all === null) return unknown();
  const ratio = recent ?? all;
  const isAlways = all === 1 && ratio === 1;
  const lost = [[group.imputed_seconds, "filled from history"],
    [group.unmeasured_seconds, "not measured"]]
    .filter(([seconds]) => seconds > 0).map(([seconds, what]) => `${duration(seconds)} ${what}`);
  const below = (text) => text && element("small", { class: "below" }, text);
  return [bar(ratio), isAlways ? "always on the PMU" : percent(ratio),
    below(recent !== null && !isAlways && `${percent(all)} since the configuration was loaded`),
    below(lost.join(", "))];
}

function counted({ groups }) {
  if (groups.length === 0) return null;
  const columns = [{ title: "Group", style: "whole" }, { title: "Counted on", style: "whole" },
    { title: "Events" }, { title: "Targets", style: "whole" },
    { title: "Time on the PMU", label: "On the PMU", style: "whole" }];
  const note = (text) => element("small", {}, text);
  const row = (group) => [
    [group.group, group.pmu && note(`on ${group.pmu}`), group.pinned && note("pinned")],
    places[group.aggregate] ?? "each cgroup",
    codes(group.events.map(({ event }) => event)),
    targets(group), timeOnPmu(group)];
  return section("groups", "What is counted",
    table("A target is a CPU, or a cgroup on a CPU. Groups that do not fit on the PMU together are " +
      "multiplexed, and their counts are scaled up.", columns, groups.map(row)));
}

function notCounted({ not_counted: reasons }) {
  if (reasons.length === 0) return null;
  const columns = [{ title: "Events", style: "events" }, { title: "Why" }, { title: "What to do" }];
  const row = ({ events, groups, reason, remedy }) => [
    [codes(events), element("small", {}, `of ${groups.join(", ")}`)], reason,
    remedy ?? element("span", { class: "soft" }, "none known")];
  return section("not-counted", "What is not counted, and why",
    table("", columns, reasons.map(row)));
}

const leftOutGroups = ({ left_out_groups: groups }) =>
  groups.length > 0 && section("left-out-groups", "Groups that are left out on this machine",
    lines(groups.map(({ group, reason }) => `${group}: ${reason}`)));

const warnings = ({ warnings }) =>
  warnings.length > 0 && section("warnings", "Warnings", lines(warnings));

// -------------------------------------------------------------------------------------------------
// Limits, polls, configuration

const nearLimit = 0.9; // of a limit: time to raise it

function limitRow([name, setBy, used, limit]) {
  const title = [name, " ", element("small", {}, setBy)];
  if (used === null || !limit) return [title, known(used), known(limit), unknown()];
  const ratio = used / limit;
  const style = ratio >= nearLimit ? "warn" : "";
  return [title, count(used), count(limit),
    [bar(ratio, style), element("span", { class: style }, percent(ratio))]];
}

/** Those that cgroups.max limits: all that are there and selected, whether their counters are open. */
const selectedOf = ({ counted, idle, waiting }) =>
  (counted === null ? null : counted + (idle ?? 0) + (waiting ?? 0));

function limits({ limits: of, cgroups }) {
  const columns = [{ title: "What" }, { title: "Now", style: "n" },
    { title: "At most", style: "n" }, { title: "Used", style: "whole" }];
  return section("limits", "Limits", table("", columns, [
    ["File descriptors", "of this process", of.open_files, of.open_files_limit],
    ["Open events", "limits.max_open_events", of.open_events, of.open_events_limit],
    ["Series", "limits.max_series", of.series, of.series_limit],
    ["Cgroups", "cgroups.max", selectedOf(cgroups), of.cgroups_limit]].map(limitRow)));
}

/** An instant, and its age at `now`. */
const instant = (timestamp, now) => [
  element("time", { datetime: iso(timestamp) }, utc(timestamp)), `, ${age(now - timestamp)} ago`];

function lastPoll({ polls: { last, interval_seconds: interval } }) {
  if (!last) return [["Last poll", unknown("none yet")]];
  const share = percent(last.duration_seconds / interval);
  return [
    ["Last poll", element("time", { datetime: iso(last.timestamp_seconds) },
      utc(last.timestamp_seconds)), `, ${age(last.age_seconds)} ago`],
    ["Its duration", `${duration(last.duration_seconds)}, ${share} of the interval`],
    ["Pinned groups off the PMU", count(last.groups_off_pmu)],
    ["Targets rotated by the exporter", count(last.targets_rotated_manually)]];
}

function polls(status) {
  const { polls: of, machine } = status;
  const pmus = (machine.pmus ?? []).map(({ name, cpus }) =>
    [["PMU ", element("code", {}, name)], cpus ? `on CPU ${cpus}` : "on no CPU"]);
  const reference = machine.reference_events;
  return section("polls", "Polls", facts([
    ["Interval", setting(of.interval_seconds)],
    ...lastPoll(status),
    ["Polls since the start", count(of.polls_total)],
    ["Skipped because one was late", count(of.overruns_total)],
    ...pmus,
    ["Multiplexed counts are scaled by",
      reference.length ? codes(reference) : "time on the PMU"]]));
}

const load = (of, now) => [
  ["File", of.file === null ? "the embedded default" : element("code", {}, path(of.file))],
  ["In use since", instant(of.in_force_since_timestamp_seconds, now)],
  ["Last load", of.last_load_successful ? element("span", { class: "good" }, "succeeded")
    : element("strong", { class: "bad" }, "failed"),
    ", ", instant(of.last_load_timestamp_seconds, now)]];

const configuration = ({ configuration: of, timestamp_seconds: now }) =>
  section("configuration", "Configuration", facts(load(of, now)), lines(of.errors));

const webConfiguration = ({ web_configuration: of, timestamp_seconds: now }) =>
  of && section("web-configuration", "Web configuration",
    facts([...load(of, now), ...of.protections.map(({ protection, state }) =>
      [element("code", {}, protection), state])]),
    lines(of.errors), lines(of.downgrades));

// -------------------------------------------------------------------------------------------------
// The page

const titlesOfLinks = { metrics: "Metrics", status: "Status as JSON", healthy: "Healthy",
  ready: "Ready" };

/** The name of this exporter, for users with several pages open. */
const here = `${location.host}${location.pathname}`.replace(/\/$/, "");

/** Relative, so that they work behind a proxy that serves this page below another path. */
const links = (status) => Object.entries(titlesOfLinks).map(([key, title]) =>
  element("li", {}, element("a", { id: `link-${key}`, href: `.${status.links[key]}` }, title)));

const body = (status) => element("main", {},
  notices(status), summary(status), busiest(status), uncounted(status), sums(status),
  allCpus(status),
  counted(status), notCounted(status), leftOutGroups(status), warnings(status), leftOut(status),
  element("div", { class: "pair" },
    element("div", { class: "column" }, limits(status), polls(status)),
    element("div", { class: "column" }, cgroupFacts(status), configuration(status),
      webConfiguration(status))),
  element("p", { class: "as-of" },
    `As of ${utc(status.timestamp_seconds)}. Refreshed every ${setting(period / 1000)}.`));

/** Keeps the focused and unfolded elements, by their ids, and the scroll position. */
function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  for (const { id } of old.querySelectorAll("details[open]")) {
    const same = fresh.querySelector(`#${id}`);
    if (same) same.open = true;
  }
  const { scrollX, scrollY } = window;
  old.replaceWith(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  window.scrollTo(scrollX, scrollY);
}

function draw(status) {
  const list = element("ul", { id: "links" }, links(status));
  const main = body(status);
  document.title = `${here} \u2013 Perf Event Exporter`;
  document.getElementById("version").textContent = shown(`${status.version} on ${here}`);
  replace(document.getElementById("links"), list);
  replace(document.querySelector("main"), main);
}

async function fetchStatus() {
  const answer = await fetch("api/v1/status", {
    cache: "no-store", signal: AbortSignal.timeout(period) });
  if (!answer.ok) throw new Error(`it answered ${answer.status} ${answer.statusText}`.trim());
  return answer.json();
}

const reasons = { TypeError: "no connection", TimeoutError: `no answer within ${period / 1000} s`,
  SyntaxError: "its answer is not JSON" };

let drawn = null; // version of the exporter on the page
let reached = null; // time of the last answer

/** Only when it changes: it is read out. */
function report(text) {
  const note = document.getElementById("reach");
  if (note.textContent !== text) note.textContent = text;
}

function reportNotReached(error) {
  const why = shown(reasons[error.name] ?? error.message);
  report(reached ? `Not reached since ${reached.toLocaleTimeString()}: ${why}.`
    : `The status cannot be fetched: ${why}. Retried every ${setting(period / 1000)}.`);
}

/** An exporter of another version may have another page. */
function show(status) {
  if (drawn !== null && status.version !== drawn) return location.reload();
  draw(status);
  drawn = status.version;
  reached = new Date();
  report("");
}

async function refresh() {
  let status;
  try {
    status = await fetchStatus();
  } catch (error) {
    return reportNotReached(error);
  }
  try {
    show(status);
  } catch (error) {
    report(`The status cannot be drawn: ${error.message}.`);
  }
}

/** Does not refresh a hidden page, or one with selected text, as that would undo the selection. */
const isLeftAlone = () => document.hidden || getSelection().type === "Range";

async function refreshForever() {
  if (!isLeftAlone()) await refresh();
  setTimeout(refreshForever, period);
}

document.addEventListener("visibilitychange", () => { if (!isLeftAlone()) refresh(); });
await refresh();
setTimeout(refreshForever, period);
