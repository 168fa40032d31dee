import { describe, expect, test } from "bun:test";
import { useTestBooks } from "../test-books.ts";

const { terminal, createAccount } = useTestBooks();

describe("a top-up", () => {
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

  test("a top-up never lowers a tier that was granted", async () => {
    for (const tier of ["enterprise", "growth"]) {
      const accountId = await createAccount("--tier", tier);
      expect(await terminal.json("topup", "--account", accountId, "--usd", "1")).toMatchObject({ tier });
    }
  });

  test.each([
    "0",
    "-1",
    "1e3",
    "0.0000001",
    "1,5",
    "USD 5",
    "1000000.000001",
    "NaN",
    "0x10",
    "+5",
    "9".repeat(40),
  ])("%s USD is called wrong usage and books nothing", async (usd) => {
    const accountId = await createAccount("--credit-usd", "5");
    const shown = await terminal.run("topup", "--account", accountId, `--usd=${usd}`);
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
