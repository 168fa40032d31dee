// Another gateway in TypeScript, as npm brings it. It is told everything with the request, keeps no accounts and books
// nothing: it does less of the work than we do. Its package asks for any later version of the server library it stands
// on, and with the present one its streams answer 500; the folder pins one with which they work.
//
// Which Node runs it matters a lot: on the newest it takes a good part less than on an old one. The contestant that is
// judged runs on the `node` of the PATH, as for whoever starts it from npm; the other one, on the newest Node that the
// folder pins, shows in the report how much of the distance is Node's.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { anyKeys, type Contestant } from "../rig/contestant.ts";
import { findFreePort } from "../../test/support/free-port.ts";
import { waitUntilServing } from "../rig/wait-until-serving.ts";
import { endingWithUs, tied } from "../rig/leftovers.ts";
import { versionOf } from "../rig/machine.ts";

const folder = join(import.meta.dir, "../portkey");
const pinnedNode = join(folder, `node_modules/node-linux-${process.arch}/bin/node`);
const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");

export const portkey = portkeyOn("Portkey", "node", [
  // It cannot keep half of the bare proxy's pace, nor serve half a million calls while somebody waits.
  "latency",
  "soak",
  // It has no such endpoints.
  "rerank",
  "reseller",
]);
export const portkeyOnNewestNode = portkeyOn("Portkey on the newest Node", pinnedNode, [
  ...(portkey.sitsOut ?? []),
  // It is there for the comparison that a bar is about.
  "streams",
  "open-streams",
]);

/** The one it is judged on, and the newest. */
export const nodeVersions = {
  usual: (): string => versionOf("node"),
  newest: (): string => versionOf(pinnedNode),
};

/** With which versions Portkey takes part, for the report; nothing when it could not be installed. */
export function describePortkey(): string[] {
  if (!existsSync(program)) return [];
  const about = join(folder, "node_modules/@portkey-ai/gateway/package.json");
  const { version } = JSON.parse(readFileSync(about, "utf8")) as { version: string };
  const newest = existsSync(pinnedNode) ? `; "on the newest Node": ${nodeVersions.newest()}` : "";
  return [`Portkey ${version} on Node ${nodeVersions.usual()}, which is the \`node\` of the PATH${newest}`];
}

function portkeyOn(name: string, node: string, sitsOut: Contestant["sitsOut"] = []): Contestant {
  return {
    name,
    sitsOut,
    open: async (upstream) => {
      await install();
      const port = await findFreePort();
      const url = `http://127.0.0.1:${port}`;
      const words = [...endingWithUs, node, program, "--headless", `--port=${port}`];
      const child = tied(Bun.spawn(words, { cwd: folder, stdout: "ignore", stderr: "ignore" }));
      await waitUntilServing(url, child);
      return {
        url,
        pid: child.pid,
        keys: anyKeys,
        compiles: true,
        headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": upstream.url },
        close: async () => {
          child.kill("SIGTERM");
          await child.exited;
        },
      };
    },
  };
}

/** A package of its own, so that nobody else's install carries it. */
async function install(): Promise<void> {
  if (existsSync(program)) return;
  const words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"];
  const npm = tied(Bun.spawn(words, { cwd: folder, stdout: "ignore", stderr: "pipe" }));
  const said = await new Response(npm.stderr).text();
  if ((await npm.exited) !== 0) throw new Error(`Portkey could not be installed: ${said.trim()}`);
}
