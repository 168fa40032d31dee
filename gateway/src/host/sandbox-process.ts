import { describeError, type Log } from "../platform/log.ts";

/** The sandbox, running as a program of its own that ends when this one does, however it ends. */
export interface SandboxProcess {
  readonly url: string;
  /** Resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

interface Options {
  readonly program: string;
  /** Where the links it hands out are served. */
  readonly publicUrl: string;
  readonly controlToken: string;
  /** Where it keeps what its callers still need, its own secret included; undefined: nowhere. */
  readonly file: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

const restartAfterMs = 1_000;
/** What it has to save it has saved before it answers; should it not go by then, it goes when its input closes. */
const stopPatienceMs = 2_000;

export async function openSandboxProcess(options: Options): Promise<SandboxProcess> {
  let stopped = false;
  let child = spawnAndHear(options, 0);
  const url = await readUrl(child);
  const port = Number(new URL(url).port);

  const watch = (): void => {
    child.exited
      .then(async (code) => {
        if (stopped) return;
        options.log.error("the sandbox stopped and is started again", { exit_code: code });
        await Bun.sleep(restartAfterMs);
        if (stopped) return;
        child = spawnAndHear(options, port);
        watch();
      })
      .catch((error: unknown) =>
        options.log.error("the sandbox could not be started again", describeError(error)),
      );
  };
  watch();

  return {
    url,
    stop: async () => {
      stopped = true;
      child.kill();
      await Promise.race([child.exited, Bun.sleep(stopPatienceMs)]);
    },
  };
}

function spawnAndHear(options: Options, port: number) {
  const child = spawn(options, port);
  tellWords(child.stderr, options.log).catch((error: unknown) =>
    options.log.error("what the sandbox says cannot be read", describeError(error)),
  );
  return child;
}

/** A log is one line of JSON after the other, and what it says in plain words would be none. */
async function tellWords(words: ReadableStream<Uint8Array>, log: Log): Promise<void> {
  const tell = (line: string): void => {
    if (line !== "") log.warn("the sandbox says", { words: line });
  };
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of words) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) tell(line);
  }
  tell(rest);
}

function spawn({ program, publicUrl, controlToken, file, environment }: Options, port: number) {
  return Bun.spawn([process.execPath, program], {
    // Vendor keys and our own secret are none of the sandbox's business.
    env: {
      PATH: environment["PATH"],
      SANDBOX_PORT: String(port),
      SANDBOX_PUBLIC_URL: publicUrl,
      SANDBOX_CONTROL_TOKEN: controlToken,
      SANDBOX_FILE: file,
      SANDBOX_EXIT_WITH_PARENT: "1",
    },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function readUrl(child: ReturnType<typeof spawn>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  const match = /"sandbox":"([^"]+)"/.exec(text);
  if (!match?.[1]) throw new Error("The sandbox did not start.");
  return match[1];
}
