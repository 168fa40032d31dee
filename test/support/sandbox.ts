import { join } from "node:path";
import { openListener } from "../../sandbox/src/listener.ts";
import { createSandbox } from "../../sandbox/src/sandbox.ts";
import { programEnvironment } from "./program-environment.ts";
import { projectFolder } from "./project-folder.ts";
import { until } from "./until.ts";

interface BookEntry {
  readonly vendor: string;
  readonly path: string;
  readonly query: string;
  readonly request_id: string | null;
  readonly status: number | null;
  readonly billed: Readonly<Record<string, number>> | null;
  readonly headers_seen: readonly string[];
}

/** A running sandbox, with its book and its faults. */
export interface SandboxControl {
  readonly url: string;
  readonly book: () => Promise<readonly BookEntry[]>;
  readonly fault: (fault: object) => Promise<void>;
  readonly clear: () => Promise<void>;
  /** Waits until this many calls have arrived and wait for their answer. */
  readonly busyWith: (calls: number) => Promise<void>;
  /** Waits until every call in the book was answered, or given up by its caller; not for a vendor that never answers. */
  readonly settled: () => Promise<void>;
  readonly stop: () => void;
}

/** Behind real HTTP, in the process of the test: whoever needs it to be a program says so. */
export async function openSandbox(): Promise<SandboxControl> {
  const listener = await openListener({ port: 0 });
  const sandbox = createSandbox({
    now: Date.now,
    publicUrl: `${listener.url}/public`,
    secret: crypto.randomUUID(),
  });
  listener.serve((request) => sandbox.fetch(request));
  return controlOf(listener.url, () => listener.close());
}

/** The real program, for gateways that are processes of their own and for loads that must not share ours. */
export async function openSandboxProgram(): Promise<SandboxControl> {
  const child = Bun.spawn([process.execPath, join(projectFolder, "sandbox/src/main.ts")], {
    env: { ...programEnvironment, SANDBOX_EXIT_WITH_PARENT: "1" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let text = "";
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  const { sandbox: url } = JSON.parse(text) as { sandbox: string };
  return controlOf(url, () => child.kill());
}

function controlOf(url: string, stop: () => void): SandboxControl {
  const book = async (): Promise<readonly BookEntry[]> => {
    const response = await fetch(`${url}/_control/book`);
    return ((await response.json()) as { entries: BookEntry[] }).entries;
  };
  return {
    url,
    book,
    busyWith: (calls) =>
      until(async () => (await book()).filter(({ status }) => status === null).length === calls),
    settled: () => until(async () => (await book()).every(({ status }) => status !== null)),
    fault: async (fault) => {
      const response = await fetch(`${url}/_control/faults`, { method: "POST", body: JSON.stringify(fault) });
      if (response.status !== 204) throw new Error(`The sandbox refused a fault: ${await response.text()}`);
    },
    clear: async () => {
      await fetch(`${url}/_control/book`, { method: "DELETE" });
      await fetch(`${url}/_control/faults`, { method: "DELETE" });
    },
    stop,
  };
}

const switchedOff = (): never => {
  throw new Error("This test has switched the sandbox off.");
};

/** What a gateway without a sandbox has in its place. */
export const noSandbox: SandboxControl = {
  get url() {
    return switchedOff();
  },
  book: switchedOff,
  fault: switchedOff,
  clear: switchedOff,
  busyWith: switchedOff,
  settled: switchedOff,
  stop: () => {},
};
