import { join } from "node:path";
import { programEnvironment } from "./program-environment.ts";
import { projectFolder } from "./project-folder.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

interface Surroundings {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** One command, as a person types it in that folder. */
export const runTollgate = (words: readonly string[], surroundings: Surroundings): Promise<Ran> =>
  runProgram([process.execPath, join(projectFolder, "gateway/src/main.ts"), ...words], surroundings);

/** Any program, to its end. */
export async function runProgram(
  command: readonly string[],
  { folder, environment = {} }: Surroundings,
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { ...programEnvironment, ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, errors };
}

/** What a command said in JSON; throws when it failed or complained. */
export function toldIn({ code, out, errors }: Ran): Record<string, unknown> {
  if (code !== 0 || errors !== "") throw new Error(`The command ended with ${code}: ${out}${errors}`);
  return JSON.parse(out) as Record<string, unknown>;
}
