/** So many of something: `1 call`, `2 calls`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;

/** 1234567 is read wrongly, 1,234,567 is not. */
export const grouped = (count: number): string => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
