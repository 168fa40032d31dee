import type { CallInput } from "./call-input.ts";
import type { Estimate } from "./estimate.ts";
import type { LimitWord } from "./limit-word.ts";
import type { ModelKind } from "./model-kind.ts";
import type { AskedVideo, VideoShape } from "./video-seconds.ts";

/** How an operation is paid. Free is written down; there is no operation without a price. */
export type PriceContract<Input = CallInput> =
  | Free<Input>
  | PerUnit<Input>
  | PerToken<Input>
  | PerSecond<Input>
  | ByCost;

interface Free<Input> {
  readonly kind: "free";
  /** The models of an operation that is about one, though nothing is paid for it. */
  readonly modelKind?: ModelKind;
  /** Where the input names its model; the body's `model` when absent. */
  readonly modelOf?: (input: Input) => string | undefined;
}

/** A price for each unit delivered. */
interface PerUnit<Input> {
  readonly kind: "per_unit";
  readonly unit: string;
  /** USD per unit as written; the operator may set another in the configuration. */
  readonly usd: string;
  /** What a call usually takes; also the most, unless `atMost` says more. */
  readonly requested: (input: Input) => number;
  /** What is held, where the request does not show exactly what it will take. */
  readonly atMost?: (input: Input) => number;
  /**
   * The units a 2xx answer proves; undefined when it proves that the call did not succeed. A figure in it that is not
   * believed is named among the anomalies, so that it can be counted and looked at.
   */
  readonly delivered: (answer: UpstreamAnswer, input: Input, anomalies: string[]) => number | undefined;
}

/** Prices come from the model the caller names, tokens from the adapter's reading of the answer. */
interface PerToken<Input> {
  readonly kind: "per_token";
  readonly modelKind: Exclude<ModelKind, "video">;
  /** Where the input names its model; the body's `model` when absent. */
  readonly modelOf?: (input: Input) => string | undefined;
  /** Which model serves a call that names none: the first of these that is on offer. */
  readonly defaultModels?: readonly string[];
  readonly estimate: (input: Input, model: ModelFacts) => Estimate;
}

/** A price for each second of video, by model and resolution; the vendor says afterwards what it made. */
interface PerSecond<Input> {
  readonly kind: "per_second";
  readonly modelKind: "video";
  /** What the request says about its video. */
  readonly requested: (input: Input) => AskedVideo;
  /** The longest video any model makes: what is held where the length is the vendor's choice. */
  readonly secondsMax: number;
}

/**
 * The upstream says in its answer what the call cost it, and that is passed on: metered in micro-USD, at one
 * micro-USD each unless the operator's `cost_factor` says otherwise.
 */
interface ByCost {
  readonly kind: "by_cost";
  /** What the vendor usually reports, for a quote. */
  readonly usualUsd: string;
  /** The most that is held and charged for a call, at list price. The operator may set another in the configuration (`max_cost_usd`). */
  readonly atMostUsd: string;
}

/** What an upstream answered, as the rules about money see it. `json` is undefined when the body is not JSON. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** What a price by token depends on besides the input. */
export interface ModelFacts {
  /** By which its upstreams know it. */
  readonly names: readonly string[];
  /** In which they are spoken to. */
  readonly protocols: readonly string[];
  /** In which each of them hears callers as they speak; what is said in another is translated for it. */
  readonly dialectsAt: readonly (readonly string[])[];
  /** What it writes at most when the caller sets no limit. */
  readonly unaskedOutputTokensMax: number;
  /** The highest limit that its vendor takes; undefined when nobody wrote it down. */
  readonly outputTokensMax: number | undefined;
  /** Which of OpenAI's two words for a limit can be said to any of its upstreams. */
  readonly limitWord: LimitWord;
  /** Which limits bound its answer alone, and not what it thinks before, at one of its upstreams at least. */
  readonly thinksBeside: "max_tokens" | "any_limit" | undefined;
  /** The most a conversation can hold; undefined when nobody wrote it down. */
  readonly contextTokens: number | undefined;
  /** The dearest way an input token can be billed: a cache write costs more than a plain read. */
  readonly dearestInputUnit: string;
  /** The same where some of the input may be heard and not read; undefined when that has no price. */
  readonly dearestHeardUnit: string | undefined;
  /** The dearest way a token of an answer can be billed that is spoken; undefined when that has no price. */
  readonly dearestSpokenUnit: string | undefined;
  /** Whether the operator bears what vendors bill for tools that they run, beside the tokens. */
  readonly allowsHostedTools: boolean;
  /** The video that a model makes when the request leaves it open. */
  readonly usualVideo: Partial<VideoShape>;
}
