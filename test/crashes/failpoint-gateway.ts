// A gateway that kills itself with SIGKILL the first time a call passes a failpoint. Run as a program of its
// own: FAILPOINT, DATABASE, SANDBOX and AHEAD_MS come from the environment; the port is printed on stdout.

import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { createGateway, type Gateway } from "../../gateway/src/gateway.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import { createListen } from "../../gateway/src/host/listen.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import { createLog } from "../../gateway/src/platform/log.ts";
import { createMetrics } from "../../gateway/src/platform/metrics.ts";
import { createMemoryLimiter } from "../../gateway/src/stores/memory-limiter.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { createPlatformClient } from "../../gateway/src/upstreams/platform-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";
import { failpoints, streamFailpoints, taskFailpoints, withFailpoint } from "./failpoints.ts";
import { catalogueFolder } from "../support/project-folder.ts";
import { testSecret } from "../support/test-gateway.ts";

const httpClient = createHttpClient();

const {
  FAILPOINT: wanted = "",
  DATABASE: path = "",
  SANDBOX: sandboxUrl = "",
  AHEAD_MS: ahead = "0",
} = process.env;
const failpoint = [...failpoints, ...streamFailpoints, ...taskFailpoints].find((name) => name === wanted);
/** Some things come to pass only later; a clock that goes ahead brings them about at once. */
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + Number(ahead) };
const die = (): void => void process.kill(process.pid, "SIGKILL");

const open: { answer?: Gateway["answer"] } = {};
const server = createListen()({
  host: "127.0.0.1",
  port: 0,
  answer: async (request) => open.answer?.(request) ?? new Response("not ready", { status: 503 }),
});
const parts = {
  catalogue: await loadCatalogue([catalogueFolder]),
  config: parseConfig("", "defaults", {}),
  addresses: completeAddresses(`http://127.0.0.1:${server.port}`),
  sandboxUrl,
  store: openSqliteStore({ path }),
  secrets: createSecrets(testSecret),
  limiter: createMemoryLimiter(systemClock.monotonicMs),
  forwarder: createForwarder(httpClient, protocols),
  platformClient: createPlatformClient(httpClient),
  clock,
  newId: () => Bun.randomUUIDv7(),
  log: createLog({ level: "silent", nowMs: systemClock.wallMs, write: () => {} }),
  metrics: createMetrics(),
};
const gateway = await createGateway(failpoint ? withFailpoint(parts, failpoint, die) : parts);
open.answer = async (request) => {
  const answer = await gateway.answer(request);
  if (failpoint === "respond.before_end") die();
  return answer;
};
process.stdout.write(`${server.port}\n`);
