// What an address says of what lies there. Holds and Google are told by the same rule, so that nothing is held as an image
// that Google is not told is one.

/** The media type that an address ends in; undefined where anything may lie there. */
export function typeByName(url: string): string | undefined {
  if (isVideoSite(url)) return undefined;
  const path = url.slice(0, url.search(/[?#]|$/));
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(typesByEnding, ending) ? typesByEnding[ending] : undefined;
}

/** Google reads these as videos, however they end. */
export const isVideoSite = (url: string): boolean =>
  URL.canParse(url) && /(^|\.)(youtube(-nocookie)?\.com|youtu\.be)\.?$/.test(new URL(url).hostname);

const typesByEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  pdf: "application/pdf",
};
