import type { Config } from "../../../../config/config.ts";
import { ConfigError } from "../../../../platform/config-error.ts";
import { messageOf } from "../../../../platform/error-message.ts";
import { describeGap, isChosen, type Gap } from "../../../../offer/advice/gap.ts";
import type { Offer, OfferedOperation } from "../../../../offer/offer.ts";
import { askVendors, type AskedVendor } from "./ask-vendors.ts";
import type { CliParts } from "../../cli-parts.ts";
import { defineCommand, toggle, type Answer } from "../../command.ts";
import { examineInstallation, type Installation } from "./examine-installation.ts";
import { table } from "../../output.ts";

export const doctor = defineCommand({
  words: ["doctor"],
  summary: "checks the configuration, the prices, the data, and whether each upstream can be reached",
  flags: {
    ask: toggle(
      "also asks vendors that list their models for free whether they take the key and have the models",
    ),
    "allow-sandbox-public": toggle("checks for a server that is started with this word"),
  },
  run: async ({ flags }, parts) => {
    try {
      const { config, offer } = await parts.loadOffer();
      const serveFlags = { allowSandboxPublic: flags["allow-sandbox-public"] };
      const [found, installation, asked] = await Promise.all([
        examine(config, offer, parts),
        examineInstallation(config, serveFlags, parts),
        flags.ask ? askVendors(config, offer, parts) : undefined,
      ]);
      return answerOf(found, installation, { file: parts.findConfigFile(), asked });
    } catch (error) {
      if (error instanceof ConfigError) return unusableConfig(error);
      throw error;
    }
  },
});

interface Diagnosis {
  readonly gaps: readonly Gap[];
  readonly notes: readonly string[];
  readonly operationsServed: number;
  readonly operationsWithoutPrice: readonly string[];
  readonly modelsWithoutPrice: readonly string[];
  readonly upstreams: readonly UpstreamHealth[];
}

interface UpstreamHealth {
  readonly name: string;
  readonly protocol: string;
  readonly origin: string;
  /** With the path, which is easily wrong, and without a name or password. */
  readonly url: string;
  readonly operations: number;
  /** "reachable", "sandbox", or why it cannot be used. */
  readonly health: string;
}

async function examine(config: Config, offer: Offer, parts: CliParts): Promise<Diagnosis> {
  const offered = [...offer.operations.values()];
  const reached = await Promise.all(
    [...config.upstreams].map(async ([name, { protocol, url }]): Promise<UpstreamHealth> => {
      const { origin, pathname } = new URL(url);
      const operations = offered.filter((one) =>
        one.upstreams.some((upstream) => upstream.name === name),
      ).length;
      const shown = `${origin}${pathname.replace(/\/+$/, "")}`;
      return { name, protocol, origin, url: shown, operations, health: await healthOf(origin, parts) };
    }),
  );
  return {
    gaps: offer.gaps,
    notes: [...parts.notesOnSettings, ...offer.notes],
    operationsServed: offered.length,
    operationsWithoutPrice: offer.gaps.flatMap((gap) =>
      gap.kind === "no_price" || gap.kind === "no_priced_model" ? [gap.operationId] : [],
    ),
    modelsWithoutPrice: offer.gaps.flatMap((gap) => (gap.kind === "unpriced_model" ? [gap.model] : [])),
    upstreams: [...reached, ...(await sandboxOf(offered, config, parts))],
  };
}

async function healthOf(origin: string, parts: CliParts): Promise<string> {
  try {
    return await parts.probe(origin);
  } catch (error) {
    return messageOf(error);
  }
}

/** The stand-ins share one program, so they are one line; the one that starts with the server is not asked. */
async function sandboxOf(
  offered: readonly OfferedOperation[],
  { sandbox: written }: Config,
  parts: CliParts,
): Promise<UpstreamHealth[]> {
  const served = offered.filter((one) => one.upstreams.some(({ sandbox }) => sandbox));
  if (served.length === 0) return [];
  const shared = { name: "sandbox", protocol: "all", operations: served.length };
  if (typeof written !== "object")
    return [{ ...shared, origin: "built in", url: "built in", health: "sandbox" }];
  const { origin } = new URL(written.url);
  return [{ ...shared, origin, url: origin, health: await healthOf(origin, parts) }];
}

