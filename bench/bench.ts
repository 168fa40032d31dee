// What the gate costs, side by side in one run: the same upstream, the same load, contestants in turn. Ratios are judged.
//
//   npm run bench                                      everything; writes bench/results/report.md and report.svg
//   npm run bench -- --short                           what continuous integration runs, with limits of its own
//   npm run bench -- --only chat --connections 64 --contestants "Tollgate,bare Bun proxy" --rounds 5 --seconds 3
//
// Only a whole run without other words is a result to keep; what anything else finds stays in bench/results/tmp.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bareBun } from "./contestants/bare-bun.ts";
import { direct } from "./contestants/direct.ts";
import { meteredBun } from "./contestants/metered-bun.ts";
import { nginxProxy } from "./contestants/nginx-proxy.ts";
import { describePortkey, portkey, portkeyOnNewestNode } from "./contestants/portkey.ts";
import { isOurs, tollgate } from "./contestants/tollgate.ts";
import { readOptions, usage, type Options } from "./options.ts";
import type { Chapter, Findings } from "./report/chapter.ts";
import { judgeAll, type Judged } from "./report/judge.ts";
import {
  barTable,
  markdownOf,
  tableText,
  type LeftOut,
  type Report,
  type StudyRun,
} from "./report/markdown.ts";
import { plotOf } from "./report/plot.ts";
import { databaseHome, describeDisk } from "./rig/disk.ts";
import { cleanUpWhenInterrupted, removeOldFolders } from "./rig/leftovers.ts";
import { describeCommit, describeMachine, loadNow, missingPrograms } from "./rig/machine.ts";
import { chatStudy } from "./studies/chat.ts";
import { commitStudy } from "./studies/commits.ts";
import { rerankStudy, resellerStudy } from "./studies/endpoints.ts";
import { historyStudy } from "./studies/history.ts";
import { latencyStudy } from "./studies/latency.ts";
import { nodeStudy } from "./studies/nodes.ts";
import { openStreamStudy } from "./studies/open-streams.ts";
import { refusalStudy } from "./studies/refusals.ts";
import { soakStudy } from "./studies/soak.ts";
import { streamStudy } from "./studies/streams.ts";
import { takingPart, type Settings, type Study } from "./studies/study.ts";
import { taskStudy } from "./studies/tasks.ts";
import { messageOf } from "../gateway/src/platform/error-message.ts";

const contestants = [direct, nginxProxy, bareBun, meteredBun, tollgate, portkey, portkeyOnNewestNode];
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
  commitStudy,
  taskStudy,
  nodeStudy,
];

/** In the short form what is missed or missing is measured again: noise does not come three times, a slower gate does. */
const shortTriesMax = 3;
/** No study is begun again later than this after the first: continuous integration has a limit, too. */
const shortTriesWithinMs = 300_000;

const options = optionsOrEnd();
const { settings: all } = options;

const missing = missingPrograms();
if (missing.length > 0) {
  console.error(`The benchmark needs ${missing.join(" and ")}: apt-get install ${missing.join(" ")}`);
  process.exit(1);
}
cleanUpWhenInterrupted();
removeOldFolders();
removeOldFolders(databaseHome);
process.exit(await run());

async function run(): Promise<number> {
  const chosen = options.studies;
  const settingsFor = (study: Study): Settings => ({ ...all, contestants: takingPart(study, all) });
  // Looked at before the run: afterwards the load is ours, and the files may be somebody's next commit.
  const start = {
    load: loadNow(),
    disk: describeDisk(),
    commit: describeCommit(),
    date: new Date().toISOString().slice(0, 10),
  };
  const runs: StudyRun[] = chosen.map(({ name }) => ({ name, leftOut: [] }));
  const chapters: Chapter[] = [];
  tellDuration(
    chosen.map(({ name }) => name),
    chosen.reduce((sum, study) => sum + study.expectedSeconds(settingsFor(study)), 0),
  );

  for (const [at, study] of chosen.entries()) {
    const { chapter, ...went } = await runStudy(study, settingsFor(study));
    runs[at] = went;
    if (chapter) chapters.push(chapter);
    for (const { title, columns, rows } of chapter?.tables ?? [])
      console.log(`\n${title}\n${tableText(columns, rows)}`);
    // Written after each study: whatever happens to the next ones, what was found is kept.
    write(runs, chapters, start);
  }

  const bars = barsOf(runs, chapters);
  console.log(`\nBars${all.short ? ", with the limits of the short form" : ""}\n${barTable(bars)}`);
  const failed = runs.filter((one) => one.failed !== undefined);
  for (const { name, failed: why } of failed) console.log(`The study ${name} failed: ${why}`);
  for (const { name, leftOut } of runs)
    for (const { name: who, why } of leftOut) console.log(`Left out of ${name}: ${who}: ${why}`);
  console.log(`\nWritten to ${folder()}`);
  const isWhole = runs.every((one) => one.failed === undefined && !withoutUs(one));
  return isWhole && bars.every(({ verdict }) => verdict === "holds") ? 0 : 1;
}

