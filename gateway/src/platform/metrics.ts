// Counters and gauges in Prometheus text form. Labels come from closed sets (operation ids, status
// classes, upstream names), so the number of series is bounded by the configuration.

export interface Metrics {
  readonly count: (name: MetricName, labels?: Labels, by?: number) => void;
  readonly gauge: (name: MetricName, read: () => number) => void;
  readonly render: () => string;
}

type Labels = Readonly<Record<string, string>>;

const metrics = {
  tollgate_calls_total: "Calls answered, by operation and status.",
  tollgate_refusals_total: "Calls refused by the gateway, by code.",
  tollgate_charged_micros_usd_total: "Micro-USD charged, by operation.",
  tollgate_written_off_micros_usd_total: "Micro-USD metered above the hold and not charged.",
  tollgate_usage_anomalies_total: "Usage figures from upstreams that were negative, fractional or absurd.",
  tollgate_upstream_attempts_total: "Attempts at upstreams, by upstream and outcome.",
  tollgate_ledger_commits_total: "Transactions committed by the ledger.",
  tollgate_ledger_writes_total: "Ledger operations inside those transactions.",
  tollgate_calls_in_flight: "Calls being served now.",
  tollgate_config_reloads_total: "Reloads of the configuration, by result.",
} as const;

type MetricName = keyof typeof metrics;

export function createMetrics(): Metrics {
  const counters = new Map<MetricName, Map<string, number>>();
  const gauges = new Map<MetricName, () => number>();

  return {
    count: (name, labels, by = 1) => {
      const series = counters.get(name) ?? new Map<string, number>();
      counters.set(name, series);
      const label = labels === undefined ? "" : renderLabels(labels);
      series.set(label, (series.get(label) ?? 0) + by);
    },
    gauge: (name, read) => void gauges.set(name, read),
    render: () => {
      const lines: string[] = [];
      for (const [name, series] of counters) {
        lines.push(`# HELP ${name} ${metrics[name]}`, `# TYPE ${name} counter`);
        for (const [label, value] of series) lines.push(`${name}${label} ${value}`);
      }
      for (const [name, read] of gauges) {
        lines.push(`# HELP ${name} ${metrics[name]}`, `# TYPE ${name} gauge`, `${name} ${read()}`);
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, "_")}"`);
  return `{${pairs.join(",")}}`;
}
