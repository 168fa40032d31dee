import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { readable, type Chapter } from "../report/chapter.ts";
import { cpuSecondsBetween, readCpu } from "../rig/cpu.ts";
import { databaseHome } from "../rig/disk.ts";
import { openTemporaryFolder } from "../rig/leftovers.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { openTasks } from "../rig/open-tasks.ts";
import { openTaskVendor } from "../rig/task-vendor.ts";
import { databaseIn, serveTollgate } from "../rig/tollgate-server.ts";
import type { Study } from "./study.ts";

const quotaPerSecond = 500;
/** Every task has its turn about so many times. */
const turns = 3;
/** How many tasks a second are opened on a small machine. */
const openedPerSecond = 2_000;

const secondsFor = (tasks: number): number => Math.ceil((turns * tasks) / quotaPerSecond);

/** Whether many open tasks share the vendor's quota, use it, and cost nothing but their rows. */
export const taskStudy: Study = {
  name: "tasks",
  expectedSeconds: ({ openTasks: tasks }) => tasks / openedPerSecond + secondsFor(tasks) + 5,
  run: async ({ openTasks: tasks }) =>
    chapterOf(await watchTasks({ tasks, quotaPerSecond, seconds: secondsFor(tasks) })),
};

interface WatchOptions {
  readonly tasks: number;
  readonly quotaPerSecond: number;
  readonly seconds: number;
}

interface Watched extends WatchOptions {
  readonly questionsPerSecond: number;
  readonly mostInASecond: number;
  readonly fewestOfATask: number;
  readonly mostOfATask: number;
  readonly cpuMicrosPerQuestion: number;
  readonly halfwayMegabytes: number;
  readonly endMegabytes: number;
  readonly auditFindings: number;
}

/** Lets a gateway ask about its tasks for so long. Nobody calls: it asks because tasks have to end. */
export async function watchTasks(options: WatchOptions): Promise<Watched> {
  const { tasks, seconds } = options;
  const folder = openTemporaryFolder("tasks", databaseHome);
  const vendor = openTaskVendor();
  try {
    await openTasks(folder.path, tasks, "video");
    const video = `video: { protocol: dashscope, url: "${vendor.url}", key: "sk-upstream-0123456789abcdef", poll_qps: ${options.quotaPerSecond} }`;
    const server = await serveTollgate(folder.path, vendor.url, video);
    const [cpuBefore, askedBefore, startedMs] = [
      readCpu(server.pid),
      vendor.askedAtMs.length,
      performance.now(),
    ];
    await Bun.sleep((seconds / 2) * 1000);
    const halfwayMegabytes = residentMegabytes(server.pid);
    await Bun.sleep((seconds / 2) * 1000);
    const endMegabytes = residentMegabytes(server.pid);
    const cpuSeconds = cpuSecondsBetween(cpuBefore, readCpu(server.pid));
    const questions = vendor.askedAtMs.length - askedBefore;
    const lastedSeconds = (performance.now() - startedMs) / 1000;
    await server.close();
    const ofTasks = [...vendor.asked.values()];
    return {
      ...options,
      questionsPerSecond: questions / lastedSeconds,
      mostInASecond: mostInASecond(vendor.askedAtMs),
      fewestOfATask: ofTasks.length < tasks ? 0 : Math.min(...ofTasks),
      mostOfATask: Math.max(...ofTasks),
      cpuMicrosPerQuestion: (cpuSeconds * 1e6) / questions,
      halfwayMegabytes,
      endMegabytes,
      auditFindings: await auditFindings(folder.path),
    };
  } finally {
    await vendor.close();
    folder.remove();
  }
}

async function auditFindings(folder: string): Promise<number> {
  const store = openSqliteStore({ path: databaseIn(folder) });
  const { findings } = await store.auditor.audit();
  await store.close();
  return findings.length;
}

function mostInASecond(askedAtMs: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [at, endMs] of askedAtMs.entries()) {
    while ((askedAtMs[first] ?? 0) <= endMs - 1_000) first++;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

function chapterOf(watched: Watched): Chapter {
  const why = whyNot(watched);
  const count = watched.tasks.toLocaleString("en-US");
  return {
    tables: [
      {
        title: "Open tasks",
        note: `Whether work that goes on after its call stays cheap: ${count} open tasks at one vendor that may be asked ${watched.quotaPerSecond} times a second, for ${watched.seconds} s in which nobody calls.`,
        columns: [
          "questions/s",
          "most in a second",
          "fewest of a task",
          "most of a task",
          "CPU µs/question",
          "MB at half time",
          "MB at the end",
        ],
        rows: [
          [
            watched.questionsPerSecond,
            watched.mostInASecond,
            watched.fewestOfATask,
            watched.mostOfATask,
            watched.cpuMicrosPerQuestion,
            watched.halfwayMegabytes,
            watched.endMegabytes,
          ].map(readable),
        ],
      },
    ],
    findings: {
      quotaOfTasks: {
        ratios: [watched.questionsPerSecond / watched.quotaPerSecond],
        ...(why === undefined ? {} : { missedFor: why }),
      },
      memoryOfTasks: { ratios: [watched.endMegabytes / watched.halfwayMegabytes] },
    },
  };
}

/** A quota that is used up, but not in turn, or with other people's money, is nothing to be content with. */
function whyNot(watched: Watched): string | undefined {
  if (watched.questionsPerSecond > watched.quotaPerSecond) return "the vendor was asked more than it allows";
  if (watched.mostOfATask - watched.fewestOfATask > 1)
    return "a task had a turn while another waited for one";
  return watched.auditFindings > 0 ? "the books do not balance afterwards" : undefined;
}
