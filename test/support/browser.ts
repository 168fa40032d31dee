// A real browser for what a person sees: the Chromium of this machine, driven by playwright-core.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

export interface TestBrowser {
  readonly page: Page;
  /** What the pages complained about: errors on the console and exceptions nobody caught. */
  readonly complaints: readonly string[];
  /** Every address the browser asked for, in order; embedded `data:` is not asked for. */
  readonly requested: readonly string[];
  readonly close: () => Promise<void>;
}

export interface BrowserOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  readonly javaScript?: boolean;
}

const program = [process.env["CHROMIUM"], "chromium", "chromium-browser", "google-chrome"]
  .map((name) => (name === undefined || name === "" ? null : Bun.which(name)))
  .find((path) => path !== null);

/** A newcomer without a browser sees the test skipped by name; CI has one and fails without it. */
export function testInBrowser(promise: string, run: () => Promise<void>): void {
  if (program === undefined && process.env["CI"] === undefined) {
    test.skip(`${promise} (needs Chromium: install it, or name it in CHROMIUM)`, run);
    return;
  }
  test(promise, run);
}

/** Cookies, storage and permissions are of one test; the program behind them is started once for many. */
export async function openBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  const { width = 1280, height = 800, dark = false, javaScript = true } = options;
  const browser = await enterProgram();
  const page = (javaScript ? takeSpare() : undefined) ?? (await openPage(browser, javaScript));
  const context = page.context();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ media: null, colorScheme: dark ? "dark" : "light" });
  const complaints: string[] = [];
  const requested: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  context.on("request", (request) => {
    if (!request.url().startsWith("data:")) requested.push(request.url());
  });
  const close = async (): Promise<void> => {
    if (javaScript) await empty(page, requested);
    if (javaScript && spare === undefined) spare = page;
    else await context.close();
    leaveProgram();
  };
  return { page, complaints, requested, close };
}

const openPage = async (browser: Browser, javaScript: boolean): Promise<Page> =>
  (await browser.newContext({ javaScriptEnabled: javaScript })).newPage();

/** What a test has left. A new one has processes of its own, and they work for a second before it shows anything. */
let spare: Page | undefined;

function takeSpare(): Page | undefined {
  const taken = spare;
  spare = undefined;
  return taken;
}

/** Whoever comes next finds nothing of what it showed, fetched, kept or was allowed. */
async function empty(page: Page, requested: readonly string[]): Promise<void> {
  const context = page.context();
  // A page that could not be reached has none.
  await page.evaluate("sessionStorage.clear()").catch(() => {});
  await page.goto("about:blank");
  for (const event of ["console", "weberror", "request"] as const) context.removeAllListeners(event);
  await context.clearCookies();
  await context.clearPermissions();
  // Not for longer: where two debug a page, neither's screen or paper survives the next address.
  const debuggedBy = await context.newCDPSession(page);
  await debuggedBy.send("Network.clearBrowserCache");
  for (const origin of new Set(requested.map((url) => new URL(url).origin)))
    await debuggedBy.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await debuggedBy.detach();
}

/** Who comes next usually comes at once. */
const lingerMs = 2_000;

let started: Promise<Browser> | undefined;
let inside = 0;
let leaving: ReturnType<typeof setTimeout> | undefined;

function enterProgram(): Promise<Browser> {
  if (program === undefined) throw new Error("No Chromium is installed, and CHROMIUM names none.");
  clearTimeout(leaving);
  inside += 1;
  started ??= chromium.launch({ executablePath: program, headless: true, args: [...quiet] });
  return started;
}

function leaveProgram(): void {
  inside -= 1;
  if (inside > 0) return;
  leaving = setTimeout(() => void endProgram(), lingerMs);
  leaving.unref();
}

async function endProgram(): Promise<void> {
  const ending = started;
  started = undefined;
  spare = undefined;
  await (await ending)?.close();
}

// It asks nobody but the pages under test; its own sandbox needs rights that containers lack.
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
] as const;

/** A phone by day and a desk by night, then the other way round. */
export const looks = [
  { width: 360, dark: false },
  { width: 1280, dark: true },
  { width: 1280, dark: false },
  { width: 360, dark: true },
] as const;

export async function show(page: Page, { width, dark }: (typeof looks)[number]): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
}

/** A page that is wider than its window scrolls sideways, which nobody wants. */
export const widthOf = (page: Page): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth");

/** Nothing on the console, and nobody else asked for anything. */
export function expectQuiet({ complaints, requested }: TestBrowser, siteUrl: string): void {
  expect(complaints).toEqual([]);
  expect(requested.filter((url) => !url.startsWith(`${siteUrl}/`) && !url.startsWith("blob:"))).toEqual([]);
}

const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe finds wrong, and where. It is evaluated by the debugger, so the page's policy needs no hole for it. */
export async function violationsIn(
  page: Page,
): Promise<{ readonly id: string; readonly where: readonly string[] }[]> {
  await page.evaluate(axe);
  // The shape of axe's report is its documented one. What is well, and where a thing stands among the others, takes axe
  // longer to write down than everything else.
  const violations = (await page.evaluate(
    `axe.run({ resultTypes: ["violations"], selectors: false }).then((report) => report.violations)`,
  )) as readonly Violation[];
  return violations.map(({ id, nodes }) => ({ id, where: nodes.map((node) => node.html) }));
}
