import type { z } from "zod";
import type { ConflictPrefix } from "../ledger/refuse-earlier.ts";
import type { OperationLimits } from "../limits/call-limits.ts";
import type { ModelDialect } from "../platform/dialect.ts";
import type { RefusalCode } from "../platform/refusals.ts";
import type { Asker } from "./asker.ts";
import type { SelfService } from "./self-service.ts";
import type { CallInput } from "./call-input.ts";
import type { GoesOn } from "./goes-on.ts";
import type { ModelKind } from "./model-kind.ts";
import type { PriceContract } from "./price-contract.ts";
import type { Service } from "./service.ts";

/** What a caller can call, by who answers it. */
export type Operation = SoldOperation | OwnOperation | TaskOperation;

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
  /** Its vendor may keep answers, and calls go on with them. */
  readonly goesOn?: GoesOn<Input>;
}

/** An operation that the gateway answers itself. */
export interface OwnOperation<Input = CallInput> extends Declared<Input> {
  readonly answer: (input: Input, asker: Asker, selfService: SelfService) => Promise<unknown>;
  /** It sends people to a platform, so it is offered only where one is set up that accounts can be linked at. */
  readonly beginsLinks?: true;
}

/** An operation about a task that an earlier call began. */
export interface TaskOperation<Input = CallInput> extends Declared<Input> {
  readonly aboutTask: "state" | "cancel";
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
  /** Whose official clients call it. The first of them decides in which words it refuses; ours when absent. */
  readonly dialects?: readonly [ModelDialect, ...ModelDialect[]];
  /** How all paths begin that the same clients call, whether they exist or not; as its own does when absent. */
  readonly dialectsUnder?: string;
  /** The shape of our own 400s, where it is not the usual one. */
  readonly shapeOf400?: "message_only";
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
  /** The path without its parameter, which callers of other services send as a query; they are told that it is not supported. */
  readonly unsupportedPath?: string;
  /** Whoever shows no credential at all is told that there is no such endpoint. */
  readonly hidden?: true;
  /** Every POST honours an `Idempotency-Key`; with this a GET does too, and its conflicts have codes of their own. */
  readonly idempotency?: { readonly codePrefix: ConflictPrefix };
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
