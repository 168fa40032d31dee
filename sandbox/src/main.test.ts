import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, failureOf } from "./test-sandbox.ts";

async function start(env: Record<string, string> = {}, stderr: "inherit" | "pipe" = "inherit") {
  const program = Bun.spawn([process.execPath, `${import.meta.dir}/main.ts`], {
    env: { ...process.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr,
  });
  const { value } = await program.stdout.getReader().read();
  const line = new TextDecoder().decode(value);
  const url = String(at(JSON.parse(line), "sandbox"));
  return { program, line, url };
}

const bearer = { authorization: "Bearer sandbox" };

test("says where it listens in one line, serves links of its own, and ends well on SIGTERM", async () => {
  const { program, line, url } = await start();
  expect(line).toBe(`${JSON.stringify({ sandbox: url })}\n`);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);

  const json: unknown = await (
    await fetch(`${url}/tikhub/tiktok/web/fetch_tag_detail?tag_name=cats`, { headers: bearer })
  ).json();
  const link = String(at(json, "cache_url"));
  expect(link).toStartWith(`${url}/public/reseller-cache/`);
  expect(await (await fetch(link)).json()).toEqual(json);

  program.kill("SIGTERM");
  expect(await program.exited).toBe(0);
});

test("takes its key, its public address, its control token and its poll quota from the environment", async () => {
  const { program, url } = await start({
    SANDBOX_KEY: "k",
    SANDBOX_CONTROL_TOKEN: "t",
    SANDBOX_PUBLIC_URL: "https://gate.test/links/",
    SANDBOX_POLL_QPS: "1",
  });
  const path = `${url}/tikhub/tiktok/web/fetch_tag_detail?tag_name=cats`;
  expect((await fetch(path, { headers: bearer })).status).toBe(401);
  const json: unknown = await (await fetch(path, { headers: { authorization: "Bearer k" } })).json();
  expect(at(json, "cache_url")).toStartWith("https://gate.test/links/reseller-cache/");

  const poll = () => fetch(`${url}/dashscope/tasks/1`, { headers: { authorization: "Bearer k" } });
  expect([(await poll()).status, (await poll()).status]).toEqual([200, 429]);

  expect((await fetch(`${url}/_control/book`)).status).toBe(403);
  expect((await fetch(`${url}/_control/book`, { headers: { "x-sandbox-control": "t" } })).status).toBe(200);
  program.kill("SIGTERM");
  await program.exited;
});

test("keeps links good over restarts in the file it is given, and serves without a file that it cannot use", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-file-"));
  const file = { SANDBOX_FILE: join(folder, "sandbox.db"), SANDBOX_PUBLIC_URL: "http://gate.test/s" };
  const cached = async ({ program, url }: Awaited<ReturnType<typeof start>>, path: string) => {
    const answer: unknown = await (await fetch(url + path, { headers: bearer })).json();
    program.kill("SIGKILL");
    await program.exited;
    return answer;
  };
  const given = await cached(await start(file), "/tikhub/tiktok/web/fetch_tag_detail?tag_name=cats");
  const link = String(at(given, "cache_url")).replace("http://gate.test/s", "/public");
  expect(await cached(await start(file), link)).toEqual(given);

  writeFileSync(join(folder, "words"), "this is no file of shelves, and it stays as it is ".repeat(99));
  const unusable = await start({ SANDBOX_FILE: join(folder, "words") }, "pipe");
  expect((await fetch(`${unusable.url}/openai/models`, { headers: bearer })).status).toBe(200);
  unusable.program.kill("SIGTERM");
  expect(await new Response(unusable.program.stderr).text()).toContain("forgets its work when it stops");
  rmSync(folder, { recursive: true, force: true });
});

test("exits with its parent when told to, and only then", async () => {
  const bound = await start({ SANDBOX_EXIT_WITH_PARENT: "1" });
  const free = await start({ SANDBOX_EXIT_WITH_PARENT: "" });
  await bound.program.stdin.end();
  await free.program.stdin.end();

  expect(await bound.program.exited).toBe(0);
  expect((await fetch(`${free.url}/openai/models`, { headers: bearer })).status).toBe(200);
  free.program.kill("SIGTERM");
  await free.program.exited;
});

test("is not interrupted with its parent, which may have calls to end; alone it is", async () => {
  const bound = await start({ SANDBOX_EXIT_WITH_PARENT: "1" });
  const free = await start({ SANDBOX_EXIT_WITH_PARENT: "" });
  bound.program.kill("SIGINT");
  free.program.kill("SIGINT");

  expect(await free.program.exited).toBe(0);
  expect((await fetch(`${bound.url}/openai/models`, { headers: bearer })).status).toBe(200);
  await bound.program.stdin.end();
  expect(await bound.program.exited).toBe(0);
});

test("dies with a parent that was killed and could not say goodbye", async () => {
  const parentSource = `
    const child = Bun.spawn([process.execPath, ${JSON.stringify(`${import.meta.dir}/main.ts`)}], {
      env: { ...process.env, SANDBOX_EXIT_WITH_PARENT: "1" }, stdin: "pipe", stdout: "inherit" });
    await child.exited;`;
  const parent = Bun.spawn([process.execPath, "-e", parentSource], { stdin: "ignore", stdout: "pipe" });
  const { value } = await parent.stdout.getReader().read();
  const url = String(at(JSON.parse(new TextDecoder().decode(value)), "sandbox"));
  expect((await fetch(`${url}/openai/models`, { headers: bearer })).status).toBe(200);

  parent.kill("SIGKILL");
  await parent.exited;
  await Bun.sleep(300);
  expect(await failureOf(fetch(`${url}/openai/models`, { headers: bearer }))).toBeInstanceOf(Error);
});
