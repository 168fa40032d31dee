/** What a statement can be given. Lists are lists of text; whole tables travel as JSON (`json_to_recordset`). */
export type Value = string | number | bigint | boolean | Uint8Array | null | readonly string[];

/** Runs one statement. Whole numbers of eight bytes come back as bigint. */
export type Query = <Row>(text: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** What is found by asking nothing, without a round trip. */
export const noRows: Promise<readonly never[]> = Promise.resolve([]);
