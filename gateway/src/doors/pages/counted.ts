/** So many of something: `1 call`, `2 calls`. */
export const counted = (count: number, one: string): string =>
  `${grouped(count)} ${count === 1 ? one : `${one}s`}`;

/** 1234567 is read wrongly, 1,234,567 is not; neither is an amount, 1,234,567.000001. */
export const grouped = (figure: number | string): string =>
  String(figure).replaceAll(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ",");
