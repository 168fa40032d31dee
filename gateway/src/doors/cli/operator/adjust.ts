import { CommandFailed, defineCommand, required } from "../command.ts";
import { usd } from "../output.ts";
import { readCorrection, readText } from "../values.ts";
import { withStore } from "../with-store.ts";
import { accountAnswer, knownAccount } from "./account/account.ts";

export const adjust = defineCommand({
  words: ["adjust"],
  summary: "corrects a balance by hand, in either direction",
  flags: {
    account: required("ID", "the account that is corrected"),
    usd: required("±X", "how much is added or, with a minus, taken; never more than is available"),
    reason: required("R", "why; it stays in the books, and account ledger shows it"),
  },
  run: async ({ flags }, parts) => {
    const correction = {
      transferId: `adjustment:${parts.newId()}`,
      accountId: flags.account,
      amountMicros: readCorrection("usd", flags.usd),
      reason: readText("reason", flags.reason),
      nowMs: parts.clock.wallMs(),
    };
    const adjusted = await withStore(parts, (store) => store.accounts.adjust(correction));
    if (adjusted && "refused" in adjusted) {
      const { availableMicros } = adjusted;
      const wanted = usd(-correction.amountMicros);
      throw new CommandFailed(
        `${wanted} cannot be taken: account ${flags.account} has ${usd(availableMicros)} available.`,
      );
    }
    return accountAnswer(knownAccount(flags.account, adjusted));
  },
});
