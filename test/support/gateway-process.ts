import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { programEnvironment } from "./program-environment.ts";
import { projectFolder } from "./project-folder.ts";

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  /** What it greeted with on stdout. */
  readonly greeting: string;
  /** The key of its greeting: a first start makes one, and later ones greet without. */
  readonly key: string;
  readonly stderr: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves with the exit code, or with 128 + the signal's number. */
  readonly exited: Promise<number>;
}

interface ProcessOptions {
  readonly dataFolder: string;
  readonly config?: string;
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What follows `serve`. */
  readonly flags?: readonly string[];
  /** Starts the program in the place of this test's Bun. */
  readonly launcher?: readonly string[];
  /** Called while it starts. */
  readonly onSpawn?: (started: Pick<GatewayProcess, "pid" | "signal">) => Promise<void>;
}

/** The real program, as `npm start` runs it. */
export async function openGatewayProcess(options: ProcessOptions): Promise<GatewayProcess> {
  const configFile = join(options.dataFolder, "tollgate.yaml");
  if (options.config !== undefined) writeFileSync(configFile, options.config);
  const launcher = options.launcher ?? [process.execPath, join(projectFolder, "gateway/src/main.ts")];
  const child = Bun.spawn([...launcher, "serve", ...(options.flags ?? [])], {
    cwd: options.dataFolder,
    env: {
      ...programEnvironment,
      PORT: String(options.port ?? 0),
      TOLLGATE_DATA: options.dataFolder,
      ...options.environment,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const signal = (name: NodeJS.Signals): void => child.kill(name);
  let stderr = "";
  const complained = collect(child.stderr, (text) => (stderr += text)).catch(() => {});
  let greeting = "";
  let ready: (() => void) | undefined;
  const greeted = new Promise<void>((resolve) => (ready = resolve));
  collect(child.stdout, (text) => {
    greeting += text;
    if (/^(?:Documentation: |\{"address":).+\n/m.test(greeting)) ready?.();
  }).catch(() => {});
  const failed = child.exited.then(async (code) => {
    await complained;
    throw new Error(`exit ${code}: ${stderr}`);
  });
  await Promise.race([Promise.all([greeted, options.onSpawn?.({ pid: child.pid, signal })]), failed]);
  const url = /(?:Tollgate is open at |"address":")([^\s"]+)/.exec(greeting)?.[1] ?? "";
  const key = /tgk_[0-9A-Za-z]{36}/.exec(greeting)?.[0] ?? "";
  return {
    url,
    key,
    pid: child.pid,
    get greeting() {
      return greeting;
    },
    stderr: () => stderr,
    signal,
    exited: child.exited,
  };
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
}
