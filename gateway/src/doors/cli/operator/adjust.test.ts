import { describe, expect, test } from "bun:test";
import { useTestBooks } from "../test-books.ts";

const { terminal, createAccount, issueKey, holdFor } = useTestBooks();

describe("an adjustment", () => {
  test("a grant raises no tier, and neither does an adjustment", async () => {
    const accountId = await createAccount("--credit-usd", "1000");
    const words = ["adjust", "--account", accountId, "--usd", "+700", "--reason", "goodwill"];
    expect(await terminal.json(...words)).toMatchObject({
      tier: "free",
      balance_micros_usd: 1_700_000_000,
      topped_up_micros_usd: 0,
    });
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

  test.each(["0", "-0.0", "+-1", "-1000000.000001", "--1"])(
    "%s USD is called wrong usage and books nothing",
    async (usd) => {
      const accountId = await createAccount("--credit-usd", "5");
      const shown = await terminal.run("adjust", "--account", accountId, `--usd=${usd}`, "--reason", "r");
      expect(shown).toMatchObject({ exitCode: 2, out: [] });
      expect(shown.errors).toHaveLength(1);
      expect(shown.errors[0]).toMatch(/^--usd /);
      expect(await terminal.json("account", "show", accountId)).toMatchObject({
        balance_micros_usd: 5_000_000,
      });
    },
  );
});
