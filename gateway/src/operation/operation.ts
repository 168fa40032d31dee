import type { z } from "zod";
import type { TokenGrant } from "../grants/grants.ts";
import type { Allowed } from "../keys/allowed-names.ts";
import type { Budget } from "../keys/keys.ts";
import type { IdempotencyClaim } from "../ledger/ledger.ts";
import type { ConflictPrefix } from "../ledger/refuse-earlier.ts";
import type { OperationLimits } from "../limits/call-limits.ts";
import type { TierLimits, TierName } from "../limits/tiers.ts";
import type { ModelDialect } from "../platform/dialect.ts";
import type { RefusalCode } from "../platform/refusals.ts";
import type { Books } from "./books.ts";
import type { Quantities } from "../prices/quantities.ts";
import type { AskedVideo, VideoWish } from "./video-seconds.ts";

/** A validated request, as prices, adapters and answers see it. */
export interface CallInput<Query = unknown, Body = unknown> {
  readonly query: Query;
  readonly body: Body;
  readonly params: Readonly<Record<string, string>>;
  /** The query string as it came, without the question mark: what is forwarded untouched. */
  readonly rawQuery: string;
  /** The body as it came, after decompression; empty for a GET. */
  readonly rawBody: Uint8Array;
  /** Every member of the body has its name in small letters; undefined where nobody looked. */
  readonly plainNames?: boolean;
}

/** What an upstream answered, as the rules about money see it. `json` is undefined when the body is not JSON. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Before the call: what it will probably use, and the most it can use. */
export interface Estimate {
  readonly expected: Quantities;
  readonly atMost: Quantities;
  /** What counts against tokens per minute until the real figure is known. */
  readonly tokens?: number;
}

/** What a price by token depends on besides the input. */
export interface ModelFacts {
  /** By which its upstreams know it. */
  readonly names: readonly string[];
  /** In which they are spoken to; what a caller says in another dialect is translated. */
  readonly protocols: readonly string[];
  /** What it writes at most when the caller sets no limit. */
  readonly unaskedOutputTokensMax: number;
  /** The highest limit that its vendor takes; undefined when nobody wrote it down. */
  readonly outputTokensMax: number | undefined;
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
  readonly usualVideo: Partial<VideoWish>;
}

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
  /** The member by which callers limit what is written; whoever cannot pay for the most hears of it. */
  readonly outputLimit?: string;
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

/** How an operation is paid. Free is written down; there is no operation without a price. */
export type PriceContract<Input = CallInput> =
  | Free<Input>
  | PerUnit<Input>
  | PerToken<Input>
  | PerSecond<Input>
  | ByCost;

export type ModelKind = "chat" | "rerank" | "embedding" | "image" | "video";

/** How one vendor protocol serves an operation: the exchange its adapter must know, and the vendor's path. */
export interface Service {
  readonly exchange: ExchangeName;
  /** `{user_id}` stands for the linked account, where the operation acts for one. */
  readonly path: string;
  /** The dialect in which the caller speaks, for exchanges that know several. */
  readonly dialect?: ModelDialect;
  /**
   * Where the vendor is asked about the tasks that this exchange creates. The exchanges `task_poll` and `task_cancel`
   * get it as their path, and the vendor's own id of the task as the input's parameter `task_id`.
   */
  readonly tasksPath?: string;
}

export type ExchangeName =
  | "forward_query"
  | "forward_body"
  | "rerank"
  | "chat"
  | "responses"
  | "embeddings"
  | "images"
  | "count_tokens"
  | "research"
  | "video_create"
  | "task_poll"
  | "task_cancel";

/** Who is asking, as an operation answered by the gateway itself sees it. */
export interface Asker extends Allowed {
  readonly accountId: string;
  readonly keyId: string;
  readonly scope: "key" | "account";
  readonly budget: Budget | undefined;
  /** The sign-in behind an access token, and what it may spend a day; a key has none. */
  readonly grant: Pick<TokenGrant, "id" | "spendPolicy"> | undefined;
  readonly tier: TierName;
  readonly limits: TierLimits;
  readonly nowMs: number;
  /** The id of this very request, and the idempotency key it came with. */
  readonly requestId: string;
  readonly idempotency: IdempotencyClaim | undefined;
  /** Whether a link begins on our own page, whatever the configuration says. */
  readonly confirmsLinks?: true | undefined;
}

