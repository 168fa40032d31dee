// Another gateway in TypeScript, as npm brings it. It is told everything with the request, keeps no accounts and books
// nothing: it does less of the work than we do. Its package asks for any later version of the server library it stands
// on, and with the present one its streams answer 500; the folder pins one with which they work.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { anyKeys, type Contestant } from "../rig/contestant.ts";
import { freePort, waitUntilServing } from "../rig/free-port.ts";

const folder = join(import.meta.dir, "../portkey");
/** The newest Node, with which it costs a good part less than with an old one. */
const node = join(folder, `node_modules/node-linux-${process.arch}/bin/node`);
const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");

export const portkey: Contestant = {
  name: "Portkey",
  open: async (upstream) => {
    await install();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const child = Bun.spawn([node, program, "--headless", `--port=${port}`], {
      cwd: folder,
      stdout: "ignore",
      stderr: "ignore",
    });
    await waitUntilServing(url);
    return {
      url,
      pid: child.pid,
      keys: anyKeys,
      headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": upstream.url },
      close: async () => {
        child.kill("SIGTERM");
        await child.exited;
      },
    };
  },
};

/** A package of its own, so that nobody else's install carries it. */
async function install(): Promise<void> {
  if (existsSync(program) && existsSync(node)) return;
  const words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"];
  const npm = Bun.spawn(words, { cwd: folder, stdout: "ignore", stderr: "pipe" });
  const said = await new Response(npm.stderr).text();
  if ((await npm.exited) !== 0) throw new Error(`Portkey could not be installed: ${said.trim()}`);
}
