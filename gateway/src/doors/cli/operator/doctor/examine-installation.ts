import { bringItsSecret, lacksItsSecret, type SeenData } from "../../../../store/seen-data.ts";
import type { Config } from "../../../../config/config.ts";
import type { CliParts, ServeFlags } from "../../cli-parts.ts";
import { messageOf } from "../../../../platform/error-message.ts";

/** What serving needs besides the configuration, and whether it is there. */
export interface Installation {
  readonly start: Finding;
  readonly store: Finding;
  readonly limits: Finding;
}

interface Finding {
  readonly usable: boolean;
  readonly sentence: string;
}

/** Only looks: no data is begun or brought forward, and no secret made. */
export async function examineInstallation(
  config: Config,
  flags: ServeFlags,
  parts: CliParts,
): Promise<Installation> {
  const [start, store, limits] = await Promise.all([
    findingOf(async () => {
      parts.checkStart(config, flags);
      return "nothing in the settings prevents it.";
    }),
    findingOf(async () => {
      const sentence = judgeData(parts.dataName, await parts.lookAtData(), parts.findFingerprint());
      parts.checkRoom();
      return sentence;
    }),
    findingOf(async () => `counted in ${await parts.lookAtLimits()}.`),
  ]);
  return { start, store, limits };
}

/** Whatever is wrong is told in a sentence by whoever finds it out. */
async function findingOf(look: () => Promise<string>): Promise<Finding> {
  try {
    return { usable: true, sentence: await look() };
  } catch (error) {
    return { usable: false, sentence: messageOf(error) };
  }
}

function judgeData(name: string, data: SeenData | undefined, fingerprint: string | undefined): string {
  if (data === undefined) return `there is no data at ${name} yet; the first start makes it.`;
  const { schema, schemaKnown, fingerprint: claimedBy } = data;
  if (claimedBy !== undefined && fingerprint === undefined) throw new Error(lacksItsSecret(name));
  if (claimedBy !== undefined && claimedBy !== fingerprint) {
    throw new Error(`The data at ${name} was written under another secret. ${bringItsSecret}`);
  }
  const secret = claimedBy === undefined ? "" : ", and the secret is the one it was written under";
  const outlook = schema < schemaKnown ? `, which the next start brings forward to ${schemaKnown}` : "";
  return `${name} has schema ${schema}${outlook}${secret}.`;
}
