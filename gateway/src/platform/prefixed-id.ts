/** Ids are UUIDs made when the thing is made, so they sort by age; the prefix tells what they name. */
export const prefixedId = (prefix: "acc_" | "key_" | "lnk_", newId: () => string): string =>
  prefix + newId().replaceAll("-", "");
