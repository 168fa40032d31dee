/** A door that browsers come to: it knows its own paths, and answers every request for them with a page. */
export interface PageDoor {
  readonly owns: (path: string) => boolean;
  readonly answer: (
    request: Request,
    target: { readonly path: string; readonly rawQuery: string },
    address: string | undefined,
  ) => Promise<Response>;
}
