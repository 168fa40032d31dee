import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTemporaryFolder, tied } from "./leftovers.ts";

export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Adds an Idempotency-Key of its own to each request. */
  readonly idempotent?: boolean;
}

export interface Load {
  readonly url: string;
  readonly keys: readonly string[];
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
  /** Answers by status, but for the last few of a run. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly broken: number;
}

/** Asks as fast as the answers come (or after a pause of thought), with one thread of wrk, the keys in turn. */
export async function load({ url, keys, request, connections, seconds, thinkMs }: Load): Promise<LoadResult> {
  const folder = openTemporaryFolder("tollgate-wrk-");
  try {
    const script = join(folder.path, "load.lua");
    writeFileSync(script, luaOf(request, keys, thinkMs));
    const words = ["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "30s", "-s", script, url];
    const child = tied(Bun.spawn(words, { stdout: "pipe", stderr: "inherit" }));
    const output = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`wrk failed: ${output}`);
    return resultOf(output);
  } finally {
    folder.remove();
  }
}

/** A text as Lua writes it; what JSON writes is understood there as long as nothing is escaped by \u. */
const lua = (text: string): string => JSON.stringify(text);

/** wrk runs this inside its own process; statuses are counted by the thread and printed when all is done. */
const luaOf = (request: LoadRequest, keys: readonly string[], thinkMs: number | undefined): string => `
  local keys = { ${keys.map(lua).join(", ")} }
  local headers = { ${Object.entries(request.headers)
    .map(([name, value]) => `[${lua(name)}] = ${lua(value)}`)
    .join(", ")} }
  local body = ${request.body === undefined ? "nil" : lua(request.body)}
  local prepared, at, threads, run = {}, 0, {}, os.time()
  statuses = ""
  local counts = {}

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
      request.idempotent === true
        ? `headers["authorization"] = "Bearer " .. keys[index]
    headers["idempotency-key"] = run .. at
    return wrk.format(${lua(request.method)}, ${lua(request.path)}, headers, body)`
        : "return prepared[index]"
    }
  end

  ${thinkMs === undefined ? "" : `function delay() return math.random(0, ${Math.round(2 * thinkMs)}) end`}

  function response(status)
    counts[status] = (counts[status] or 0) + 1
    if at % 64 == 0 or counts[status] < 64 then
      statuses = ""
      for seen, count in pairs(counts) do statuses = statuses .. seen .. "=" .. count .. " " end
    end
  end

  function done(summary, latency)
    local errors = summary.errors
    print("RESULT " .. summary.requests .. " " .. summary.duration .. " " .. latency:percentile(50) .. " " ..
      latency:percentile(99) .. " " .. (errors.connect + errors.read + errors.write + errors.timeout))
    for _, thread in ipairs(threads) do print("STATUSES " .. thread:get("statuses")) end
  end
`;

function resultOf(output: string): LoadResult {
  const numbers = /^RESULT (.+)$/m.exec(output)?.[1]?.split(" ").map(Number);
  if (!numbers) throw new Error(`wrk said nothing that can be read: ${output}`);
  const [requests = 0, durationMicros = 1, p50Micros = 0, p99Micros = 0, broken = 0] = numbers;
  const statuses = new Map<number, number>();
  for (const [, status, count] of output.matchAll(/\b(\d{3})=(\d+)/g)) {
    statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + Number(count));
  }
  return {
    requests,
    requestsPerSecond: requests / (durationMicros / 1e6),
    p50Ms: p50Micros / 1000,
    p99Ms: p99Micros / 1000,
    statuses,
    broken,
  };
}
