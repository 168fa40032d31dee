// The website as a person sees it: in Chromium, on a phone and a desk, in light and dark, with and without JavaScript. The
// reference has tests of its own beside these.

import { afterAll, beforeAll, expect } from "bun:test";
import {
  expectQuiet,
  looks,
  openBrowser,
  show,
  testInBrowser,
  violationsIn,
  widthOf,
} from "../support/browser.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway.close());

/** The last one asks for a key first: the small page that people sign in, approve and link on. */
const pages = [
  "/",
  "/prices",
  "/quickstart",
  "/docs/operations",
  "/docs/operations/rerank.create",
  "/oauth/grants",
];

testInBrowser("pages fit a phone and a desk, in light and dark, and complain about nothing", async () => {
  const browser = await openBrowser();
  try {
    for (const path of pages) {
      await browser.page.goto(gateway.url + path);
      for (const look of looks) {
        await show(browser.page, look);
        expect([path, look, await widthOf(browser.page)]).toEqual([path, look, look.width]);
      }
    }
    expectQuiet(browser, gateway.url);
  } finally {
    await browser.close();
  }
});

for (const path of pages) {
  testInBrowser(
    `axe finds nothing wrong with ${path}, in light on a phone and in dark on a desk`,
    async () => {
      const { page, close } = await openBrowser();
      try {
        await page.goto(gateway.url + path);
        for (const look of looks.slice(0, 2)) {
          await show(page, look);
          expect([look, await violationsIn(page)]).toEqual([look, []]);
        }
      } finally {
        await close();
      }
    },
  );
}

testInBrowser("without JavaScript everything can be read, and the price list searched", async () => {
  const { page, close } = await openBrowser({ width: 360, height: 740, javaScript: false });
  try {
    await page.goto(gateway.url);
    expect(await page.locator("pre").first().textContent()).toContain(`${gateway.url}/v1/chat/completions`);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Prices" }).click();
    await page.getByLabel("Search").fill("comments");
    await page.getByRole("button", { name: "Search" }).click();
    expect(await page.getByRole("status").textContent()).toContain("0 models, 1 operation.");
    await page.getByRole("link", { name: "Comments of a post" }).click();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Comments of a post");
    expect(await page.getByRole("table").count()).toBeGreaterThan(2);
    await page.goto(`${gateway.url}/docs`);
    expect(await page.getByRole("link", { name: "Rerank documents" }).isVisible()).toBe(true);
  } finally {
    await close();
  }
});

/** Cells of a table, by their column, that begin or end beside what can be seen of it without scrolling. */
const unseenCells = (caption: string, columns: number): string =>
  `[...document.querySelectorAll('[aria-label="${caption}"] tbody tr')]
    .flatMap((row) => [...row.cells].slice(0, ${columns}))
    .filter((cell) => cell.getBoundingClientRect().right > cell.closest(".table").getBoundingClientRect().right)
    .map((cell) => cell.textContent)`;

testInBrowser("on a phone the prices of every model are seen without scrolling their tables", async () => {
  const { page, close } = await openBrowser({ width: 360, height: 740 });
  try {
    await page.goto(`${gateway.url}/prices`);
    for (const [caption, columns] of [
      ["Models, USD per 1,000,000 tokens", 3],
      ["Video models, USD per second", 3],
    ] as const) {
      expect(await page.getByRole("region", { name: caption }).count()).toBe(1);
      expect([caption, await page.evaluate(unseenCells(caption, columns))]).toEqual([caption, []]);
    }
  } finally {
    await close();
  }
});

testInBrowser(
  "on a phone a router's long name of a model stands in a few lines, beside its prices",
  async () => {
    const id = "meta-llama/llama-4-maverick-17b-128e-instruct-fp8";
    const own = await openTestGateway({
      config: `
upstreams: { router: { protocol: openai, url: "http://127.0.0.1:9/v1", models: [] } }
models: { ${id}: { via: [router], price: { input: 0.27, output: 0.85 }, max_output_tokens: 8192 } }`,
    });
    const { page, close } = await openBrowser({ width: 360, height: 740 });
    try {
      await page.goto(`${own.url}/prices?q=${id}`);
      expect(
        await page.evaluate("document.querySelector('tbody th code').getClientRects().length"),
      ).toBeLessThan(5);
      expect(await page.evaluate(unseenCells("Models, USD per 1,000,000 tokens", 3))).toEqual([]);
    } finally {
      await close();
      await own.close();
    }
  },
);

testInBrowser("on paper every price of every model stands on the sheet, and nothing to fill in", async () => {
  const { page, close } = await openBrowser({ height: 1000 });
  try {
    await page.goto(`${gateway.url}/prices`);
    await page.emulateMedia({ media: "print" });
    // Sheets of A4 and of Letter, within the margins that browsers leave.
    for (const width of [718, 740]) {
      await page.setViewportSize({ width, height: 1000 });
      expect(await widthOf(page)).toBe(width);
      for (const [caption, columns] of [
        ["Models, USD per 1,000,000 tokens", 10],
        ["Video models, USD per second", 3],
      ] as const) {
        const region = page.getByRole("region", { name: caption });
        expect(await region.getByRole("columnheader").count()).toBe(columns);
        expect([caption, await page.evaluate(unseenCells(caption, columns))]).toEqual([caption, []]);
      }
    }
    for (const role of ["button", "textbox", "combobox"] as const)
      expect([role, await page.getByRole(role).filter({ visible: true }).count()]).toEqual([role, 0]);
  } finally {
    await close();
  }
});

testInBrowser("code is copied with one press, and the keyboard reaches the content first", async () => {
  const browser = await openBrowser();
  try {
    const { page } = browser;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: gateway.url });
    await page.goto(`${gateway.url}/docs/operations/rerank.create`);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.getByRole("button", { name: "Copy: Call" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain(
      `curl "${gateway.url}/v1/rerank"`,
    );
    expectQuiet(browser, gateway.url);
  } finally {
    await browser.close();
  }
});
