import type { Pico } from "../platform/money.ts";
import type { Estimate } from "./estimate.ts";

// Video is sold by the second, at a price for each resolution: the units are `second_480p`, `second_720p` and so on.

type Prices = Readonly<Record<string, Pico>>;

/** The units a price can be written for. */
export const secondWords = [
  "second_480p",
  "second_540p",
  "second_720p",
  "second_1080p",
  "second_2160p",
] as const;
export type SecondWord = (typeof secondWords)[number];

/** What a unit's resolution is called, such as `720p`. */
export const resolutionName = (unit: string): string => unit.replace("second_", "");

/** What a request says about its video; undefined where it leaves the choice to the vendor. */
export interface VideoShape {
  readonly seconds: number | undefined;
  readonly resolution: number | undefined;
}

/** The same as a call says it, which may also let the model choose among all lengths there are. */
export interface AskedVideo extends Pick<VideoShape, "resolution"> {
  readonly seconds: VideoShape["seconds"] | "any";
  /** The most that is billed of the videos it gives the model to look at; none where absent. */
  readonly inputSecondsMax?: number;
}

/**
 * The unit for a resolution: its own, or that of the next higher one that has a price. Where nothing is known, or
 * everything with a price is lower, it is the dearest.
 */
export function secondUnit(resolution: number | undefined, prices: Prices): string {
  const priced = unitsOfSeconds(prices)
    .filter(({ figure }) => resolution !== undefined && figure >= resolution)
    .toSorted((a, b) => a.figure - b.figure);
  return priced[0]?.unit ?? dearestUnit(prices);
}

/** Tokens may have a price beside them, by which no second is sold. */
const unitsOfSeconds = (prices: Prices): { readonly unit: string; readonly figure: number }[] =>
  Object.keys(prices)
    .map((unit) => ({ unit, figure: Number(/^second_(\d+)p$/.exec(unit)?.[1]) }))
    .filter(({ figure }) => !Number.isNaN(figure));

function dearestUnit(prices: Prices): string {
  const units = unitsOfSeconds(prices).map(({ unit }) => unit);
  const [dearest] = units.toSorted((a, b) => Number((prices[b] ?? 0n) - (prices[a] ?? 0n)));
  if (dearest === undefined) throw new Error("A video model without a price was offered.");
  return dearest;
}

/**
 * By the request; what it leaves open is what the model does by itself, or the most where nobody wrote that down. How long
 * the videos are that it refers to only the vendor knows: they are held for, and expected only when they are reported.
 */
export function estimateVideo(
  { seconds, resolution, inputSecondsMax = 0 }: AskedVideo,
  model: { readonly usual: Partial<VideoShape>; readonly secondsMax: number; readonly prices: Prices },
): Estimate {
  const known = seconds === "any" ? undefined : (seconds ?? model.usual.seconds);
  const usual = model.usual.seconds ?? Math.min(secondsGuessed, model.secondsMax);
  const unit = secondUnit(resolution ?? model.usual.resolution, model.prices);
  return {
    expected: { [unit]: known ?? usual },
    atMost: { [unit]: (known ?? model.secondsMax) + inputSecondsMax },
  };
}

/** What most models make when nobody says how long. */
const secondsGuessed = 5;
