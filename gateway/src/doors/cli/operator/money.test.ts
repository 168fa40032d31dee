import { describe, expect, test } from "bun:test";
import { useTestBooks } from "../test-books.ts";

const { terminal, createAccount, issueKey, holdFor } = useTestBooks();

describe("money", () => {
  test("the first top-up raises Free to Starter, 500 USD in all raise to Growth", async () => {
    const accountId = await createAccount();
    const topUp = (usd: string) => terminal.json("topup", "--account", accountId, "--usd", usd);
    expect(await topUp("0.000001")).toMatchObject({ tier: "starter", balance_micros_usd: 1 });
    expect(await topUp("499.999998")).toMatchObject({ tier: "starter", topped_up_micros_usd: 499_999_999 });
    expect(await topUp("0.000001")).toMatchObject({ tier: "growth", topped_up_micros_usd: 500_000_000 });
    expect((await terminal.run("topup", "--account", accountId, "--usd", "1")).out.join("\n")).toMatch(
      /balance +501 USD/,
    );
  });

  test("a payment with a reference is booked once, however often it is told", async () => {
    const accountId = await createAccount();
    const other = await createAccount();
    const topUp = (account: string, usd: string, reference: string) =>
      terminal.json("topup", "--account", account, "--usd", usd, "--reference", reference);
    const first = await topUp(accountId, "100", "invoice 2026-07");
    expect(first).toMatchObject({ balance_micros_usd: 100_000_000, booked: true });
    terminal.pass(5_000);
    expect(await topUp(accountId, "100.00", " invoice 2026-07 ")).toEqual({ ...first, booked: false });
    expect(await topUp(accountId, "1", "invoice 2026-08")).toMatchObject({ booked: true });
    // Two customers' payments may have the same number.
    expect(await topUp(other, "7", "invoice 2026-07")).toMatchObject({
      balance_micros_usd: 7_000_000,
      booked: true,
    });

    const words = ["topup", "--account", accountId, "--usd", "50", "--reference", "invoice 2026-07"];
    const { out, errors, exitCode } = await terminal.run(...words);
    expect([exitCode, out]).toEqual([1, []]);
    expect(errors.join("\n")).toMatch(
      /"invoice 2026-07" was booked as 100 USD on 2026-\S+; nothing was booked now/,
    );
    const again = await terminal.run(...words.with(4, "100"));
    expect(again.out.at(-1)).toMatch(
      /^This payment was booked on 2026-\S+ already; nothing was booked now\.$/,
    );
    expect(await terminal.json("account", "show", accountId)).toMatchObject({
      balance_micros_usd: 101_000_000,
    });
    const { entries } = (await terminal.json("account", "ledger", accountId)) as unknown as {
      entries: { reason: string | null }[];
    };
    expect(entries.map(({ reason }) => reason)).toEqual(["invoice 2026-08", "invoice 2026-07"]);
  });

  test("a grant raises no tier, and neither does an adjustment", async () => {
    const accountId = await createAccount("--credit-usd", "1000");
    const words = ["adjust", "--account", accountId, "--usd", "+700", "--reason", "goodwill"];
    expect(await terminal.json(...words)).toMatchObject({
      tier: "free",
      balance_micros_usd: 1_700_000_000,
      topped_up_micros_usd: 0,
    });
  });

  test("a top-up never lowers a tier that was granted", async () => {
    for (const tier of ["enterprise", "growth"]) {
      const accountId = await createAccount("--tier", tier);
      expect(await terminal.json("topup", "--account", accountId, "--usd", "1")).toMatchObject({ tier });
    }
  });

  test("an adjustment takes what is available and not a micro more", async () => {
    const accountId = await createAccount("--credit-usd", "3");
    const { keyId } = await issueKey(accountId);
    await holdFor(accountId, keyId, 1_000_000n);
    const take = (usd: string) => ["adjust", "--account", accountId, "--usd", usd, "--reason", "test charge"];
    expect(await terminal.run(...take("-2.000001"))).toEqual({
      exitCode: 1,
      out: [],
      errors: [`2.000001 USD cannot be taken: account ${accountId} has 2 USD available.`],
    });
    expect(await terminal.json(...take("-2"))).toMatchObject({
      balance_micros_usd: 1_000_000,
      available_micros_usd: 0,
    });
    expect((await terminal.run(...take("0.5"))).out.join("\n")).toMatch(/balance +1\.5 USD/);
  });

  test.each([
    ["topup", "0"],
    ["topup", "-1"],
    ["topup", "1e3"],
    ["topup", "0.0000001"],
    ["topup", "1,5"],
    ["topup", "USD 5"],
    ["topup", "1000000.000001"],
    ["topup", "NaN"],
    ["topup", "0x10"],
    ["topup", "+5"],
    ["topup", "9".repeat(40)],
    ["adjust", "0"],
    ["adjust", "-0.0"],
    ["adjust", "+-1"],
    ["adjust", "-1000000.000001"],
    ["adjust", "--1"],
  ])("%s of %s is called wrong usage and books nothing", async (command, usd) => {
    const accountId = await createAccount("--credit-usd", "5");
    const reason = command === "adjust" ? ["--reason", "r"] : [];
    const shown = await terminal.run(command, "--account", accountId, `--usd=${usd}`, ...reason);
    expect(shown).toMatchObject({ exitCode: 2, out: [] });
    expect(shown.errors).toHaveLength(1);
    expect(shown.errors[0]).toMatch(/^--usd /);
    expect(await terminal.json("account", "show", accountId)).toMatchObject({
      balance_micros_usd: 5_000_000,
    });
  });

  test("a million USD is the most one payment can be", async () => {
    const accountId = await createAccount();
    expect(await terminal.json("topup", "--account", accountId, "--usd", "1000000")).toMatchObject({
      balance_micros_usd: 1_000_000_000_000,
    });
  });
});
