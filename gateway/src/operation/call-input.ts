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

export const noBody = new Uint8Array();

/** What somebody asks who says nothing. */
export const emptyInput: CallInput = {
  query: {},
  body: undefined,
  params: {},
  rawQuery: "",
  rawBody: noBody,
};
