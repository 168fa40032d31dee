/** How the calls of an operation go on with what its vendor has kept of earlier answers. */
export interface GoesOn<Input> {
  /** What this call does not bring along, but names by the vendor's ids. Nearly always that is nothing. */
  readonly refersTo: (input: Input) => readonly Reference[];
  /** What the vendor says to whoever names what it does not have. */
  readonly notFound: (
    reference: Reference,
    callId: string,
  ) => { readonly status: number; readonly json: unknown };
}

export interface Reference {
  readonly id: string;
  /** The member that names it. */
  readonly field: string;
}
