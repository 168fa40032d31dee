import { accountPage } from "../../config/addresses.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { UsageReport } from "../../usage/usage-report.ts";
import { counted, grouped } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";
import { accountTable } from "./table.ts";
import { microsAsUsd } from "./words.ts";

type Bucket = UsageReport["buckets"][number];

/** Each day is a column of this chart, and a row of the table that says the same in words. */
export function dayChart(buckets: readonly Bucket[]): Html {
  const dearest = Math.max(...buckets.map((bucket) => bucket.charged_micros_usd));
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (!first || !last) return html``;
  return html`<figure class="chart">
      <figcaption>
        <span>${dayOf(first.start_time)} to ${dayOf(last.start_time)}, days are UTC</span>
        <span>dearest day: ${microsAsUsd(dearest)}</span>
      </figcaption>
      <svg
        viewBox="0 0 ${buckets.length * columnWidth} ${chartHeight}"
        preserveAspectRatio="none"
        role="img"
        aria-label="Charged by day; the table below has the figures."
      >
        ${buckets.map((bucket, at) => columnOf(bucket, at, dearest))}
      </svg>
    </figure>
    <details>
      <summary>The same as a table</summary>
      ${dayTable(buckets)}
    </details>`;
}

const columnWidth = 10;
const chartHeight = 100;
/** A day that cost anything at all is seen. */
const leastHeight = 1.5;

function columnOf(bucket: Bucket, at: number, dearest: number): Html {
  const { charged_micros_usd: charged, requests, start_time: start } = bucket;
  // Only drawn: whoever wants the figure reads it beside.
  const height = charged === 0 ? 0 : Math.max(leastHeight, (charged / dearest) * chartHeight);
  const drawn = Math.round(height * 100) / 100;
  return html`<g>
    <title>${dayOf(start)}: ${microsAsUsd(charged)}, ${counted(requests, "call")}</title>
    <rect class="ground" x="${at * columnWidth}" y="0" width="${columnWidth}" height="${chartHeight}" />
    <rect
      class="column"
      x="${at * columnWidth + 1}"
      y="${chartHeight - drawn}"
      width="${columnWidth - 2}"
      height="${drawn}"
    />
  </g>`;
}

const dayTable = (buckets: readonly Bucket[]): Html =>
  accountTable({
    caption: "Calls and charges by UTC day, the newest first",
    columns: ["Day (UTC)", "Calls", "Failed", "Value at list price", "Charged"],
    figures: [1, 2, 3, 4],
    rows: buckets.toReversed().map((bucket) => {
      const day = dayOf(bucket.start_time);
      const calls = html`<a href="${accountPage}/calls?until=${day}">${day}</a>`;
      return [
        bucket.requests === 0 ? day : calls,
        grouped(bucket.requests),
        grouped(bucket.failed_requests),
        microsAsUsd(bucket.usage_value_micros_usd),
        microsAsUsd(bucket.charged_micros_usd),
      ];
    }),
  });
