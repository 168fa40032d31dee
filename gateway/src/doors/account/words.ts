// How money and times are written on these pages.

import { usdFromMicros } from "../../platform/money.ts";
import { secondsOfDay, secondsPerDay } from "../../platform/utc-day.ts";
import { grouped } from "../pages/counted.ts";
import { html, type Html } from "../pages/html.ts";

/** Reports carry whole micros as numbers; they are written out exactly. */
export const microsAsUsd = (micros: number): string => `${grouped(usdFromMicros(BigInt(micros)))} USD`;

/** The first moment of a UTC day as forms write it; undefined where it is not one. */
export function readDayStartMs(day: string): number | undefined {
  const seconds = secondsOfDay(day);
  return seconds === undefined || seconds < 0 ? undefined : seconds * 1000;
}

export function readDayEndMs(day: string): number | undefined {
  const startMs = readDayStartMs(day);
  return startMs === undefined ? undefined : startMs + secondsPerDay * 1000;
}

/** A moment of a receipt, to the second or as exact as it is known; that it is UTC is said where it stands. */
export const moment = (iso: string, exactly = false): Html =>
  html`<time datetime="${iso}">${iso.slice(0, exactly ? 23 : 19).replace("T", " ")}</time>`;
