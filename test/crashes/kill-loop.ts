// Kills the real program under load, again and again, and compares four books after each death: what callers
// were told, what the ledger says, what the vendors served, and what the audit finds.
// As a program: npm run kills -- [kills=100]

import { until } from "../support/until.ts";
import { bookedCalls, leftoversOf, madeAgain, releasedIn, sentTwiceOrNever } from "./compare-books.ts";
import { openInstallation } from "./installation.ts";
import { startLoad } from "./load.ts";

const killAfterMs = { least: 90, most: 250 };
/** A machine that is slow today is given the time for these: a kill before any answer shows little. */
const answeredLeast = 10;
const auditEvery = 10;

export interface KillReport {
  readonly kills: number;
  /** Calls whose callers were told a cost. */
  readonly answered: number;
  readonly chargedMicros: number;
  /** Told to a caller, but missing from the books or booked at another price. */
  readonly lost: readonly string[];
  /** Booked or sent more than once, or made again when it was repeated under its idempotency key. */
  readonly duplicated: readonly string[];
  /** Charged, but no vendor remembers them; or sent, and in no book of ours. */
  readonly invented: readonly string[];
  /** Cut off by a kill and released by the next start. */
  readonly released: number;
  /** The most that one kill left open. */
  readonly releasedMost: number;
  /** Holds that survived a restart, in micros, and files that were damaged. */
  readonly leftovers: readonly string[];
  readonly audit: string;
}

/** Starts, loads, kills and checks, as often as asked. */
export async function runKillLoop(options: {
  readonly kills: number;
  readonly callers?: number;
  readonly print?: (line: string) => void;
}): Promise<KillReport> {
  const { kills, callers = 24, print = () => {} } = options;
  const installation = await openInstallation();
  const told = new Map<string, number>();
  const [lost, duplicated, leftovers]: [string[], string[], string[]] = [[], [], []];
  let releasedBefore = 0;
  let releasedMost = 0;
  let audit = "";
  try {
    let gateway = await installation.start();
    for (let kill = 1; kill <= kills; kill++) {
      const load = startLoad(gateway.url, installation.key(), callers);
      await Bun.sleep(killAfterMs.least + Math.random() * (killAfterMs.most - killAfterMs.least));
      await until(() => load.told.size >= answeredLeast);
      gateway.signal("SIGKILL");
      await Promise.all([gateway.exited, load.stop()]);
      gateway = await installation.start();

      leftovers.push(...(await leftoversOf(installation)).map((what) => `after kill ${kill}: ${what}`));
      const bookedFor = bookedCalls(installation);
      for (const [id, cost] of load.told) {
        const { charges, charged } = bookedFor(id);
        if (charges > 1) duplicated.push(`${id} was booked ${charges} times`);
        if (charged !== cost) lost.push(`${id} was told ${cost}, the books say ${charged ?? "nothing"}`);
        told.set(id, cost);
      }
      duplicated.push(...(await madeAgain(gateway.url, installation.key(), load)));
      const released = releasedIn(installation);
      releasedMost = Math.max(releasedMost, released - releasedBefore);
      releasedBefore = released;
      if (kill % auditEvery === 0 || kill === kills) {
        const { code, out, errors } = await installation.tollgate("audit");
        audit = code === 0 ? out.trim() : `audit exits ${code}: ${out}${errors}`;
        print(`${kill} kills, ${told.size} answered, ${released} released. ${audit.replaceAll("\n", " ")}`);
        if (code !== 0) break;
      }
    }
    const sent = await sentTwiceOrNever(installation);
    return {
      kills,
      answered: told.size,
      chargedMicros: [...told.values()].reduce((sum, cost) => sum + cost, 0),
      lost,
      duplicated: [...duplicated, ...sent.twice],
      invented: sent.never,
      released: releasedBefore,
      releasedMost,
      leftovers,
      audit,
    };
  } finally {
    await installation.close();
  }
}

if (import.meta.main) {
  const kills = Number(process.argv[2]?.replace(/^kills=/, "") ?? 100);
  if (!Number.isInteger(kills) || kills < 1) throw new Error("How often to kill must be a positive number.");
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const startedAt = performance.now();
  const report = await runKillLoop({ kills, print });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const wrong = [...report.lost, ...report.duplicated, ...report.invented, ...report.leftovers];
  for (const line of wrong.slice(0, 50)) print(line);
  print(
    `${report.kills} kills in ${seconds} s: ${report.answered} answered (${report.chargedMicros} micro-USD), ` +
      `${report.lost.length} lost, ${report.duplicated.length} duplicated, ${report.invented.length} invented, ` +
      `${report.released} released (at most ${report.releasedMost} by one kill), ${report.leftovers.length} left over.`,
  );
  process.exit(wrong.length === 0 && report.audit.includes("The books balance.") ? 0 : 1);
}
