import type { OfferedModel } from "./offer.ts";

/** The name by which an upstream knows a model. */
export const nameAt = ({ id, namesAt }: Pick<OfferedModel, "id" | "namesAt">, upstream: string): string =>
  namesAt.get(upstream) ?? id;
