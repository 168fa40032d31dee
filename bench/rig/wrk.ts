import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { endingWithUs, openTemporaryFolder, tied } from "./leftovers.ts";

export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** How many events the answer must have, when it is a stream. */
  readonly eventsMin?: number;
}

export interface Load {
  readonly url: string;
  readonly keys: readonly string[];
  /** What is sent besides the request's own headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The only status that counts as having done the work; 200 when not given. */
  readonly status?: number;
  /** How many of the answers may have another one; none when not given. */
  readonly otherwiseShareMax?: number;
  /** Adds an Idempotency-Key of its own to each request. */
  readonly idempotent?: boolean;
  readonly request: LoadRequest;
  readonly connections: number;
  readonly seconds: number;
  /** How long a caller waits on average between an answer and its next request; not at all when absent. */
  readonly thinkMs?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * On a machine that others take away for seconds nobody may have been answered when the time is up, which says nothing of
 * whom is asked: then twice as long, and again, up to this.
 */
const secondsMax = 16;

/**
 * Asks as fast as the answers come (or after a pause of thought), with one thread of wrk, the keys in turn. Fails unless
 * everybody was answered as asked for: a fast refusal is no result.
 */
export async function load(asked: Load): Promise<LoadResult> {
  for (let { seconds } = asked; ; seconds *= 2) {
    const { statuses, broken, ...result } = await runWrk(asked, seconds);
    if (result.requests === 0 && broken === 0 && seconds * 2 <= secondsMax) continue;
    checkAnswers({ statuses, broken, requests: result.requests }, asked);
    return result;
  }
}

async function runWrk(asked: Load, seconds: number): Promise<LoadResult & Answers> {
  const { url, connections } = asked;
  const folder = openTemporaryFolder("wrk");
  try {
    const script = join(folder.path, "load.lua");
    writeFileSync(script, luaOf(asked));
    const words = [
      ...endingWithUs,
      "wrk",
      "-t1",
      `-c${connections}`,
      `-d${seconds}s`,
      "--timeout",
      "30s",
      "-s",
      script,
      url,
    ];
    const child = tied(Bun.spawn(words, { stdout: "pipe", stderr: "inherit" }));
    const output = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`wrk failed: ${output}`);
    return readOutput(output);
  } finally {
    folder.remove();
  }
}

export interface Answers {
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that got no answer, or half of one, or a stream without all of its events. */
  readonly broken: number;
}

export function checkAnswers(
  { requests, statuses, broken }: Answers,
  {
    status = 200,
    otherwiseShareMax = 0,
    connections,
  }: Pick<Load, "status" | "otherwiseShareMax" | "connections">,
): void {
  const counted = statuses.values().reduce((sum, count) => sum + count, 0);
  const otherwise = counted - (statuses.get(status) ?? 0);
  if (requests > 0 && counted === requests && broken === 0 && otherwise <= otherwiseShareMax * requests)
    return;
  const seen = [...statuses].map(([code, count]) => `${count} × ${code}`).join(", ") || "none";
  throw new Error(
    `${broken} broken requests of ${requests} at ${connections} connections; answers: ${seen}; wanted: ${status}`,
  );
}

/** A text as Lua writes it; what JSON writes is understood there as long as nothing is escaped by \u. */
const lua = (text: string): string => JSON.stringify(text);

/**
 * wrk runs this inside its own process. What its thread counts can be read from outside only as numbers that are
 * globals, so there is one for each status; nothing has to be written out while requests run.
 */
const luaOf = ({ request, headers = {}, keys, thinkMs, idempotent = false }: Load): string => `
  local keys = { ${keys.map(lua).join(", ")} }
  local headers = { ${Object.entries({ ...request.headers, ...headers })
    .map(([name, value]) => `[${lua(name)}] = ${lua(value)}`)
    .join(", ")} }
  local body = ${request.body === undefined ? "nil" : lua(request.body)}
  local prepared, at, threads, run = {}, 0, {}, os.time()
  incomplete = 0

  function setup(thread) table.insert(threads, thread) end

  function init()
    math.randomseed(os.time())
    run = tostring(os.time()) .. tostring(math.random(1000000000))
    for index, key in ipairs(keys) do
      headers["authorization"] = "Bearer " .. key
      prepared[index] = wrk.format(${lua(request.method)}, ${lua(request.path)}, headers, body)
    end
  end

  function request()
    at = at + 1
    local index = at % #keys + 1
    ${
      idempotent
        ? `headers["authorization"] = "Bearer " .. keys[index]
    headers["idempotency-key"] = run .. at
    return wrk.format(${lua(request.method)}, ${lua(request.path)}, headers, body)`
        : "return prepared[index]"
    }
  end

  ${thinkMs === undefined ? "" : `function delay() return math.random(0, ${Math.round(2 * thinkMs)}) end`}

  function response(status, _, body)
    local name = "answered" .. status
    _G[name] = (_G[name] or 0) + 1
    ${request.eventsMin === undefined ? "" : `if select(2, body:gsub("data: ", "")) < ${request.eventsMin} then incomplete = incomplete + 1 end`}
  end

  function done(summary, latency)
    local errors = summary.errors
    print("RESULT " .. summary.requests .. " " .. summary.duration .. " " .. latency:percentile(50) .. " " ..
      latency:percentile(99) .. " " .. (errors.connect + errors.read + errors.write + errors.timeout))
    for _, thread in ipairs(threads) do
      print("INCOMPLETE " .. thread:get("incomplete"))
      for status = 100, 599 do
        local count = thread:get("answered" .. status)
        if count then print("ANSWERED " .. status .. " " .. count) end
      end
    end
  end
`;

function readOutput(output: string): LoadResult & Answers {
  const numbers = /^RESULT (.+)$/m.exec(output)?.[1]?.split(" ").map(Number);
  if (!numbers) throw new Error(`wrk said nothing that can be read: ${output}`);
  const [requests = 0, durationMicros = 1, p50Micros = 0, p99Micros = 0, broken = 0] = numbers;
  const incomplete = Number(/^INCOMPLETE (\d+)$/m.exec(output)?.[1]);
  const statuses = new Map<number, number>();
  for (const [, status, count] of output.matchAll(/^ANSWERED (\d{3}) (\d+)$/gm))
    statuses.set(Number(status), Number(count));
  return {
    requests,
    requestsPerSecond: requests / (durationMicros / 1e6),
    p50Ms: p50Micros / 1000,
    p99Ms: p99Micros / 1000,
    statuses,
    broken: broken + incomplete,
  };
}
