/** A vendor may heed either, so the higher of the two is held. */
export function higherOf(one: number | undefined, other: number | undefined): number | undefined {
  return one !== undefined && other !== undefined ? Math.max(one, other) : (one ?? other);
}

/** The figure by which a resolution is priced: 720 for "720P", and for "1280*720" that of the class it falls into. */
export function resolutionOf(written: string | null | undefined): number | undefined {
  if (written === undefined || written === null) return undefined;
  const named = /^(\d{3,4})p$/i.exec(written)?.[1];
  if (named !== undefined) return Number(named);
  const [, width, height] = /^(\d{1,5})[*x](\d{1,5})$/i.exec(written) ?? [];
  if (width === undefined || height === undefined) return resolutionMax;
  const pixels = Number(width) * Number(height);
  return classes.find(({ pixelsMax }) => pixels <= pixelsMax)?.resolution ?? resolutionMax;
}

/** Whatever its shape, a video of a class has at most a twentieth more pixels than in 16:9. */
const classes = [480, 720, 1080].map((resolution) => ({
  resolution,
  pixelsMax: resolution * Math.ceil((resolution * 16) / 9) * 1.05,
}));

/** For a resolution that is not understood here, so that the highest price is held for it. */
const resolutionMax = 99_999;
