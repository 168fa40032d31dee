/** The fields of a form as browsers send them. */
export const formFields = (body: Uint8Array): URLSearchParams =>
  new URLSearchParams(new TextDecoder().decode(body));
