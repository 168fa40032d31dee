import { expect, test } from "bun:test";
import { checkAnswers, load } from "./wrk.ts";

const request = { method: "GET", path: "/", headers: {}, body: undefined } as const;
const ask = { keys: ["key"], request, connections: 64, seconds: 1 };

/** Answers 64 callers in step, as a group commit does, and from the given answer on with another status. */
function serveInStep(statusOf: (answer: number) => number) {
  let [answers, waiting] = [0, [] as (() => void)[]];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length < 64) return;
        const all = waiting;
        waiting = [];
        setImmediate(() => all.forEach((go) => go()));
      });
      return new Response("", { status: statusOf(answers++) });
    },
  });
  return { url: server.url.href, stop: () => server.stop(true) };
}

test.skipIf(Bun.which("wrk") === null)("one wrong answer in thousands is noticed", async () => {
  const good = serveInStep(() => 200);
  expect((await load({ ...ask, url: good.url })).requests).toBeGreaterThan(100);
  await good.stop();

  const bad = serveInStep((answer) => (answer === 100 ? 500 : 200));
  const told = await load({ ...ask, url: bad.url }).then(
    () => "all is well",
    (error: unknown) => String(error),
  );
  expect(told).toMatch(/answers: \d+ × 200, 1 × 500; wanted: 200/);
  await bad.stop();
});

test.skipIf(Bun.which("wrk") === null)("whom nobody had time to answer is asked for longer", async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      await Bun.sleep(1_300);
      return new Response("");
    },
  });
  const { requests } = await load({ ...ask, url: server.url.href });
  expect(requests).toBeGreaterThan(0);
  await server.stop(true);
});

test("an answer that was not counted is no answer", () => {
  const answers = { requests: 100, statuses: new Map([[200, 99]]), broken: 0 };
  expect(() => checkAnswers(answers, ask)).toThrow("answers: 99 × 200");
  expect(() => checkAnswers({ ...answers, requests: 99 }, ask)).not.toThrow();
});

test("other statuses are borne only by whoever says so, and only so many", () => {
  const answers = {
    requests: 100,
    statuses: new Map([
      [429, 98],
      [200, 2],
    ]),
    broken: 0,
  };
  expect(() => checkAnswers(answers, { ...ask, status: 429 })).toThrow("wanted: 429");
  expect(() => checkAnswers(answers, { ...ask, status: 429, otherwiseShareMax: 0.01 })).toThrow(
    "wanted: 429",
  );
  expect(() => checkAnswers(answers, { ...ask, status: 429, otherwiseShareMax: 0.02 })).not.toThrow();
});

test("a run in which nobody was answered, or somebody half, is none", () => {
  expect(() => checkAnswers({ requests: 0, statuses: new Map(), broken: 0 }, ask)).toThrow("answers: none");
  expect(() => checkAnswers({ requests: 1, statuses: new Map([[200, 1]]), broken: 1 }, ask)).toThrow(
    "1 broken",
  );
});