const isWell = ({ health, operations }: UpstreamHealth): boolean =>
  (health === "reachable" || health === "sandbox") && operations > 0;

interface Looked {
  readonly file: ReturnType<CliParts["findConfigFile"]>;
  readonly asked: readonly AskedVendor[] | undefined;
}

function answerOf(
  found: Diagnosis,
  { start, store, limits }: Installation,
  { file, asked = [] }: Looked,
): Answer {
  const usable =
    [start, store, limits].every((finding) => finding.usable) &&
    asked.every(({ verdict }) => verdict !== "key_refused") &&
    found.gaps.every(isChosen) &&
    found.operationsWithoutPrice.length === 0 &&
    found.modelsWithoutPrice.length === 0 &&
    found.upstreams.every(isWell);
  const gaps = found.gaps.map(describeGap);
  const uncertain = asked.filter(isUncertain).map(({ name }) => name);
  return {
    lines: [
      `The configuration is valid; ${found.operationsServed} operations are served.`,
      `Configuration: ${file.isThere ? file.path : `there is no ${file.path}; the built-in one is in force.`}`,
      ...gaps.map((gap) => `Gap: ${gap}.`),
      ...found.notes.map((note) => `Note: ${note}.`),
      ...found.operationsWithoutPrice.map((id) => `No price: operation ${id}; its calls are refused.`),
      ...found.modelsWithoutPrice.map((id) => `No price: model ${id}; it is not offered.`),
      ...table(
        ["UPSTREAM", "PROTOCOL", "ADDRESS", "OPERATIONS", "HEALTH"],
        found.upstreams.map((one) => [one.name, one.protocol, one.url, `${one.operations}`, healthText(one)]),
        "There are no upstreams.",
      ),
      ...asked.map(({ name, sentence }) => `${name}: ${sentence}`),
      `Start: ${start.sentence}`,
      `Store: ${store.sentence}`,
      `Limits: ${limits.sentence}`,
      verdictOn(usable, uncertain),
    ],
    json: {
      usable,
      config: { valid: true, file: file.isThere ? file.path : null },
      operations_served: found.operationsServed,
      gaps,
      notes: found.notes,
      operations_without_price: found.operationsWithoutPrice,
      models_without_price: found.modelsWithoutPrice,
      upstreams: found.upstreams.map((one) => ({ ...one, ...answerIn(asked, one) })),
      installation: { start, store, limits },
      uncertain,
    },
    exitCode: usable ? 0 : 1,
  };
}

/** Its calls may succeed, but the vendor has not confirmed it. */
const isUncertain = ({ verdict, unlistedModels }: AskedVendor): boolean =>
  verdict === "cannot_be_checked" || verdict === "unproven" || unlistedModels.length > 0;

function verdictOn(usable: boolean, uncertain: readonly string[]): string {
  if (!usable) return "Something configured cannot be used.";
  if (uncertain.length === 0) return "Everything configured can be used.";
  return `What could be checked can be used. The lines above say what could not, or may be wrong: ${uncertain.join(", ")}.`;
}

function answerIn(asked: readonly AskedVendor[], { name }: UpstreamHealth): object {
  const vendor = asked.find((one) => one.name === name);
  if (!vendor) return {};
  const { verdict, sentence, unlistedModels } = vendor;
  return { asked: { verdict, sentence, unlisted_models: unlistedModels } };
}

const healthText = ({ health, operations }: UpstreamHealth): string =>
  operations === 0 ? `${health}, serves no operation` : health;

const unusableConfig = (error: ConfigError): Answer => ({
  lines: error.message.split("\n"),
  json: { usable: false, config: { valid: false, error: error.message } },
  exitCode: 1,
});
