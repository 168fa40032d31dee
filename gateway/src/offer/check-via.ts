import type { Config } from "../config/config.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { ConfigError } from "../platform/config-error.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import type { ModelKind } from "../operation/model-kind.ts";
import { isSold, modelKindOf, type Operation } from "../operation/operation.ts";

/** Refuses a `via`, or a model at an upstream, that cannot do the work: else nobody would serve it, or the sandbox would. */
export function checkVia(catalogue: Catalogue, config: Config): void {
  const problems = [
    ...operationProblems(catalogue, config),
    ...modelProblems(catalogue, config),
    ...listProblems(catalogue, config),
  ];
  if (problems.length > 0) throw new ConfigError(config.file, problems);
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
    const able = protocolsFor(id, catalogue, config);
    return unfit(written.via, able, config).map(
      (upstream) => `models.${id}.via: ${upstream} cannot serve such a model; ${whoCan(able)}`,
    );
  });
}

function listProblems(catalogue: Catalogue, config: Config): string[] {
  return [...config.upstreams].flatMap(([name, { protocol, models }]) =>
    [...(models ?? [])].flatMap((id) => {
      const able = protocolsFor(id, catalogue, config);
      if (able.length === 0 || able.includes(protocol)) return [];
      return [`upstreams.${name}.models: protocol ${protocol} cannot serve ${id}; ${whoCan(able)}`];
    }),
  );
}

/** The protocols that serve what such a model is for; none for a model that nobody knows. */
function protocolsFor(id: string, catalogue: Catalogue, config: Config): readonly string[] {
  const shipped = catalogue.models.find((model) => model.id === id);
  const written = config.models.get(id);
  const kinds = shipped ? [shipped.kind] : written ? kindsOf(written) : [];
  return protocolsOf(catalogue.operations.filter((operation) => isFor(operation, kinds)));
}

/** What a model of the operator's own may be for, by what is written about it. */
export function kindsOf({ price, unaskedOutputTokensMax, contextTokens }: ModelConfig): readonly ModelKind[] {
  const answers = unaskedOutputTokensMax !== undefined || (price?.["output_tokens"] ?? 0n) > 0n;
  const kinds: readonly ModelKind[] = answers
    ? ["chat", "image", "video"]
    : ["chat", "image", "video", "embedding", "rerank"];
  // An image is bounded by its size, so nobody writes token limits for a model that draws.
  const isText = unaskedOutputTokensMax !== undefined || contextTokens !== undefined;
  return isText ? kinds.filter((kind) => kind !== "image") : kinds;
}

function isFor(operation: Operation, kinds: readonly ModelKind[]): boolean {
  const kind = modelKindOf(operation);
  return kind !== undefined && kinds.includes(kind);
}

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
