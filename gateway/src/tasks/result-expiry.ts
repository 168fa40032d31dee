import { dayMs } from "../platform/utc-day.ts";

const weekMs = 7 * dayMs;

/**
 * When a signed link stops working: what it says itself (`Expires` as Unix seconds, or a lifetime beside the time of
 * signing, as OSS and S3 write it), else the day that the vendor documents. A time in the past or far off is not
 * believed: the link was handed out just now.
 */
export function resultExpiresAtMs(url: string, seenAtMs: number): number {
  const saysMs = writtenExpiryMs(url);
  return saysMs !== undefined && saysMs > seenAtMs && saysMs <= seenAtMs + weekMs ? saysMs : seenAtMs + dayMs;
}

function writtenExpiryMs(url: string): number | undefined {
  const query = new Map(
    [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => [name.toLowerCase(), value]),
  );
  const seconds = (name: string): number | undefined => {
    const value = query.get(name);
    return value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined;
  };
  const at = seconds("expires");
  if (at !== undefined) return at * 1000;
  for (const maker of ["x-oss", "x-amz"]) {
    const lifetime = seconds(`${maker}-expires`);
    const signedAtMs = readBasicTime(query.get(`${maker}-date`));
    if (lifetime !== undefined && signedAtMs !== undefined) return signedAtMs + lifetime * 1000;
  }
  return undefined;
}

/** `20261231T235959Z` */
function readBasicTime(text: string | undefined): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text ?? "");
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
