/** Where a connection leads. */
export interface Origin {
  readonly secure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** As the Host header says it. */
  readonly host: string;
  /** What a name and a password in the address ask for. */
  readonly authorization: string | undefined;
}

/** An address, taken apart. */
export interface Target {
  readonly origin: Origin;
  /** Path and query, as the request line says them. */
  readonly path: string;
}

export type TargetFinder = (url: string) => Target;

/**
 * Takes addresses apart. The same few origins are asked all the time, so each is read once; there are no more of them
 * than the configuration names. Most addresses come again too; those with a query do not, and are the callers' own.
 */
export function createTargetFinder(): TargetFinder {
  const origins = new Map<string, Origin>();
  const targets = new Map<string, Target>();

  const originOf = (text: string): Origin => {
    const known = origins.get(text);
    if (known) return known;
    const origin = readOrigin(new URL(text));
    origins.set(text, origin);
    return origin;
  };

  const readTarget = (url: string): Target => {
    const slash = url.indexOf("/", url.indexOf("://") + 3);
    const path = slash === -1 ? "" : url.slice(slash);
    if (isPlain(path)) return { origin: originOf(url.slice(0, slash)), path };
    const { protocol, username, password, host, pathname, search } = new URL(url);
    const user = username === "" && password === "" ? "" : `${username}:${password}@`;
    return { origin: originOf(`${protocol}//${user}${host}`), path: pathname + search };
  };

  return (url) => {
    const known = targets.get(url);
    if (known) return known;
    const target = readTarget(url);
    if (url.includes("?")) return target;
    if (targets.size >= targetsMax) targets.clear();
    targets.set(url, target);
    return target;
  };
}

const targetsMax = 1_000;

/** Paths of which a URL parser would change nothing; it is asked about all others. */
const isPlain = (path: string): boolean => plainPath.test(path) && !path.includes("/.");
const plainPath = /^\/[\w./~:@!$&()*+,;=?%-]*$/;

function readOrigin({ protocol, hostname, port, host, username, password }: URL): Origin {
  if (protocol !== "http:" && protocol !== "https:") throw new Error(`Nobody is reached by ${protocol}`);
  const secure = protocol === "https:";
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    secure,
    // An IPv6 address stands in brackets only within an address.
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    host,
    authorization: user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`,
  };
}
