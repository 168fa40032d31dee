const whyNotHeld = "gateway/src/ledger/why-not-held.ts";
const ledgerTests = ["gateway/src/stores/sqlite/sqlite-ledger.test.ts"];

export const mutants = [
  {
    name: "what the next start charges is missing among the charges",
    file: "gateway/src/ledger/tell-recovery.ts",
    find: "  for (const charge of charges) countMicros(charge, metrics);\n",
    replace: "",
    tests: ["test/money/stated-usage.test.ts"],
  },
  {
    name: "the balance is not guarded",
    file: whyNotHeld,
    find: "if (!account || availableMicros < amountMicros)",
    replace: "if (!account)",
    tests: ["test/money/spending.test.ts"],
  },
  {
    name: "a budget is not guarded",
    file: whyNotHeld,
    find: "if (!fits(use, amountMicros, budget.limitMicros))",
    replace: "if (budget.limitMicros < 0n)",
    tests: ledgerTests,
  },
  {
    name: "a receipt tells the caller of the operator's debts",
    file: "gateway/src/ledger/receipt.ts",
    find: "httpStatus: isWithheld && !isOthers ? undefined : httpStatus,\n",
    replace: "",
    tests: ["test/money/upstream-faults.test.ts"],
  },
  {
    name: "the day of a grant is not guarded",
    file: whyNotHeld,
    find: "if (!fits(use, amountMicros, perDayMicros))",
    replace: "if (perDayMicros < 0n)",
    tests: ledgerTests,
  },
  {
    name: "the receipt of a call that did not come to its end keeps quiet about what it cost",
    file: "gateway/src/ledger/explain-call.ts",
    find: 'return [...howItEnded(call), ...whatItCost(call)].join(" ");',
    replace: 'return howItEnded(call)[0] ?? whatItCost(call).join(" ");',
    tests: ["gateway/src/ledger/receipt.test.ts"],
  },
  {
    name: "a grant that ended since authentication still holds",
    file: whyNotHeld,
    find: 'if (grant && !facts.isGrantAlive(grant.id, createdAtMs)) return { kind: "grant_ended" };',
    replace: "",
    tests: ["test/sign-in/access-tokens.test.ts"],
  },
  {
    name: "a vendor's figure of an operator's own operation is booked as it came",
    file: "gateway/src/call/steps/meter.ts",
    find: "readCount(told ?? Number.NaN, price.unit, anomalies) : 0;",
    replace: "Number(told) : 0;\n    void readCount;",
    tests: ["test/money/offer.test.ts"],
  },
  {
    name: "a price passes through a float",
    file: "gateway/src/ledger/charge.ts",
    find: "const exactAtto = call.carry.chargeAtto + call.valuePico * call.multiplierPpm;",
    replace:
      "const exactAtto = BigInt(Math.round(Number(call.carry.chargeAtto + call.valuePico * call.multiplierPpm) * 1.0000001));",
    tests: ["gateway/src/ledger/charge.test.ts"],
  },
  {
    name: "the remainder of a charge is dropped",
    file: "gateway/src/ledger/charge.ts",
    find: "chargeAtto: exactAtto % attoPerMicro",
    replace: "chargeAtto: 0n",
    tests: ["gateway/src/ledger/charge.test.ts"],
  },
  {
    name: "a charge may exceed its hold",
    file: "gateway/src/ledger/charge.ts",
    find: "const chargedMicros = dueMicros < call.heldMicros ? dueMicros : call.heldMicros;",
    replace: "const chargedMicros = dueMicros;",
    tests: ["gateway/src/ledger/charge.test.ts", ...ledgerTests],
  },
  {
    name: "open tasks are counted before the hold, not with it",
    file: whyNotHeld,
    find: "if (facts.countOpenTasks(keyId) >= openMax)",
    replace: "if (openMax < 0)",
    tests: ["test/tasks/video-tasks.test.ts"],
  },
  {
    name: "the longest context on sale is held for in part",
    file: "gateway/src/prices/quantities.ts",
    find: "contextTokensMax = 2_000_000",
    replace: "contextTokensMax = 1_050_000",
    tests: ["test/money/conversation-holds.test.ts"],
  },
];