/** What only readers need: the contract, the pages and the tools of agents are made from it. */
interface Described {
  /** What a 200 looks like; any JSON when absent. Members it does not name may come too. */
  readonly response?: z.ZodType;
  /** What each path parameter is. */
  readonly params?: Readonly<Record<string, string>>;
  /** Headers this operation asks for beside the usual ones; `{provider}` stands for the configured word. */
  readonly headers?: Readonly<Record<string, DescribedHeader>>;
  /** It tells of the model on offer that this path parameter names, and calls none; of this kind, where one is said. */
  readonly tellsOfModel?: { readonly param: string; readonly kind?: ModelKind };
  /** What the schemas cannot say. */
  readonly notes?: string;
  /** Refusals of its own, beside those that every call of its kind can get. */
  readonly refuses?: readonly RefusalCode[];
  /** A call that works against the sandbox as it stands here. Readers get it with a model that is on offer. */
  readonly example?: Example;
}

interface DescribedHeader {
  readonly description: string;
  readonly required?: boolean;
  readonly values?: readonly string[];
}

export interface Example {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly response?: unknown;
}

interface Declared<Input> extends Described {
  /** Stable for ever, whatever the paths are called. */
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** Other words under which people look for it. */
  readonly keywords?: readonly string[];
  readonly category: "models" | "data" | "account";
  readonly method: "GET" | "POST";
  /** `{social_a}` and the like are names of the configuration; any other brace is a path parameter. */
  readonly path: string;
  /** The parameter at the end of the path may hold slashes, as names of models do. */
  readonly slashesAtEnd?: true;
  readonly query: z.ZodType;
  readonly body?: z.ZodType;
  /** No body at all counts as an empty object. */
  readonly bodyOptional?: true;
  readonly bodyBytesMax: number;
  /** How many values a body may have, where that is more than usual. */
  readonly bodyValuesMax?: number;
  readonly price: PriceContract<Input>;
  readonly limits?: OperationLimits;
  /** `pending` marks what the specification leaves open: its parameters are forwarded, never invented. */
  readonly definition?: "pending";
  /** Where callers of other services would look for this; whoever sends its parameter there as a query is told so. */
  readonly unsupportedPath?: string;
  /** Whoever shows no credential at all is told that there is no such endpoint. */
  readonly hidden?: true;
  /** Every POST honours an `Idempotency-Key`; with this a GET does too, and its conflicts have codes of their own. */
  readonly idempotency?: { readonly codePrefix: ConflictPrefix };
}

/** An operation that an upstream serves. */
export interface SoldOperation<Input = CallInput> extends Declared<Input> {
  readonly servedBy: Readonly<Record<string, Service>>;
  /** Whether this call's answer comes piece by piece. */
  readonly streams?: (input: Input) => boolean;
  /** How long the upstream may take to begin its answer. */
  readonly firstByteTimeoutMs: number;
  /**
   * False for what must not happen twice, such as a write: it goes to another upstream only if it never left, or if the
   * operator's key or account was refused.
   */
  readonly repeatable?: false;
  /** It acts for the platform account that is linked to the caller's key, and needs these scopes of the link. */
  readonly link?: { readonly scopes: readonly string[] };
  /** It begins a task that goes on after the answer; a key may have so many of them open at once. */
  readonly task?: { readonly openMax: number };
}

/** An operation that the gateway answers from its own books. */
export interface OwnOperation<Input = CallInput> extends Declared<Input> {
  readonly answer: (input: Input, asker: Asker, books: Books) => Promise<unknown>;
  /** It sends people to a platform, so it is offered only where one is set up that accounts can be linked at. */
  readonly beginsLinks?: true;
}

/** An operation about a task that an earlier call began. */
export interface TaskOperation<Input = CallInput> extends Declared<Input> {
  readonly aboutTask: "state" | "cancel";
}

export type Operation = SoldOperation | OwnOperation | TaskOperation;

export const isSold = (operation: Operation): operation is SoldOperation => "servedBy" in operation;

export const isAboutTask = (operation: Operation): operation is TaskOperation => "aboutTask" in operation;

/** What the models are for that it is called with; undefined where it is called with none. */
export const modelKindOf = ({ price }: Pick<Operation, "price">): ModelKind | undefined =>
  "modelKind" in price ? price.modelKind : undefined;

/** Whether an `Idempotency-Key` means anything here. */
export const takesIdempotencyKey = ({ method, idempotency }: Operation): boolean =>
  method === "POST" || idempotency !== undefined;

/** Free, and yet not only read: it links, unlinks, cancels or applies for the account. */
export const changesFreely = (operation: Operation): boolean =>
  !isSold(operation) && operation.method !== "GET";
