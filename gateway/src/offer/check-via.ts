import type { Config, ModelConfig } from "../config/config.ts";
import { ConfigError } from "../config/load-config.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import { isSold, type ModelKind, type Operation } from "../operation/operation.ts";

/** Refuses a `via` that names an upstream which cannot do the work: nobody, or the sandbox, would serve in its place. */
export function checkVia(catalogue: Catalogue, config: Config): void {
  const problems = [...operationProblems(catalogue, config), ...modelProblems(catalogue, config)];
  if (problems.length > 0) throw new ConfigError("The configuration", problems);
}

function operationProblems(catalogue: Catalogue, config: Config): string[] {
  return catalogue.operations.flatMap((operation) => {
    const able = protocolsOf([operation]);
    return unfit(config.operations.get(operation.id)?.via, able, config).map(
      (upstream) => `operations.${operation.id}.via: ${upstream} cannot serve it; ${whoCan(able)}`,
    );
  });
}

function modelProblems(catalogue: Catalogue, config: Config): string[] {
  return [...config.models].flatMap(([id, written]) => {
    const shipped = catalogue.models.find((model) => model.id === id);
    const kinds = shipped ? [shipped.kind] : kindsOf(written);
    const able = protocolsOf(catalogue.operations.filter((operation) => isFor(operation, kinds)));
    return unfit(written.via, able, config).map(
      (upstream) => `models.${id}.via: ${upstream} cannot serve such a model; ${whoCan(able)}`,
    );
  });
}

/** What a model of the operator's own may be for, by what is written about it. */
function kindsOf({ price, maxOutputTokens }: ModelConfig): readonly ModelKind[] {
  const answers = maxOutputTokens !== undefined || (price?.["output_tokens"] ?? 0n) > 0n;
  return answers ? ["chat", "image", "video"] : ["chat", "image", "video", "embedding", "rerank"];
}

const isFor = ({ price }: Operation, kinds: readonly ModelKind[]): boolean =>
  "modelKind" in price && price.modelKind !== undefined && kinds.includes(price.modelKind);

const protocolsOf = (operations: readonly Operation[]): readonly string[] => [
  ...new Set(operations.flatMap((one) => (isSold(one) ? Object.keys(one.servedBy) : []))),
];

/** The upstreams among those named whose protocol is not among those able. */
const unfit = (via: readonly string[] | undefined, able: readonly string[], config: Config): string[] =>
  (via ?? []).flatMap((name) => {
    const protocol = config.upstreams.get(name)?.protocol;
    return protocol === undefined || able.includes(protocol)
      ? []
      : [`upstream "${name}" (protocol ${protocol})`];
  });

const whoCan = (able: readonly string[]): string =>
  able.length === 0 ? "no upstream is asked for it" : `protocols that can: ${able.join(", ")}`;