/** Others may fail to do the work, and the report says so; when ours does, there is nothing to be content with. */
function withoutUs({ leftOut }: Pick<StudyRun, "leftOut">): boolean {
  return leftOut.some(({ name }) => isOurs(name));
}

async function runStudy(study: Study, settings: Settings): Promise<StudyRun & { chapter?: Chapter }> {
  const startedMs = performance.now();
  let leftOut: LeftOut[] = [];
  const told: Settings = {
    ...settings,
    leaveOut: (name, why) => {
      leftOut.push({ name, why });
      console.error(`  left out: ${name}: ${why}`);
    },
  };
  const once = async (): Promise<Chapter> => {
    console.error(`${study.name}, about ${Math.ceil(study.expectedSeconds(settings))} s …`);
    leftOut = [];
    return study.run(told);
  };
  const went = () => ({
    name: study.name,
    seconds: (performance.now() - startedMs) / 1000,
    leftOut,
  });
  try {
    for (let tries = 1; ; tries++) {
      const chapter = await once();
      const bars = judgeAll([study.name], chapter.findings, settings.short);
      const isGood = !withoutUs({ leftOut }) && bars.every(({ verdict }) => verdict === "holds");
      const isLast = tries === shortTriesMax || performance.now() > shortTriesWithinMs;
      if (isGood || !settings.short || isLast) return { ...went(), chapter };
    }
  } catch (error) {
    console.error(error);
    return { ...went(), failed: messageOf(error) };
  }
}

function write(
  runs: readonly StudyRun[],
  chapters: readonly Chapter[],
  start: Pick<Report, "load" | "disk" | "commit" | "date">,
): void {
  const tables = chapters.flatMap((chapter) => chapter.tables);
  const panels = tables.flatMap(({ title, plot }) => (plot ? [{ title, ...plot }] : []));
  const report = {
    machine: [...describeMachine(), ...(all.short ? [] : describePortkey())],
    ...start,
    short: all.short,
    studies: runs,
    bars: barsOf(runs, chapters),
    tables,
  };
  mkdirSync(folder(), { recursive: true });
  if (panels.length > 0) writeFileSync(join(folder(), "report.svg"), plotOf(panels));
  const plotFile = panels.length > 0 ? "report.svg" : undefined;
  writeFileSync(join(folder(), "report.md"), markdownOf(report, plotFile));
}

function barsOf(runs: readonly StudyRun[], chapters: readonly Chapter[]): Judged[] {
  const findings = chapters.reduce<Findings>((all, chapter) => ({ ...all, ...chapter.findings }), {});
  return judgeAll(
    runs.map(({ name }) => name),
    findings,
    all.short,
  );
}

function folder(): string {
  return join(import.meta.dir, options.isWhole ? "results" : "results/tmp");
}

function tellDuration(names: readonly string[], seconds: number): void {
  const length = seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} minutes`;
  console.error(
    `About ${length} on a quiet machine: ${names.join(", ")}. Load of the machine now: ${loadNow().toFixed(2)}.`,
  );
}

function optionsOrEnd(): Options {
  try {
    const read = readOptions(process.argv.slice(2), { studies, contestants });
    if (!read.help) return read;
    console.log(usage);
    return process.exit(0);
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${usage}`);
    return process.exit(1);
  }
}
