// What the tests ask of every official client, so that one table of promises serves them all. Behind it each client
// is used as its documentation shows it; only the address and the key are ours.

export interface OfficialClient {
  readonly ask: (model: string, prompt: Prompt) => Promise<Reply>;
  /** The same through the client's own streaming. */
  readonly stream: (model: string, prompt: Prompt, leaving?: Leaving) => Promise<Reply>;
  /** The client's own error, said in one form. */
  readonly failure: (error: unknown) => Failure;
}

export interface Prompt {
  readonly text: string;
  readonly system?: string;
  /** A PNG, in base64. */
  readonly image?: string;
  /** Tools of one text argument, `city`, by name. */
  readonly tools?: readonly string[];
  /** Calls of the answer before, and what the tools said. */
  readonly answered?: readonly { readonly call: ReplyCall; readonly result: string }[];
  readonly schema?: Readonly<Record<string, unknown>>;
}

export interface ReplyCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the client itself keeps of the call and wants back. */
  readonly raw: unknown;
}

export interface Reply {
  readonly text: string;
  readonly calls: readonly ReplyCall[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How many pieces it came in. */
  readonly pieces: number;
}

/** Aborts in the client's own way once the first piece is there. */
interface Leaving {
  readonly afterPieces: number;
}

export interface Failure {
  /** The name of the client's class. */
  readonly type: string;
  readonly status: number | undefined;
  readonly message: string;
}

export const citySchema = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false,
};

export const maxTokens = 400;
