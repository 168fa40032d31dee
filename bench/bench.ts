// What the gate costs, side by side in one run: the same upstream, the same load, contestants in turn. Ratios are judged.
//
//   npm run bench                                      everything; writes bench/results/report.md and report.svg
//   npm run bench -- --short                           what continuous integration runs, with limits of its own; kept in bench/results/tmp
//   npm run bench -- --only chat --connections 64 --contestants "Tollgate,bare Bun proxy" --rounds 5 --seconds 3

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bareBun } from "./contestants/bare-bun.ts";
import { direct } from "./contestants/direct.ts";
import { nginxProxy } from "./contestants/nginx-proxy.ts";
import { portkey } from "./contestants/portkey.ts";
import { tollgate } from "./contestants/tollgate.ts";
import { judge, type Chapter } from "./report/chapter.ts";
import { barTable, markdownOf, tableText } from "./report/markdown.ts";
import { plotOf } from "./report/plot.ts";
import { describeCommit, describeMachine, loadNow, missingPrograms } from "./rig/machine.ts";
import { chatStudy } from "./studies/chat.ts";
import { rerankStudy, resellerStudy } from "./studies/endpoints.ts";
import { historyStudy } from "./studies/history.ts";
import { latencyStudy } from "./studies/latency.ts";
import { openStreamStudy } from "./studies/open-streams.ts";
import { refusalStudy } from "./studies/refusals.ts";
import { soakStudy } from "./studies/soak.ts";
import { streamStudy } from "./studies/streams.ts";
import type { Settings, Study } from "./studies/study.ts";

const contestants = [direct, nginxProxy, bareBun, tollgate, portkey];
const studies: readonly Study[] = [
  chatStudy,
  latencyStudy,
  streamStudy,
  openStreamStudy,
  refusalStudy,
  rerankStudy,
  resellerStudy,
  historyStudy,
  soakStudy,
];

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    contestants: { type: "string" },
    connections: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    calls: { type: "string" },
  },
});

const missing = missingPrograms();
if (missing.length > 0) {
  console.error(`The benchmark needs ${missing.join(" and ")}: apt-get install ${missing.join(" ")}`);
  process.exit(1);
}
process.exit(await run());

async function run(): Promise<number> {
  const settings = settingsOf();
  const chosen = chosenStudies();
  const started = { ms: performance.now(), load: loadNow() };
  const chapters: Chapter[] = [];
  for (const study of chosen) {
    console.error(`${study.name} …`);
    const chapter = await runStudy(study, settings);
    chapters.push(chapter);
    for (const { title, columns, rows } of chapter.tables)
      console.log(`\n${title}\n${tableText(columns, rows)}`);
  }
  const tables = chapters.flatMap((chapter) => chapter.tables);
  const bars = chapters.flatMap((chapter) => chapter.bars).map((bar) => judge(bar, values.short));
  console.log(`\nBars${values.short ? ", with CI's own limits" : ""}\n${barTable(bars)}`);

  const report = {
    machine: describeMachine(),
    commit: describeCommit(),
    date: new Date().toISOString().slice(0, 10),
    load: started.load,
    minutes: (performance.now() - started.ms) / 60_000,
    bars,
    tables,
  };
  const folder = folderFor(chosen.length === studies.length);
  const panels = tables.flatMap(({ title, plot }) => (plot ? [{ title, ...plot }] : []));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "report.svg"), plotOf(panels));
  writeFileSync(join(folder, "report.md"), markdownOf(report, "report.svg"));
  console.log(`\nWritten to ${folder}`);
  return bars.every(({ holds }) => holds) ? 0 : 1;
}

/** In the short form a missed bar is measured once more: noise does not come twice, a slower gate does. */
async function runStudy(study: Study, settings: Settings): Promise<Chapter> {
  const chapter = await study.run(settings);
  if (!settings.short || chapter.bars.every((bar) => judge(bar, true).holds)) return chapter;
  console.error(`${study.name} once more …`);
  return study.run(settings);
}

function chosenStudies(): readonly Study[] {
  const names = values.only?.split(",");
  if (!names) return studies.filter(({ inShort }) => inShort || !values.short);
  const unknown = names.filter((wanted) => !studies.some(({ name }) => name === wanted));
  if (unknown.length === 0) return studies.filter(({ name }) => names.includes(name));
  throw new Error(
    `No study is called ${unknown.join(", ")}. There are ${studies.map(({ name }) => name).join(", ")}.`,
  );
}

/** Only a whole run is a result to keep. */
function folderFor(whole: boolean): string {
  return join(import.meta.dir, whole ? "results" : "results/tmp");
}

function settingsOf(): Settings {
  const { short } = values;
  const numbers = (text: string | undefined, usual: number[]): number[] =>
    text?.split(",").map(Number) ?? usual;
  const [few = 0, many = 0] = numbers(values.calls, short ? [20_000, 200_000] : [100_000, 10_000_000]);
  const named = values.contestants?.split(",");
  const usual = short ? contestants.filter((contestant) => contestant !== portkey) : contestants;
  return {
    short,
    contestants: named ? contestants.filter(({ name }) => named.includes(name)) : usual,
    rounds: Number(values.rounds ?? (short ? 3 : 5)),
    roundSeconds: Number(values.seconds ?? (short ? 1 : 3)),
    warmUpSeconds: short ? 3 : 10,
    connections: numbers(values.connections, short ? [64] : [1, 16, 64, 256]),
    history: { few, many },
  };
}
