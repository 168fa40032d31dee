import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCatalogue } from "./catalogue.ts";
import { isSold } from "./operation.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-catalogue-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const engine = join(import.meta.dir, "../for-catalogues.ts");
const model = (id: string, more = ""): string =>
  `import { defineModel } from ${JSON.stringify(engine)};
   ${more}
   export const own = defineModel({ id: "${id}", kind: "chat", protocols: ["openai"], price: { input: "1", output: "2" } });`;
const idsNow = async (): Promise<string[]> =>
  (await loadCatalogue([], { own: [folder] })).models.map(({ id }) => id);

test("a file of one's own is read as it is now", async () => {
  write("own.ts", model("first"));
  expect(await idsNow()).toEqual(["first"]);
  write("own.ts", model("second"));
  expect(await idsNow()).toEqual(["second"]);
});

test("a file that could not be loaded is read again once it is mended", async () => {
  const broken = [
    model("broken", 'throw new Error("not today");'),
    model("broken", 'import { nothing } from "./helper.ts";\nexport const other = nothing.length;'),
    model("broken", 'import "./missing.ts";'),
  ];
  write("helper.ts", "export const something = 1;");
  for (const [at, text] of broken.entries()) {
    write("own.ts", text);
    expect(await idsNow().catch(() => "refused")).toBe("refused");
    write("own.ts", model(`mended-${at}`));
    expect(await idsNow()).toEqual([`mended-${at}`]);
  }
});

test("nothing that is paid for by its work, and not by the call, is given up within half a minute", async () => {
  const { operations } = await loadCatalogue([join(import.meta.dir, "../../../catalogue")]);
  const hasty = operations
    .filter(isSold)
    .filter(({ price }) => price.kind !== "free" && price.kind !== "per_unit")
    .filter(({ firstByteTimeoutMs }) => firstByteTimeoutMs < 120_000);
  expect(hasty.map(({ id }) => id)).toEqual([]);
});
