/** Where calls go: one vendor account the operator configured, or the sandbox. */
export interface Upstream {
  readonly name: string;
  readonly protocol: string;
  readonly url: string;
  /** Empty for a vendor that wants none. */
  readonly key: string;
  /** The header that the key travels in, lower case. */
  readonly keyHeader: string;
  /** Headers of the operator's that every request carries, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Parameters of the operator's that every address carries. */
  readonly query: OwnQuery | undefined;
  /** What no answer may repeat to a caller: the key, and whatever else of these gives access. */
  readonly secrets: readonly string[];
  /** Decides the answer to a transport failure: 502 for native, 503 for managed. */
  readonly transport: "native" | "managed";
  readonly timeoutMs: number | undefined;
  readonly quotaRpm: number | undefined;
  /** How often in a second it may be asked about tasks, all of them together. */
  readonly pollQps: number;
  readonly weight: number;
  /** When the caller of a stream leaves: read on to the end and bill what was used, or break off and bill what passed. */
  readonly onCallerLeft: "drain" | "abort";
  /** What becomes of calls for tools that the vendor runs, for whose cost nothing here has a price or a bound. */
  readonly hostedTools: "refuse" | "allow";
  /** OpenAI's word for the most that a model may write; undefined when the operator names none, and the vendor decides. */
  readonly outputLimit: "max_tokens" | "max_completion_tokens" | undefined;
  /** Whether it is asked to tell at the end of a stream what it used, which some vendors of OpenAI's dialect refuse. */
  readonly streamUsage: "ask" | "never";
  /**
   * Whether it knows OpenAI's Responses, or they are translated for it. Undefined where nobody has said so: then it is asked in
   * them by callers who speak them, and by nobody else.
   */
  readonly responses: "native" | "translated" | undefined;
  /** Which models without a `via` of their own it has; undefined for all of its protocol. */
  readonly models: ReadonlySet<string> | undefined;
  /** For a platform whose people can link their accounts, once all that this takes is configured. */
  readonly link: LinkSettings | undefined;
  readonly sandbox: boolean;
}

/** Parameters as they stand in an address, and their names, in lower case, which are not the caller's to give. */
export interface OwnQuery {
  readonly text: string;
  readonly names: ReadonlySet<string>;
}

/** A platform's authorization server, and who we are there. */
export interface LinkSettings {
  /** Where a person is sent. An address that begins with a slash lies under our own base address. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Undefined when the platform offers no revocation. */
  readonly revokeUrl: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** By what name the server calls itself when it sends a person back; with a slash first, as above. */
  readonly issuer: string;
  /** It always says its name, so that an answer without it is not its answer. */
  readonly saysIssuer: boolean;
}

/** The linked account in whose name a request is made, with its own token; the operator's key stays here then. */
export interface ActingFor {
  readonly userId: string;
  readonly accessToken: string;
}
