const ledgerTests = ["gateway/src/stores/sqlite/sqlite-ledger.test.ts"];

export const mutants = [
  {
    name: "an approval of another key is as good",
    file: "gateway/src/approvals/check-approval.ts",
    find: "approval.keyId !== use.keyId || ",
    replace: "",
    tests: ledgerTests,
  },
  {
    name: "a renewed token is used and not stored",
    file: "gateway/src/links/renew-link.ts",
    find: "const replaced = await parts.book.replaceTokens(seen.id, tokens, scopes);",
    replace: "const replaced = tokens.version > 0;",
    tests: ["test/links/link-renewals.test.ts"],
  },
  {
    name: "one wrong key counts as many, and locks its neighbours out",
    file: "gateway/src/keys/credentials.ts",
    find: "const missedMs = 60_000;",
    replace: "const missedMs = 600;",
    tests: ["gateway/src/keys/credentials.test.ts"],
  },
  {
    name: "one dead token counts as many, and locks its neighbours out",
    file: "gateway/src/keys/credentials.ts",
    find: "        if (wasMissed(presented)) return undefined;\n",
    replace: "",
    tests: ["gateway/src/keys/credentials.test.ts"],
  },
  {
    name: "two processes show a platform the same token to renew",
    file: "gateway/src/links/renew-link.ts",
    find: "  if (!(await parts.book.claimRenewal(claim))) return waitForOther(seen, parts);\n",
    replace: "  await parts.book.claimRenewal(claim);\n",
    tests: ["test/nodes/links-at-two-nodes.test.ts"],
  },
  {
    name: "a link is given up by the very process that has its good tokens",
    file: "gateway/src/links/renew-link.ts",
    find: '  if (known && !(known.kind === "lapsed" && hasNewer)) return known;',
    replace: "  if (known) return known;",
    tests: ["test/nodes/links-at-two-nodes.test.ts"],
  },
  {
    name: "what a platform gives for a link that was ended meanwhile lives on there",
    file: "gateway/src/links/renew-link.ts",
    find: "  await parts.client.revoke(platform, whole.refreshToken);\n  return",
    replace: "  return",
    tests: ["test/links/link-renewals.test.ts"],
  },
  {
    name: "a key decides over what other keys of its account ask",
    file: "gateway/src/keys/seen-by.ts",
    find: "(seesAccount(viewer) || thing.keyId === viewer.keyId)",
    replace: "true",
    tests: ["test/agents/approval-page.test.ts", "test/sign-in/sign-in-pages.test.ts"],
  },
  {
    name: "a key that sees its account ends what another account granted",
    file: "gateway/src/keys/seen-by.ts",
    find: "thing.accountId === viewer.accountId && ",
    replace: "",
    tests: ["test/sign-in/sign-in-pages.test.ts"],
  },
];
