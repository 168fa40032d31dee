/** Where all calls are made. A credential is asked for there before anything else, whether the path exists or not. */
export const apiRoots = ["/apis/v1/", "/v1/", "/v1beta/"] as const;

/** Also the roots themselves without their last slash. Written out, because every request is asked this. */
export const isApiPath = (path: string): boolean =>
  path.startsWith("/v1/") ||
  path.startsWith("/v1beta/") ||
  path.startsWith("/apis/v1/") ||
  path === "/v1" ||
  path === "/v1beta" ||
  path === "/apis/v1";
