// Counters, gauges and durations in Prometheus text form. Labels come from closed sets (operation ids, status
// classes, upstream names), so the number of series is bounded by the configuration.

export interface Metrics {
  readonly count: (name: MetricName, labels?: Labels, by?: number) => void;
  /** How long something took. */
  readonly observe: (name: DurationName, labels: Labels, tookMs: number) => void;
  readonly gauge: (name: MetricName, read: () => number | readonly Labelled[]) => void;
  readonly render: () => string;
}

type Labels = Readonly<Record<string, string>>;
type Labelled = readonly [labels: Labels, value: number];

const metrics = {
  tollgate_build_info: "Always 1; the label says which version serves.",
  tollgate_calls_total: "Calls answered, by operation and status.",
  tollgate_refusals_total: "Calls refused by the gateway, by code.",
  tollgate_charged_micros_usd_total: "Micro-USD charged, by operation.",
  tollgate_written_off_micros_usd_total: "Micro-USD metered above the hold and not charged.",
  tollgate_usage_anomalies_total:
    "Usage figures from upstreams that were negative, fractional or absurd, and reasons to stop that nobody knows.",
  tollgate_upstream_attempts_total:
    "Attempts at upstreams, by upstream and outcome; a stream's when it has ended: streaming, gave_up, broke_off or gateway_stopped.",
  tollgate_upstream_paused: "1 while other upstreams are asked before this one, or none is, by upstream.",
  tollgate_task_polls_total: "Questions about tasks, by upstream and what it said.",
  tollgate_ledger_commits_total: "Transactions committed by the ledger.",
  tollgate_ledger_writes_total: "Ledger operations inside those transactions.",
  tollgate_limits_outages_total:
    "Times that Redis did not answer or refused, and this node began to limit by itself.",
  tollgate_limits_alone: "1 while this node limits by itself because Redis does not answer or refuses.",
  tollgate_calls_in_flight: "Calls being served now.",
  tollgate_agent_tools_total: "Tools used through the agent door, by tool.",
  tollgate_agent_sessions: "Sessions that agents have open.",
  tollgate_config_reloads_total:
    "Reloads of the configuration, by result; each try while the store is waited for.",
  tollgate_log_lines_lost_total:
    "Lines of the log that were dropped because nobody read what it is written to.",
} as const;

const durations = {
  tollgate_call_seconds: "From a call's arrival until its answer begins, by operation.",
  tollgate_upstream_seconds: "From sending a request until its answer, or the head of a stream, by upstream.",
} as const;

type MetricName = keyof typeof metrics;
type DurationName = keyof typeof durations;

/** One line of a counter. Its labels are rendered when somebody reads them, not when something is counted. */
interface Counted {
  readonly labels: Labels | undefined;
  value: number;
}

/** The lines of a duration: how many took no longer than each bound but longer than the one before it, and the rest. */
interface Observed {
  readonly labels: Labels | undefined;
  readonly within: number[];
  count: number;
  sumMs: number;
}

/** From what a refusal takes to the longest answers that anybody waits for. */
const boundsMs = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/** The series of a name, found by the values of their labels one after the other: no text is made to count. */
interface Branch<Series> {
  series: Series | undefined;
  readonly by: Map<string, Branch<Series>>;
}

interface Family<Series> {
  readonly root: Branch<Series>;
  readonly all: Series[];
}

const newBranch = <Series>(): Branch<Series> => ({ series: undefined, by: new Map() });

function seriesOf<Name, Series>(
  families: Map<Name, Family<Series>>,
  name: Name,
  labels: Labels | undefined,
  create: (labels: Labels | undefined) => Series,
): Series {
  let family = families.get(name);
  if (!family) families.set(name, (family = { root: newBranch(), all: [] }));
  let branch = family.root;
  for (const label in labels) {
    const value = labels[label] ?? "";
    let next = branch.by.get(value);
    if (!next) branch.by.set(value, (next = newBranch()));
    branch = next;
  }
  if (!branch.series) family.all.push((branch.series = create(labels)));
  return branch.series;
}

const newCounted = (labels: Labels | undefined): Counted => ({ labels, value: 0 });

const newObserved = (labels: Labels | undefined): Observed => ({
  labels,
  within: [...boundsMs.map(() => 0), 0],
  count: 0,
  sumMs: 0,
});

export function createMetrics(): Metrics {
  const counters = new Map<MetricName, Family<Counted>>();
  const observed = new Map<DurationName, Family<Observed>>();
  const gauges = new Map<MetricName, () => number | readonly Labelled[]>();

  return {
    count: (name, labels, by = 1) => {
      seriesOf(counters, name, labels, newCounted).value += by;
    },
    observe: (name, labels, tookMs) => {
      const series = seriesOf(observed, name, labels, newObserved);
      let at = 0;
      while (tookMs > (boundsMs[at] ?? Infinity)) at++;
      series.within[at] = (series.within[at] ?? 0) + 1;
      series.count++;
      // A clock that was set back must not make a sum smaller.
      series.sumMs += Math.max(0, tookMs);
    },
    gauge: (name, read) => void gauges.set(name, read),
    render: () => {
      const lines: string[] = [];
      for (const [name, { all }] of counters) {
        lines.push(`# HELP ${name} ${metrics[name]}`, `# TYPE ${name} counter`);
        for (const { labels, value } of all) lines.push(`${name}${renderLabels(labels)} ${value}`);
      }
      for (const [name, read] of gauges) {
        lines.push(`# HELP ${name} ${metrics[name]}`, `# TYPE ${name} gauge`);
        const values = read();
        if (typeof values === "number") lines.push(`${name} ${values}`);
        else for (const [labels, value] of values) lines.push(`${name}${renderLabels(labels)} ${value}`);
      }
      for (const [name, { all }] of observed) {
        lines.push(`# HELP ${name} ${durations[name]}`, `# TYPE ${name} histogram`);
        for (const series of all) lines.push(...renderObserved(name, series));
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

function renderObserved(name: DurationName, { labels, within, count, sumMs }: Observed): string[] {
  let soFar = 0;
  const buckets = boundsMs.map((boundMs, at) => {
    soFar += within[at] ?? 0;
    return `${name}_bucket${renderLabels({ ...labels, le: String(boundMs / 1000) })} ${soFar}`;
  });
  return [
    ...buckets,
    `${name}_bucket${renderLabels({ ...labels, le: "+Inf" })} ${count}`,
    `${name}_sum${renderLabels(labels)} ${sumMs / 1000}`,
    `${name}_count${renderLabels(labels)} ${count}`,
  ];
}

function renderLabels(labels: Labels | undefined): string {
  if (!labels) return "";
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, "_")}"`);
  return `{${pairs.join(",")}}`;
}
