// Counters and gauges in Prometheus text form. Labels come from closed sets (operation ids, status
// classes, upstream names), so the number of series is bounded by the configuration.

export interface Metrics {
  readonly count: (name: MetricName, labels?: Labels, by?: number) => void;
  readonly gauge: (name: MetricName, read: () => number | readonly Labelled[]) => void;
  readonly render: () => string;
}

type Labels = Readonly<Record<string, string>>;
type Labelled = readonly [labels: Labels, value: number];

const metrics = {
  tollgate_calls_total: "Calls answered, by operation and status.",
  tollgate_refusals_total: "Calls refused by the gateway, by code.",
  tollgate_charged_micros_usd_total: "Micro-USD charged, by operation.",
  tollgate_written_off_micros_usd_total: "Micro-USD metered above the hold and not charged.",
  tollgate_usage_anomalies_total: "Usage figures from upstreams that were negative, fractional or absurd.",
  tollgate_upstream_attempts_total: "Attempts at upstreams, by upstream and outcome.",
  tollgate_upstream_paused: "1 while other upstreams are asked before this one, or none is, by upstream.",
  tollgate_task_polls_total: "Questions about tasks, by upstream and what it said.",
  tollgate_ledger_commits_total: "Transactions committed by the ledger.",
  tollgate_ledger_writes_total: "Ledger operations inside those transactions.",
  tollgate_calls_in_flight: "Calls being served now.",
  tollgate_agent_tools_total: "Tools used through the agent door, by tool.",
  tollgate_agent_sessions: "Sessions that agents have open.",
  tollgate_config_reloads_total: "Reloads of the configuration, by result.",
} as const;

type MetricName = keyof typeof metrics;

/** One line of a counter. Its labels are rendered when somebody reads them, not when something is counted. */
interface Series {
  readonly labels: Labels | undefined;
  value: number;
}

/** The lines of a counter, found by the values of their labels one after the other: no text is made to count. */
interface Branch {
  series: Series | undefined;
  readonly by: Map<string, Branch>;
}

const newBranch = (): Branch => ({ series: undefined, by: new Map() });

function branchOf(root: Branch, labels: Labels | undefined): Branch {
  let branch = root;
  for (const label in labels) {
    const value = labels[label] ?? "";
    let next = branch.by.get(value);
    if (!next) branch.by.set(value, (next = newBranch()));
    branch = next;
  }
  return branch;
}

export function createMetrics(): Metrics {
  const counters = new Map<MetricName, { readonly root: Branch; readonly all: Series[] }>();
  const gauges = new Map<MetricName, () => number | readonly Labelled[]>();

  return {
    count: (name, labels, by = 1) => {
      let counter = counters.get(name);
      if (!counter) counters.set(name, (counter = { root: newBranch(), all: [] }));
      const branch = branchOf(counter.root, labels);
      if (branch.series) branch.series.value += by;
      else counter.all.push((branch.series = { labels, value: by }));
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
      return `${lines.join("\n")}\n`;
    },
  };
}

function renderLabels(labels: Labels | undefined): string {
  if (!labels) return "";
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, "_")}"`);
  return `{${pairs.join(",")}}`;
}
