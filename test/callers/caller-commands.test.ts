// The caller's commands as a person types them: the real program, beside a gateway it only knows by HTTP.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openScriptedGateway } from "../../client/scripted-gateway.ts";
import { findFreePort } from "../support/free-port.ts";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram, runTollgate, type Ran } from "../support/run-tollgate.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";

let gateway: TestGateway;
let account: TestAccount;
let folder: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount();
  folder = mkdtempSync(join(tmpdir(), "tollgate-caller-"));
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const tollgate = (words: readonly string[], environment: Record<string, string> = {}): Promise<Ran> =>
  runTollgate(words, {
    folder,
    environment: { TOLLGATE_KEY: account.key, TOLLGATE_BASE_URL: gateway.url, ...environment },
  });

const rerankWords = ["rerank.create", "--arg", "query=tea", "--json-arg", 'documents=["green tea","a car"]'];
const snapshotWords = ["financial.metrics.snapshot", "--arg", "ticker=AAPL"];

/** The answer of a command as a program reads it. */
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe("tollgate call", () => {
  test("shows the answer, what it cost, and the id of its receipt", async () => {
    const { code, out } = await tollgate(["call", ...snapshotWords]);
    expect(code).toBe(0);
    expect(out).toContain('"snapshot"');
    expect(out).toMatch(/^charged +0\.048 USD$/m);
    const id = /^request +(\S+)$/m.exec(out)?.[1] ?? "";
    const shown = await tollgate(["receipt", id]);
    expect(shown.out).toMatch(/^charged +0\.048 USD$/m);
    expect(shown.out).toContain("financial.metrics.snapshot");
  });

  test("with --json is one object, with the charge the ledger has", async () => {
    const { out } = await tollgate(["call", ...rerankWords, "--idempotency-key", "mine", "--json"]);
    const answer = json(out);
    expect(answer).toMatchObject({ status: 200, idempotency_key: "mine", attempts: 1 });
    const receipt = json((await tollgate(["receipt", String(answer["request_id"]), "--json"])).out);
    expect(receipt["charged_micros_usd"]).toBe(Number(answer["charged_micros_usd"]));
  });

  test("with --stream shows the words as they come, and with --json the events", async () => {
    const chat = [
      "call",
      "chat.completions.create",
      "--arg",
      "model=gpt-4o-mini",
      "--json-arg",
      'messages=[{"role":"user","content":"Say hello."}]',
      "--json-arg",
      "max_tokens=40",
      "--stream",
    ];
    const people = await tollgate(chat);
    expect(people.code).toBe(0);
    expect(people.out).not.toContain("{");
    expect(people.out).toMatch(/\w+ \w+[^]*\ncharged +0\.\d+ USD\n/);
    const program = json((await tollgate([...chat, "--json"])).out);
    expect(program["events"]).toBeArray();
    expect(Number(program["charged_micros_usd"])).toBeGreaterThan(0);
  });

  test("with --stream stops when its reader has gone, without a word", async () => {
    await gateway.sandbox.fault({ vendor: "openai", mode: "slow_body", latency_ms: 1_000 });
    const chat = `call chat.completions.create --arg model=gpt-4o-mini --json-arg max_tokens=400 --stream`;
    const messages = '--json-arg \'messages=[{"role":"user","content":"Tell me a long story."}]\'';
    const program = `"${process.execPath}" "${join(projectFolder, "gateway/src/main.ts")}"`;
    const asked = (await gateway.sandbox.book()).length;
    const running = runProgram(
      ["bash", "-c", `${program} ${chat} ${messages} | head -c 3; echo "\${PIPESTATUS[0]}"`],
      { folder, environment: { TOLLGATE_KEY: account.key, TOLLGATE_BASE_URL: gateway.url } },
    );
    // How long the program takes to start is not the question.
    await until(async () => (await gateway.sandbox.book()).length > asked);
    const startedMs = performance.now();
    const ran = await running;
    expect(ran.errors).toBe("");
    expect(ran.out).toMatch(/^.{3}0\n$/);
    // The whole of it takes eight.
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    // It is read on for its bill, which must not come in the midst of another test's.
    await until(async () => (await gateway.balance(account)).held === 0);
  });

  test("with --stream fails when the vendor breaks off, and says so below the part that came, with its cost", async () => {
    const chat = [
      "call",
      "chat.completions.create",
      "--arg",
      "model=gpt-4o-mini",
      "--json-arg",
      'messages=[{"role":"user","content":"Tell me a story."}]',
      "--stream",
    ];
    await gateway.sandbox.fault({ vendor: "openai", mode: "cut_stream", after_events: 5 });
    const people = await tollgate(chat);
    expect(people.code).toBe(1);
    expect(people.out).toMatch(/^\w.*\n$/);
    expect(people.errors).toMatch(
      /broke off.* Money moved: 0\.\d+ USD\. \(provider_request_failed; request /,
    );
    await gateway.sandbox.fault({ vendor: "openai", mode: "cut_stream", after_events: 5 });
    const program = await tollgate([...chat, "--json"]);
    expect(program).toMatchObject({ code: 1, out: "" });
    const failure = json(program.errors);
    expect(failure).toMatchObject({ kind: "unavailable", money_moved: "yes" });
    const receipt = json((await tollgate(["receipt", String(failure["request_id"]), "--json"])).out);
    expect(receipt["charged_micros_usd"]).toBe(Number(failure["charged_micros_usd"]));
  });

  test("that could cost more than its cap fails, and says that no money moved", async () => {
    const before = await gateway.balance(account);
    const people = await tollgate(["call", ...snapshotWords, "--max-price-usd", "0.01"]);
    expect(people).toMatchObject({ code: 1, out: "" });
    expect(people.errors).toContain("No money moved.");
    const program = await tollgate(["call", ...snapshotWords, "--max-price-usd", "0.01", "--json"]);
    expect(json(program.errors)).toMatchObject({
      code: "estimated_price_exceeds_max_price",
      status: 402,
      money_moved: "no",
      charged_micros_usd: 0,
    });
    expect(await gateway.balance(account)).toEqual(before);
  });

  test("made again under its key says what the first one cost", async () => {
    const documents = JSON.stringify(["green tea ".repeat(100)]);
    const long = ["rerank.create", "--arg", "query=tea", "--json-arg", `documents=${documents}`];
    const words = ["call", ...long, "--idempotency-key", "twice"];
    const first = json((await tollgate([...words, "--json"])).out);
    const charged = Number(first["charged_micros_usd"]);
    expect(charged).toBeGreaterThan(0);
    const paid = await gateway.balance(account);
    const again = await tollgate([...words, "--json"]);
    expect(again.code).toBe(1);
    expect(json(again.errors)).toMatchObject({
      code: "request_already_completed",
      status: 409,
      charged_micros_usd: charged,
    });
    expect((await tollgate(words)).errors).toContain(`${charged / 1_000_000} USD`);
    expect(await gateway.balance(account)).toEqual(paid);
  });

  test("called wrongly is exit code 2, and a key in the wrong place does not come back", async () => {
    for (const words of [
      ["call"],
      ["call", "no.such.operation"],
      ["call", ...rerankWords, "--json-arg", "top_n=one"],
      ["call", ...rerankWords, "--arg", "query=twice"],
      ["call", ...rerankWords, "--key", account.key],
      ["usage", "--days", "0"],
    ]) {
      const { code, out, errors } = await tollgate(words);
      expect([words.join(" "), code, out]).toEqual([words.join(" "), 2, ""]);
      expect(errors).not.toContain(account.key);
    }
  });

  test("with an argument of the wrong type says which flag gives the right one, and programs hear it too", async () => {
    const text = "--arg gives text: give documents by --json-arg.";
    const words = ["rerank.create", "--arg", "query=tea", "--arg", 'documents=["green tea"]'];
    for (const command of ["call", "quote"]) {
      const people = await tollgate([command, ...words]);
      expect(people).toMatchObject({ code: 1, out: "" });
      expect(people.errors).toStartWith("documents: expected array, received string. No money moved.");
      expect(people.errors).toEndWith(`) ${text}\n`);
      const failure = json((await tollgate([command, ...words, "--json"])).errors);
      expect(failure).toMatchObject({ code: "invalid_parameters", status: 400, money_moved: "no" });
      expect(failure["error"]).toEndWith(text);
    }
    const follow = await tollgate(["call", "social_a.follow", "--json-arg", "target_user_id=18010"]);
    expect(follow.errors).toEndWith(" --json-arg gives what is not text: give target_user_id by --arg.\n");
    // Nothing but the type is a matter of the flag.
    expect((await tollgate(["call", "rerank.create", "--arg", "query=tea"])).errors).toEndWith(")\n");
  });

  test("with a cap or a key that cannot be sent is exit code 2, and nothing is asked", async () => {
    const wrong: readonly (readonly [string, string, string])[] = [
      ["--max-price-usd", "0.05€", "--max-price-usd takes USD, like 0.05.\n"],
      ["--max-price-usd", "0,05", "--max-price-usd takes USD, like 0.05.\n"],
      ["--idempotency-key", "two words", "--idempotency-key takes 1 to 255 visible ASCII characters.\n"],
    ];
    const before = await gateway.balance(account);
    for (const [flag, value, errors] of wrong) {
      expect(await tollgate(["call", ...rerankWords, flag, value])).toMatchObject({
        code: 2,
        out: "",
        errors,
      });
    }
    expect(await tollgate(["call", ...snapshotWords, "--idempotency-key", "k"])).toMatchObject({
      code: 2,
      errors: "financial.metrics.snapshot takes no idempotency key; leave --idempotency-key out.\n",
    });
    expect(await gateway.balance(account)).toEqual(before);
  });

  test("asked for in the wrong way says which flag to change, and what is refused keeps its name", async () => {
    const gemini = [
      "models.stream_generate_content",
      "--arg",
      "model=gemini-2.5-flash",
      "--json-arg",
      "contents=[]",
    ];
    expect(await tollgate(["call", ...gemini])).toMatchObject({
      code: 2,
      errors: "models.stream_generate_content would stream here; ask for it with --stream.\n",
    });
    expect(await tollgate(["call", ...rerankWords, "--stream"])).toMatchObject({
      code: 2,
      errors: "rerank.create does not stream; leave --stream out.\n",
    });
    const { code, errors } = await tollgate(["call", "rerank.create", "--arg", "query=tea"]);
    expect(code).toBe(1);
    expect(errors).toStartWith("documents is required. No money moved. (invalid_parameters, 400;");
  });

  test("that a vendor refused in words of its own says them, and hands a program the whole answer", async () => {
    const undated = ["call", "traffic_analytics.website.traffic_engagement", "--arg", "domain=x.com"];
    const why = "start_date and end_date are required as YYYY-MM";
    const people = await tollgate(undated);
    expect(people.code).toBe(1);
    expect(people.errors).toContain(why);
    expect(people.errors).toContain(". No money moved. (parameters, 400;");
    const program = json((await tollgate([...undated, "--json"])).errors);
    expect(program).toMatchObject({ status: 400, body: { meta: { error_message: why } } });
  });

  test("needs the key in the environment", async () => {
    const { code, errors } = await tollgate(["call", ...rerankWords], { TOLLGATE_KEY: "" });
    expect(code).toBe(1);
    expect(errors).toContain("TOLLGATE_KEY");
    const wrong = await tollgate(["call", ...rerankWords, "--json"], { TOLLGATE_KEY: "tgk_wrong" });
    expect(json(wrong.errors)).toMatchObject({ kind: "credentials", money_moved: "no" });
  });
});

// Elsewhere a machine has to be told of a second address of its own first.
test.skipIf(process.platform !== "linux")(
  "a server that listens elsewhere than usual is asked there, and nobody else is shown the key",
  async () => {
    const asked: string[] = [];
    const port = await findFreePort();
    const listen = (hostname: string): Bun.Server<undefined> =>
      Bun.serve({
        hostname,
        port,
        fetch: (request) => {
          asked.push(`${hostname} ${request.headers.get("authorization")}`);
          return new Response(null, { status: 401 });
        },
      });
    const here = listen("127.0.0.2");
    const somebody = listen("127.0.0.1");
    try {
      const key = `tgk_${"a".repeat(36)}`;
      writeFileSync(join(folder, ".env"), `HOST=127.0.0.2\nPORT=${port}\nTOLLGATE_KEY=${key}\n`);
      await runTollgate(["usage"], { folder });
      expect(asked).toEqual([`127.0.0.2 Bearer ${key}`]);
    } finally {
      rmSync(join(folder, ".env"));
      await Promise.all([here.stop(true), somebody.stop(true)]);
    }
  },
);

test("tollgate quote tells the price and spends nothing", async () => {
  const before = await gateway.balance(account);
  const { code, out } = await tollgate(["quote", ...snapshotWords]);
  expect(code).toBe(0);
  expect(out).toContain("at most 0.048 USD");
  expect(json((await tollgate(["quote", ...snapshotWords, "--json"])).out)).toMatchObject({
    object: "cost_estimate",
    max_cost_micros_usd: 48_000,
  });
  expect(await gateway.balance(account)).toEqual(before);
});

test("tollgate usage shows a row for each day, the sum, and a bar where money was spent", async () => {
  await awayFromMidnight();
  await tollgate(["call", ...snapshotWords]);
  const { code, out } = await tollgate(["usage", "--days", "3"]);
  expect(code).toBe(0);
  const rows = out.split("\n").filter((line) => /^\d{4}-\d\d-\d\d /.test(line));
  expect(rows).toHaveLength(3);
  expect(rows[2]).toContain("█".repeat(24));
  expect(rows[0]).not.toContain("█");
  const report = json((await tollgate(["usage", "--json"])).out) as {
    totals: { charged_micros_usd: number };
    buckets: unknown[];
  };
  expect(report.buckets).toHaveLength(7);
  expect(2_000_000 - (await gateway.balance(account)).balance).toBe(report.totals.charged_micros_usd);
}, 120_000);

test("tollgate call says of a task that it goes on, when it is charged, and how to wait for it", async () => {
  const video = [
    "video.synthesis.create",
    "--arg",
    "model=wan2.6-t2v",
    "--json-arg",
    'input={"prompt":"a fox"}',
  ];
  const { code, out } = await tollgate(["call", ...video]);
  expect(code).toBe(0);
  expect(out).toContain("not yet");
  expect(out).toMatch(/tollgate watch [\w-]{36}$/m);
});

// These wait for seconds, and so they wait together.
test.concurrent("tollgate call says where it asked when nobody is there", async () => {
  const nobody = "http://127.0.0.1:9";
  const asked = [["usage"], ["call", ...snapshotWords]].map((words) =>
    tollgate(words, { TOLLGATE_BASE_URL: nobody }),
  );
  for (const { code, errors } of await Promise.all(asked)) {
    expect(code).toBe(1);
    expect(errors).toStartWith(
      `The gateway could not be reached. It was asked at ${nobody} (TOLLGATE_BASE_URL). No money moved.`,
    );
  }
});

test.concurrent("tollgate watch waits until a task has ended, and fails when the task did", async () => {
  const state = (status: string, more: object = {}) => ({
    status: 200,
    body: { output: { task_id: "t1", task_status: status, ...more }, request_id: "r" },
  });
  const good = await openScriptedGateway({
    answers: [state("RUNNING"), state("SUCCEEDED", { video_url: "http://v/1" })],
  });
  const bad = await openScriptedGateway({ answers: [state("FAILED", { code: "Oops", message: "no luck" })] });
  try {
    const succeeded = await tollgate(["watch", "t1"], { TOLLGATE_BASE_URL: good.transport.baseUrl });
    expect(succeeded).toMatchObject({ code: 0, errors: "" });
    expect(succeeded.out).toContain("http://v/1");
    expect(good.calls.map(({ path }) => path)).toEqual([
      "/apis/v1/services/aigc/tasks/t1",
      "/apis/v1/services/aigc/tasks/t1",
    ]);
    const failed = await tollgate(["watch", "t1"], { TOLLGATE_BASE_URL: bad.transport.baseUrl });
    expect(failed.code).toBe(1);
    expect(failed.out).toContain("Oops: no luck");
  } finally {
    await Promise.all([good.close(), bad.close()]);
  }
});

test.concurrent("an answer longer than a pipe can hold comes out whole, however late it is read", async () => {
  const words = Array.from({ length: 20 }, (_, at) => `word ${at}`);
  const input = `input=${JSON.stringify(words)}`;
  const embeddings = ["embeddings.create", "--arg", "model=text-embedding-3-small", "--json-arg", input];
  const { code, out } = await readLate(["call", ...embeddings, "--json"], "cat");
  expect(code).toBe(0);
  expect(out.length).toBeGreaterThan(64 * 1024);
  expect(json(out)).toMatchObject({ status: 200, data: { data: words.map(() => ({})) } });
});

test.concurrent("an answer longer than a pipe can hold holds nobody up when its reader leaves early", async () => {
  expect(await readLate(["contract"], "head -c 1")).toEqual({ code: 0, out: "{", errors: "" });
});

test("no caller's command makes a data folder or a secret", () => {
  expect(existsSync(join(folder, "data"))).toBe(false);
});

/** The program with its output in a pipe, read only when it had the time to end. */
function readLate(words: readonly string[], reader: string): Promise<Ran> {
  const program = [process.execPath, join(projectFolder, "gateway/src/main.ts"), ...words];
  const script = `set -o pipefail; "$@" | (sleep 3; ${reader})`;
  const environment = { TOLLGATE_KEY: account.key, TOLLGATE_BASE_URL: gateway.url };
  return runProgram(["bash", "-c", script, "bash", ...program], { folder, environment });
}
