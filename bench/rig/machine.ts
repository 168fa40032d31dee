import { arch, cpus, loadavg, release, totalmem } from "node:os";

/** What kind of machine this is, without saying which one, and the programs that took part. */
export function describeMachine(): string[] {
  const cores = cpus();
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  // An ARM processor does not tell its name.
  const model = `${cores[0]?.model.trim() ?? "unknown"}, ${arch()}`;
  const [kernel = "of unknown age"] = /^\d+\.\d+/.exec(release()) ?? [];
  return [
    `${cores.length} cores (${model}), ${gibibytes} GiB of memory, Linux ${kernel}`,
    `Bun ${Bun.version}, Node ${versionOf("node")}, nginx ${versionOf("nginx", "-v")}, wrk ${versionOf("wrk", "-v")}`,
  ];
}

/** Others at work on the machine blur clocks and, less, CPU figures; a reader should know. */
export const loadNow = (): number => loadavg()[0] ?? 0;

/** The commit that is measured, and whether the files differ from it. */
export function describeCommit(): string {
  const commit = said(["git", "rev-parse", "--short=12", "HEAD"]);
  const changed = said(["git", "status", "--porcelain", "--untracked-files=no"]) !== "";
  return commit === "" ? "unknown" : `${commit}${changed ? " with changes" : ""}`;
}

/** The first number with a point in what a program prints about itself, wherever it prints it. */
export const versionOf = (program: string, flag = "--version"): string =>
  /\d+\.[\d.]*\d/.exec(said([program, flag]))?.[0] ?? "of an unknown version";

/** What a program prints, wherever it prints it; empty when it cannot be started. */
export function said(words: string[]): string {
  try {
    const { stdout, stderr } = Bun.spawnSync(words, { stdout: "pipe", stderr: "pipe" });
    return (stdout.toString() + stderr.toString()).trim();
  } catch {
    return "";
  }
}

/** What must be installed and is not. The benchmark installs no system packages by itself. */
export const missingPrograms = (): string[] => ["nginx", "wrk"].filter((name) => Bun.which(name) === null);
