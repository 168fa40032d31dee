import type { Account, BookedPayment, TopUp } from "../../../ledger/accounts.ts";
import { isoTime } from "../../../platform/clock.ts";
import { CommandFailed, defineCommand, optional, required, type Answer } from "../command.ts";
import { usd } from "../output.ts";
import { readPayment, readText } from "../values.ts";
import { withStore } from "../with-store.ts";
import { accountAnswer, knownAccount } from "./account/account.ts";

export const topUp = defineCommand({
  words: ["topup"],
  summary:
    "books a payment; the first raises Free to Starter, 500 USD in all raise to Growth; its limits rise within 5 s",
  flags: {
    account: required("ID", "the account that is paid into"),
    usd: required("X", "what was paid"),
    reference: optional(
      "R",
      "what the payment is called elsewhere, such as an invoice; account ledger shows it, and it is booked once",
    ),
  },
  run: async ({ flags }, parts) => {
    const { account: accountId } = flags;
    const reference = flags.reference === undefined ? undefined : readText("reference", flags.reference);
    const payment = {
      transferId: `top_up:${reference === undefined ? parts.newId() : `${accountId}:${reference}`}`,
      accountId,
      amountMicros: readPayment("usd", flags.usd),
      reference,
      nowMs: parts.clock.wallMs(),
    };
    return withStore(parts, async ({ accounts }) => {
      const account = knownAccount(accountId, await accounts.topUp(payment));
      const booked = await accounts.findPayment(accountId, payment.transferId);
      if (!booked) throw new Error("A payment vanished once it was booked.");
      return toppedUpAnswer(account, payment, booked);
    });
  },
});

/** A payment that was booked before is a success too: whoever repeats one in doubt wants it booked, and once. */
function toppedUpAnswer(account: Account, told: TopUp, booked: BookedPayment): Answer {
  const bookedOn = isoTime(booked.bookedAtMs);
  if (booked.amountMicros !== told.amountMicros) {
    throw new CommandFailed(
      `The payment "${told.reference}" was booked as ${usd(booked.amountMicros)} on ${bookedOn}; nothing was booked now.`,
    );
  }
  const isNew = booked.bookedAtMs === told.nowMs;
  const answer = accountAnswer(account);
  const remark = `This payment was booked on ${bookedOn} already; nothing was booked now.`;
  return {
    ...answer,
    lines: isNew ? answer.lines : [...answer.lines, "", remark],
    json: { ...answer.json, booked: isNew },
  };
}
